"""The drills without a kernel of their own: what their statements work out by hand, and what their files promise.

That every specimen meets its verdict is the publication gate's work.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from math import e, exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader import hints
from grader.drill import Drill, load_drills
from grader.drill_kit import to_e4m3
from grader.kit import Output, Placed, faults_of, generator
from grader.matrix import digest
from grader.specimens import LEAST_CORRECT, read_specimens
from grader.suite import load_answers

DRILLS = Path(__file__).parents[2] / "drills"
IDS = (
    "attention_backward",
    "cached_attention",
    "chunked_causal_mask",
    "decode_intensity",
    "flops_per_token",
    "fp8_attention",
    "kv_cache_bytes",
    "online_softmax_tile",
    "roofline_ranking",
    "selective_dispatch",
    "split_kv_decode",
    "tensor_parallel_plan",
)
LLAMA_8B: dict[str, Any] = {
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14_336,
    "vocab_size": 128_256,
    "tie_word_embeddings": False,
}


@cache
def drill(name: str) -> Drill:
    return load_drills(DRILLS)[name]


def right(name: str, entry: str) -> Callable[..., Any]:
    """The reference of one entry of one drill."""
    return load_answers(drill(name)).reference[entry]


def said(name: str, *texts: str) -> None:
    """All of these numbers stand in the statement, as they are written there."""
    plain = drill(name).statement.replace("{,}", ",")
    assert [text for text in texts if text not in plain] == []


@pytest.mark.parametrize("name", IDS)
def test_every_part_is_there(name: str) -> None:
    mutants = [one for one in read_specimens(drill(name))[0] if one.kind == "mutant"]
    assert len(mutants) >= 6 and len({one.ask for one in mutants}) == len(mutants)
    assert len(list((drill(name).folder / "correct").glob("*.py"))) >= LEAST_CORRECT
    assert len(drill(name).hints) == 3 and drill(name).objectives and drill(name).out_of_scope
    assert faults_of(load_answers(drill(name)).suite) == []
    stored = hints.load_matrix(drill(name).folder)
    assert stored is not None and stored.inputs == digest(drill(name))


@pytest.mark.parametrize("name", IDS)
def test_links_lead_to_what_exists(name: str) -> None:
    content = DRILLS.parent / "content"
    linked = re.findall(r"\]\(/(cards|questions)/([a-z0-9-]+)\)", drill(name).statement)
    linked += [("cards", card) for card in drill(name).cards]
    linked += [("questions", question) for question in drill(name).questions]
    folders = {"cards": "concepts", "questions": "questions"}
    assert linked and drill(name).questions
    assert [item for kind, item in linked if not (content / folders[kind] / f"{item}.md").exists()] == []


@pytest.mark.parametrize("name", IDS)
def test_the_statement_names_every_entry(name: str) -> None:
    for entry in drill(name).entries:
        assert f"def {entry.name}(" in drill(name).statement


def test_prerequisites_come_from_easier_drills_and_begin_somewhere() -> None:
    drills = load_drills(DRILLS)
    levels = ("Foundational", "Core", "Advanced")
    for one in drills.values():
        for need in one.needs:
            assert levels.index(drills[need].level) <= levels.index(one.level), (one.id, need)
    assert {"online_softmax_tile", "chunked_causal_mask", "kv_cache_bytes"} <= {
        d.id for d in drills.values() if not d.needs
    }


def test_online_softmax_by_hand() -> None:
    update, finish = right("online_softmax_tile", "update"), right("online_softmax_tile", "finish")
    state = np.array([-np.inf]), np.zeros(1), np.zeros((1, 1))
    for scores, values in (([1.0, 3.0], [10.0, 20.0]), ([7.0, -2.0], [30.0, 40.0])):
        state = update(*state, np.array([scores]), np.array([values]).T)
        said("online_softmax_tile", f"{state[1][0]:.6f}", f"{state[2][0, 0]:.6f}")
    said("online_softmax_tile", f"{finish(*state)[0, 0]:.6f}", f"{exp(-4):.6f}")
    total, acc = exp(-2) + 2 + exp(-9), 10 * exp(-2) + 50 + 40 * exp(-9)
    said("online_softmax_tile", f"{total:.6f}", f"{acc:.6f}", f"{acc / total:.6f}")


def test_split_kv_by_hand() -> None:
    partial, merge = right("split_kv_decode", "partial"), right("split_kv_decode", "merge")
    one = np.ones(1)
    shares = [
        partial(one, np.array([[0.0], [1.0]]), np.array([[10.0], [20.0]])),
        partial(one, np.array([[4.0]]), np.array([[30.0]])),
        partial(one, np.zeros((0, 1)), np.zeros((0, 1))),
    ]
    o, lse = np.array([share[0] for share in shares]), np.array([share[1] for share in shares])
    total = log(exp(lse[0]) + exp(lse[1]))
    numbers = (lse[0], o[0, 0], total, *np.exp(lse[:2] - total), merge(o, lse)[0], 1 / (exp(total) + 1))
    said("split_kv_decode", *(f"{number:.6f}" for number in numbers), f"{o.mean():.2f}")
    assert lse[0] == pytest.approx(log(1 + e))


def test_bytes_and_flops_by_hand() -> None:
    kv = right("kv_cache_bytes", "bytes_per_token")
    deepseek = {"num_hidden_layers": 61, "kv_lora_rank": 512, "qk_rope_head_dim": 64}
    said("kv_cache_bytes", f"{kv(LLAMA_8B):,}", f"{kv(deepseek):,}")
    assert kv(LLAMA_8B) * 8192 == 1 << 30
    matmul = right("flops_per_token", "matmul_flops")(LLAMA_8B)
    attention = right("flops_per_token", "attention_flops")(LLAMA_8B, 1)
    breaks_even = right("flops_per_token", "break_even_context")(LLAMA_8B)
    said("flops_per_token", f"{matmul:,}", f"{attention:,}", f"{breaks_even:,}", f"{matmul // 2:,}")
    assert matmul == attention * breaks_even


def test_intensities_by_hand() -> None:
    gemm = right("decode_intensity", "gemm_intensity")
    heads = {"hidden_size": 8192, "num_attention_heads": 64, "num_key_value_heads": 8}
    latent = {"num_attention_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64}
    assert right("decode_intensity", "attention_intensity")(heads) == 8
    mla = right("decode_intensity", "mla_intensity")(latent)
    said("decode_intensity", f"{gemm(1, 4096, 4096):.6f}", f"{gemm(64, 4096, 4096):.6f}", f"{mla:.6f}")


def test_the_ranking_flips_at_the_group() -> None:
    ranking = right("roofline_ranking", "ranking")
    config = {"num_attention_heads": 32, "num_key_value_heads": 8}
    assert ranking(3, config)[0] == "attention" and ranking(5, config)[5] == "attention"
    assert ranking(4, config)[:6] == ["qkv_proj", "attention", "o_proj", "gate_up_proj", "down_proj", "lm_head"]
    assert ranking(1, {"num_attention_heads": 8})[:2] == ["rms_norm", "qkv_proj"]


def test_the_plan_and_its_bytes_by_hand() -> None:
    sent = right("tensor_parallel_plan", "bytes_sent")
    assert sent(1, 8) == 4.375 * 2**20 and sent(7, 1) == 0
    said("tensor_parallel_plan", f"{sent(1, 8):,}", f"{sent(1, 3):,}")


def test_dispatch_by_hand() -> None:
    gain = right("selective_dispatch", "speedup")({"decode equal": 300, "chunk": 100})
    said("selective_dispatch", f"{gain:.4f}")
    assert right("selective_dispatch", "speedup")({"decode ragged": 10}) < 1


def test_the_backward_pass_by_hand_and_by_differences() -> None:
    backward = right("attention_backward", "backward")
    q, k, v = np.array([[1.0], [0.0]]), np.array([[0.0], [log(3)]]), np.array([[10.0], [20.0]])
    o, lse = forward(q, k, v, causal=False)
    dq, dk, dv = backward(q, k, v, o, lse, np.ones((2, 1)), False)
    np.testing.assert_allclose(dk[:, 0], [-1.875, 1.875])
    np.testing.assert_allclose(dv[:, 0], [0.75, 1.25])
    said("attention_backward", *(f"{number:.6f}" for number in dq[:, 0]))
    for causal in (False, True):
        differences(backward, causal)


def forward(q: Any, k: Any, v: Any, causal: bool) -> tuple[Any, Any]:
    scores = q @ k.T / q.shape[1] ** 0.5
    if causal:
        scores = np.where(np.tri(len(q), dtype=bool), scores, -np.inf)
    lse = np.logaddexp.reduce(scores, axis=1)
    return np.exp(scores - lse[:, None]) @ v, lse


def differences(backward: Callable[..., Any], causal: bool) -> None:
    """The reference against central differences of the loss, in a random direction for each input."""
    rng = np.random.default_rng(7)
    inputs = [rng.standard_normal((5, 3)) for _ in range(3)]
    do = rng.standard_normal((5, 3))
    q, k, v = inputs
    gradients = backward(q, k, v, *forward(q, k, v, causal), do, causal)
    for i, gradient in enumerate(gradients):
        step = rng.standard_normal((5, 3))
        ends = []
        for sign in (1e-5, -1e-5):
            moved = [x + sign * step if j == i else x for j, x in enumerate(inputs)]
            ends.append(float((forward(moved[0], moved[1], moved[2], causal)[0] * do).sum()))
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(float((gradient * step).sum()), rel=1e-6)


@pytest.mark.parametrize("name", ["kv_cache_bytes", "flops_per_token", "decode_intensity", "roofline_ranking"])
def test_hidden_inputs_differ_from_visible_ones_and_between_seeds(name: str) -> None:
    suite = load_answers(drill(name)).suite

    def inputs(seed: bytes, visible: bool) -> set[str]:
        chosen = [case for case in suite.cases if case.visible is visible]
        return {repr(next(suite.play(case, generator(seed, case.name))).args) for case in chosen}

    assert not inputs(b"a", visible=True) & inputs(b"a", visible=False)
    assert inputs(b"a", visible=True) == inputs(b"b", visible=True)
    assert inputs(b"a", visible=False) != inputs(b"b", visible=False)


def test_plain_fp8_fails_and_a_centred_key_passes_for_many_seeds() -> None:
    """The margin between the two must not depend on what is drawn."""
    suite = load_answers(drill("fp8_attention")).suite
    case = next(case for case in suite.cases if case.name == "24 tokens")
    for seed in range(25):
        ask = next(suite.play(case, generator(b"seed", str(seed))))
        q, k, v = (argument.values for argument in ask.args if isinstance(argument, Placed))
        exact = right("fp8_attention", "attention_fp8")(q, k, v)
        (output,) = ask.outputs
        assert isinstance(output, Output)
        allowed = output.tolerance(exact, (q, k, v))
        assert 0 < allowed.least < 0.5 * float(allowed.allowed.max())
        error = float(np.sqrt(np.mean((quantised_attention(q, k - k.mean(axis=0), v) - exact) ** 2)))
        assert allowed.least < error < 0.6 * float(allowed.allowed.max())


def quantised_attention(q: Any, k: Any, v: Any) -> Any:
    q, k, v = (to_e4m3(x / (np.abs(x).max() / 448)) * (np.abs(x).max() / 448) for x in (q, k, v))
    scores = q @ k.T / q.shape[1] ** 0.5
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return to_e4m3(weights) @ v / weights.sum(axis=1, keepdims=True)
