"""What one row of softmax or attention has added up after some keys: for showing a kernel's state tile by tile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.kit.attention import visible_keys
from grader.kit.case import Argument
from grader.kit.dtypes import Values
from grader.kit.place import Placed


@dataclass(frozen=True)
class RunningRow:
    """One row: its scores ``[keys]``, −∞ where a key is not seen, and the values ``[keys, D]`` that they weigh.

    `elements[j]` is where key j begins in the storage of argument number `argument`, in elements: what a kernel has
    loaded of it says which keys it has met. `scale` is what scores were multiplied by.
    """

    scores: Values
    values: Values | None
    argument: int
    elements: NDArray[np.int64]
    scale: float = 1.0


def softmax_row(x: Argument, index: tuple[int, ...]) -> RunningRow:
    """The row of ``x [rows, columns]`` that the result at `index` belongs to."""
    x = _placed(x)
    row = index[0]
    elements = x.offset + row * x.strides[0] + np.arange(x.shape[1]) * x.strides[1]
    return RunningRow(x.values[row], None, 0, elements)


def attention_row(
    q: Argument, k: Argument, v: Argument, index: tuple[int, ...], *, causal: bool = False
) -> RunningRow:
    """The query of ``q [B, H, Sq, D]`` that the result at `index` belongs to, over ``k, v [B, Hkv, Sk, D]``."""
    q, k, v = _placed(q), _placed(k), _placed(v)
    batch, head, query = index[0], index[1], index[2]
    shared = head // (q.shape[1] // k.shape[1])
    scale = q.shape[3] ** -0.5
    scores = k.values[batch, shared] @ q.values[batch, head, query] * scale
    seen = visible_keys(q.shape[2], k.shape[2], causal=causal)[query]
    elements = k.offset + batch * k.strides[0] + shared * k.strides[1] + np.arange(k.shape[2]) * k.strides[2]
    return RunningRow(np.where(seen, scores, -np.inf), v.values[batch, shared], 1, elements, scale)


def _placed(argument: Argument) -> Placed:
    if not isinstance(argument, Placed):
        raise TypeError("an array argument is wanted here")
    return argument
