"""Cases for `kv_cache_bytes`: configurations of published models, and random ones that nobody published."""

from typing import Any

import numpy as np

from grader.kit import Ask, Case, Exact, Play, Suite

Config = dict[str, Any]


def config(hidden: int, layers: int, heads: int, **more: Any) -> Config:
    """The entries that every configuration has, some that do not matter here, and `more`."""
    return {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": 7 * hidden // 2,
        "vocab_size": 128_256,
        "max_position_embeddings": 131_072,
        **more,
    }


CONFIGS: dict[str, Config] = {
    "Llama 3.1 8B": config(4096, 32, 32, num_key_value_heads=8),
    "Llama 2 7B, no num_key_value_heads": config(4096, 32, 32),
    "71 query heads and one KV head": config(4544, 32, 71, num_key_value_heads=1, head_dim=64),
    "DeepSeek-V3": config(
        7168, 61, 128, num_key_value_heads=128, kv_lora_rank=512, qk_rope_head_dim=64, qk_nope_head_dim=128
    ),
    "Llama 3.1 70B": config(8192, 80, 64, num_key_value_heads=8),
    "the same with a 1-byte cache": config(8192, 80, 64, num_key_value_heads=8, bytes_per_element=1),
    "175 billion, all heads": config(12_288, 96, 96),
    "head_dim above hidden_size // heads": config(1024, 28, 16, num_key_value_heads=8, head_dim=128),
    "head_dim below hidden_size // heads": config(6144, 40, 24, num_key_value_heads=4, head_dim=128),
    "head_dim without num_key_value_heads": config(3584, 42, 16, head_dim=256),
    "one KV head in 4-byte numbers": config(2048, 18, 8, num_key_value_heads=1, bytes_per_element=4),
    "a small latent model": config(
        2048, 27, 16, num_key_value_heads=16, head_dim=128, kv_lora_rank=512, qk_rope_head_dim=64
    ),
    "a latent model with another rope": config(
        5120, 60, 40, kv_lora_rank=256, qk_rope_head_dim=32, bytes_per_element=1
    ),
}
RANDOM = {
    "random, all heads": "mha",
    "random, grouped heads": "gqa",
    "random, one KV head": "mqa",
    "random, latent": "mla",
}
SHOWN = 4


def drawn(kind: str, rng: np.random.Generator) -> Config:
    """A configuration with sizes that no model has, keys absent at random."""
    groups = int(rng.integers(2, 9))
    kv_heads = 1 if kind == "mqa" else int(rng.integers(2, 12))
    heads = kv_heads if kind == "mha" else kv_heads * groups
    more: Config = {} if kind == "mha" else {"num_key_value_heads": kv_heads}
    if rng.random() < 0.5:
        more["head_dim"] = int(rng.integers(3, 40)) * 8
    if rng.random() < 0.5:
        more["bytes_per_element"] = int(rng.choice([1, 4]))
    if kind == "mla":
        more |= {"kv_lora_rank": int(rng.integers(5, 80)) * 8, "qk_rope_head_dim": int(rng.integers(1, 16)) * 4}
    return config(heads * int(rng.integers(3, 40)) * 8, int(rng.integers(5, 130)), heads, **more)


def play(case: Case, rng: np.random.Generator) -> Play:
    given = CONFIGS[case.about] if case.about in CONFIGS else drawn(RANDOM[case.about], rng)
    yield Ask("bytes_per_token", (given,), (Exact("result"),))


def by_counting(given: Config) -> int:
    """Counted layer by layer: the lengths of the vectors that a layer stores, then their bytes."""
    stored = 0
    for _ in range(given["num_hidden_layers"]):
        if given.get("kv_lora_rank"):
            vectors = [given["kv_lora_rank"], given["qk_rope_head_dim"]]
        else:
            dim = given["head_dim"] if "head_dim" in given else given["hidden_size"] // given["num_attention_heads"]
            vectors = [dim] * 2 * int(given.get("num_key_value_heads") or given["num_attention_heads"])
        stored += sum(vectors)
    return stored * int(given.get("bytes_per_element", 2))


SUITE = Suite(
    axes=(),
    cases=tuple(
        Case(
            about, "latent" if "laten" in about or "Deep" in about else "heads", {}, about=about, visible=i < SHOWN
        )
        for i, about in enumerate((*CONFIGS, *RANDOM))
    ),
    play=play,
    probes=(),
    independent={"bytes_per_token": by_counting},
)
