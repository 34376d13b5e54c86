"""One confined process: a root built from nothing, no network, no capabilities, an unprivileged user of its own.

Two ways in, the same confinement behind both:

- An ordinary user: bubblewrap makes a user namespace and everything else inside it.
- Root (containers, a service): bubblewrap mounts as root, since the Python prefix may lie where only root can look,
  then the process becomes a user id that no other runner has. Bubblewrap's own ``--uid`` would leave it root to the
  host's files.

Then a second bubblewrap puts the process into a user namespace of its own and loads the filter. The first one lives
on as process 1, without a filter: from another user namespace nobody can write to its memory through /proc.

Reading order: `Spec` → `start` → `Box`. Where a machine has no sandbox, `start` raises `SandboxUnavailable`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from grader import cgroups, layout, seccomp
from grader.uids import SandboxUnavailable, Uid, tool, user_namespaces_for_others

INODE_BYTES: Final = 1024  # of the kernel's memory for a file in memory, about
JOIN_GROUPS: Final = (
    'n=$1; shift; while [ "$n" -gt 0 ]; do echo 0 > "$1" || exit 125; shift; n=$((n-1)); done; exec "$@"'
)


@dataclass(frozen=True)
class Spec:
    """What to start and how much it may use. `hidden` are paths never to be seen inside, wherever they lie."""

    command: tuple[str, ...]  # arguments to Python; ``{channel}`` becomes the number of the channel's descriptor
    memory_bytes: int
    files_bytes: int
    processes: int
    environment: dict[str, str] = field(default_factory=dict)
    devices: tuple[str, ...] = ()
    hidden: tuple[Path, ...] = ()


class Box:
    """A running confined process: its channel, what it prints, and the means to end it and all it started."""

    def __init__(
        self, process: subprocess.Popen[bytes], channel: socket.socket, init: int | None, uid: Uid | None,
        group: cgroups.Group | None,
    ) -> None:  # fmt: skip
        self.process = process
        self.channel = channel
        self.group = group
        self.uid = uid
        self._init = init  # descriptor of process 1 of the namespace: killing it kills all
        self._closing = threading.Lock()
        self._closed = False

    @property
    def descriptors(self) -> tuple[int, int, int]:
        """Channel, stdout, stderr."""
        out, err = self._streams()
        return self.channel.fileno(), out.fileno(), err.fileno()

    def _streams(self) -> tuple[IO[bytes], IO[bytes]]:
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        return self.process.stdout, self.process.stderr

    def limit(self, memory_bytes: int, processes: int) -> bool:
        """Change the group's limits. False where the host has no groups: then somebody must watch `resident`."""
        if self.group is None:
            return False
        try:
            self.group.limit(memory_bytes, processes)
        except OSError:
            return False
        return True

    def killed_for_memory(self) -> bool:
        """Whether the kernel killed a process inside for want of memory."""
        return self.group is not None and self.group.killed_for_memory()

    def wait(self, seconds: float) -> int | None:
        """The exit status, 128 + N for signal N, once everything inside has ended; None if it has not by then."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return status if status >= 0 else 128 - status

    def said(self) -> str:
        """What it printed to stderr, to its end. For a process that did not come up."""
        return self._streams()[1].read(1 << 16).decode("utf-8", "replace").strip()

    def kill(self) -> None:
        """End every process inside, without waiting. Safe from any thread, any number of times."""
        with self._closing:
            if self._closed:
                return
            if self._init is not None:
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(self._init, signal.SIGKILL)
            else:
                self.process.kill()

    def pause(self, stop: bool) -> None:
        """Stop every process inside where it stands, or let all go on."""
        number = signal.SIGSTOP if stop else signal.SIGCONT
        for pid in list(descendants(self.process.pid)):
            with contextlib.suppress(OSError):  # it has ended
                os.kill(pid, number)

    def close(self) -> int:
        """End it, wait until nothing of it is left, give back its group and user id. Returns the exit status."""
        self.kill()
        try:
            status = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        with self._closing:
            if self._closed:
                return status
            self._closed = True
        if self._init is not None:
            os.close(self._init)
        for thing in (self.channel, *self._streams()):
            thing.close()
        if self.group is not None:
            self.group.remove()
        if self.uid is not None:
            self.uid.release()
        return status

    def resident(self) -> int:
        """Bytes of memory that the processes inside hold, files mapped from disk apart."""
        inside = list(descendants(self.process.pid))
        return sum(held(pid) for pid in inside) + (_inodes(inside[-1]) if inside else 0)


def start(spec: Spec) -> Box:
    """Start a confined process. Raises `SandboxUnavailable`."""
    bwrap = tool("bwrap", "bubblewrap")
    uid = Uid.take() if os.geteuid() == 0 else None
    group = cgroups.create()
    try:
        if group is not None:
            group.limit(spec.memory_bytes, spec.processes)
        return _launch(spec, bwrap, uid, group)
    except BaseException:
        if group is not None:
            group.remove()
        if uid is not None:
            uid.release()
        raise


def explain(said: str) -> SandboxUnavailable:
    """Why a confined process did not come up, from what it said."""
    if "bwrap:" in said:
        return SandboxUnavailable(
            f"Bubblewrap could not confine a process here: {said}",
            "Run `tilewright doctor`: it looks for the setting or AppArmor rule that forbids it.",
        )
    return SandboxUnavailable(f"A confined process did not start: {said}", "Run `tilewright doctor`.")


def _launch(spec: Spec, bwrap: str, uid: Uid | None, group: cgroups.Group | None) -> Box:
    ours, theirs = socket.socketpair()
    facts, facts_out = (os.fdopen(fd, mode, buffering=0) for fd, mode in zip(os.pipe(), ("rb", "wb"), strict=True))
    filter_fd = _filter(bool(spec.devices))
    with theirs, facts, facts_out, os.fdopen(filter_fd, "rb"):
        nested = uid is None or user_namespaces_for_others()
        options = _options(spec, uid, info=facts_out.fileno(), seccomp_fd=None if nested else filter_fd)
        inner = [layout.PYTHON, *(part.replace("{channel}", str(theirs.fileno())) for part in spec.command)]
        inner = [*_step_down(uid), *(_into_namespace(bwrap, filter_fd) if nested else ()), *inner]
        procs = [str(folder / "cgroup.procs") for folder in group.folders] if group else []
        with _memory_file(b"".join(option.encode() + b"\0" for option in options)) as args:
            confined = [bwrap, "--args", str(args.fileno()), "--", *inner]
            process = subprocess.Popen(  # noqa: S603 - every word is ours
                ["/bin/sh", "-c", JOIN_GROUPS, "sh", str(len(procs)), *procs, *confined],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env={},  # process 1 inside is bubblewrap, and its environment can be read there
                cwd="/",
                pass_fds=(theirs.fileno(), args.fileno(), filter_fd, facts_out.fileno()),
            )
        facts_out.close()
        return Box(process, ours, _init_process(facts.fileno()), uid, group)


def _init_process(facts: int) -> int | None:
    """A descriptor of process 1 inside, from what bubblewrap reports; None if it never got that far."""
    text = b""
    while chunk := os.read(facts, 4096):
        text += chunk
        with contextlib.suppress(ValueError, KeyError, OSError):
            return os.pidfd_open(int(json.loads(text)["child-pid"]))
    return None


def _options(spec: Spec, uid: Uid | None, *, info: int, seccomp_fd: int | None) -> list[str]:
    """Bubblewrap's options: namespaces first, then the root from top to bottom, then what closes it."""
    half = str(max(spec.files_bytes // 2, 1 << 20))
    options = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    options += ["--hostname", "runner", "--new-session", "--die-with-parent", "--info-fd", str(info)]
    options += ["--cap-drop", "ALL"]
    if uid is None:
        options += ["--unshare-user"]
    else:
        for capability in ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"):  # to step down with, and then gone
            options += ["--cap-add", capability]
    if seccomp_fd is not None:
        options += ["--seccomp", str(seccomp_fd)]
    options += ["--clearenv"]
    for name, value in (layout.ENVIRONMENT | spec.environment).items():
        options += ["--setenv", name, value]
    options += ["--proc", "/proc", "--dev", "/dev"]
    for device in spec.devices:
        options += ["--dev-bind", device, device]
    if spec.devices:
        options += ["--ro-bind", "/sys", "/sys"]
    options += ["--perms", "1777", "--size", half, "--tmpfs", "/dev/shm"]  # noqa: S108 - the runner's own, not ours
    options += ["--perms", "1777", "--size", half, "--tmpfs", "/tmp"]  # noqa: S108
    options += layout.root_options(spec.hidden)  # after /tmp: Python itself may be installed below it
    options += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp"]  # noqa: S108
    return options


def _step_down(uid: Uid | None) -> list[str]:
    """From root to a user id of its own, without capabilities. Nothing for who is not root."""
    if uid is None:
        return []
    setpriv = tool("setpriv", "util-linux")
    drop = ["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--no-new-privs", "--clear-groups"]
    return [setpriv, f"--reuid={uid.number}", f"--regid={uid.number}", *drop]


def _into_namespace(bwrap: str, filter_fd: int) -> list[str]:
    """Into a user namespace of its own, keeping the root as it is, and behind the filter."""
    keep = ["--dev-bind", "/", "/", "--chdir", "/tmp"]  # noqa: S108 - the runner's own
    options = ["--unshare-user", "--cap-drop", "ALL", "--die-with-parent", *keep, "--seccomp", str(filter_fd)]
    return [bwrap, *options, "--"]


def _filter(gpu: bool) -> int:
    try:
        return seccomp.compile_filter(gpu=gpu)
    except (ImportError, OSError, RuntimeError) as error:
        raise SandboxUnavailable(
            f"The system call filter could not be built: {error}.", "Install libseccomp2 and the package pyseccomp."
        ) from error


def _memory_file(data: bytes) -> IO[bytes]:
    file = os.fdopen(os.memfd_create("options", 0), "w+b", buffering=0)
    file.write(data)
    file.seek(0)
    return file


def children(pid: int) -> Iterator[int]:
    """Process ids of those that `pid` started."""
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            yield from map(int, (task / "children").read_text().split())


def descendants(pid: int) -> Iterator[int]:
    """Process ids of everything below `pid`."""
    for child in children(pid):
        yield child
        yield from descendants(child)


def held(pid: int) -> int:
    """Bytes of private and shared memory, what several processes share divided among them."""
    with contextlib.suppress(OSError, ValueError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
    return 0


def _inodes(pid: int) -> int:
    """Bytes that the kernel holds for files in the folders of a confined process, whatever is in them."""
    with contextlib.suppress(OSError):
        facts = [os.statvfs(f"/proc/{pid}/root{folder}") for folder in ("/tmp", "/dev/shm")]  # noqa: S108
        return sum(fact.f_files - fact.f_ffree for fact in facts) * INODE_BYTES
    return 0
