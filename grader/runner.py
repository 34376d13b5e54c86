"""The judge's end of one runner: orders out, answers in, and a reason whenever there is no answer.

Nothing here trusts the other end. Every wait has a deadline of the judge's clock; every frame is bounded and
checked; what the learner prints is drained as it comes, so that it blocks nobody, and kept only up to a cap.

Reading order: `Runner.load`, `Runner.call`, `Runner.close` → `Runner._exchange`.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from grader import wire
from grader.failure import (
    Failure,
    FailureKind,
    Limits,
    NoAnswer,
    Printed,
    clean_findings,
    crash_line,
    learner_failure,
    memory_text,
    status_text,
)
from grader.verdict import Console

CHUNK: Final = 1 << 18
WATCH_SECONDS: Final = 0.05  # how often memory is looked at where no cgroup limits it
LAST_WORDS_SECONDS: Final = 1.0  # for a process whose channel closed to end by itself


Serve = Callable[[wire.Wanted], wire.Given]
Measured = wire.Staged | wire.Timed | wire.Audited
ANSWER_TO: Final[dict[type, type[Measured]]] = {
    wire.Stage: wire.Staged,
    wire.Batch: wire.Timed,
    wire.Audit: wire.Audited,
}


class Process(Protocol):
    """What a runner needs of a confined process; `grader.sandbox.Box` is one."""

    @property
    def descriptors(self) -> tuple[int, int, int]:
        """Channel, stdout, stderr."""

    def kill(self) -> None: ...
    def close(self) -> int: ...
    def limit(self, memory_bytes: int, processes: int) -> bool: ...
    def killed_for_memory(self) -> bool: ...
    def resident(self) -> int: ...
    def pause(self, stop: bool) -> None: ...
    def wait(self, seconds: float) -> int | None: ...


class Runner:
    """One warm process for one submission. Not for several threads at once, except for `abort`."""

    def __init__(self, box: Process, limits: Limits) -> None:
        self._box = box
        self._limits = limits
        self._frames = wire.Frames(limits.answer_bytes + (1 << 20))
        self._console = Printed(limits)
        self._failure: Failure | None = None
        self._closed = False
        self._spent = 0.0
        self._watched = False
        self._memory_before = 0
        self.seconds = 0.0  # of the judge's clock that the last exchange took
        channel, *streams = box.descriptors
        self._channel = channel
        self._selector = selectors.DefaultSelector()
        for descriptor in (channel, *streams):
            os.set_blocking(descriptor, False)
            self._selector.register(descriptor, selectors.EVENT_READ)

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    @property
    def usable(self) -> bool:
        """Whether another call can be made: the process lives and has behaved."""
        return self._failure is None and not self._closed

    def await_ready(self, seconds: float) -> wire.Ready | Failure:
        """Wait until the frameworks are imported. For the pool."""
        answer = self._ask(None, seconds)
        return answer if isinstance(answer, wire.Ready | Failure) else self._wrong("was not ready first")

    def confine(self, limits: Limits, *, gpu: bool = False) -> None:
        """Set the limits of this submission, before its code is there. For the pool."""
        self._limits = limits
        self._console = Printed(limits)
        self._frames = wire.Frames(limits.answer_bytes + (1 << 20))
        self._watched = not self._box.limit(limits.memory_bytes, limits.processes)
        self._memory_before = self._box.resident() if self._watched else 0
        order = wire.Confine(
            data_bytes=0 if gpu else limits.memory_bytes,  # a driver reserves address space by the hundred GB
            file_bytes=limits.files_bytes,
            processes=limits.processes,
            cpu_seconds=int(limits.total_seconds) * 4 + 5,  # of all threads; the wall clock comes first
            open_files=1024 if gpu else 256,
        )
        with contextlib.suppress(OSError):  # a process that is gone says so at the first question
            os.write(self._channel, wire.frame(order))

    def load(self, order: wire.Load) -> wire.Loaded | Failure:
        """Run the learner's file. The runner is of no use after a failure."""
        answer = self._ask(order, self._limits.load_seconds)
        if isinstance(answer, wire.Failed):
            self._failure = learner_failure(answer)
            return self._failure
        if isinstance(answer, wire.Loaded | Failure):
            return answer
        return self._wrong("answered a file with something else")

    def call(
        self, order: wire.Call | wire.Replay, seconds: float, serve: Serve | None = None
    ) -> wire.Returned | Failure:
        """Call one entry, within `seconds`. After an exception in the learner's code another call may be made.

        `serve` answers what the code asks for meanwhile. It raises `wire.Malformed` for what it never offered; the
        time that it takes is not the learner's.
        """
        answer = self._ask(order, seconds, serve)
        if isinstance(answer, wire.Failed):
            return learner_failure(answer)
        if isinstance(answer, Failure):
            return answer
        if not isinstance(answer, wire.Returned):
            return self._wrong("answered a call with something else")
        problem = _misfit(order, answer)
        if problem:
            return self._wrong(problem)
        return msgspec.structs.replace(answer, findings=clean_findings(answer.findings))

    def compile(self, order: wire.Compile, seconds: float) -> wire.Compiled | Failure:
        """Have one kernel compiled for every target asked for, within `seconds`."""
        answer = self._ask(order, seconds)
        if isinstance(answer, wire.Failed):
            return learner_failure(answer)
        if isinstance(answer, Failure):
            return answer
        if not isinstance(answer, wire.Compiled) or answer.id != order.id:
            return self._wrong("answered a kernel to compile with something else")
        if [built.target for built in answer.built] != order.targets:
            return self._wrong("compiled for other targets")
        return answer

    def walk(self, order: wire.Walk, seconds: float) -> wire.Walked | Failure:
        """Have one program of a launch watched, within `seconds`."""
        answer = self._ask(order, seconds)
        if isinstance(answer, wire.Failed):
            return learner_failure(answer)
        if isinstance(answer, Failure):
            return answer
        if not isinstance(answer, wire.Walked) or answer.id != order.id:
            return self._wrong("answered a program to watch with something else")
        return answer

    def time(self, order: wire.Stage | wire.Batch | wire.Audit, seconds: float) -> Measured | Failure:
        """One step of timing; `self.seconds` is what it took by our clock, from the order to the answer."""
        answer = self._ask(order, seconds)
        if isinstance(answer, wire.Failed):
            return learner_failure(answer)
        if isinstance(answer, Failure):
            return answer
        if not isinstance(answer, ANSWER_TO[type(order)]) or answer.id != order.id:
            return self._wrong("answered a step of timing with something else")
        return answer

    def pause(self, stop: bool) -> None:
        """Stop everything inside where it stands, or let it go on. For the pool."""
        self._box.pause(stop)

    def console(self) -> Console:
        """What was printed until now; the runner goes on."""
        with contextlib.suppress(OSError, NoAnswer):  # the next call says that it was too much
            self._drain(0.0)
        return self._console.result()

    def abort(self) -> None:
        """End the process from another thread; whoever waits for it gets a `died` failure."""
        self._box.kill()

    def close(self) -> Console:
        """End everything the submission started, leave nothing behind, and hand over what it printed."""
        if not self._closed:
            self._closed = True
            self._box.kill()
            with contextlib.suppress(OSError):
                self._drain(0.0)
            self._selector.close()
            self._box.close()
        return self._console.result()

    def _ask(self, order: wire.Order | None, seconds: float, serve: Serve | None = None) -> wire.Answer | Failure:
        if self._closed:
            return Failure(FailureKind.REFUSED, "The runner is closed.")
        if self._failure is not None:
            return self._failure
        allowed = min(seconds, self._limits.total_seconds - self._spent)
        started = time.monotonic()
        ours = 0.0
        try:
            answer = self._exchange(self._pack(order), started + allowed)
            while isinstance(answer, wire.Wanted):
                asked = time.monotonic()
                given = self._pack(self._serve(answer, serve))
                ours += time.monotonic() - asked
                answer = self._exchange(given, started + allowed + ours)
            return answer
        except NoAnswer as none:
            self._failure = none.failure
            self._box.kill()
            return none.failure
        finally:
            self.seconds = time.monotonic() - started - ours
            if order is not None:
                self._spent += self.seconds

    def _serve(self, wanted: wire.Wanted, serve: Serve | None) -> wire.Given:
        """What the judge says to a question. An exception of its own ends the runner: somebody waits in there."""
        if serve is None:
            raise NoAnswer(FailureKind.MALFORMED, "The process asked for something, and nothing is served here.")
        try:
            return serve(wanted)
        except wire.Malformed as error:
            raise NoAnswer(FailureKind.MALFORMED, f"The process sent {error}.") from None
        except Exception:
            self._failure = Failure(FailureKind.REFUSED, "A served function failed.")
            self._box.kill()
            raise

    def _pack(self, order: wire.Order | None) -> memoryview:
        if order is None:
            return memoryview(b"")
        try:
            return memoryview(wire.frame(order))
        except UnicodeEncodeError:
            raise NoAnswer(FailureKind.COMPILE_ERROR, "The file has half a surrogate pair in it.") from None

    def _exchange(self, out: memoryview, deadline: float) -> wire.Answer:
        """Send, then wait for one message, draining what is printed. Raises `NoAnswer`."""
        if out:
            self._refuse_unasked()
        channel_events = selectors.EVENT_READ | (selectors.EVENT_WRITE if out else 0)
        self._selector.modify(self._channel, channel_events)
        look = time.monotonic() + WATCH_SECONDS
        while True:
            now = time.monotonic()
            if now >= deadline:
                raise NoAnswer(FailureKind.TIME_LIMIT, "It did not finish in time.")
            if self._watched and now >= look:
                self._watch_memory()
                look = now + WATCH_SECONDS
            wait = min(deadline, look) - now if self._watched else deadline - now
            for key, events in self._selector.select(max(wait, 0.0)):
                if key.fd != self._channel:
                    self._hear(key.fd)
                    self._limit_output()
                    continue
                if events & selectors.EVENT_WRITE:
                    out = self._send(out)
                if events & selectors.EVENT_READ and (payload := self._receive()) is not None:
                    return self._decode(payload)

    def _send(self, out: memoryview) -> memoryview:
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            out = out[os.write(self._channel, out[: 1 << 20]) :]
        if not out:
            self._selector.modify(self._channel, selectors.EVENT_READ)
        return out

    def _receive(self) -> bytes | None:
        try:
            data = os.read(self._channel, CHUNK)
        except BlockingIOError:
            return None
        except ConnectionResetError:
            data = b""
        if not data:
            raise self._last_words()
        try:
            payloads = list(self._frames.feed(data))
        except wire.Malformed as error:
            raise NoAnswer(FailureKind.MALFORMED, f"The process sent {error}.") from None
        if len(payloads) > 1 or (payloads and not self._frames.empty):
            raise NoAnswer(FailureKind.MALFORMED, "The process sent more than it was asked for.")
        return payloads[0] if payloads else None

    def _decode(self, payload: bytes) -> wire.Answer:
        try:
            return wire.decode_answer(payload)
        except wire.Malformed as error:
            raise NoAnswer(FailureKind.MALFORMED, f"The process sent {error}.") from None

    def _refuse_unasked(self) -> None:
        """Nothing may lie in the channel when a question is asked: it would be an answer from before."""
        with contextlib.suppress(BlockingIOError, ConnectionResetError):
            data = os.read(self._channel, CHUNK)
            if not data:
                raise self._last_words()
            raise NoAnswer(FailureKind.MALFORMED, "The process sent a message that nobody had asked for.")

    def _hear(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return
        if not data:
            self._selector.unregister(descriptor)
        self._console.add(data)

    def _limit_output(self) -> None:
        if self._console.over:
            raise NoAnswer(FailureKind.OUTPUT_LIMIT, self._output_text())

    def _output_text(self) -> str:
        return f"It printed more than {self._limits.printed_bytes >> 20} MiB."

    def _watch_memory(self) -> None:
        if self._box.resident() > self._memory_before + self._limits.memory_bytes:
            raise NoAnswer(FailureKind.OUT_OF_MEMORY, memory_text(self._limits))

    def _last_words(self) -> NoAnswer:
        """Why the channel closed: the process ended, or closed it and lives on."""
        status = self._box.wait(LAST_WORDS_SECONDS)
        self._drain(0.05)
        if self._console.over:
            return NoAnswer(FailureKind.OUTPUT_LIMIT, self._output_text())
        if self._box.killed_for_memory():
            return NoAnswer(FailureKind.OUT_OF_MEMORY, memory_text(self._limits))
        if status is None:
            return NoAnswer(FailureKind.MALFORMED, "The process closed its channel to the judge.")
        if status == 128 + signal.SIGXCPU:
            return NoAnswer(FailureKind.TIME_LIMIT, "It used more processor time than allowed.")
        return NoAnswer(FailureKind.DIED, status_text(status), crash_line(self._console.result().text))

    def _drain(self, seconds: float) -> None:
        """Read what is still in the pipes of stdout and stderr."""
        deadline = time.monotonic() + seconds
        while True:
            keys = [key for key, _ in self._selector.select(max(deadline - time.monotonic(), 0.0))]
            streams = [key.fd for key in keys if key.fd != self._channel]
            if not streams or self._console.over:
                return
            for descriptor in streams:
                self._hear(descriptor)

    def _wrong(self, what: str) -> Failure:
        self._failure = Failure(FailureKind.MALFORMED, f"The process {what}.")
        self._box.kill()
        return self._failure


def _misfit(order: wire.Call | wire.Replay, answer: wire.Returned) -> str:
    """What in the answer does not fit the call; empty if all does."""
    if answer.id != order.id:
        return "answered another call"
    wanted = {number for number in order.return_args if isinstance(order.args[number], wire.Array)}
    if set(answer.args) != wanted:
        return "did not give back the arguments asked for"
    for number in wanted:
        sent, got = order.args[number], answer.args[number]
        if (sent.dtype, sent.shape, sent.strides, sent.offset) != (got.dtype, got.shape, got.strides, got.offset):
            return "gave back an argument of another layout"
        if len(sent.storage) != len(got.storage):
            return "gave back an argument of another size"
    if len(answer.args_digest) != sum(1 for value in order.args for _ in wire.arrays_in(value)):
        return "did not digest its arguments"
    return ""
