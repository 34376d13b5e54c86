"""A call's launches once more, on other data, where no code of the learner has run but the kernels' own text.

Runs inside a sandbox. Whatever the learner's process did to its counters, its frames or its channel has no meaning
here: the kernels are read from the file by `grader.definitions` and interpreted, with evidence counted anew.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from grader import wire
from grader.batched import BatchedInterpreter
from grader.definitions import definitions
from grader.evidence import Recorder, View
from grader.interpreter.scope import Constexpr
from grader.tensors import digest
from grader.traced import Rebuilt, Untraceable

LONGEST: Final = 500
_VIEW: Final = {"shape": (4,), "strides": (1,), "offset": 0}
_POINTERS: Final[dict[str, wire.Traced]] = {
    name: wire.Pointer(memory=memory, dtype="fp32", **_VIEW)  # type: ignore[arg-type]
    for name, memory in (("x", "arg0"), ("y", "tmp0"))
}
WARM_UP: Final = wire.Replay(
    id=0,
    source=(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef warm_up(x, y, N: tl.constexpr):\n"
        "    at = tl.arange(0, N)\n    v = tl.load(x + at, mask=at < N, other=0.0)\n"
        "    tl.store(y + at, tl.exp(v - tl.max(v, axis=0)) / tl.sum(v, axis=0), mask=at < N)\n"
    ),
    args=[wire.Array(dtype="fp32", storage=bytes(16), **_VIEW)],  # type: ignore[arg-type]
    launches=[wire.Launch(kernel="warm_up", grid=(1,), constants={}, num_warps=4, arguments={**_POINTERS, "N": 4})],
    memories={"tmp0": 16},
    results=[wire.Pointer(memory="tmp0", dtype="fp32", **_VIEW)],  # type: ignore[arg-type]
)


class Replayer:
    """Serves `wire.Replay`. The lane is installed once."""

    def __init__(self) -> None:
        self._recorder = Recorder()
        self._lane = BatchedInterpreter()
        self._lane.install(self._recorder)
        self._read: tuple[str, dict[str, int | float | bool | str]] = ("", {})
        self._names: dict[str, Any] = {}
        if not isinstance(self.replay(WARM_UP), wire.Returned):
            raise RuntimeError("the lane does not compute what it should")

    def replay(self, order: wire.Replay) -> wire.Answer:
        """What the launches left, or why they could not be run."""
        try:
            return self._replay(order)
        except Untraceable as error:
            return wire.Failed(kind="refused", message=str(error))
        except Exception as error:
            return wire.Failed(kind="raised", message=f"{type(error).__name__}: {error}"[:LONGEST])

    def _replay(self, order: wire.Replay) -> wire.Answer:
        if (order.source, order.globals) != self._read:
            self._names, self._read = definitions(order.source, order.filename), (order.source, order.globals)
            for name, value in order.globals.items():
                self._names.setdefault(name, Constexpr(value))
        arrays = [value for value in order.args if isinstance(value, wire.Array)]
        numbers = [number for number, value in enumerate(order.args) if isinstance(value, wire.Array)]
        rebuilt = Rebuilt(arrays, numbers, order.memories, self._names)
        self._recorder.begin(
            [
                _place(rebuilt.memories[f"arg{n}"], value) if n in numbers else None
                for n, value in enumerate(order.args)
            ],
            [array.storage for array in arrays],
        )
        self._lane.forget()
        for launch in order.launches:
            self._launch(launch, rebuilt)
        results = [rebuilt.tensor(pointer) for pointer in order.results]
        places = [_where(rebuilt, pointer) for pointer in order.results]
        launches, count, traffic = self._recorder.finish(places)
        values = [
            wire.from_numpy(np.asarray(made), p.dtype) for made, p in zip(results, order.results, strict=True)
        ]
        given = dict(zip(numbers, arrays, strict=True))
        return wire.Returned(
            id=order.id,
            value=values[0] if len(values) == 1 else values,
            args={n: _now(given[n], rebuilt.memories[f"arg{n}"]) for n in order.return_args if n in given},
            args_digest=[digest(rebuilt.memories[f"arg{n}"].tobytes()) for n in numbers],
            launches=launches,
            launch_count=count,
            traffic=traffic,
        )

    def _launch(self, launch: wire.Launch, rebuilt: Rebuilt) -> None:
        kernel: Any = self._names.get(launch.kernel)
        if not hasattr(kernel, "parameters"):
            raise Untraceable(f"the file does not define `{launch.kernel}` as a kernel by itself")
        missing = [name for name in kernel.parameters if name not in launch.arguments]
        if missing:
            raise Untraceable(f"`{launch.kernel}` was launched without `{missing[0]}`")
        given = [rebuilt.argument(launch.arguments[name]) for name in kernel.parameters]
        for fill in launch.fills:
            self._fill(fill, rebuilt)
        kernel.run(*given, grid=launch.grid, num_warps=launch.num_warps)

    def _fill(self, fill: wire.Fill, rebuilt: Rebuilt) -> None:
        """What the host had put into memory: into all of it, or where no kernel has written yet."""
        memory = rebuilt.memories.get(fill.memory)
        if memory is None or fill.memory.startswith("arg") or len(fill.value) not in (1, 2, 4, 8):
            return
        width = len(fill.value)
        elements = memory[: len(memory) // width * width].view(f"u{width}")
        value = np.frombuffer(fill.value, dtype=elements.dtype)[0]
        region = self._recorder.region(int(memory.ctypes.data))
        if fill.whole or region is None:
            elements[:] = value
            return
        foreign = region.foreign()
        if foreign is not None and foreign[1].dtype == elements.dtype:
            np.copyto(elements[: len(foreign[0])], value, where=foreign[0])


def _place(memory: Any, array: wire.Array) -> View:
    itemsize = wire.NUMPY_TYPES[array.dtype].itemsize
    return View(int(memory.ctypes.data), memory.nbytes, itemsize, array.shape, array.strides, array.offset)


def _where(rebuilt: Rebuilt, pointer: wire.Pointer) -> View:
    memory = rebuilt.memories[pointer.memory]
    itemsize = wire.NUMPY_TYPES[pointer.dtype].itemsize
    return View(int(memory.ctypes.data), memory.nbytes, itemsize, pointer.shape, pointer.strides, pointer.offset)


def _now(sent: wire.Array, memory: Any) -> wire.Array:
    return wire.Array(
        dtype=sent.dtype, shape=sent.shape, strides=sent.strides, offset=sent.offset, storage=memory.tobytes()
    )
