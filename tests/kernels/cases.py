"""What the reference kernels are asked: named inputs, float64 answers and how close is right. NumPy only.

A case is a kernel file, a function in it, arrays with the layout they lie in, and plain arguments. `run` computes
all of them on one device; the tests compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.kit import (
    AttentionShape,
    Values,
    attention_inputs,
    build,
    generator,
    near_attention,
    rounded,
    visible_keys,
)

UNIT = {"fp32": 2.0**-24, "fp16": 2.0**-11, "bf16": 2.0**-8}


@dataclass(frozen=True)
class Given:
    """An array as a kernel gets it: values rounded to `dtype`, and how it lies in memory (see `run.lay`)."""

    values: Values
    dtype: str
    layout: str = "dense"


Argument = Given | int | bool | str


@dataclass(frozen=True)
class KernelCase:
    """`function` of ``kernels/<module>.py`` called with `args`; `expected` in order of the results.

    `allowed` is the absolute error of each element beyond the rounding to its type. Arguments named in `written`
    are compared after the call, behind the results.
    """

    name: str
    module: str
    function: str
    args: tuple[Argument, ...]
    expected: tuple[Values, ...]
    allowed: tuple[Values, ...]
    written: tuple[int, ...] = ()


def attention(q: Values, k: Values, v: Values, *, causal: bool) -> tuple[Values, Values]:
    """o and the log-sum-exp, for q ``[…, Hq, Sq, D]`` and k, v ``[…, Hkv, Sk, D]``."""
    group = q.shape[-3] // k.shape[-3]
    k, v = np.repeat(k, group, axis=-3), np.repeat(v, group, axis=-3)
    seen = visible_keys(q.shape[-2], k.shape[-2], causal=causal)
    s = np.where(seen, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    top = s.max(axis=-1, keepdims=True, initial=-np.inf)
    w = np.exp(s - np.where(np.isneginf(top), 0.0, top))
    total = w.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (top + np.log(total))[..., 0]
    return np.divide(w @ v, total, out=np.zeros(q.shape), where=total > 0), lse


def all_cases() -> list[KernelCase]:
    makers: tuple[Callable[[], Iterator[KernelCase]], ...] = (softmax, forward, backward, decode, split, chunked)
    return [case for make in makers for case in make()]


def softmax() -> Iterator[KernelCase]:
    for rows, cols, data, dtype, layout in (
        (3, 1, "normal", "fp32", "dense"),
        (5, 63, "negative", "fp32", "wide"),
        (2, 1025, "rising", "fp32", "dense"),
        (3, 2500, "late", "fp32", "dense"),
        (4, 100, "normal", "fp16", "wide"),
        (2, 1030, "normal", "bf16", "dense"),
        (2, 70, "high", "fp32", "dense"),
    ):
        x = rounded(build(data, generator(b"kernels", data, str(cols)), (rows, cols), 64), dtype)
        weights = np.exp(x - x.max(axis=1, keepdims=True))
        right = weights / weights.sum(axis=1, keepdims=True)
        size = np.where(np.isfinite(x), np.abs(x), 0.0).max(axis=1, keepdims=True)
        allowed = 1e-37 + right * 2.0**-24 * 16 * (8 + size)
        for function in ("naive", "safe", "online", "tiled"):
            if function == "naive" and data == "high":
                continue  # what it can't do
            name = f"{function} {rows}×{cols} {data} {dtype}"
            yield KernelCase(name, "row_softmax", function, (Given(x, dtype, layout),), (right,), (allowed,))


SHAPES = (
    # batch, heads, kv_heads, queries, keys, D, causal, data, dtype, layout
    (1, 1, 1, 1, 1, 16, False, "normal", "fp32", "dense"),
    (2, 4, 2, 17, 33, 32, False, "rising", "fp32", "beside"),
    (1, 6, 2, 33, 33, 16, True, "normal", "fp32", "wide"),
    (1, 2, 1, 5, 70, 64, True, "falling", "fp32", "dense"),
    (2, 3, 3, 40, 7, 16, True, "normal", "fp32", "swapped"),
    (1, 2, 2, 65, 97, 128, True, "normal", "fp16", "beside"),
    (1, 2, 1, 31, 64, 32, True, "negative", "bf16", "dense"),
    (1, 1, 1, 3, 500, 16, False, "rising", "fp16", "dense"),
)


def _drawn(index: int) -> tuple[Values, Values, Values, bool, str, str, str]:
    batch, heads, kv_heads, q_len, kv_len, depth, causal, data, dtype, layout = SHAPES[index]
    shape = AttentionShape(batch, heads, kv_heads, q_len, kv_len, depth)
    drawn = attention_inputs(data, generator(b"kernels", str(index)), shape, 16)
    q, k, v = (rounded(part, dtype) for part in drawn)
    name = (
        f"{batch}×{heads}/{kv_heads}×{q_len}×{kv_len}×{depth}{' causal' if causal else ''} {data} {dtype} {layout}"
    )
    return q, k, v, causal, dtype, layout, name


def forward() -> Iterator[KernelCase]:
    for index in range(len(SHAPES)):
        q, k, v, causal, dtype, layout, name = _drawn(index)
        o, lse = attention(q, k, v, causal=causal)
        group = q.shape[1] // k.shape[1]
        near = near_attention(dtype, causal=causal)(o, (q, np.repeat(k, group, 1), np.repeat(v, group, 1))).allowed
        reach = np.abs(q).sum(-1) * np.abs(k).max()
        args: tuple[Argument, ...] = (*(Given(part, dtype, layout) for part in (q, k, v)), causal)
        for function in ("naive", "first_version", "second_version"):
            allowed = (near, 1e-6 + 2.0**-20 * reach)
            yield KernelCase(f"{function} {name}", "attention_forward", function, args, (o, lse), allowed)


def backward() -> Iterator[KernelCase]:
    for index in range(len(SHAPES)):
        q, k, v, causal, dtype, layout, name = _drawn(index)
        o, lse = attention(q, k, v, causal=causal)
        do = rounded(generator(b"do", str(index)).standard_normal(q.shape), dtype)
        o = rounded(o, dtype)
        right = gradients(q, k, v, o, do, causal=causal)
        # Terms are added up with either sign: the size of an error follows the largest of them, not the result.
        size = max(float(np.abs(part).max()) for part in right) + 1e-3
        allowed = tuple(np.full(part.shape, (200 * UNIT["fp32"] + 4 * _half(dtype)) * size) for part in right)
        args: tuple[Argument, ...] = (
            *(Given(part, dtype, layout) for part in (q, k, v, o)),
            Given(lse, "fp32"),
            Given(do, dtype, layout),
            causal,
        )
        yield KernelCase(f"backward {name}", "attention_backward", "backward", args, right, allowed)


def _half(dtype: str) -> float:
    return 0.0 if dtype == "fp32" else UNIT[dtype]


def gradients(
    q: Values, k: Values, v: Values, o: Values, do: Values, *, causal: bool
) -> tuple[Values, Values, Values]:
    """dq, dk, dv by the softmax's Jacobian, query by query: another road than the kernels take."""
    group, root = q.shape[1] // k.shape[1], np.sqrt(q.shape[-1])
    dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
    seen = visible_keys(q.shape[2], k.shape[2], causal=causal)
    for b, h, i in np.ndindex(q.shape[:3]):
        keys = np.flatnonzero(seen[i])
        if not keys.size:
            continue
        kv = h // group
        s = k[b, kv, keys] @ q[b, h, i] / root
        p = np.exp(s - s.max())
        p /= p.sum()
        dp = v[b, kv, keys] @ do[b, h, i]
        ds = p * (dp - o[b, h, i] @ do[b, h, i])
        dq[b, h, i] = ds @ k[b, kv, keys] / root
        dk[b, kv, keys] += np.outer(ds, q[b, h, i]) / root
        dv[b, kv, keys] += np.outer(p, do[b, h, i])
    return dq, dk, dv


DECODES = (
    # heads, kv_heads, keys, D, data, dtype, layout
    (1, 1, 1, 16, "normal", "fp32", "dense"),
    (8, 2, 65, 32, "rising", "fp32", "wide"),
    (6, 2, 129, 64, "normal", "fp32", "swapped"),
    (20, 1, 33, 16, "falling", "fp32", "beside"),
    (8, 8, 17, 128, "normal", "fp16", "dense"),
    (12, 4, 300, 64, "negative", "bf16", "dense"),
)


def _cache(index: int) -> tuple[Values, Values, Values, str, str, str]:
    heads, kv_heads, kv_len, depth, data, dtype, layout = DECODES[index]
    shape = AttentionShape(1, heads, kv_heads, 1, kv_len, depth)
    q, k, v = (rounded(p, dtype)[0] for p in attention_inputs(data, generator(b"decode", str(index)), shape, 16))
    return q[:, 0], k, v, dtype, layout, f"{heads}/{kv_heads}×{kv_len}×{depth} {data} {dtype} {layout}"


def decode() -> Iterator[KernelCase]:
    for index in range(len(DECODES)):
        q, k, v, dtype, layout, name = _cache(index)
        o = attention(q[:, None], k, v, causal=False)[0][:, 0]
        near = near_attention(dtype)(o, (q, k, v)).allowed
        args = tuple(Given(part, dtype, layout) for part in (q, k, v))
        for function in ("per_head", "packed"):
            yield KernelCase(f"{function} {name}", "gqa_decode", function, args, (o,), (near,))


def split() -> Iterator[KernelCase]:
    for index, splits in ((0, 1), (0, 4), (1, 2), (1, 9), (2, 3), (3, 17), (4, 5), (5, 8)):
        q, k, v, dtype, layout, name = _cache(index)
        o = attention(q[:, None], k, v, causal=False)[0][:, 0]
        args: tuple[Argument, ...] = (*(Given(part, dtype, layout) for part in (q, k, v)), splits)
        near = near_attention(dtype)(o, (q, k, v)).allowed
        yield KernelCase(f"{splits} splits {name}", "split_kv_decode", "decode", args, (o,), (near,))
        parts, sizes = zip(*(_part(q, k, v, n, splits) for n in range(splits)), strict=True)
        # A part has fewer keys to average errors over, so it gets what a single key would be allowed.
        loose = np.full((splits, *o.shape), (2.0**-16 + 8 * _half(dtype)) * np.abs(v).max())
        size = np.full((splits, len(q)), 1e-4)
        yield KernelCase(
            f"{splits} partials {name}",
            "split_kv_decode",
            "partial",
            args,
            (np.stack(parts), np.stack(sizes)),
            (loose, size),
        )
    nothing = (Given(np.zeros((3, 2, 16)), "fp32"), Given(np.full((3, 2), -np.inf), "fp32"), "fp32")
    zeros = np.zeros((2, 16))
    yield KernelCase("merging nothing", "split_kv_decode", "merge", nothing, (zeros,), (zeros + 1e-30,))


def _part(q: Values, k: Values, v: Values, n: int, splits: int) -> tuple[Values, Values]:
    each = -(-k.shape[1] // splits)
    o, lse = attention(q[:, None], k[:, n * each : (n + 1) * each], v[:, n * each : (n + 1) * each], causal=False)
    return o[:, 0], lse[:, 0]


def chunked() -> Iterator[KernelCase]:
    for heads, kv_heads, tokens, cached, depth, dtype, layout in (
        (1, 1, 1, 0, 16, "fp32", "dense"),
        (6, 2, 5, 0, 32, "fp32", "wide"),
        (8, 2, 1, 40, 64, "fp32", "beside"),
        (4, 4, 33, 31, 16, "fp32", "swapped"),
        (6, 2, 7, 90, 128, "fp16", "dense"),
        (4, 1, 3, 30, 32, "bf16", "dense"),
    ):
        name = f"{heads}/{kv_heads} {tokens} after {cached}×{depth} {dtype} {layout}"
        shape = AttentionShape(1, heads, kv_heads, tokens, cached + tokens, depth)
        drawn = attention_inputs("normal", generator(b"chunk", name), shape, 16)
        q, k, v = (rounded(part, dtype)[0] for part in drawn)
        room = np.full((kv_heads, 3, depth), 7.0)  # capacity beyond what is used: must stay as it is
        before = [np.concatenate([p[:, :cached], 9.0 + 0 * p[:, cached:], room], axis=1) for p in (k, v)]
        after = [np.concatenate([p, room], axis=1) for p in (k, v)]
        o = attention(q, k, v, causal=True)[0]
        near = near_attention(dtype, causal=True)(o, (q, k, v)).allowed
        args = (
            Given(q, dtype, layout),
            Given(k[:, cached:], dtype, layout),
            Given(v[:, cached:], dtype, layout),
            Given(before[0], dtype, layout),
            Given(before[1], dtype, "dense"),
            cached,
        )
        exact = tuple(np.full(part.shape, 1e-30) for part in after)
        yield KernelCase(name, "chunked_attention", "attend", args, (o, *after), (near, *exact), written=(3, 4))


def as_array(value: Any) -> Values:
    return np.asarray(value, dtype=np.float64)
