"""Real processes on a real database, to be killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.accounts.models import Role, User
from app.db import Database, new_id, now
from app.jobs import Jobs
from app.settings import ROOT, Settings
from app.submissions import service, view
from app.submissions.handed import Handed
from app.submissions.models import Run, Submission
from grader.drill import load_drills

DRILL = "tiled_softmax"
RIGHT = (ROOT / "drills" / DRILL / "correct" / "online.py").read_text()
# Right, and long enough in every case to be caught in the middle.
SLOW = RIGHT.replace("    out = torch", "    __import__('time').sleep(0.12)\n    out = torch", 1)
PATIENCE = 120.0  # for a machine that does much else


def wait_for(condition: Callable[[], object], seconds: float = PATIENCE, why: str = "") -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen in {seconds:.0f} s: {why}"
        time.sleep(0.05)


class Machine:
    """The processes of one installation, started as an operator would, and what they have done so far."""

    def __init__(self, settings: Settings, database: Database, queue: Jobs, folder: Path) -> None:
        self.settings = settings
        self.database = database
        self.queue = queue
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.address = f"http://127.0.0.1:{settings.port}"

    def start(self, *arguments: str, before: str = "", **environment: str) -> subprocess.Popen[bytes]:
        """Start `tilewright` with these arguments; `before` is Python that runs first, to plant a fault."""
        names = ("data", "database", "port", "warm", "heartbeat_seconds", "dead_after_seconds", "stop_seconds")
        own = {f"TILEWRIGHT_{name.upper()}": str(getattr(self.settings, name)) for name in names}
        own["TILEWRIGHT_DATABASE_URL"] = own.pop("TILEWRIGHT_DATABASE")
        log = (self._folder / f"{arguments[0]}-{len(self._processes)}.log").open("wb")
        command = [sys.executable, "-c", f"{before}\nfrom app.cli import main\nmain()", *arguments]
        process = subprocess.Popen(
            command,
            env={**os.environ, **own, **environment},
            stdout=log,
            stderr=log,
            cwd=ROOT,
            start_new_session=True,
        )
        self._processes.append(process)
        return process

    def start_web(self, before: str = "") -> subprocess.Popen[bytes]:
        """Start the web process and wait until it answers."""
        process = self.start("serve", before=before)
        wait_for(lambda: self.answers("/healthz"), why=self.logs())
        return process

    def answers(self, path: str) -> bool:
        try:
            with urllib.request.urlopen(self.address + path, timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def user(self) -> str:
        """A learner's id."""
        user = User(
            id=new_id(),
            username="ada",
            username_key=new_id(),
            password_hash="!",
            role=Role.LEARNER,
            created_at=now(),
        )
        with self.database.write() as session:
            session.add(user)
        return user.id

    def submit(self, source: str = RIGHT, user: str = "") -> str:
        """Hand in; returns the submission's id."""
        handed = Handed(user or self.user(), DRILL, "cpu", source, new_id())
        drills = load_drills(ROOT / "drills")
        with self.database.write() as session:
            return service.submit(session, handed, drills, self.settings, self.queue).id

    def runs(self, submission: str) -> list[Run]:
        with self.database.read() as session:
            return service.runs_of(session, submission)

    def cases_done(self, submission: str) -> int:
        with self.database.read() as session:
            return len(view.fold(view.events_after(session, submission, 0)).results)

    def count(self, table: type[Submission | Run]) -> int:
        with self.database.read() as session:
            return session.query(table).count()

    def kinds(self, submission: str) -> list[str]:
        with self.database.read() as session:
            return [kind for _, kind, _ in view.events_after(session, submission, 0)]

    def logs(self) -> str:
        return "\n".join(path.read_text(errors="replace")[-1500:] for path in sorted(self._folder.glob("*.log")))

    def stop_all(self) -> None:
        """End everything that was started, with what it started itself."""
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """Settings for processes of their own, which notice a death soon."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return Settings(
        data=tmp_path / "var",
        database_url=database_url,
        port=port,
        warm=1,
        heartbeat_seconds=0.5,
        dead_after_seconds=4.0,
        stop_seconds=1.0,
        submissions_per_minute=1000,
    )


@pytest.fixture
def machine(settings: Settings, database: Database, queue: Jobs, tmp_path: Path) -> Iterator[Machine]:
    """An installation with no process yet; whatever a test starts is ended after it."""
    (tmp_path / "logs").mkdir()
    made = Machine(settings, database, queue, tmp_path / "logs")
    yield made
    made.stop_all()
