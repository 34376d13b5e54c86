"""One sentence, over and over.

ask: If every sentence but the first were struck out, what would be lost?
expect: wrong_answer
"""


def designOutline():
    return {
        "memoryTraffic": (
            "We keep tiles of 64 keys in SRAM. We keep tiles of 64 keys in SRAM. We keep tiles of 64 "
            "keys in SRAM. We keep tiles of 64 keys in SRAM. We keep tiles of 64 keys in SRAM. We "
            "keep tiles of 64 keys in SRAM. We keep tiles of 64 keys in SRAM. We keep tiles of 64 "
            "keys in SRAM. We keep tiles of 64 keys in SRAM. memoryTraffic"
        ),
        "tiling": (
            "We keep tiles of 64 keys in SRAM. We keep tiles of 64 keys in SRAM. We keep tiles of 64 "
            "keys in SRAM. We keep tiles of 64 keys in SRAM. We keep tiles of 64 keys in SRAM. We "
            "keep tiles of 64 keys in SRAM. We keep tiles of 64 keys in SRAM. We keep tiles of 64 "
            "keys in SRAM. We keep tiles of 64 keys in SRAM. tiling"
        ),
        "numericalStability": (
            "We keep tiles of 64 keys in SRAM. We keep tiles of 64 keys in SRAM. We keep tiles of 64 "
            "keys in SRAM. We keep tiles of 64 keys in SRAM. We keep tiles of 64 keys in SRAM. We "
            "keep tiles of 64 keys in SRAM. We keep tiles of 64 keys in SRAM. We keep tiles of 64 "
            "keys in SRAM. We keep tiles of 64 keys in SRAM. numericalStability"
        ),
        "failureMode": (
            "We keep tiles of 64 keys in SRAM. We keep tiles of 64 keys in SRAM. We keep tiles of 64 "
            "keys in SRAM. We keep tiles of 64 keys in SRAM. We keep tiles of 64 keys in SRAM. We "
            "keep tiles of 64 keys in SRAM. We keep tiles of 64 keys in SRAM. We keep tiles of 64 "
            "keys in SRAM. We keep tiles of 64 keys in SRAM. failureMode"
        ),
    }
