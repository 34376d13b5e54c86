"""Does it compile for a GPU? Asked of Triton's compiler about every kernel launched, once the visible cases passed.

The answers come from a process that has the file's kernels as text and never ran the rest of it
(`grader.front_end`), so nothing there speaks for the learner. It works beside the cases that still run. What
refuses a kernel is the language alone, on every target; whatever else goes wrong is a remark, since a right kernel
must not fail for something that an assembler or one GPU lacks.

Reading order: `Compilation.add` → `_work` (a thread) → `Compilation.end` → `Compilation.finish` → `refuted`.
"""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import msgspec

from grader import messages, wire
from grader.judge import Judged
from grader.kit import Case
from grader.pool import Failure, FailureKind, Limits, SandboxUnavailable
from grader.specialise import constants_of, specialised
from grader.verdict import CaseResult, Compiled, Console, Finding, Outcome

TARGETS: Final = (90, 80)  # the first decides, unless it refuses
LIMITS: Final = Limits(load_seconds=1.0, total_seconds=20.0, printed_bytes=1 << 20, answer_bytes=1 << 20)
MOST: Final = 128  # kernels with their constants, of one submission; and one more of each other kernel
MOST_SHOWN: Final = 4  # kernels whose cost is shown
LARGEST: Final = 1 << 24  # of any figure
ENDED: Final = {
    FailureKind.TIME_LIMIT: Outcome.TIME_LIMIT,
    FailureKind.OUT_OF_MEMORY: Outcome.OUT_OF_MEMORY,
}


class Compiler(Protocol):
    """The part of a runner that is needed here."""

    def compile(self, order: wire.Compile, seconds: float) -> wire.Compiled | Failure: ...
    def abort(self) -> None: ...
    def close(self) -> Console: ...


@dataclass(frozen=True)
class Refusal:
    """A kernel that does not compile, or whose compilation had to be stopped."""

    kernel: wire.Kernel
    visible: bool
    outcome: Outcome
    words: str
    line: int | None = None


@dataclass(frozen=True)
class _Asked:
    """A kernel as it was launched, with the file's constants at that time: they may change from call to call."""

    kernel: wire.Kernel
    globals: dict[str, int | float | bool | str]
    visible: bool


@dataclass
class Said:
    """What the compiler said of one submission."""

    refusal: Refusal | None = None
    compiled: list[Compiled] = field(default_factory=list)
    remarks: list[Finding] = field(default_factory=list)
    problem: str = ""  # for operators


class Compilation:
    """One submission's kernels at the compiler. Close it when done."""

    def __init__(self, take: Callable[[], Compiler], source: str) -> None:
        self._take = take
        self._source = source
        self._lines = source.count("\n") + 1
        self._constants = constants_of(source)
        self._known: set[bytes] = set()
        self._names: set[str] = set()
        self._often: Counter[bytes] = Counter()
        self._kernels: dict[bytes, _Asked] = {}
        self._waiting: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._said = Said()
        self._runner: Compiler | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="compiler", daemon=True)

    def add(self, judged: Sequence[Judged]) -> None:
        """What these cases launched, as far as it is new."""
        for one in judged:
            for _, said in one.calls:
                for launch in said.launches:
                    self._launched(launch, said.globals, one.case.visible)
        if self._thread.ident is None and not self._closed:
            self._thread.start()

    def _launched(self, launch: wire.Launch, constants: dict[str, int | float | bool | str], visible: bool) -> None:
        kernel = specialised(launch, self._constants.get(launch.kernel, frozenset()))
        if kernel is None:
            self._remark(messages.not_compiled(launch.kernel))
            return
        asked = _Asked(kernel, constants, visible)
        if visible:
            whole = _key(kernel)
            self._often[whole] += 1
            self._kernels[whole] = asked
        # The language does not look at the rest.
        key = _key((msgspec.structs.replace(kernel, divisible=[], num_warps=4, num_stages=3), constants))
        if key in self._known:
            return
        if len(self._known) >= MOST and kernel.name in self._names:
            self._remark(messages.not_all_compiled(MOST))
            return
        self._known.add(key)
        self._names.add(kernel.name)
        self._waiting.put(asked)

    def end(self) -> None:
        """Nothing more is added: what the kernels cost may be found out."""
        self._waiting.put(None)

    def finish(self) -> Said:
        """Wait for the rest, and for what the kernels cost."""
        self.end()
        if self._thread.is_alive():
            self._thread.join()
        return self._said

    def close(self) -> None:
        """End it, wherever it stands."""
        self._closed = True
        self.end()
        if self._runner is not None:
            self._runner.abort()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            self._runner = self._take()
            self._work(self._runner)
        except SandboxUnavailable as error:
            self._remark(messages.NO_COMPILER)
            self._said.problem = f"the compiler did not start: {error}"
        finally:
            if self._runner is not None:
                self._runner.close()

    def _work(self, runner: Compiler) -> None:
        while not self._closed and (item := self._waiting.get()) is not None:
            if not self._accepts(runner, item):
                return
        for asked in self._shown():
            if self._closed or not self._measured(runner, asked):
                return

    def _accepts(self, runner: Compiler, asked: _Asked) -> bool:
        """Whether to go on: the language takes the kernel on one target at least."""
        kernel, refused = asked.kernel, None
        for target in TARGETS:
            built = self._built(runner, asked, [target])
            if built is None:
                return False
            if built[0].trouble:
                self._remark(messages.compiler_trouble(kernel.name, target, built[0].trouble))
            if not built[0].refused:
                return True
            refused = refused or built[0]
        assert refused is not None
        words = messages.refused_by_compiler(kernel.name, refused.refused)
        self._said.refusal = Refusal(kernel, asked.visible, Outcome.COMPILE_ERROR, words, refused.line)
        return False

    def _measured(self, runner: Compiler, asked: _Asked) -> bool:
        """Whether to go on: what a program of the kernel costs is known, or why not."""
        kernel = asked.kernel
        built = self._built(runner, asked, sorted(TARGETS), to_the_end=True)
        for one in built or ():
            if one.refused or one.trouble:
                self._remark(messages.compiler_trouble(kernel.name, one.target, one.refused or one.trouble))
            else:
                self._said.compiled.append(_compiled(kernel, one, self._constants.get(kernel.name, frozenset())))
        return built is not None

    def _shown(self) -> Iterator[_Asked]:
        """Of each kernel the most usual launch of visible cases. The compiler makes a constant of every 1."""
        names: set[str] = set()
        ordinary = sorted(
            self._often, key=lambda key: (self._special(self._kernels[key].kernel), -self._often[key])
        )
        for key in ordinary:
            asked = self._kernels[key]
            if asked.kernel.name not in names and len(names) < MOST_SHOWN:
                names.add(asked.kernel.name)
                yield asked

    def _special(self, kernel: wire.Kernel) -> int:
        return len(kernel.constants.keys() - self._constants.get(kernel.name, frozenset()))

    def _built(
        self, runner: Compiler, asked: _Asked, targets: list[int], to_the_end: bool = False
    ) -> list[wire.Built] | None:
        """The answers; None when there are none, and the reason is noted."""
        kernel = asked.kernel
        order = wire.Compile(
            id=len(self._known),
            source=self._source,
            kernel=kernel,
            targets=targets,
            to_the_end=to_the_end,
            globals=asked.globals,
        )
        answer = runner.compile(order, LIMITS.total_seconds)
        if not isinstance(answer, Failure):
            return [self._checked(built) for built in answer.built]
        if self._closed:
            return None
        if answer.kind in ENDED:
            words = messages.compiler_stopped(kernel.name, answer.kind, LIMITS.total_seconds, LIMITS.memory_bytes)
            self._said.refusal = Refusal(kernel, asked.visible, ENDED[answer.kind], words)
        elif answer.kind is FailureKind.DIED:
            self._remark(messages.compiler_died(kernel.name))
        else:
            self._said.problem = f"compiler: {answer.kind}: {answer.message}"
            self._remark(messages.NO_COMPILER)
        return None

    def _checked(self, built: wire.Built) -> wire.Built:
        """As it may be shown."""
        return msgspec.structs.replace(
            built,
            refused=messages.plain(built.refused, 500),
            trouble=messages.plain(built.trouble, 500),
            line=built.line if built.line is not None and 1 <= built.line <= self._lines else None,
            registers=_figure(built.registers),
            spilled_bytes=_figure(built.spilled_bytes),
            shared_bytes=_figure(built.shared_bytes),
        )

    def _remark(self, text: str) -> None:
        found = Finding(line=None, text=text)
        if found not in self._said.remarks:
            self._said.remarks.append(found)


def refuted(refusal: Refusal, case: Case) -> Judged:
    """A result of its own: in full when a visible case launched it, else no more than how it ended."""
    result = CaseResult(
        name=messages.COMPILED,
        visible=refusal.visible,
        outcome=refusal.outcome,
        detail=refusal.words,
        line=refusal.line,
    )
    kept = replace(case, name=messages.COMPILED, family="provenance", visible=refusal.visible)
    return Judged(case=kept, result=result)


def _compiled(kernel: wire.Kernel, built: wire.Built, named: frozenset[str]) -> Compiled:
    fixed = ((name, value) for name, value in kernel.constants.items() if name in named)
    constants = ", ".join(f"{name} = {_constant(value)}" for name, value in fixed)
    return Compiled(
        kernel=messages.plain(kernel.name, 80),
        constants=messages.plain(constants, 200),
        warps=kernel.num_warps,
        target=f"sm_{built.target}",
        registers=built.registers,
        spilled_bytes=built.spilled_bytes,
        shared_bytes=built.shared_bytes,
    )


def _constant(value: wire.Traced) -> str:
    return value.name if isinstance(value, wire.Named) else str(value)


def _figure(number: int | None) -> int | None:
    return number if number is not None and 0 <= number <= LARGEST else None


def _key(kernel: object) -> bytes:
    return msgspec.msgpack.encode(kernel)
