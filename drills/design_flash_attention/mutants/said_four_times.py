"""One good value, four times.

ask: Which of the four questions does this text answer?
expect: wrong_answer
"""


def designOutline():
    return {
        "memoryTraffic": (
            "BLOCK_M=128, BLOCK_N=64, D=128. SMEM: Q 32 KiB, K and V 2 stages x 32 KiB, 96 of 113 "
            "KiB. Outer loop over query tiles, one program each, so O needs no second visit."
        ),
        "tiling": (
            "BLOCK_M=128, BLOCK_N=64, D=128. SMEM: Q 32 KiB, K and V 2 stages x 32 KiB, 96 of 113 "
            "KiB. Outer loop over query tiles, one program each, so O needs no second visit."
        ),
        "numericalStability": (
            "BLOCK_M=128, BLOCK_N=64, D=128. SMEM: Q 32 KiB, K and V 2 stages x 32 KiB, 96 of 113 "
            "KiB. Outer loop over query tiles, one program each, so O needs no second visit."
        ),
        "failureMode": (
            "BLOCK_M=128, BLOCK_N=64, D=128. SMEM: Q 32 KiB, K and V 2 stages x 32 KiB, 96 of 113 "
            "KiB. Outer loop over query tiles, one program each, so O needs no second visit."
        ),
    }
