"""Each value is a few words.

ask: What happens, how much of it, and why?
expect: wrong_answer
"""


def designOutline():
    return {
        "memoryTraffic": "Only 8 MiB from HBM.",
        "tiling": "Tiles of 128 by 64.",
        "numericalStability": "fp32 max, sum, accumulator.",
        "failureMode": "Drift; test 65 keys.",
    }
