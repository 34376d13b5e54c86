"""What this machine offers to confine a process with, found by trying, each with what to do where it is missing.

For ``tilewright doctor``. Nothing here changes the machine.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from grader import cgroups, landlock, layout, sandbox, seccomp
from grader.uids import SandboxUnavailable, tool, user_namespaces_for_others

APPARMOR_PROFILE: Final = """\
abi <abi/4.0>,
include <tunables/global>

profile bwrap /usr/bin/bwrap flags=(unconfined) {
  userns,
  include if exists <local/bwrap>
}
"""
RESTRICTIONS: Final = (
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor keeps programs without a profile from making user namespaces. Write this to "
        "/etc/apparmor.d/bwrap and run `apparmor_parser -r /etc/apparmor.d/bwrap`:\n" + APPARMOR_PROFILE,
    ),
    ("kernel/unprivileged_userns_clone", "0", "Allow them: sysctl -w kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", "Allow some: sysctl -w user.max_user_namespaces=10000"),
)
# Runs confined and says what it can see of its own confinement.
PROBE: Final = """
import json, os, socket, sys
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
facts = {
    "uid": os.getuid(),
    "capabilities": int(status["CapEff"], 16) | int(status["CapPrm"], 16) | int(status["CapBnd"], 16),
    "no_new_privileges": int(status["NoNewPrivs"]),
    "seccomp": int(status["Seccomp"]),
    "namespaces": {name: os.readlink("/proc/self/ns/" + name) for name in os.listdir("/proc/self/ns")},
    "interfaces": [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line],
    "root": sorted(os.listdir("/")),
    "processes": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
    "environment": dict(os.environ),
}
socket.socket(fileno=int(sys.argv[1])).sendall(json.dumps(facts).encode())
"""


@dataclass(frozen=True)
class Check:
    """One thing looked at. Where it is `needed` and not `ok`, nothing can be graded on this machine."""

    name: str
    ok: bool
    needed: bool
    found: str
    what_to_do: str = ""


def examine() -> list[Check]:
    """All checks, the ones that others rest on first."""
    walls = [_bubblewrap(), _namespaces(), _filter(), _step_down()]
    return [*walls, _groups(), _second_wall(), _packages(), _confined()]


def confinement() -> dict[str, Any]:
    """What a confined process sees of its confinement. Raises `SandboxUnavailable`."""
    command = ("-I", "-B", "-c", PROBE, "{channel}")
    box = sandbox.start(sandbox.Spec(command=command, memory_bytes=1 << 30, files_bytes=1 << 20, processes=64))
    try:
        box.channel.settimeout(20)
        text = b""
        while chunk := box.channel.recv(1 << 16):
            text += chunk
        facts: dict[str, Any] = json.loads(text)
        return facts
    except (OSError, ValueError):
        box.kill()
        raise sandbox.explain(box.said()) from None
    finally:
        box.close()


def _bubblewrap() -> Check:
    try:
        path = tool("bwrap", "bubblewrap")
    except SandboxUnavailable as missing:
        return Check("bubblewrap", False, True, missing.reason, missing.what_to_do)
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    return Check("bubblewrap", done.returncode == 0, True, f"{path}: {done.stdout.strip()}")


def _namespaces() -> Check:
    name, root = "user namespaces", os.geteuid() == 0
    if root:
        works = user_namespaces_for_others()
    else:
        try:
            bwrap = tool("bwrap", "bubblewrap")
        except SandboxUnavailable as missing:
            return Check(name, False, True, missing.reason, missing.what_to_do)
        probe = [bwrap, "--unshare-user", "--ro-bind", "/", "/", "--", "/bin/true"]
        works = subprocess.run(probe, capture_output=True, check=False).returncode == 0  # noqa: S603
    if works:
        return Check(name, True, not root, "an unprivileged user may make them")
    advice = [advice for setting, bad, advice in RESTRICTIONS if _setting(setting) == bad]
    ask = "In a container, allow it the system calls unshare, mount and pivot_root."
    return Check(name, False, not root, "an unprivileged user may not make them", "\n".join(advice) or ask)


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""


def _filter() -> Check:
    try:
        with os.fdopen(seccomp.compile_filter(gpu=False), "rb") as file:
            rules = os.fstat(file.fileno()).st_size // 8
    except (ImportError, OSError, RuntimeError) as error:
        todo = "Install libseccomp2 and the package pyseccomp."
        return Check("system call filter", False, True, str(error), todo)
    return Check("system call filter", True, True, f"{len(seccomp.DENIED)} calls denied, {rules} instructions")


def _step_down() -> Check:
    if os.geteuid() != 0:
        return Check("user id", True, False, "runners share this user's id; running as root gives each its own")
    try:
        return Check("user id", True, True, f"each runner gets its own, stepping down with {tool('setpriv', '')}")
    except SandboxUnavailable as missing:
        return Check("user id", False, True, missing.reason, "Install it: apt-get install util-linux")


def _groups() -> Check:
    group = cgroups.create()
    if group is None:
        todo = "Memory is limited by rlimits and a watch instead. With systemd: Delegate=yes in the service."
        return Check("control groups", False, False, "none can be made here", todo)
    group.remove()
    return Check("control groups", True, False, f"version {group.version}, below {group.memory.parent}")


def _second_wall() -> Check:
    known = landlock.version()
    found = f"version {known}" if known else "this kernel has none"
    todo = "" if known else "Linux 5.13 and later have it; nothing rests on it alone."
    return Check("landlock", known > 0, False, found, todo)


def _packages() -> Check:
    missing = [name for name in layout.NEEDED if layout.package_folder(name) is None]
    if missing:
        return Check("packages", False, True, f"missing: {', '.join(missing)}", "pip install 'tilewright[grader]'")
    return Check("packages", True, True, ", ".join(layout.NEEDED))


def _confined() -> Check:
    try:
        facts = confinement()
    except SandboxUnavailable as trouble:
        return Check("a confined process", False, True, trouble.reason, trouble.what_to_do)
    here = {name: os.readlink(f"/proc/self/ns/{name}") for name in facts["namespaces"]}
    shared = [name for name in ("pid", "net", "ipc", "uts", "mnt") if facts["namespaces"][name] == here[name]]
    faults = [f"shares the namespace {name}" for name in shared]
    faults += ["has capabilities"] if facts["capabilities"] else []
    faults += ["has no system call filter"] if facts["seccomp"] != 2 else []
    faults += ["may gain privileges"] if facts["no_new_privileges"] != 1 else []
    found = "; ".join(faults) or f"starts, as user {facts['uid']}, without capabilities, filtered, alone"
    return Check("a confined process", not faults, True, found, "Report this: it is a fault." if faults else "")
