"""tl.rand and its family: Philox 4×32 and 4×64, counter-based, the same numbers as Triton's."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.interpreter.arithmetic import add, mul, sub
from grader.interpreter.casting import cast
from grader.interpreter.dtypes import int32, int64, uint32, uint64
from grader.interpreter.elementary import cos, log, sin, sqrt, umulhi
from grader.interpreter.errors import Rejected
from grader.interpreter.logic import bit_and, bit_xor, less, maximum, shift_right, where
from grader.interpreter.run import Run
from grader.interpreter.shapes import full
from grader.interpreter.value import Value, scalar, value_of

ROUNDS = 10
Four = tuple[Value, Value, Value, Value]

_CONSTANTS = {
    uint32: (0x9E3779B9, 0xBB67AE85, 0xD2511F53, 0xCD9E8D57),
    uint64: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B, 0xD2E7470EE14C6C93, 0xCA5A826395121157),
}


def philox_impl(run: Run, c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, n_rounds: Any = ROUNDS) -> Four:
    """`n_rounds` rounds on the counter (c0, c1, c2, c3) under the key (k0, k1)."""
    dtype = value_of(c0).dtype
    if dtype not in _CONSTANTS:
        raise Rejected(f"philox works on uint32 and uint64, got {dtype}")
    key_a, key_b, round_a, round_b = (scalar(x, dtype) for x in _CONSTANTS[dtype])
    for _ in range(n_rounds):
        a, b = c0, c2
        c0 = bit_xor(run, bit_xor(run, umulhi(run, round_b, b), c1), k0)
        c2 = bit_xor(run, bit_xor(run, umulhi(run, round_a, a), c3), k1)
        c1, c3 = mul(run, round_b, b), mul(run, round_a, a)
        k0, k1 = add(run, k0, key_a), add(run, k1, key_b)
    return c0, c1, c2, c3


def philox(run: Run, seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: Any = ROUNDS) -> Four:
    wide = cast(run, value_of(seed), uint64)
    counters = [value_of(c) for c in (c0, c1, c2, c3)]
    if counters[0].dtype.primitive_bitwidth == 32:
        low = cast(run, bit_and(run, wide, scalar(0xFFFFFFFF, uint64)), uint32)
        high = cast(run, shift_right(run, wide, scalar(32, uint64)), uint32)
        dtype = uint32
    else:
        low, high, dtype = wide, full(run, (1,), 0, uint64), uint64
    a, b, c, d = (cast(run, counter, dtype, bitcast=True) for counter in counters)
    return philox_impl(run, a, b, c, d, low, high, n_rounds)


def randint4x(run: Run, seed: Any, offset: Any, n_rounds: Any = ROUNDS) -> Four:
    """Four tiles of random int32."""
    place = value_of(offset)
    low = cast(run, place, uint32)
    zero = mul(run, low, 0)
    high = cast(run, shift_right(run, place, 32), uint32) if place.dtype.primitive_bitwidth > 32 else zero
    return philox(run, seed, low, high, zero, zero, n_rounds)


def randint(run: Run, seed: Any, offset: Any, n_rounds: Any = ROUNDS) -> Value:
    return randint4x(run, seed, offset, n_rounds)[0]


def uint_to_uniform_float(run: Run, x: Value) -> Value:
    """Random bits → fp32 in [0, 1)."""
    narrow = x.dtype in (uint32, int32)
    signed = cast(run, x, int32 if narrow else int64, bitcast=True)
    scale = 4.6566127342e-10 if narrow else 1.0842020432385337e-19
    folded = where(run, less(run, signed, 0), sub(run, negate_within(run, signed), 1), signed)
    return mul(run, folded, scalar(scale))


def negate_within(run: Run, x: Value) -> Value:
    """−x, where the most negative number is its own negative: no finding, random bits are meant to wrap."""
    return run.make(x.dtype, x.shape, np.negative(x.data))


def rand(run: Run, seed: Any, offset: Any, n_rounds: Any = ROUNDS) -> Value:
    return uint_to_uniform_float(run, randint(run, seed, offset, n_rounds))


def rand4x(run: Run, seed: Any, offsets: Any, n_rounds: Any = ROUNDS) -> Four:
    a, b, c, d = (uint_to_uniform_float(run, x) for x in randint4x(run, seed, offsets, n_rounds))
    return a, b, c, d


def pair_uniform_to_normal(run: Run, u1: Any, u2: Any) -> tuple[Value, Value]:
    """Box–Muller."""
    radius = sqrt(run, mul(run, -2.0, log(run, maximum(run, 1.0e-7, u1))))
    angle = mul(run, 6.283185307179586, u2)
    return mul(run, radius, cos(run, angle)), mul(run, radius, sin(run, angle))


def randn(run: Run, seed: Any, offset: Any, n_rounds: Any = ROUNDS) -> Value:
    first, second, _, _ = randint4x(run, seed, offset, n_rounds)
    return pair_uniform_to_normal(run, uint_to_uniform_float(run, first), uint_to_uniform_float(run, second))[0]


def randn4x(run: Run, seed: Any, offset: Any, n_rounds: Any = ROUNDS) -> Four:
    u1, u2, u3, u4 = rand4x(run, seed, offset, n_rounds)
    a, b = pair_uniform_to_normal(run, u1, u2)
    c, d = pair_uniform_to_normal(run, u3, u4)
    return a, b, c, d
