"""The traffic is named, neither counted nor argued.

ask: How many bytes are these for one head, and what would they be without your decision?
expect: wrong_answer
"""


def designOutline():
    return {
        "memoryTraffic": (
            "We use SRAM for the tiles and HBM for the tensors, in a way that is good for the "
            "bandwidth of the kernel."
        ),
        "tiling": (
            "BLOCK_M=128, BLOCK_N=64, D=128. SMEM: Q 32 KiB, K and V 2 stages x 32 KiB, 96 of 113 "
            "KiB. Outer loop over query tiles, one program each, so O needs no second visit."
        ),
        "numericalStability": (
            "m, l and acc in fp32; on a new max both l and acc take exp2(m - m_new). Masked "
            "scores become -inf before the max. Rows with l == 0 write zeros."
        ),
        "failureMode": (
            "A tail tile whose lanes are not masked adds exp(0 - m) per lane: invisible at "
            "multiples of 64, worst at 64n+1 with scores near -8. Test 65 keys of score -8 "
            "against float64."
        ),
    }
