"""What a runner might leave on the machine, looked for from outside."""

from __future__ import annotations

import os
import time
from pathlib import Path

from grader import uids
from grader.pool import Runner
from grader.sandbox import Box, descendants

PLACES = (Path("/tmp"), Path("/dev/shm"), Path("/var/tmp"), Path("/run"))


class Leftovers:
    """Takes stock when made; `assert_none` compares."""

    def __init__(self) -> None:
        self._mounts = mounts()
        self._pids: set[int] = set()
        self._box: Box | None = None

    def watch(self, runner: Runner) -> None:
        """Remember this runner's processes and groups as those that must go."""
        box = runner._box
        assert isinstance(box, Box)
        self._box = box
        self._pids = {box.process.pid, *descendants(box.process.pid)}
        assert len(self._pids) >= 2

    def assert_none(self) -> None:
        assert self._box is not None
        assert not [pid for pid in self._pids if alive(pid)]
        assert not list(descendants(self._box.process.pid))
        if self._box.group is not None:
            assert not [folder for folder in self._box.group.folders if folder.exists()]
        assert mounts() == self._mounts
        if self._box.uid is not None:
            assert not [pid for pid in processes_of(self._box.uid.number) if alive(pid)]
        owned = [p for place in PLACES if place.is_dir() for p in place.iterdir() if is_runners(p)]
        assert owned == []


def processes_of(uid: int) -> list[int]:
    """Process ids that belong to a user id."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and folder.stat().st_uid == uid:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def is_runners(path: Path) -> bool:
    try:
        return uids.FIRST <= path.lstat().st_uid < uids.FIRST + uids.COUNT
    except OSError:
        return False


def alive(pid: int, seconds: float = 1.0) -> bool:
    """Whether a process is still there after a moment's grace; one that awaits its parent's wait is gone."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX":
                return False
        except OSError:
            return False
        time.sleep(0.01)
    return True


def mounts() -> list[str]:
    return Path(f"/proc/{os.getpid()}/mounts").read_text().splitlines()
