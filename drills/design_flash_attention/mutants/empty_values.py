"""The keys are there, the values are not.

ask: Which of the four could you write two sentences about without looking anything up?
expect: wrong_answer
"""


def designOutline():
    return {
        "memoryTraffic": "",
        "tiling": "",
        "numericalStability": "",
        "failureMode": "",
    }
