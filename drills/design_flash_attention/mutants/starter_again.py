"""The starter with other punctuation.

ask: The page says what each value answers. What is the answer?
expect: wrong_answer
"""


def designOutline():
    return {
        "memoryTraffic": (
            "Which tensors cross HBM; how often; and how many bytes that is for one head: 8 MiB."
        ),
        "tiling": (
            "Tile shapes for queries and keys, what each occupies, which loop is outside, and why: "
            "128."
        ),
        "numericalStability": (
            "What is kept between tiles, in which precision (fp32), and what a row without keys "
            "returns."
        ),
        "failureMode": (
            "One fault or trade-off of this design, how it would show, and the test that catches it: "
            "65 keys."
        ),
    }
