"""User ids for runners, when the worker is root: each runner has one that nobody else on the machine has.

Limits on the number of processes count by user id, so that a fork bomb in one runner starves no other.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
from functools import cache
from typing import Final

FIRST: Final = 61000  # above the ids of people, below those that systemd hands out
COUNT: Final = 180


class SandboxUnavailable(Exception):
    """No confined process can be started here, so nothing can be graded. Says why, and what to do about it."""

    def __init__(self, reason: str, what_to_do: str) -> None:
        super().__init__(f"{reason} {what_to_do}")
        self.reason = reason
        self.what_to_do = what_to_do


class Uid:
    """A user id of one's own, held by a socket name that the kernel frees when we die."""

    def __init__(self, number: int, lock: socket.socket) -> None:
        self.number = number
        self._lock = lock

    @classmethod
    def take(cls) -> Uid:
        """The first that is free. Raises `SandboxUnavailable` when none is."""
        for number in range(FIRST, FIRST + COUNT):
            lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                lock.bind(f"\0tilewright-runner-{number}")
            except OSError:
                lock.close()
            else:
                return cls(number, lock)
        raise SandboxUnavailable(f"All {COUNT} user ids for runners are in use.", "Lower the number of workers.")

    def release(self) -> None:
        """Let another runner have it."""
        self._lock.close()


def tool(name: str, package: str) -> str:
    """The path of a system program. Raises `SandboxUnavailable` naming the package that has it."""
    path = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin")
    if path is None:
        raise SandboxUnavailable(f"{name} is not installed.", f"Install it: apt-get install {package}")
    return path


@cache
def user_namespaces_for_others() -> bool:
    """Whether an unprivileged user id may make a user namespace here; asked once, by doing it. For root."""
    try:
        bwrap = tool("bwrap", "bubblewrap")
        setpriv = tool("setpriv", "util-linux")
    except SandboxUnavailable:
        return False
    step = [setpriv, f"--reuid={FIRST}", f"--regid={FIRST}", "--clear-groups"]
    probe = [*step, bwrap, "--unshare-user", "--ro-bind", "/", "/", "--", "/bin/true"]
    done = subprocess.run(probe, capture_output=True, check=False, cwd="/", env={})  # noqa: S603 - every word is ours
    return done.returncode == 0
