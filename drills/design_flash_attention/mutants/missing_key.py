"""Three values are good, the fourth is not there.

ask: How will this design fail, and who will notice first?
expect: wrong_answer
"""


def designOutline():
    return {
        "memoryTraffic": (
            "Q in once, O out once, K+V once per query tile: 2 + 2 + 64*4 MiB at BLOCK_M=128, half of "
            "it under the causal mask. S and P stay on chip, because 128 MiB per head and pass would "
            "cost 64 us at 2 TB/s."
        ),
        "tiling": (
            "BLOCK_M=128, BLOCK_N=64, D=128. SMEM: Q 32 KiB, K and V 2 stages x 32 KiB, 96 of 113 "
            "KiB. Outer loop over query tiles, one program each, so O needs no second visit."
        ),
        "numericalStability": (
            "m, l and acc in fp32; on a new max both l and acc take exp2(m - m_new). Masked scores "
            "become -inf before the max. Rows with l == 0 write zeros."
        ),
    }
