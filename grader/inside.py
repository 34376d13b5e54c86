"""The untrusted side: runs beside the learner's code, one input at a time, and holds no answer.

Started by `grader.sandbox` in a confined process. It imports the frameworks, says that it is ready, puts hard
limits on itself, runs the learner's file, and answers calls with raw bytes. The code it runs may forge all that it
sends; the judge's side knows that.

Reading order: `main` → `serve` → `Session` → `Session.load` → `Session.call`.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import os
import resource
import socket
import sys
import time
import types
import warnings
from collections.abc import Callable
from typing import Any, Final

import msgspec
import numpy as np

from grader import blame, landlock, lanes, memory, stopwatch, tensors, wire
from grader.device import Device
from grader.evidence import Recorder, View, pointer
from grader.served import Served

MODULE: Final = "submission"
READ: Final = 1 << 20
MOST_FINDINGS: Final = 50
MOST_CONSTANTS: Final = 200


class Channel:
    """Whole messages over the socket to the judge. Ends the process when the judge is gone."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._socket.set_inheritable(False)  # programs that the learner starts have no business with it
        self._frames = wire.Frames(wire.MAX_ORDER)
        self._waiting: list[bytes] = []

    def send(self, answer: wire.Answer) -> None:
        try:
            data = wire.frame(answer)
        except UnicodeEncodeError as error:  # text that is not text, somewhere in a result
            data = wire.frame(wire.Failed(kind="refused", message=f"The result cannot be sent: {error.reason}"))
        self._socket.sendall(data)

    def receive(self) -> wire.Order:
        while not self._waiting:
            data = self._socket.recv(READ)
            if not data:
                raise SystemExit(0)
            self._waiting.extend(self._frames.feed(data))
        return wire.decode_order(self._waiting.pop(0))


def main(descriptor: int, framework: str, device: str, answer_bytes: int) -> None:
    """Serve one submission over the inherited socket."""
    faulthandler.enable()  # a crash in native code names the learner's line on stderr
    started = time.perf_counter()
    serve(Channel(descriptor), Session(framework, device, answer_bytes), started)


def serve(channel: Channel, session: Session, started: float) -> None:
    """Answer orders until the last one. `started` is when importing began, by `time.perf_counter`."""
    session.channel = channel
    channel.send(wire.Ready(seconds=time.perf_counter() - started))
    while True:
        order = channel.receive()
        match order:
            case wire.Confine():
                confine(order)
                continue
            case wire.Load():
                answer = session.load(order)
            case wire.Call():
                answer = session.call(order)
            case wire.Stage() | wire.Batch() | wire.Audit():
                answer = session.time(order)
            case wire.Replay():
                answer = session.replay(order)
            case wire.Compile():
                answer = session.compile(order)
            case wire.Walk():
                answer = session.walk(order)
            case wire.Given():
                continue  # to a question that nobody waits for any more
            case wire.Bye():
                return
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # the learner may have closed or replaced it
                stream.flush()
        channel.send(answer)


def confine(limits: wire.Confine) -> None:
    """Put the limits on this process for good, counting from what it uses now."""
    landlock.restrict(("/tmp", "/dev/shm"))  # noqa: S108 - the runner's own
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits.open_files, limits.open_files))
    if limits.data_bytes:
        most = limits.data_bytes + memory.status_bytes("VmData")[0]
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    for kind, most in (
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
    ):
        if most:
            resource.setrlimit(kind, (most, most))


class Session:
    """The frameworks, the lane, and one learner's file."""

    def __init__(self, framework: str, device: str, answer_bytes: int) -> None:
        self.channel: Channel | None = None  # functions are served over it; without it none is
        self._recorder = Recorder()
        self._answer_bytes = answer_bytes
        self._filename = ""
        self._entries: dict[str, Callable[..., Any]] = {}
        self._workshop = tensors.Workshop("numpy", "cpu")
        self._given: list[tensors.Given] = []  # of the call before
        self._memory = memory.Resident()
        self._gpu: Device | None = None
        self._stopwatch: stopwatch.Stopwatch | None = None
        self._module = types.ModuleType(MODULE)
        self._replayer: Any = None
        self._front_end: Any = None
        self._preload(framework, device)

    def _preload(self, framework: str, device: str) -> None:
        memory.settle()
        self._traced = framework == "triton" and device == "cpu"
        if framework in ("torch", "triton"):
            _prepare_torch(device)
        self._lane = _lane(framework, device)
        self._lane.install(self._recorder)
        if framework == "triton" and not importlib.import_module("grader.warmup").launch(device):
            raise RuntimeError("the lane does not compute what it should")
        if framework == "kernels":
            self._replayer = importlib.import_module("grader.replay").Replayer()
        if framework == "compiler":
            self._front_end = importlib.import_module("grader.front_end").FrontEnd()
        if isinstance(self._lane, Device):
            self._gpu, self._stopwatch = self._lane, stopwatch.Stopwatch(self._lane, device)

    def load(self, order: wire.Load) -> wire.Answer:
        """Run the file and find its entries."""
        if self._replayer is not None or self._front_end is not None:
            return wire.Failed(kind="refused", message="No file is run here.")
        self._filename = order.filename
        self._workshop = tensors.Workshop(order.framework, order.device)
        if order.framework == "numpy":
            _poison_numpy()
        blame.remember(order.source, order.filename)
        try:
            code = compile(order.source, order.filename, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
            return blame.uncompilable(error, order.filename)
        module = self._module
        module.__file__ = order.filename
        sys.modules[MODULE] = module
        try:
            exec(code, module.__dict__)  # noqa: S102 - this is what the process is for
        except BaseException as error:
            return blame.failed(error, order.filename)
        missing = [name for name in order.entries if not callable(module.__dict__.get(name))]
        if missing:
            return wire.Failed(kind="missing_entry", message=_missing(missing, module))
        self._entries = {name: module.__dict__[name] for name in order.entries}
        return wire.Loaded()

    def call(self, order: wire.Call) -> wire.Answer:
        """Call one entry with arguments made from bytes, and gather result and evidence."""
        entry = self._entries.get(order.entry)
        if entry is None:
            return wire.Failed(kind="refused", message=f"There is no entry {order.entry}.")
        given: list[tensors.Given] = []
        self._workshop.reuse(self._given)
        served = Served(self.channel, self._workshop) if self.channel is not None else None
        arguments = [
            served.function(value)
            if served is not None and isinstance(value, wire.Handle)
            else self._workshop.make(value, given)
            for value in order.args
        ]
        self._workshop.reuse([])
        self._given = given
        owners = [_owner(value, given) for value in arguments]
        self._recorder.begin(
            [made.place() if made and self._traced else None for made in owners],
            [made.sent.storage for made in owners if made and self._traced],
        )
        self._lane.forget()
        before = self._memory.reset_peak() if self._gpu is None else self._workshop.reset_peak()
        try:
            gpu = self._gpu
            value = entry(*arguments) if gpu is None else gpu.call(entry, arguments, muted=order.muted)
            if served is not None:
                served.close()
            self._workshop.synchronize()
            return self._answer(order, value, given, owners, before)
        except BaseException as error:
            if served is not None:
                served.close()
            failed = blame.failed(error, self._filename, self._findings())
            if failed.kind != "raised":
                return failed
            digests = [tensors.digest(made.content()) for made in given]
            return msgspec.structs.replace(failed, args_digest=digests)

    def time(self, order: wire.Stage | wire.Batch | wire.Audit) -> wire.Answer:
        """One step of timing an entry on a GPU."""
        watch = self._stopwatch
        if watch is None:
            return wire.Failed(kind="refused", message="Nothing is timed in this lane.")
        try:
            if isinstance(order, wire.Stage):
                return watch.stage(order, self._entries[order.entry], self._workshop)
            return watch.batch(order) if isinstance(order, wire.Batch) else watch.audit(order)
        except stopwatch.NotAsPromised as error:
            return wire.Failed(kind="refused", message=f"A timed call returned {error}.")
        except BaseException as error:
            return blame.failed(error, self._filename)

    def replay(self, order: wire.Replay) -> wire.Answer:
        """Run kernels from their text. For a process that runs nothing else."""
        if self._replayer is None:
            return wire.Failed(kind="refused", message="Nothing is run again here.")
        answer: wire.Answer = self._replayer.replay(order)
        return answer

    def walk(self, order: wire.Walk) -> wire.Answer:
        """Watch a program of a kernel from its text. For a process that runs nothing else."""
        if self._replayer is None:
            return wire.Failed(kind="refused", message="Nothing is watched here.")
        answer: wire.Answer = importlib.import_module("grader.walker").walk(order)
        return answer

    def compile(self, order: wire.Compile) -> wire.Answer:
        """Compile a kernel from its text. For a process that runs nothing else."""
        if self._front_end is None:
            return wire.Failed(kind="refused", message="Nothing is compiled here.")
        answer: wire.Answer = self._front_end.compile(order)
        return answer

    def _findings(self) -> list[wire.Finding]:
        found = list(self._lane.findings)[:MOST_FINDINGS]
        return [wire.Finding(kind=f.kind, line=f.line, text=f.message, severity=f.severity) for f in found]

    def _answer(
        self,
        order: wire.Call,
        value: Any,
        given: list[tensors.Given],
        owners: list[tensors.Given | None],
        before: int,
    ) -> wire.Answer:
        peak = self._memory.peak() if self._gpu is None else self._workshop.peak()
        try:
            taken, places = self._workshop.take(value, self._answer_bytes)
        except tensors.TooLarge as error:
            return wire.Failed(kind="refused", message=str(error))
        memories, results = self._recorder.memories, self._results(taken, places) if self._traced else []
        launches, count, traffic = self._recorder.finish(places if self._traced else [])
        if self._gpu is not None:
            traffic = self._gpu.moved([made.place() if made else None for made in owners], places)
        return wire.Returned(
            id=order.id,
            value=taken,
            args={number: made.array() for number in order.return_args if (made := owners[number]) is not None},
            args_digest=[tensors.digest(made.content()) for made in given],
            launches=launches,
            launch_count=count,
            traffic=traffic,
            findings=self._findings(),
            peak_bytes=max(peak - before, 0) if peak > 0 else -1,
            compile_seconds=self._gpu.compile_seconds if self._gpu is not None else 0.0,
            memories=memories,
            globals=self._constants() if self._traced else {},
            results=results,
        )

    def _constants(self) -> dict[str, int | float | bool | str]:
        """The file's tl.constexpr globals that are plain values."""
        kind = importlib.import_module("grader.interpreter.scope").Constexpr
        found = [(name, thing.value) for name, thing in self._module.__dict__.items() if type(thing) is kind]
        plain = [(name, value) for name, value in found if type(value) in (int, float, bool, str)]
        return {name: value for name, value in plain[:MOST_CONSTANTS] if type(name) is str}

    def _results(self, taken: wire.Value, places: list[View]) -> list[wire.Pointer]:
        """Where the arrays of a result lie: in which memory that a kernel used."""
        found = zip(wire.arrays_in(taken), places, strict=True)
        known = [(array, place, self._recorder.region(place.address)) for array, place in found]
        return [pointer(region, place, array.dtype) for array, place, region in known if region is not None]


def _lane(framework: str, device: str) -> lanes.Lane:
    if framework != "triton":
        return lanes.Plain()
    if device != "cpu":
        return Device()
    if os.environ.get("TRITON_INTERPRET") == "1":
        return lanes.StockInterpreter()
    lane: lanes.Lane = importlib.import_module("grader.batched").BatchedInterpreter()
    return lane


def _owner(argument: Any, given: list[tensors.Given]) -> tensors.Given | None:
    """What we keep of an argument that is an array itself, not a list of them."""
    return next((made for made in given if made.value is argument), None)


def _missing(missing: list[str], module: types.ModuleType) -> str:
    mine = [(n, thing) for n, thing in module.__dict__.items() if getattr(thing, "__module__", "") == MODULE]
    found = [name for name, thing in mine if callable(thing)]
    names = ", ".join(f"`{name}`" for name in missing)
    has = ", ".join(f"`{name}`" for name in found[:20]) or "no function"
    return f"The file does not define {names}. It defines {has}."[: blame.LONGEST_MESSAGE]


def _prepare_torch(device: str) -> None:
    """One thread, and memory that nobody has written holds NaN or the largest integer."""
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    warnings.filterwarnings("ignore", message=".*does not have a deterministic implementation.*")
    if device != "cpu":
        torch.cuda.set_device(device)
        torch.empty(1, device=device)  # the context, off the critical path


def _poison_numpy() -> None:
    """`numpy.empty` and `empty_like` fill with NaN or the largest integer, so that forgotten elements show."""
    for name in ("empty", "empty_like"):
        plain = getattr(np, name)
        if not hasattr(plain, "poisons"):
            setattr(np, name, _poisoned(plain))


def _poisoned(plain: Callable[..., Any]) -> Callable[..., Any]:
    def empty(*args: Any, **kwargs: Any) -> Any:
        array = plain(*args, **kwargs)
        if array.dtype.kind in "fc":
            array.fill(np.nan)
        elif array.dtype.kind in "iu":
            array.fill(np.iinfo(array.dtype).max)
        return array

    empty.poisons = True  # type: ignore[attr-defined]
    return empty


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
