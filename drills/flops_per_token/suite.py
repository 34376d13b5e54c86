"""Cases for `flops_per_token`: published configurations and random ones; the three functions are asked in each."""

from typing import Any

import numpy as np

from grader.kit import Ask, Case, Exact, Play, Suite

Config = dict[str, Any]


def config(hidden: int, layers: int, heads: int, inner: int, vocab: int, tied: bool, **more: Any) -> Config:
    """The entries that every configuration has, one that does not matter, and `more`."""
    return {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": inner,
        "vocab_size": vocab,
        "tie_word_embeddings": tied,
        "rms_norm_eps": 1e-5,
        **more,
    }


CONFIGS: dict[str, Config] = {
    "Llama 3.1 8B": config(4096, 32, 32, 14_336, 128_256, False, num_key_value_heads=8),
    "Llama 3.2 1B, tied embeddings": config(2048, 16, 32, 8192, 128_256, True, num_key_value_heads=8, head_dim=64),
    "all heads their own keys": config(4096, 32, 32, 11_008, 32_000, False),
    "Llama 3.1 70B": config(8192, 80, 64, 28_672, 128_256, False, num_key_value_heads=8),
    "heads wider than the model": config(1024, 28, 16, 3072, 151_936, True, num_key_value_heads=8, head_dim=128),
    "heads narrower than the model": config(
        6144, 40, 24, 16_384, 64_000, False, num_key_value_heads=4, head_dim=128
    ),
    "tied, all heads": config(768, 12, 12, 3072, 50_257, True),
    "untied twin of it": config(768, 12, 12, 3072, 50_257, False),
    "one KV head": config(4544, 32, 71, 18_176, 65_024, False, num_key_value_heads=1, head_dim=64),
    "powers of two, a whole quotient": config(2048, 16, 16, 8192, 32_768, False, num_key_value_heads=4),
    "a large one": config(16_384, 126, 128, 53_248, 128_256, False, num_key_value_heads=8),
}
RANDOM = ("random, tied", "random, untied", "random, head_dim given", "random, all heads")
SHOWN = 3


def drawn(about: str, rng: np.random.Generator) -> Config:
    """A configuration with sizes that no model has."""
    kv_heads, group = int(rng.integers(2, 9)), int(rng.integers(2, 9))
    heads = kv_heads if about.endswith("all heads") else kv_heads * group
    more: Config = {} if about.endswith("all heads") else {"num_key_value_heads": kv_heads}
    if about.endswith("given"):
        more["head_dim"] = 8 * int(rng.integers(5, 40))
    hidden = heads * 8 * int(rng.integers(5, 30))
    inner, vocab = 8 * int(rng.integers(100, 4000)), int(rng.integers(10_000, 200_000))
    return config(hidden, int(rng.integers(5, 120)), heads, inner, vocab, about == "random, tied", **more)


def play(case: Case, rng: np.random.Generator) -> Play:
    given = CONFIGS[case.about] if case.about in CONFIGS else drawn(case.about, rng)
    yield Ask("matmul_flops", (given,), (Exact("result of matmul_flops"),))
    for context in (1, 4096, int(rng.integers(5000, 200_000))):
        yield Ask("attention_flops", (given, context), (Exact("result of attention_flops"),))
    yield Ask("break_even_context", (given,), (Exact("result of break_even_context"),))


def matrices(given: Config) -> list[tuple[int, int]]:
    """The shapes of all matrices that a token is multiplied with, one by one."""
    hidden, inner = given["hidden_size"], given["intermediate_size"]
    dim = given["head_dim"] if "head_dim" in given else hidden // given["num_attention_heads"]
    q = dim * given["num_attention_heads"]
    kv = dim * given["num_key_value_heads"] if "num_key_value_heads" in given else q
    layer = [
        (q, hidden),
        (kv, hidden),
        (kv, hidden),
        (hidden, q),
        (inner, hidden),
        (inner, hidden),
        (hidden, inner),
    ]
    layers = int(given["num_hidden_layers"])
    return layer * layers + [(given["vocab_size"], hidden)]


def matmul_one_by_one(given: Config) -> int:
    return sum(2 * rows * cols for rows, cols in matrices(given))


def attention_by_head(given: Config, context: int) -> int:
    """Per layer and query head: a dot product with each key, then each value times its weight, added up."""
    dim = given["head_dim"] if "head_dim" in given else given["hidden_size"] // given["num_attention_heads"]
    return sum(
        2 * dim * context + 2 * context * dim
        for _ in range(given["num_hidden_layers"])
        for _ in range(given["num_attention_heads"])
    )


def break_even_by_search(given: Config) -> int:
    """Halving an interval that holds the answer."""
    low, high = 0, 1 << 40
    while high - low > 1:
        middle = (low + high) // 2
        if attention_by_head(given, middle) >= matmul_one_by_one(given):
            high = middle
        else:
            low = middle
    return high


SUITE = Suite(
    axes=(),
    cases=tuple(
        Case(
            about,
            "tied" if "tied" in about and "untied" not in about else "untied",
            {},
            about=about,
            visible=i < SHOWN,
        )
        for i, about in enumerate((*CONFIGS, *RANDOM))
    ),
    play=play,
    probes=(),
    independent={
        "matmul_flops": matmul_one_by_one,
        "attention_flops": attention_by_head,
        "break_even_context": break_even_by_search,
    },
)
