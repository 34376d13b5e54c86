"""A control group for one runner: memory and number of processes, where the host lets us make one.

Both layouts are served: version 1 (one tree a controller) and version 2 (one tree). Without either, the caller has
rlimits and a watch of its own; nothing here raises for a host that does not allow it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PREFIX: Final = "tilewright"
_numbers = itertools.count()


@dataclass(frozen=True)
class Group:
    """One runner's group. `folders` are where its process id goes; `memory` and `pids` where limits are written."""

    version: int
    memory: Path
    pids: Path

    @property
    def folders(self) -> tuple[Path, ...]:
        return (self.memory,) if self.memory == self.pids else (self.memory, self.pids)

    def limit(self, memory_bytes: int, processes: int) -> None:
        """Allow so much memory beyond what is used now, and so many processes in all. Raises `OSError`."""
        (self.pids / "pids.max").write_text(str(processes))
        used = self.memory / ("memory.current" if self.version == 2 else "memory.usage_in_bytes")
        memory_bytes += int(used.read_text())
        if self.version == 2:
            (self.memory / "memory.max").write_text(str(memory_bytes))
            with contextlib.suppress(OSError):  # no swap, no file
                (self.memory / "memory.swap.max").write_text("0")
            return
        files = [self.memory / "memory.limit_in_bytes", self.memory / "memory.memsw.limit_in_bytes"]
        files = [file for file in files if file.exists()]
        # The plain limit may not exceed the one with swap: raising goes from the back, lowering from the front.
        raising = int(files[0].read_text()) < memory_bytes
        for file in reversed(files) if raising else files:
            file.write_text(str(memory_bytes))

    def killed_for_memory(self) -> bool:
        """Whether the kernel killed something in the group for want of memory."""
        file = self.memory / ("memory.events" if self.version == 2 else "memory.oom_control")
        try:
            facts = dict(line.split() for line in file.read_text().splitlines())
            return int(facts.get("oom_kill", 0)) > 0
        except (OSError, ValueError):
            return False

    def remove(self, seconds: float = 2.0) -> None:
        """Delete the group; its last process may take a moment to be gone."""
        deadline = time.monotonic() + seconds
        for folder in self.folders:
            while folder.exists():
                try:
                    folder.rmdir()
                except OSError:
                    if time.monotonic() > deadline:
                        return
                    time.sleep(0.005)


def create() -> Group | None:
    """A new group for one runner, or None where the host gives none."""
    name = f"{PREFIX}-{os.getpid()}-{next(_numbers)}"
    for version, memory, pids in _parents():
        group = Group(version, memory / name, pids / name)
        try:
            for folder in group.folders:
                folder.mkdir()
            group.limit(1 << 40, 1 << 20)  # proof that limits can be written
        except OSError:
            group.remove(0)
        else:
            return group
    return None


def sweep() -> None:
    """Delete the groups of workers that were killed before they could."""
    for _, memory, pids in _parents():
        for parent in {memory, pids}:
            for folder in parent.glob(f"{PREFIX}-*-*"):
                owner = folder.name.split("-")[1]
                if owner.isdigit() and not Path(f"/proc/{owner}").exists():
                    with contextlib.suppress(OSError):
                        folder.rmdir()


def _parents() -> list[tuple[int, Path, Path]]:
    """Where a group may be made, best first: (version, parent for memory, parent for pids)."""
    mounts = _mounts()
    own = _own_paths()
    found: list[tuple[int, Path, Path]] = []
    if "memory" in mounts and "pids" in mounts:
        memory, pids = (_below(mounts[kind], own.get(kind, "/")) for kind in ("memory", "pids"))
        found.append((1, memory, pids))
    if "" in mounts:
        here = _below(mounts[""], own.get("", "/"))
        # A group with processes of its own may not share out controllers, so a sibling of ours comes next.
        found += [(2, parent, parent) for parent in (here, here.parent) if _shares(parent)]
    return found


def _shares(parent: Path) -> bool:
    """Whether children of this version 2 group have the memory and pids controllers."""
    try:
        return {"memory", "pids"} <= set((parent / "cgroup.subtree_control").read_text().split())
    except OSError:
        return False


def _below(mount: Path, path: str) -> Path:
    """The group's folder under the mount; in a container the path may be the host's, then the mount itself."""
    folder = mount / path.lstrip("/")
    return folder if folder.is_dir() else mount


def _mounts() -> dict[str, Path]:
    """Mount points by controller; version 2 under the empty name."""
    found: dict[str, Path] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mounts").read_text().splitlines():
            _, point, kind, options, *_ = line.split()
            if kind == "cgroup2":
                found[""] = Path(point)
            elif kind == "cgroup":
                found |= {name: Path(point) for name in options.split(",") if name in ("memory", "pids")}
    return found


def _own_paths() -> dict[str, str]:
    """This process's group by controller; version 2 under the empty name."""
    found: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            found |= dict.fromkeys(names.split(","), path)
    return found
