"""An outline of fused attention: four texts. Each is to name a mechanism, a quantity and a decision."""


def designOutline():
    return {
        "memoryTraffic": "which tensors cross HBM, how often, and how many bytes that is for one head",
        "tiling": "tile shapes for queries and keys, what each occupies, which loop is outside and why",
        "numericalStability": "what is kept between tiles, in which precision, and what a row without keys returns",
        "failureMode": "one fault or trade-off of this design, how it would show, and the test that catches it",
    }
