"""Figures without anything that was decided.

ask: What would another engineer have done, and why do you not?
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
            "A tile of queries has 128 rows and 32 KiB in SRAM, a tile of keys has 64 rows and 16 KiB "
            "there. The accumulator has 64 KiB in the register file of 256 KiB."
        ),
        "numericalStability": (
            "m, l and acc in fp32; on a new max both l and acc take exp2(m - m_new). Masked scores "
            "become -inf before the max. Rows with l == 0 write zeros."
        ),
        "failureMode": (
            "A tail tile whose lanes are not masked adds exp(0 - m) per lane: invisible at multiples "
            "of 64, worst at 64n+1 with scores near -8. Test 65 keys of score -8 against float64."
        ),
    }
