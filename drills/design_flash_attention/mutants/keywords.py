"""Every value is a list of the right words.

ask: What does your kernel do with each of these, at which step, and why?
expect: wrong_answer
"""


def designOutline():
    return {
        "memoryTraffic": (
            "HBM, SRAM, tiling, IO-awareness, bandwidth, 128 MiB, recomputation, fusion, L2, kernel"
        ),
        "tiling": (
            "BLOCK_M=128, BLOCK_N=64, shared memory, registers, warps, stages, grid, occupancy, outer "
            "loop, Q resident"
        ),
        "numericalStability": (
            "online softmax, running max, fp32 accumulator, rescaling, logsumexp, masking, -inf, NaN "
            "guard, exp2"
        ),
        "failureMode": (
            "phantom tail, missing rescale, low precision, register spilling, tests, 65 keys, "
            "float64, tolerance"
        ),
    }
