"""A runner for tests of the judge: calls a Python function in this process and answers as a runner would."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import wire
from grader.drill import Drill, load_drills
from grader.judge import Bench
from grader.pool import Failure
from grader.suite import load_answers
from grader.verdict import Lane

TOYS = Path(__file__).parent / "toys"


def toy(**changes: Any) -> Drill:
    """The toy drill, with some of its metadata changed."""
    return load_drills(TOYS)["row_softmax"].model_copy(update=changes)


def bench(drill: Drill | None = None, lane: Lane = Lane.CPU) -> Bench:
    """A bench for the toy drill with a fixed seed."""
    drill = drill or toy()
    return Bench(drill, load_answers(drill), lane, b"seed of tests")


def right(x: NDArray[Any]) -> NDArray[Any]:
    """A right answer, computed in the type of the input."""
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    result: NDArray[Any] = weights / weights.sum(axis=-1, keepdims=True)
    return result


@dataclass
class Direct:
    """Answers calls with `function`, applied to views of the storage that was sent."""

    function: Callable[..., object]
    launches: Sequence[wire.Launch] = ()
    traffic: Sequence[wire.Moved] = ()
    launch_count: int | None = None
    digests: list[str] | None = None
    calls: list[wire.Call] = field(default_factory=list)

    def call(self, call: wire.Call, seconds: float, serve: object = None) -> wire.Returned | Failure:
        self.calls.append(call)
        storages: dict[int, NDArray[Any]] = {}
        args = []
        for position, value in enumerate(call.args):
            if isinstance(value, wire.Array):
                kind = wire.NUMPY_TYPES[value.dtype]
                storage = np.frombuffer(bytearray(value.storage), kind)
                storages[position] = storage
                strides = tuple(s * kind.itemsize for s in value.strides)
                args.append(np.lib.stride_tricks.as_strided(storage[value.offset :], value.shape, strides))
            else:
                args.append(value)
        result = self.function(*args)
        if isinstance(result, Failure):
            return result
        sha = [hashlib.sha256(storage.tobytes()).hexdigest() for storage in storages.values()]
        return wire.Returned(
            id=call.id,
            value=wire.from_numpy(result) if isinstance(result, np.ndarray) else result,
            args={i: _same_view(call.args[i], storages[i]) for i in call.return_args},
            args_digest=sha if self.digests is None else self.digests,
            launches=list(self.launches),
            launch_count=len(self.launches) if self.launch_count is None else self.launch_count,
            traffic=list(self.traffic),
        )


def _same_view(sent: wire.Array, storage: NDArray[Any]) -> wire.Array:
    return wire.Array(
        dtype=sent.dtype, shape=sent.shape, strides=sent.strides, offset=sent.offset, storage=storage.tobytes()
    )
