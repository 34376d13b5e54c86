"""A pool whose runners are forked from one confined process that has the frameworks imported. For the gate only.

A runner of its own for each submission costs an import of PyTorch and Triton, one to two seconds of a core. That is
the price of serving strangers: nothing of one may reach another. The gate runs some two hundred files that its own
repository holds, and pays it once. They are confined as ever: same sandbox, same limits, no answers inside.

Reading order: `Nursery` → `_Parent.fork` → `Forked`, which stands where a `grader.sandbox.Box` would.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from pathlib import Path
from typing import Final

from grader import sandbox
from grader.failure import Failure
from grader.pool import START_SECONDS, Pool
from grader.runner import Runner

BOOT: Final = (
    "import sys; sys.path.insert(0, '/runner'); from grader.forks import main; "
    "main(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))"
)
READY: Final = b"R"
FORK: Final = b"F"
NUMBER: Final = 4  # bytes of a process id, and of how a process ended
AT_ONCE: Final = 8  # runners that may live at the same time
FORK_SECONDS: Final = 20.0
GONE_SECONDS: Final = 5.0


class Nursery(Pool):
    """As `Pool`, for files that the authors of drills wrote. Never for a learner's."""

    _parent: _Parent | None = None

    def close(self) -> None:
        """End all runners and the process that they come from."""
        super().close()
        if self._parent is not None:
            self._parent.close()

    def _start_one(self, number: int) -> Runner:
        if self._parent is None:
            self._parent = _Parent(self._spec(BOOT, AT_ONCE))
        try:
            runner = Runner(self._parent.fork(), self._limits)
        except OSError as error:
            said, self._parent = self._parent.close(), None
            raise sandbox.explain(f"{error} {said}".strip()) from error
        ready = runner.await_ready(START_SECONDS)
        if isinstance(ready, Failure):
            said = runner.close().text.strip()[-1500:]
            raise sandbox.explain(f"{ready.message} {said}".strip())
        return runner


class _Parent:
    """The confined process that forks. For one thread."""

    def __init__(self, spec: sandbox.Spec) -> None:
        """Raises `SandboxUnavailable`."""
        self._box = sandbox.start(spec)
        try:
            self._expect(len(READY), START_SECONDS)
        except OSError as error:
            self._box.kill()
            said = self._box.said()[-1500:]
            self._box.close()
            raise sandbox.explain(f"{error} {said}".strip()) from error
        self._pid = list(sandbox.descendants(self._box.process.pid))[-1]

    def fork(self) -> Forked:
        """A new process with the frameworks in it. Raises `OSError` when the parent is gone."""
        ours, theirs = socket.socketpair()
        pipes = [os.pipe() for _ in range(3)]
        reading = [end for end, _ in pipes]
        writing = [end for _, end in pipes]
        try:
            socket.send_fds(self._box.channel, [FORK], [theirs.fileno(), *writing])
            keeper = self._outside(int.from_bytes(self._expect(NUMBER, FORK_SECONDS), "big"))
        except OSError:
            ours.close()
            for number in reading:
                os.close(number)
            raise
        finally:
            theirs.close()
            for number in writing:
                os.close(number)
        return Forked(keeper, ours, *reading)

    def close(self) -> str:
        """End it and all that it forked; what it said to stderr."""
        self._box.kill()
        said = self._box.said()
        self._box.close()
        return said

    def _expect(self, count: int, seconds: float) -> bytes:
        if not select.select([self._box.channel], [], [], seconds)[0]:
            raise TimeoutError("The process that forks runners did not answer.")
        data = self._box.channel.recv(count)
        if len(data) < count:
            raise ConnectionResetError("The process that forks runners has ended.")
        return data

    def _outside(self, inside: int) -> int:
        """What a child is called out here that is called `inside` in there."""
        for child in sandbox.children(self._pid):
            with contextlib.suppress(OSError, IndexError):
                status = Path(f"/proc/{child}/status").read_text()
                if int(status.split("NSpid:", 1)[1].split("\n", 1)[0].split()[-1]) == inside:
                    return child
        raise ProcessLookupError("A forked process is not to be found.")


class Forked:
    """One forked runner with all that it starts, below its keeper."""

    def __init__(self, keeper: int, channel: socket.socket, out: int, err: int, ended: int) -> None:
        self._keeper = keeper
        self._channel = channel
        self._out, self._err, self._ended = out, err, ended
        self._status: int | None = None
        self._closed = False

    @property
    def descriptors(self) -> tuple[int, int, int]:
        """Channel, stdout, stderr."""
        return self._channel.fileno(), self._out, self._err

    def kill(self) -> None:
        """End every process, without waiting."""
        if not self._closed:
            self._signal(signal.SIGKILL)

    def pause(self, stop: bool) -> None:
        """Stop every process where it stands, or let all go on."""
        self._signal(signal.SIGSTOP if stop else signal.SIGCONT)

    def limit(self, memory_bytes: int, processes: int) -> bool:
        """Nothing to change: each process limits its own memory, and the parent's group all of theirs together."""
        return True

    def killed_for_memory(self) -> bool:
        return False

    def resident(self) -> int:
        """Bytes of memory that the processes hold, files mapped from disk apart; what they share is divided."""
        return sum(sandbox.held(pid) for pid in sandbox.descendants(self._keeper))

    def wait(self, seconds: float) -> int | None:
        """The exit status, 128 + N for signal N; None if it has not ended by then."""
        if self._status is None and select.select([self._ended], [], [], seconds)[0]:
            data = os.read(self._ended, NUMBER)
            self._status = int.from_bytes(data, "big") if data else 128 + signal.SIGKILL
        return self._status

    def close(self) -> int:
        """End it and wait until it is gone. Returns the exit status."""
        self.kill()
        status = self.wait(GONE_SECONDS)
        if not self._closed:
            self._closed = True
            deadline = time.monotonic() + GONE_SECONDS
            while Path(f"/proc/{self._keeper}").exists() and time.monotonic() < deadline:
                time.sleep(0.002)
            self._channel.close()
            for number in (self._out, self._err, self._ended):
                os.close(number)
        return 128 + signal.SIGKILL if status is None else status

    def _signal(self, number: int) -> None:
        # The keeper stays: it tells how the runner ended, and goes by itself.
        for pid in list(sandbox.descendants(self._keeper)):
            with contextlib.suppress(OSError):  # it has ended
                os.kill(pid, number)
