"""Values that are dictionaries and lists: texts with numbers beside them."""


def designOutline():
    return {
        "memoryTraffic": {
            "what": "Q and O cross HBM once, K and V once for every group of four query heads that share them",
            "why": "the group is packed into one program, so that a key tile is loaded once instead of four times",
            "bytes per group": 4 * (2 + 2) * 2**20 + 256 * 4 * 2**20,
        },
        "tiling": [
            "32 positions of four heads make a query tile of 128 rows, 32 KiB",
            "keys and values in tiles of 64, two stages, 64 KiB together; the rest of 113 KiB stays free",
            "the loop over keys is inside, since the accumulator of 128 x 128 lives in registers",
        ],
        "numericalStability": [
            "the maximum and sum of a row are fp32, so is the accumulator, which takes the factor exp(old - new)",
            "weights are rounded to bf16 for the second product only; their sum is taken before",
            "a row that sees nothing must return 0, so the maximum is replaced by 0 where it is -inf",
        ],
        "failureMode": {
            "fault": "the causal mask uses the row of the packed tile instead of the position, which is row // 4",
            "shows": "rows of the second to fourth head see keys of the future, from the first tile on",
            "test": "two positions with values that differ: compare with float64; key 1 has no weight in row 0",
        },
        "prefill only": True,
    }
