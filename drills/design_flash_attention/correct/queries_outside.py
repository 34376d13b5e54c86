"""Queries outside, keys in two stages: the second version of the paper on a smaller machine."""


def designOutline() -> dict[str, str]:
    return {
        "memoryTraffic": (
            "Q is read once and O written once, 2 MiB each. K and V are read once per query tile: "
            "with 128 queries a tile and a causal mask that is 64 · 2 MiB · 2 / 2 = 128 MiB a "
            "head from the cache hierarchy, of which HBM sees little as long as the 4 MiB of a "
            "head stay in L2. Scores never leave the chip, so 128 MiB written and read again are "
            "saved; FLOPs are not."
        ),
        "tiling": (
            "128 queries (32 KiB of bf16) stay in shared memory for the whole of a program; K and "
            "V come in tiles of 64 keys, 16 KiB each, two stages of both: 32 + 4 · 16 = 96 KiB of "
            "the 113. The query loop is outside, one program per tile and head, because then O is "
            "written once; with keys outside it would be read and written for each key tile. "
            "Accumulator 128 × 128 and scores 128 × 64 in fp32 are 96 registers a thread at 256."
        ),
        "numericalStability": (
            "Running maximum, sum and accumulator of each row are fp32; when a tile raises the "
            "maximum, sum and accumulator are both multiplied by exp(m_old − m_new), the division "
            "comes once at the end. Masked lanes get −inf before the maximum; a row that saw no "
            "key has sum 0 and returns zeros, with 0 subtracted instead of −inf so that no NaN "
            "arises."
        ),
        "failureMode": (
            "If the accumulator misses its rescale, one tile is exact and the error appears with "
            "65 keys, growing with scores that rise from tile to tile; falling scores hide it. "
            "Test with 1, 63, 65 and 1,025 keys on rising scores against float64, tolerance 2e-5, "
            "below what a half-precision state loses."
        ),
    }
