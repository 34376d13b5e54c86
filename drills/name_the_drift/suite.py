"""Cases for `name_the_drift`: attention kernels behind a wall, one alone where visible, four in unknown order else.

A hidden case asks for all four names, in an order drawn from the secret seed: an answer that depends on the number
of a call, and not on what the kernel does, is right once in 24.
"""

from dataclasses import dataclass, replace

import numpy as np

from grader.kit import Ask, BadCall, Case, Exact, Play, Raw, Served, Suite, as_matrix, rounded

CALLS = 12
MOST_QUERIES, MOST_KEYS, MOST_COLUMNS = 16, 2048, 64
NAMES = ("healthy", "missing_rescale", "low_precision_state", "phantom_tail")
MISSING, LOW, PHANTOM = 1, 2, 3
TILES = (16, 32, 64, 128)


@dataclass(frozen=True)
class Kernel:
    """Attention over keys in tiles: float32, but for what its fault says."""

    fault: str
    tile: int = 32
    part: str = "both"  # which of "acc" and "sum" misses its rescale, or is kept in a narrow type
    narrow: str = "fp16"  # that type
    lanes: int = 128  # phantom lanes of the last tile, at most
    weights: str = "fp32"  # the type of the weights in the second product: no fault
    backwards: bool = False  # from the last tile to the first: no fault

    def __call__(self, q: object, k: object, v: object) -> Raw:
        """The result, float32 ``[Sq, D]``. Raises `BadCall`."""
        queries, keys, values = _checked(as_matrix(q, "q"), as_matrix(k, "k"), as_matrix(v, "v"))
        return np.ascontiguousarray(self.all_four(queries, keys, values)[NAMES.index(self.fault)])

    def all_four(self, q: Raw, k: Raw, v: Raw) -> Raw:
        """What a kernel of each name gives, ``[4, Sq, D]``. All are computed, so that the time tells nothing."""
        n, tile, root = len(k), self.tile, np.float32(np.sqrt(q.shape[1]))
        count = -(-n // tile)
        k, v = (np.concatenate([part, np.zeros((count * tile - n, part.shape[1]), np.float32)]) for part in (k, v))
        mask = np.where(np.arange(count * tile) < n, np.float32(0), np.float32(-np.inf))
        masks = np.stack([mask] * 4)
        masks[PHANTOM, n : n + self.lanes] = 0.0  # a lane without a key scores 0, and counts
        m = np.full((4, len(q)), -np.inf, np.float32)
        total, acc = np.zeros((4, len(q)), np.float32), np.zeros((4, *q.shape), np.float32)
        for number in reversed(range(count)) if self.backwards else range(count):
            at = slice(number * tile, (number + 1) * tile)
            scores = (q @ k[at].T / root)[None] + masks[:, None, at]
            top = np.maximum(m, scores.max(axis=-1))
            weights = np.exp(scores - top[..., None])
            for_sum = np.exp(m - top)
            for_acc = for_sum.copy()
            if self.part != "acc":
                for_sum[MISSING] = 1.0
            if self.part != "sum":
                for_acc[MISSING] = 1.0
            total = total * for_sum + weights.sum(axis=-1)
            acc = acc * for_acc[..., None] + _as(weights, self.weights) @ v[at]
            kept = _as(total[LOW], self.narrow), _as(acc[LOW], self.narrow)
            if self.part != "acc":
                total[LOW] = kept[0]
            if self.part != "sum":
                acc[LOW] = kept[1]
            m = top
        return acc / total[..., None]


def _as(values: Raw, dtype: str) -> Raw:
    """`values` rounded to `dtype`, as float32."""
    return values if dtype == "fp32" else rounded(values, dtype).astype(np.float32)


def _checked(q: Raw, k: Raw, v: Raw) -> tuple[Raw, Raw, Raw]:
    if not (q.shape[1] == k.shape[1] == v.shape[1] and len(k) == len(v)):
        raise BadCall("ValueError", f"q [Sq, D], k and v [Sk, D] do not fit: {q.shape}, {k.shape}, {v.shape}")
    if len(q) > MOST_QUERIES or len(k) > MOST_KEYS or q.shape[1] > MOST_COLUMNS:
        raise BadCall(
            "ValueError", f"at most {MOST_QUERIES} queries, {MOST_KEYS:,} keys and {MOST_COLUMNS} columns"
        )
    return q, k, v


ALONE = {
    "a healthy kernel, tiles of 32, weights in fp16": Kernel("healthy", weights="fp16"),
    "no rescale of the accumulator, tiles of 16": Kernel("missing_rescale", tile=16, part="acc"),
    "state in fp16, tiles of 64": Kernel("low_precision_state", tile=64),
    "a phantom tail, tiles of 32": Kernel("phantom_tail"),
}
FOUR = {
    "tiles of 16": Kernel("healthy", tile=16),
    "tiles of 128": Kernel("healthy", tile=128),
    "only the sum": Kernel("healthy", tile=64, part="sum"),
    "only the accumulator": Kernel("healthy", part="acc", narrow="bf16"),
    "both parts, state in bf16": Kernel("healthy", tile=64, narrow="bf16"),
    "backwards, tiles of 16": Kernel("healthy", tile=16, backwards=True, part="sum"),
    "backwards, tiles of 64": Kernel("healthy", tile=64, backwards=True),
    "weights in bf16": Kernel("healthy", tile=128, weights="bf16", part="acc"),
    "weights in fp16, one phantom lane": Kernel("healthy", weights="fp16", lanes=1),
    "one phantom lane of 128": Kernel("healthy", tile=128, lanes=1, part="sum"),
}
RANDOM = ("four at random", "four more at random")


def play(case: Case, rng: np.random.Generator) -> Play:
    if case.about in ALONE:
        yield ask(ALONE[case.about])
        return
    for name in rng.permutation(NAMES):
        yield ask(replace(FOUR.get(case.about) or drawn(rng), fault=str(name)))


def drawn(rng: np.random.Generator) -> Kernel:
    return Kernel(
        "healthy",
        tile=int(rng.choice(TILES)),
        part=str(rng.choice(["both", "acc", "sum"])),
        narrow=str(rng.choice(["fp16", "bf16"])),
        lanes=int(rng.choice([1, 2, 128])),
        weights=str(rng.choice(["fp32", "fp16", "bf16"])),
        backwards=bool(rng.integers(2)),
    )


def ask(kernel: Kernel) -> Ask:
    served = Served(kernel, CALLS, ("q", "k", "v"), most_bytes=1 << 22)
    return Ask("diagnose", (served,), (Exact("name"),))


def by_measurement(kernel: Kernel) -> str:
    """Three calls, each on inputs that all faults but one leave alone.

    One column, one query of 1: the scores are the keys. A key that stands out is first and last, so that the
    maximum comes in the first tile from either end.
    """
    one = np.ones((1, 1), np.float32)

    def result(scores: Raw, values: Raw) -> float:
        return float(kernel(one, scores.reshape(-1, 1), values.reshape(-1, 1))[0, 0])

    # Whole tiles, no new maximum. 2⁻²⁰ is a weight in any type, and lost when added to 1 in a narrow one.
    scores, values = np.full(MOST_KEYS, -20 * np.log(2.0)), np.full(MOST_KEYS, -1.0)
    scores[[0, -1]], values[[0, -1]] = 0.0, 1.0
    small = (MOST_KEYS - 2) * 2.0**-20
    if not abs(result(scores, values) - (2 - small) / (2 + small)) <= 1e-4:
        return "low_precision_state"
    # Equal scores, one key past a tile: a lane that counts has e⁸ times the weight of a key.
    if not abs(result(np.full(129, -8.0), np.ones(129)) - 1.0) <= 1e-2:
        return "phantom_tail"
    # Whole tiles again, the maximum in the middle: new ones come from either end.
    away = np.abs(np.arange(1024) - 512)
    scores, values = -away / 32.0, np.where(away < 128, 3.0, 1.0)
    weights = np.exp(scores)
    if not abs(result(scores, values) - float(weights @ values / weights.sum())) <= 0.05:
        return "missing_rescale"
    return "healthy"


SUITE = Suite(
    axes=(),
    cases=(
        *(Case(about, "alone", {}, about=about, visible=True) for about in ALONE),
        *(Case(about, "four", {}, about=about) for about in (*FOUR, *RANDOM)),
    ),
    play=play,
    probes=(),
    independent={"diagnose": by_measurement},
)
