"""Attention data follow the axis that was asked for; the tolerance knows which errors are small."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from grader.kit import AttentionShape, attention_inputs, error_in_units, near_attention, rounded, visible_keys
from grader.kit.attention import STATE, WEIGHTS

Floats = NDArray[Any]
SHAPE = AttentionShape(batch=2, heads=4, kv_heads=2, q_len=3, kv_len=40, depth=32)


def scores(name: str, shape: AttentionShape = SHAPE) -> Floats:
    q, k, _ = attention_inputs(name, np.random.default_rng(5), shape, block=8)
    k = np.repeat(k, shape.heads // shape.kv_heads, axis=1)
    return np.asarray(q @ k.swapaxes(-1, -2) / np.sqrt(shape.depth))


def attend(q: Floats, k: Floats, v: Floats, causal: bool = False) -> Floats:
    s = np.where(visible_keys(q.shape[-2], k.shape[-2], causal=causal), q @ k.swapaxes(-1, -2), -np.inf)
    s = s / np.sqrt(q.shape[-1])
    top = s.max(-1, keepdims=True)
    w = np.exp(s - np.where(np.isneginf(top), 0, top))
    weights = np.divide(w, w.sum(-1, keepdims=True), out=np.zeros_like(w), where=w.sum(-1, keepdims=True) > 0)
    return np.asarray(weights @ v)


def test_scores_follow_the_data_axis() -> None:
    rising = scores("rising").reshape(-1, 5, 8).mean(axis=2)
    assert (np.diff(rising, axis=1) > 0).all()
    assert (np.diff(scores("falling").reshape(-1, 5, 8).mean(axis=2), axis=1) < 0).all()
    assert (np.abs(scores("high") / 300 - 1) < 0.5).all()
    constant = scores("constant")
    assert np.allclose(constant, constant[..., :1])
    assert (np.ptp(scores("spike"), axis=-1) > 15).all()


def test_every_head_reads_a_direction_of_its_own() -> None:
    q, k, v = attention_inputs("normal", np.random.default_rng(1), SHAPE, block=8)
    assert q.shape == (2, 4, 3, 32) and k.shape == v.shape == (2, 2, 40, 32)
    right = attend(q, np.repeat(k, 2, 1), np.repeat(v, 2, 1))
    wrong = attend(q, np.tile(k, (1, 2, 1, 1)), np.tile(v, (1, 2, 1, 1)))
    assert np.abs(right[:, 1:3] - wrong[:, 1:3]).max(axis=(-1, -2)).min() > 0.1


def test_infinite_scores_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        attention_inputs("holes", np.random.default_rng(1), SHAPE, block=8)


def test_visible_keys_are_aligned_at_the_bottom_right() -> None:
    assert visible_keys(2, 4, causal=True).tolist() == [[True, True, True, False], [True] * 4]
    assert visible_keys(3, 1, causal=True)[:, 0].tolist() == [False, False, True]
    assert visible_keys(2, 3, causal=False).all()


@pytest.mark.parametrize("causal", [False, True])
def test_rounding_of_fp32_and_of_half_precision_weights_is_small_a_half_state_is_not(causal: bool) -> None:
    rng = np.random.default_rng(7)
    shape = AttentionShape(1, 1, 1, 24, 500, 16)
    for dtype in ("fp32", "fp16"):
        q, k, v = (rounded(part, dtype) for part in attention_inputs("normal", rng, shape, 16))
        expected = attend(q, k, v, causal)
        near = near_attention(dtype, causal=causal)(expected, (q, k, v))
        single = attend(q.astype(np.float32), k.astype(np.float32), v.astype(np.float32), causal)
        assert error_in_units(rounded(single, dtype), expected, near).max() < 0.2
        halved = expected * (1 + 3e-4 * rng.standard_normal(expected.shape))
        assert (error_in_units(halved, expected, near).max() > 1) == (dtype == "fp32")
    assert error_in_units(expected * (1 + 4e-3), expected, near).max() > 1
    assert STATE <= 24 and WEIGHTS <= 24  # wider, and the gate's figures for wrong kernels no longer hold


def test_one_query_and_grouped_heads_need_no_axis_for_the_query() -> None:
    q, k, v = attention_inputs("normal", np.random.default_rng(3), AttentionShape(1, 6, 2, 1, 33, 16), 16)
    expected = attend(q, np.repeat(k, 3, 1), np.repeat(v, 3, 1))
    whole = near_attention("fp32")(expected, (q, k, v)).allowed
    short = near_attention("fp32")(expected[0, :, 0], (q[0, :, 0], k[0], v[0])).allowed
    assert np.array_equal(whole[0, :, 0], short)
    one = near_attention("fp32")(expected[0, 0, 0], (q[0, 0, 0], k[0, 0], v[0, 0])).allowed
    assert np.allclose(one, short[0])
