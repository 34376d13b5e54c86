"""Lists of the right words again, with those among them that a sentence would need.

ask: Because of what? Instead of what? Who does it, to what, at which step?
expect: wrong_answer
"""


def designOutline():
    return {
        "memoryTraffic": "HBM, SRAM, bytes, 128 MiB, read, write, once, L2, because, instead",
        "tiling": "tiles, 128, 64, registers, shared memory, occupancy, outer loop, because, instead",
        "numericalStability": "fp32, max, sum, rescale, exp, -inf, guard, zeros, because, instead",
        "failureMode": "rescale, tail, mask, NaN, test, lengths, 17, 33, because, instead",
    }
