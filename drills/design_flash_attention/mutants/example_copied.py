"""The example of the statement stands for an answer.

ask: The example is of a row softmax. What does attention read more than once?
expect: wrong_answer
"""


def designOutline():
    return {
        "memoryTraffic": (
            "Each row of 4,096 fp32 elements is read once from HBM and written once, 32 KiB in all, "
            "because a block keeps the whole row in registers; the version with three passes would "
            "read it three times."
        ),
        "tiling": (
            "BLOCK_M=128, BLOCK_N=64, D=128. SMEM: Q 32 KiB, K and V 2 stages x 32 KiB, 96 of 113 "
            "KiB. Outer loop over query tiles, one program each, so O needs no second visit."
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
