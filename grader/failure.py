"""What a submission may use, and the reasons why there is no answer, said in words a learner reads.

Texts that came through a runner are cleaned here, once; they are for people and prove nothing.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from grader import wire
from grader.verdict import Console

MOST_LINES: Final = 1 << 31
MOST_FINDINGS: Final = 50


class FailureKind(StrEnum):
    """Why there is no answer."""

    COMPILE_ERROR = "compile_error"
    MISSING_ENTRY = "missing_entry"
    RAISED = "raised"
    TIME_LIMIT = "time_limit"
    OUT_OF_MEMORY = "out_of_memory"
    OUTPUT_LIMIT = "output_limit"
    DIED = "died"
    MALFORMED = "malformed"
    REFUSED = "refused"


@dataclass(frozen=True)
class Limits:
    """What one submission may use, all processes of it together."""

    memory_bytes: int = 2 << 30  # beyond what the frameworks hold when they are imported
    files_bytes: int = 64 << 20  # in /tmp and /dev/shm
    processes: int = 64
    load_seconds: float = 20.0
    total_seconds: float = 120.0
    console_bytes: int = 64 << 10  # kept of what is printed
    printed_bytes: int = 16 << 20  # printed before the run is stopped
    answer_bytes: int = 128 << 20


@dataclass(frozen=True)
class Failure:
    """No answer, and why. The text is for learners; it came through the learner's process and proves nothing.

    `error` and `args_digest` are as in `wire.Failed`.
    """

    kind: FailureKind
    message: str
    traceback: str = ""
    line: int | None = None
    findings: tuple[wire.Finding, ...] = ()
    error: tuple[str, ...] = ()
    args_digest: tuple[str, ...] = ()


class NoAnswer(Exception):
    """Carries a failure out of the exchange."""

    def __init__(self, kind: FailureKind, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.failure = Failure(kind, message, "", line)


class Printed:
    """What was printed, both streams in order of arrival, up to a cap; the rest is counted."""

    def __init__(self, limits: Limits) -> None:
        self._kept = bytearray()
        self._total = 0
        self._limits = limits

    def add(self, data: bytes) -> None:
        self._total += len(data)
        self._kept += data[: self._limits.console_bytes - len(self._kept)]

    @property
    def over(self) -> bool:
        return self._total > self._limits.printed_bytes

    def result(self) -> Console:
        return Console(text=clean(self._kept.decode("utf-8", "replace")), dropped=self._total - len(self._kept))


def clean(text: str) -> str:
    """Without control characters (line ends and tabs apart), which databases, terminals and pages may choke on."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def learner_failure(answer: wire.Failed) -> Failure:
    """A failure that the runner reported, with its text cleaned and shortened."""
    line = answer.line if answer.line is not None and 0 < answer.line < MOST_LINES else None
    message, traceback = clean(answer.message[:4000]), clean(answer.traceback[:8000])
    return Failure(
        FailureKind(answer.kind),
        message,
        traceback,
        line,
        tuple(clean_findings(answer.findings)),
        tuple(answer.error),
        tuple(answer.args_digest),
    )


def clean_findings(findings: list[wire.Finding]) -> list[wire.Finding]:
    """The first few, with their texts cleaned and shortened."""
    return [
        wire.Finding(
            kind=clean(found.kind[:100]),
            line=min(max(found.line, 0), MOST_LINES),
            text=clean(found.text[:1000]),
            severity="error" if found.severity == "error" else "warning",
        )
        for found in findings[:MOST_FINDINGS]
    ]


def memory_text(limits: Limits) -> str:
    """When memory ran out."""
    return f"It needed more than the {limits.memory_bytes / (1 << 30):.3g} GiB of memory allowed."


def status_text(status: int) -> str:
    """When the process ended: by a signal, or by itself."""
    number = status - 128
    if status > 128 and number in {s.value for s in signal.Signals}:
        name = signal.Signals(number).name
        reason = {"SIGSEGV": "memory outside every tensor was touched", "SIGBUS": "a bad address was touched"}
        return f"The process was ended by {name}" + (f": {reason[name]}." if name in reason else ".")
    return f"The process ended by itself with status {status} before it answered."


def crash_line(text: str) -> int | None:
    """The learner's line from the last crash report in what was printed."""
    report = text.rfind("Fatal Python error")
    found = re.search(r'File "submission\.py", line (\d{1,7})', text[report:]) if report >= 0 else None
    return int(found.group(1)) if found else None
