"""Holds the snapshot that pages are made from, and swaps it for a newer one when the content changes.

A broken file never takes the course down: the last good version stays live and `problems` says what is wrong.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from starlette.requests import HTTPConnection
from watchfiles import watch

from app.course.access import NOTHING, View, visible_to
from app.course.compile import compile_course
from app.course.drills import read_drills
from app.course.problems import Problem
from app.course.snapshot import Snapshot

log = logging.getLogger(__name__)


class ContentError(Exception):
    """The content could not be compiled and there is no earlier version to show."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class CourseStore:
    """The current snapshot. Reading `current` needs no lock: a reload replaces one reference."""

    def __init__(self, content: Path, drills: Path, first: Snapshot) -> None:
        self._content = content
        self._drills = drills
        self._current = first
        self._reloading = threading.Lock()
        self.problems: tuple[Problem, ...] = ()

    @classmethod
    def open(cls, content: Path, drills: Path) -> CourseStore:
        """Compile the content for the first time. Raises `ContentError`."""
        compiled = compile_course(content, read_drills(drills))
        if compiled.snapshot is None:
            raise ContentError(compiled.problems)
        store = cls(content, drills, compiled.snapshot)
        store.problems = compiled.problems
        return store

    @property
    def current(self) -> Snapshot:
        return self._current

    def reload(self) -> bool:
        """Compile again. True when the new version is live; False when it has problems and the old one stays."""
        with self._reloading:
            compiled = compile_course(self._content, read_drills(self._drills))
            self.problems = compiled.problems
            if compiled.snapshot is None:
                return False
            self._current = compiled.snapshot
            return True

    def watch(self, stop: threading.Event) -> None:
        """Reload on every change until `stop` is set. Runs in a thread of its own, for authors at work."""
        for _ in watch(self._content, self._drills, stop_event=stop, raise_interrupt=False):
            if self.reload():
                log.info("content reloaded: %s", self._current.digest)
            else:
                log.warning("content not reloaded:\n%s", "\n".join(str(problem) for problem in self.problems))


def view_of(connection: HTTPConnection) -> View:
    """The course as whoever asks may see it. Every page, list and feed takes it from here.

    `main` puts who asks and what is open to them into the request; without that, it is what nobody may see more of.
    """
    state = connection.state
    return visible_to(getattr(state, "viewer", None), current(connection), getattr(state, "opened", NOTHING))


def current(connection: HTTPConnection) -> Snapshot:
    """The snapshot for this request: take it once and use it throughout."""
    store: CourseStore = connection.app.state.course
    return store.current
