"""Warm one-shot runners: started with the frameworks imported and nobody's code in them, used once, thrown away.

Importing PyTorch and Triton takes seconds; a pool does it before anybody waits. `take` hands out a runner, and a
thread starts the next. All runners are children of that one thread, since the kernel kills them when the thread
that started them ends: whatever becomes of this process, they go with it.

Reading order: `Pool.take` → `Pool._keep_warm` → `Pool._start_one`.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from grader import cgroups, gpus, layout, sandbox
from grader.failure import Failure, FailureKind, Limits
from grader.runner import Runner
from grader.uids import SandboxUnavailable
from grader.verdict import Console, Lane

__all__ = ["Console", "Failure", "FailureKind", "Limits", "Pool", "Runner", "SandboxUnavailable"]

START_SECONDS: Final = 90.0  # importing PyTorch from a cold disk
PAUSE_SECONDS: Final = 1.0  # after a start that failed
BOOT: Final = (
    "import sys; sys.path.insert(0, '/runner'); from grader.inside import main; "
    "main(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))"
)


class Pool:
    """`size` runners kept warm for one lane. Usable from several threads; survives whatever its runners do."""

    def __init__(
        self,
        lane: Lane = Lane.CPU,
        size: int = 1,
        limits: Limits | None = None,
        *,
        framework: str = "triton",
        stock: bool = False,
        gpu: int = 0,
        rest: float = 0.0,
        hidden: tuple[Path, ...] = (),
    ) -> None:
        """`framework` (numpy, torch, triton, kernels, compiler) is imported beforehand; `hidden` no runner sees.

        `stock` runs kernels in Triton's own interpreter instead of ours, as a second opinion. `gpu` counts the
        GPUs of this machine from 0; runners see that one only. `rest` is for how many seconds after a runner was
        taken none is started in its place unless somebody waits: a start keeps a core busy that the grading needs.
        Raises `ValueError` for another framework. A machine without a sandbox shows in `take`.
        """
        if framework not in ("numpy", "torch", "triton", "kernels", "compiler"):
            raise ValueError(f"no framework is called {framework}")
        self._gpu = lane is Lane.GPU
        self._number = gpu
        self._framework = framework
        self._stock = stock and not self._gpu
        self._device = "cuda:0" if self._gpu else "cpu"  # the one GPU that a runner sees is its first
        self._size = size
        self._limits = limits or Limits()
        self._hidden = hidden
        self._others: dict[str, Pool] = {}  # for what is done without a learner's host code
        self._change = threading.Condition()
        self._warm: deque[Runner] = deque()
        self._out: set[Runner] = set()
        self._starting: Runner | None = None
        self._waiting = 0
        self._quiet = 0
        self._rest = rest
        self._replace_at = 0.0  # when the first runner that is missing may be replaced
        self._trouble: SandboxUnavailable | None = None
        self._closed = False
        cgroups.sweep()
        self._thread = threading.Thread(target=self._keep_warm, name="runners", daemon=True)
        self._thread.start()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def take(self, limits: Limits | None = None, seconds: float = START_SECONDS) -> Runner:
        """A warm runner, yours alone: close it when done. Waits for one if need be.

        Raises `SandboxUnavailable`.
        """
        with self._change:
            self._await_warm(seconds)
            if len(self._warm) >= self._size:
                self._replace_at = time.monotonic() + self._rest
            runner = self._warm.popleft()
            self._out.add(runner)
            self._out = {runner for runner in self._out if not runner.closed}
            self._change.notify_all()
        runner.confine(limits or self._limits, gpu=self._gpu)
        return runner

    def ready(self, seconds: float = START_SECONDS) -> None:
        """Wait until a runner is warm, without taking it. Raises `SandboxUnavailable` as `take` does."""
        with self._change:
            self._await_warm(seconds)

    def _await_warm(self, seconds: float) -> None:
        """Wait, with the lock held, as one of those for whom runners are started at once."""
        self._waiting += 1
        self._change.notify_all()
        try:
            self._change.wait_for(lambda: self._warm or self._trouble or self._closed, seconds)
        finally:
            self._waiting -= 1
        if not self._warm:
            raise self._why_none()

    def replayer(self) -> Runner:
        """A runner that runs kernels from their text and no file: no framework is imported in it.

        The first call starts a pool of them, of which one is kept warm. Raises `SandboxUnavailable`.
        """
        return self._other("kernels").take()

    def compiler(self, limits: Limits | None = None) -> Runner:
        """A runner that compiles kernels from their text, and runs no file either. As `replayer`."""
        return self._other("compiler").take(limits)

    def prepare_replays(self) -> None:
        """Have a replayer ready soon, and a compiler where there is one."""
        self._other("kernels")
        if self.compiles:
            self._other("compiler")

    def _other(self, framework: str) -> Pool:
        with self._change:
            if framework not in self._others and not self._closed:
                other = type(self)(
                    Lane.CPU, 1, self._limits, framework=framework, hidden=self._hidden, rest=self._rest
                )
                self._others[framework] = other
        if framework not in self._others:
            raise self._why_none()
        return self._others[framework]

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """While this lasts no runner is being started: a start keeps cores busy and the GPU too. For timing.

        Take the runners that you need before: nobody gets a new one meanwhile.
        """
        with self._change:
            self._quiet += 1
            if self._starting is not None:
                self._starting.pause(True)
        try:
            yield
        finally:
            with self._change:
                self._quiet -= 1
                if self._starting is not None and not self._quiet:
                    self._starting.pause(False)
                self._change.notify_all()

    @property
    def writes_launches(self) -> bool:
        """Do runners write launches down, so that they can be run again?"""
        return self._framework == "triton" and not self._stock

    @property
    def compiles(self) -> bool:
        """Can kernels be compiled here? That needs triton itself, which the interpreter does not."""
        return self.writes_launches and layout.package_folder("triton") is not None

    @property
    def gpu(self) -> gpus.Gpu | None:
        """The GPU that the runners use; None in the CPU lane and where there is none of that number."""
        found = gpus.visible() if self._gpu else []
        return next((gpu for gpu in found if gpu.number == self._number), None)

    @property
    def warm(self) -> int:
        """How many runners are ready now."""
        return len(self._warm)

    def close(self) -> None:
        """End all runners, those that were handed out too, and leave no process, group or file."""
        with self._change:
            self._closed = True
            runners = [*self._warm, *self._out]
            if self._starting is not None:
                self._starting.abort()
            self._warm.clear()
            self._change.notify_all()
        for other in self._others.values():
            other.close()
        for runner in runners:
            runner.abort()
        self._thread.join()
        for runner in runners:
            runner.close()

    def _why_none(self) -> Exception:
        if self._trouble is not None:
            return self._trouble
        if self._closed:
            return SandboxUnavailable("The pool is closed.", "Make a new one.")
        waited = "No runner became ready in time."
        return SandboxUnavailable(waited, "Give the machine more time or fewer workers.")

    def _keep_warm(self) -> None:
        """The one thread that starts runners: keeps `size` of them warm, and one for everybody who waits."""
        layout.precompile()
        for number in itertools.count():
            with self._change:
                while not (self._closed or self._wanted()):
                    self._change.wait(self._rest_left())
                if self._closed:
                    return
            try:
                runner = self._start_one(number)
            except SandboxUnavailable as trouble:
                self._report(trouble)
            except Exception as error:  # the thread must outlive everything: without it nobody is served
                self._report(sandbox.explain(repr(error)))
            else:
                self._offer(runner)

    def _wanted(self) -> bool:
        if self._quiet:
            return False
        rested = time.monotonic() >= self._replace_at
        return len(self._warm) < self._waiting or (rested and len(self._warm) < self._size)

    def _rest_left(self) -> float | None:
        """Seconds until a missing runner may be replaced; None when nothing but a notice changes what is wanted."""
        left = self._replace_at - time.monotonic()
        return max(left, 0.01) if len(self._warm) < self._size and not self._quiet else None

    def _offer(self, runner: Runner) -> None:
        with self._change:
            self._trouble = None
            if not self._closed:
                self._warm.append(runner)
                self._change.notify_all()
                return
        runner.close()

    def _report(self, trouble: SandboxUnavailable) -> None:
        with self._change:
            self._trouble = trouble
            self._change.notify_all()
            self._change.wait_for(lambda: self._closed, PAUSE_SECONDS)
            # Whoever comes later tries again, rather than hear of an old trouble.
            self._trouble = None

    def _start_one(self, number: int) -> Runner:
        runner = Runner(sandbox.start(self._spec(BOOT)), self._limits)
        with self._change:
            self._starting = runner
            if self._closed:
                runner.abort()
            elif self._quiet:
                runner.pause(True)
        ready = runner.await_ready(START_SECONDS)
        with self._change:
            self._starting = None
        if isinstance(ready, Failure):
            said = runner.close().text.strip()[-1500:]
            raise sandbox.explain(f"{ready.message} {said}".strip())
        return runner

    def _spec(self, boot: str, runners: int = 1) -> sandbox.Spec:
        """The confined process that `boot` begins in, with room for so many runners."""
        limits = self._limits
        gpu = self._its_gpu() if self._gpu else None
        arguments = ("{channel}", self._framework, self._device, str(limits.answer_bytes))
        return sandbox.Spec(
            command=("-I", "-B", "-X", "utf8", "-c", boot, *arguments),
            memory_bytes=limits.memory_bytes * runners + (8 << 30 if self._gpu else 2 << 30),  # while importing
            files_bytes=limits.files_bytes,
            processes=max(limits.processes, 64) * runners,
            environment=gpu.environment if gpu else {"TRITON_INTERPRET": "1"} if self._stock else {},
            devices=gpu.nodes if gpu else (),
            hidden=self._hidden,
        )

    def _its_gpu(self) -> gpus.Gpu:
        if (gpu := self.gpu) is None:
            found = ", ".join(f"{g.number} ({g.name})" for g in gpus.visible()) or "none"
            raise SandboxUnavailable(
                f"There is no GPU {self._number} here; the GPUs are: {found}.",
                "Run `nvidia-smi`; in a container, start it with GPUs.",
            )
        return gpu
