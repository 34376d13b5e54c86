"""Inside the sandbox: one process imports the frameworks and forks a runner for each file that is sent.

Only for files whose authors we are, as `grader.nursery` says: what one file leaves behind in /tmp the next can see,
and all of them share the memory of their parent. Started by `grader.nursery`; speaks a byte at a time with it.

Reading order: `main` → `_keep` → `grader.inside.serve`.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Final

from grader import inside

READY: Final = b"R"
FORK: Final = b"F"
NUMBER: Final = 4  # bytes of a process id, and of how a process ended


def main(descriptor: int, framework: str, device: str, answer_bytes: int) -> None:
    """Import, say so, then fork once for each set of descriptors until the other side is gone."""
    control = socket.socket(fileno=descriptor)
    control.set_inheritable(False)
    session = inside.Session(framework, device, answer_bytes)
    threads = len(list(Path("/proc/self/task").iterdir()))
    if threads != 1:  # a lock that another thread holds would stay locked in every child
        raise RuntimeError(f"{threads} threads run before the first fork")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are nobody's to wait for
    control.sendall(READY)
    while True:
        order, descriptors, _, _ = socket.recv_fds(control, len(FORK), 4)
        if not order:
            return
        keeper = os.fork()
        if keeper == 0:
            control.close()
            _keep(session, *descriptors)
        for number in descriptors:
            os.close(number)
        control.sendall(keeper.to_bytes(NUMBER, "big"))


def _keep(session: inside.Session, channel: int, out: int, err: int, ended: int) -> None:
    """Fork once more: the child is the runner, this process waits for its end and tells how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    runner = os.fork()
    if runner == 0:
        os.close(ended)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.close(out)
        os.close(err)
        inside.serve(inside.Channel(channel), session, time.perf_counter())
        sys.exit(0)
    for number in (channel, out, err):
        os.close(number)
    _, status = os.waitpid(runner, 0)
    code = os.waitstatus_to_exitcode(status)
    os.write(ended, (code if code >= 0 else 128 - code).to_bytes(NUMBER, "big"))
    os._exit(0)
