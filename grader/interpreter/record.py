"""What a launch did, for whoever asks: bytes moved, findings, provenance."""

from __future__ import annotations

from typing import Any

from grader.interpreter.address import Reach
from grader.interpreter.dtypes import Array
from grader.interpreter.errors import Frame
from grader.interpreter.memory import Storage


class Recorder:
    def __init__(self) -> None:
        self.storages: dict[tuple[int, str], Storage] = {}
        self.findings: list[Any] = []

    def begin(self, *a: Any) -> None: ...
    def end(self) -> None: ...
    def mark(self) -> None: ...
    def forget(self) -> None: ...
    def load(self, run: Any, reach: Reach, starts: Array) -> None: ...
    def store(self, run: Any, reach: Reach, values: Array) -> None: ...
    def atomic(self, run: Any, reach: Reach) -> None: ...
    def note(self, kind: str, message: str, frame: Frame, **k: Any) -> None:
        self.findings.append((kind, message, frame, k))
