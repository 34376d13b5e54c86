"""Cases for `roofline_ranking`: batches below, at and above the group, for several groupings of heads."""

from typing import Any

import numpy as np

from grader.kit import Ask, Case, Exact, Play, Suite

Config = dict[str, Any]


def config(query: int, kv: int | None, **more: Any) -> Config:
    given: Config = {"hidden_size": 128 * query, "num_hidden_layers": 40, "num_attention_heads": query, **more}
    return given if kv is None else given | {"num_key_value_heads": kv}


GIVEN: dict[str, tuple[int, Config]] = {
    "batch 1, own keys": (1, config(32, None)),
    "batch 4, groups of 4": (4, config(32, 8)),
    "batch 3, groups of 4": (3, config(32, 8)),
    "batch 5, groups of 4": (5, config(32, 8)),
    "batch 1, groups of 8": (1, config(64, 8)),
    "batch 7, groups of 8": (7, config(64, 8)),
    "batch 8, groups of 8": (8, config(64, 8)),
    "batch 9, groups of 8": (9, config(64, 8)),
    "batch 64, groups of 8": (64, config(64, 8)),
    "batch 2, own keys": (2, config(40, None)),
    "batch 2, own keys, said so": (2, config(40, 40)),
    "batch 70, one KV head": (70, config(71, 1)),
    "batch 71, one KV head": (71, config(71, 1)),
    "batch 72, one KV head": (72, config(71, 1)),
    "batch 1, own keys, said so": (1, config(16, 16)),
    "batch 4, 16 KV heads of 32": (4, config(32, 16)),
    "batch 1000, groups of 16": (1000, config(128, 8)),
}
RANDOM = ("a random batch below the group", "a random group, met by the batch", "a random batch above the group")
SHOWN = 3


def drawn(about: str, rng: np.random.Generator) -> tuple[int, Config]:
    kv, group = int(rng.integers(2, 12)), int(rng.integers(3, 20))
    batch = {"below": int(rng.integers(2, group)), "above": group + int(rng.integers(1, 9))}
    return batch.get(about.split()[3], group), config(kv * group, kv)


def play(case: Case, rng: np.random.Generator) -> Play:
    batch, given = GIVEN[case.about] if case.about in GIVEN else drawn(case.about, rng)
    yield Ask("ranking", (batch, given), (Exact("result"),))


MATRICES = ("qkv_proj", "o_proj", "gate_up_proj", "down_proj", "lm_head")
ORDER = (
    *("embedding", "rms_norm", "qkv_proj", "rotary", "attention", "o_proj"),
    *("residual_add", "gate_up_proj", "silu_product", "down_proj", "lm_head"),
)


def by_insertion(batch: int, given: Config) -> list[str]:
    """The fixed ones in their fixed order, then each other one put before the first that is less intense.

    All intensities in units of 1/12 FLOP/B, so that they are ints.
    """
    kv = given["num_key_value_heads"] if "num_key_value_heads" in given else given["num_attention_heads"]
    twelfths = {"rms_norm": 12, "silu_product": 10, "rotary": 9, "residual_add": 2, "embedding": 0}
    twelfths |= dict.fromkeys(MATRICES, 12 * batch)
    twelfths["attention"] = 12 * (given["num_attention_heads"] // kv)
    ranked: list[str] = []
    for name in ORDER:
        at = next((i for i, other in enumerate(ranked) if twelfths[other] < twelfths[name]), len(ranked))
        ranked.insert(at, name)
    return ranked


def family(about: str) -> str:
    """How the batch compares with the group."""
    if about not in GIVEN:
        return "tie" if "met" in about else about.split()[3]
    batch, given = GIVEN[about]
    group = given["num_attention_heads"] // given.get("num_key_value_heads", given["num_attention_heads"])
    return "tie" if batch == group else "below" if batch < group else "above"


SUITE = Suite(
    axes=(),
    cases=tuple(
        Case(about, family(about), {}, about=about, visible=i < SHOWN) for i, about in enumerate((*GIVEN, *RANDOM))
    ),
    play=play,
    probes=(),
    independent={"ranking": by_insertion},
)
