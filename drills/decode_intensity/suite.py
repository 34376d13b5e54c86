"""Cases for `decode_intensity`: each names one operation; hidden ones have other sizes, some drawn at random."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from grader.kit import Argument, Ask, Case, Output, Play, Suite, Tolerance, Values, tolerance

Config = dict[str, Any]


def heads(hidden: int, query: int, **more: Any) -> Config:
    return {"hidden_size": hidden, "num_hidden_layers": 40, "num_attention_heads": query, **more}


def latent(query: int, rank: int, rope: int, **more: Any) -> Config:
    kv = more.pop("num_key_value_heads", query)
    return heads(56 * query, query, num_key_value_heads=kv, kv_lora_rank=rank, qk_rope_head_dim=rope, **more)


GEMM: dict[str, tuple[int, int, int]] = {
    "1 vector, 4096 × 4096": (1, 4096, 4096),
    "64 vectors, 4096 × 4096": (64, 4096, 4096),
    "8 vectors, 14,336 × 4096": (8, 14_336, 4096),
    "256 vectors, 1024 × 8192": (256, 1024, 8192),
    "4096 vectors, 1024 × 1024": (4096, 1024, 1024),
    "1 vector, 1 × 1": (1, 1, 1),
    "3 vectors, 5 × 7": (3, 5, 7),
    "1 vector to a vocabulary": (1, 128_256, 4096),
}
ATTENTION: dict[str, Config] = {
    "64 query and 8 KV heads of 128": heads(8192, 64, num_key_value_heads=8),
    "32 heads, all their own keys": heads(4096, 32),
    "71 query heads, one KV head": heads(4544, 71, num_key_value_heads=1, head_dim=64),
    "groups of 8 in a 1-byte cache": heads(8192, 64, num_key_value_heads=8, bytes_per_element=1),
    "groups of 5, head_dim given": heads(5120, 40, num_key_value_heads=8, head_dim=192),
    "own keys, 4-byte cache": heads(1024, 16, bytes_per_element=4),
}
LATENT: dict[str, Config] = {
    "DeepSeek-V3": latent(128, 512, 64),
    "16 heads over 512 + 64": latent(16, 512, 64),
    "40 heads over 256 + 32": latent(40, 256, 32, head_dim=96),
    "8 heads, as much rope as latent": latent(8, 128, 128),
    "24 heads, said to have 1 KV head": latent(24, 384, 48, num_key_value_heads=1),
    "20 heads, 1 byte elsewhere": latent(20, 320, 32, bytes_per_element=1),
}
RANDOM = {"a random product": GEMM, "random heads": ATTENTION, "random latent heads": LATENT}
SHOWN = {
    "1 vector, 4096 × 4096",
    "64 vectors, 4096 × 4096",
    "64 query and 8 KV heads of 128",
    "32 heads, all their own keys",
    "DeepSeek-V3",
}


def drawn(about: str, rng: np.random.Generator) -> Any:
    """Sizes that nobody has written down."""
    if RANDOM[about] is GEMM:
        return int(rng.integers(2, 300)), int(rng.integers(50, 9000)), int(rng.integers(50, 9000))
    kv, group = int(rng.integers(2, 9)), int(rng.integers(3, 12))
    if RANDOM[about] is ATTENTION:
        return heads(kv * group * 64, kv * group, num_key_value_heads=kv, bytes_per_element=int(rng.integers(1, 5)))
    return latent(kv * group, 8 * int(rng.integers(20, 90)), 4 * int(rng.integers(3, 40)))


def play(case: Case, rng: np.random.Generator) -> Play:
    tables: dict[str, Any] = {**GEMM, **ATTENTION, **LATENT}
    given = tables[case.about] if case.about in tables else drawn(case.about, rng)
    args: tuple[Argument, ...] = given if isinstance(given, tuple) else (given,)
    yield Ask(f"{case.family}_intensity", args, (Output("result", (), "fp64", near),))


def near(expected: Values, inputs: Sequence[Values]) -> Tolerance:
    return tolerance(
        expected,
        relative=1e-9,
        absolute=0.0,
        dtype="fp64",
        because="the statement allows one part in a billion: one division of exact counts errs by far less",
    )


def gemm_by_fraction(batch: int, rows: int, cols: int) -> float:
    """Bytes per FLOP, term by term, turned over at the end."""
    return float(1 / (Fraction(1, batch) + Fraction(1, rows) + Fraction(1, cols)))


def attention_by_group(config: Config) -> float:
    """Two FLOPs per number read and query head that uses it."""
    kv = config.get("num_key_value_heads") or config["num_attention_heads"]
    return float(Fraction(2 * config["num_attention_heads"], kv * config.get("bytes_per_element", 2)))


def latent_by_share(config: Config) -> float:
    """One FLOP per byte and head for the scores, and the latent share of that for the sums."""
    rank, rope = config["kv_lora_rank"], config["qk_rope_head_dim"]
    return float(config["num_attention_heads"] * (1 + Fraction(rank, rank + rope)))


FAMILIES = (("gemm", GEMM), ("attention", ATTENTION), ("mla", LATENT))
SUITE = Suite(
    axes=(),
    cases=tuple(
        Case(about, family, {}, about=about, visible=about in SHOWN)
        for family, table in FAMILIES
        for about in (*table, *(name for name, of in RANDOM.items() if of is table))
    ),
    play=play,
    probes=(),
    independent={
        "gemm_intensity": gemm_by_fraction,
        "attention_intensity": attention_by_group,
        "mla_intensity": latent_by_share,
    },
)
