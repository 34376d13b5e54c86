"""Sentences that would be true of any kernel.

ask: Which sentence of yours would be false for another design?
expect: wrong_answer
"""


def designOutline():
    return {
        "memoryTraffic": (
            "We use efficient techniques so that the kernel is as fast as possible and needs as "
            "little as it can, which is 2 times better."
        ),
        "tiling": (
            "The problem is divided into smaller pieces that are chosen so that the hardware is used "
            "in the best possible way at 100 percent."
        ),
        "numericalStability": (
            "We take care that all results are stable and correct, because that is important for the "
            "quality of a model in 2 ways."
        ),
        "failureMode": (
            "If something goes wrong, we test it and then we fix it, so that it does not happen twice "
            "to anyone."
        ),
    }
