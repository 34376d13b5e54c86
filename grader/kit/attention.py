"""What attention drills share: queries, keys and values whose scores follow a named data axis, and a tolerance.

Scores can't be drawn directly, since a kernel computes them. All keys of a head lie near one direction u, so that
``q · k_j / √D`` is the j-th value of the data axis plus noise that tells rows and keys apart.

Shapes: q ``[..., Hq, Sq, D]``, k and v ``[..., Hkv, Sk, D]``; query head h reads key head ``h // (Hq / Hkv)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.kit.data import build
from grader.kit.dtypes import DTYPES, Values
from grader.kit.tolerance import Tolerance, tolerance

QUERY_NOISE = 0.25
KEY_NOISE = 0.5
EXACT_KEYS = frozenset({"constant"})  # data whose point is lost under noise

# The error that is allowed, as a multiple of the rounding model: ten times what correct kernels showed.
STATE = 24.0
WEIGHTS = 24.0


@dataclass(frozen=True)
class AttentionShape:
    """Batch B, query heads Hq, key heads Hkv, lengths Sq and Sk, head dimension D."""

    batch: int
    heads: int
    kv_heads: int
    q_len: int
    kv_len: int
    depth: int


def attention_inputs(
    name: str, rng: np.random.Generator, shape: AttentionShape, block: int
) -> tuple[Values, Values, Values]:
    """q ``[B, Hq, Sq, D]``, k and v ``[B, Hkv, Sk, D]`` whose scores follow the data axis `name` along the keys.

    Values of v scatter around 1, so that weights which do not sum to one show. Raises `ValueError` for data that
    is not finite.
    """
    root = np.sqrt(shape.depth)
    outer = (shape.batch, shape.kv_heads)
    wanted = build(name, rng, (*outer, shape.kv_len), block)
    if not np.isfinite(wanted).all():
        raise ValueError(f"scores can't follow {name!r}: keys are finite")
    direction = np.where(rng.random((*outer, 1, shape.depth)) < 0.5, -1.0, 1.0) / root
    noise = 0.0 if name in EXACT_KEYS else KEY_NOISE
    k = wanted[..., None] * direction + noise * rng.standard_normal((*outer, shape.kv_len, shape.depth))
    group = shape.heads // shape.kv_heads
    towards = root * np.repeat(direction, group, axis=1)
    q_shape = (shape.batch, shape.heads, shape.q_len, shape.depth)
    q = towards + QUERY_NOISE * rng.standard_normal(q_shape)
    v = 1.0 + rng.standard_normal(k.shape)
    return q, k, v


def visible_keys(q_len: int, kv_len: int, *, causal: bool) -> NDArray[np.bool_]:
    """Which key j each query i sees, ``[Sq, Sk]``: all, or those with j ≤ i + (Sk − Sq)."""
    if not causal:
        return np.ones((q_len, kv_len), dtype=bool)
    return np.tri(q_len, kv_len, kv_len - q_len, dtype=bool)


def near_attention(dtype: str, *, causal: bool = False) -> Callable[[Values, Sequence[Values]], Tolerance]:
    """The tolerance for ``softmax(q kᵀ / √D) v`` with inputs and result of `dtype`, state in fp32.

    It takes (expected, (q, k, v)), where q may lack the axis Sq (one query). For half-precision types the weights
    may have been rounded to `dtype` before they meet v, as tensor cores want them: that costs each weight half a
    unit, at random, so what is allowed for it falls as more keys share the weight.
    """

    def allowed(expected: Values, inputs: Sequence[Values]) -> Tolerance:
        q, k, v = inputs
        rows = q[..., None, :] if q.ndim < k.ndim else q
        size, spread, reach = (part.reshape(expected.shape) for part in _sizes(rows, k, v, causal=causal))
        unit = DTYPES["fp32"].epsilon / 2
        state = STATE * unit * (8 + np.log2(k.shape[-2] + 1) + reach)
        weights = 0.0 if dtype == "fp32" else WEIGHTS * DTYPES[dtype].epsilon / 2
        return tolerance(
            expected,
            relative=1.0,
            scale=state * size + weights * spread,
            absolute=DTYPES["fp32"].tiny,
            dtype=dtype,
            because=(
                "fp32 scores err by some units of Σ|q k|/√D and reach the result through the weights; exp and each "
                "rescale cost two units; half-precision weights cost half a unit of their type each, in random "
                "directions. The factors leave ten times what correct kernels showed."
            ),
        )

    return allowed


def _sizes(q: Values, k: Values, v: Values, *, causal: bool) -> tuple[Values, Values, Values]:
    """For each result: Σ p|v|, √(Σ p²v²), and what the largest visible score was added up from."""
    if k.ndim > 2:
        k, v = (np.repeat(part, q.shape[-3] // k.shape[-3], axis=-3) for part in (k, v))
    root = np.sqrt(q.shape[-1])
    seen = visible_keys(q.shape[-2], k.shape[-2], causal=causal)
    scores = np.where(seen, q @ k.swapaxes(-1, -2) / root, -np.inf)
    top = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isneginf(top), 0.0, top))
    total = weights.sum(axis=-1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    terms = np.where(seen, np.abs(q) @ np.abs(k).swapaxes(-1, -2) / root, 0.0)
    reach = np.broadcast_to(terms.max(axis=-1, keepdims=True, initial=0.0), (*q.shape[:-1], v.shape[-1]))
    return weights @ np.abs(v), np.sqrt(weights**2 @ v**2), reach
