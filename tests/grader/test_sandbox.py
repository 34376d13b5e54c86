"""What a confined process sees and may do, looked at from inside, as root and as an ordinary user."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader import cgroups, examine, landlock, layout, sandbox, seccomp, uids
from grader.uids import SandboxUnavailable

pytestmark = pytest.mark.sandbox
ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "attacks" / "programs"
# Every file below a folder that the process can open, with its size.
LOOK = """
import json, os, socket, sys
found = {}
for place in sys.argv[2:]:
    for folder, folders, files in os.walk(place):
        if folder == sys.prefix: folders.clear(); continue
        for name in files:
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as file: found[path] = len(file.read())
            except OSError: found[path] = -1
socket.socket(fileno=int(sys.argv[1])).sendall(json.dumps(found).encode())
"""


def look(places: list[Path], hidden: tuple[Path, ...] = ()) -> dict[str, int]:
    command = ("-I", "-B", "-c", LOOK, "{channel}", *map(str, places))
    spec = sandbox.Spec(command=command, memory_bytes=1 << 30, files_bytes=1 << 20, processes=64, hidden=hidden)
    box = sandbox.start(spec)
    try:
        box.channel.settimeout(20)
        text = b""
        while chunk := box.channel.recv(1 << 16):
            text += chunk
        assert text, box.said()
        found: dict[str, int] = json.loads(text)
        return found
    finally:
        box.close()


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    return examine.confinement()


def test_namespaces_are_its_own(facts: dict[str, Any]) -> None:
    for name in ("user", "pid", "net", "ipc", "uts", "cgroup", "mnt"):
        assert facts["namespaces"][name] != os.readlink(f"/proc/self/ns/{name}"), name
    assert facts["interfaces"] == ["lo"]
    assert facts["processes"] == [1, 2, 3]


def test_privileges_are_gone(facts: dict[str, Any]) -> None:
    assert facts["capabilities"] == 0
    assert facts["no_new_privileges"] == 1
    assert facts["seccomp"] == 2
    if os.geteuid() == 0:
        assert uids.FIRST <= facts["uid"] < uids.FIRST + uids.COUNT


def test_the_environment_is_ours_and_nothing_of_the_hosts(
    facts: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_SECRET", "x")
    assert set(examine.confinement()["environment"]) == set(layout.ENVIRONMENT) | {"PWD"}
    assert set(facts["root"]) <= {
        *("bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "runner", "sbin", "tmp", "usr"),
        *(path.parts[1] for path in map(Path, (sys.prefix, sys.base_prefix, *sys.path)) if len(path.parts) > 1),
    }


def test_of_our_package_only_the_inside_is_there() -> None:
    found = look([Path("/runner")])
    names = {Path(path).name for path in found if not {"interpreter", "__pycache__"} & set(Path(path).parts)}
    assert names == {name for name in layout.MODULES if name.endswith(".py")} | {"drill_kit.py"}
    assert all(size >= 0 for size in found.values())


def test_the_repository_is_not_there() -> None:
    assert look([ROOT]) == {}


def test_an_installed_copy_is_covered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed without -e, our packages lie among the packages that a runner must see."""
    site = tmp_path / "site-packages"
    for name in ("app/main.py", "grader/judge.py", "drills/softmax/reference.py", "torch/__init__.py", "other.py"):
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("secret = 1\n")
    monkeypatch.setattr(layout, "ROOT", site)
    monkeypatch.setattr(layout, "package_folder", lambda name: site)
    open_up(tmp_path)
    assert set(look([site])) == {str(site / "torch/__init__.py"), str(site / "other.py")}


def test_a_checkout_inside_a_shown_folder_is_covered_but_for_its_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an image that keeps the checkout, with its virtual environment, below /usr."""
    root = tmp_path / "usr" / "src" / "tilewright"
    for name in ("pyproject.toml", "grader/judge.py", "drills/a/reference.py", ".venv/lib/site-packages/numpy.py"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("secret = 1\n")
    shown = [tmp_path / "usr", root / ".venv"]
    plain = layout._wanted()
    monkeypatch.setattr(layout, "ROOT", root)
    monkeypatch.setattr(layout, "_wanted", lambda: [*plain, *shown])
    open_up(tmp_path)
    assert set(look([tmp_path])) == {str(root / ".venv/lib/site-packages/numpy.py")}


def test_hidden_paths_are_covered_wherever_they_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "drills").mkdir()
    (tmp_path / "drills" / "suite.py").write_text("secret")
    (tmp_path / "app.db").write_text("secret")
    (tmp_path / "seen.py").write_text("seen")
    monkeypatch.setattr(layout, "package_folder", lambda name: tmp_path)
    open_up(tmp_path)
    found = look([tmp_path], hidden=(tmp_path / "drills", tmp_path / "app.db", tmp_path / "missing"))
    assert {path: size for path, size in found.items() if size > 0} == {str(tmp_path / "seen.py"): 4}


def open_up(folder: Path) -> None:
    """Let the runner's user id read a temporary folder, as it can read installed packages."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)


def test_the_search_for_our_files_finds_them_where_they_are() -> None:
    """The walk that finds nothing inside (attacks/programs/judge_files.py) is one that can find."""
    program = runpy.run_path(str(PROGRAMS / "judge_files.py"))
    program["run"].__globals__["ROOT"] = str(ROOT / "grader")
    assert program["run"](None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_has_the_same_confinement(tmp_path: Path) -> None:
    found = as_ordinary_user("import json; from grader import examine; print(json.dumps(examine.confinement()))")
    facts = json.loads(found.stdout)
    assert facts["uid"] == 12345
    assert facts["capabilities"] == 0 and facts["seccomp"] == 2 and facts["no_new_privileges"] == 1
    assert facts["interfaces"] == ["lo"] and facts["processes"] == [1, 2, 3]


USER_POOL = f"""
import numpy as np
from pathlib import Path
from grader import wire
from grader.pool import Limits, Pool
limits = Limits(memory_bytes=200 << 20, files_bytes=8 << 20, processes=32)
with Pool(limits=limits, framework="numpy") as pool:
    for name in ("proc_peeking", "system_calls", "memory_bomb_shared", "memory_bomb_in_children", "fork_bomb"):
        with pool.take() as runner:
            source = Path({str(PROGRAMS)!r}, name + ".py").read_text()
            runner.load(wire.Load(source=source, entries=["run"], framework="numpy"))
            call = wire.Call(id=1, entry="run", args=[wire.from_numpy(np.zeros(4))])
            answer = runner.call(call, 1 if name == "fork_bomb" else 10)
            print(name, getattr(answer, "kind", "returned"), getattr(answer, "value", []))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_without_control_groups_contains_the_same_programs() -> None:
    done = as_ordinary_user(USER_POOL)
    assert done.stdout.splitlines() == [
        "proc_peeking returned []",
        "system_calls returned []",
        "memory_bomb_shared out_of_memory []",
        "memory_bomb_in_children out_of_memory []",
        "fork_bomb time_limit []",
    ], done.stderr


def as_ordinary_user(code: str) -> subprocess.CompletedProcess[str]:
    """Run Python code of ours as user 12345, where folders only root may enter are opened up for it."""
    closed = next((p for p in reversed(Path(sys.base_prefix).parents) if p.stat().st_mode & 0o005 != 0o005), None)
    inside = Path(sys.base_prefix).relative_to(closed).parts[0] if closed else ""
    opening = (
        f"hold=$(mktemp -d); mount --bind '{closed}/{inside}' $hold; mount -t tmpfs -o mode=755 none '{closed}'; "
        f"mkdir '{closed}/{inside}'; mount --move $hold '{closed}/{inside}'; rmdir $hold; "
        if closed
        else ""
    )
    become = 'exec setpriv --reuid 12345 --regid 12345 --clear-groups --inh-caps=-all "$@"'
    shell = ["unshare", "-m", "--propagation", "private", "sh", "-c", opening + become, "sh"]
    command = [*shell, "env", "-C", str(ROOT), sys.executable, "-B", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_box_that_is_closed_leaves_nothing() -> None:
    command = ("-I", "-c", "import os, time\nfor _ in range(5): os.fork()\ntime.sleep(1000)")
    box = sandbox.start(sandbox.Spec(command=command, memory_bytes=1 << 30, files_bytes=1 << 20, processes=64))
    assert box.wait(0.3) is None
    inside = list(sandbox.descendants(box.process.pid))
    assert len(inside) > 20
    status = box.close()
    assert status == 128 + 9 and box.close() == status
    assert not [pid for pid in inside if Path(f"/proc/{pid}").exists()]


def test_groups_of_the_dead_are_swept() -> None:
    group = cgroups.create()
    if group is None:
        pytest.skip("this host gives no control groups")
    dead = subprocess.Popen(["true"])
    dead.wait()
    orphans = [folder.with_name(f"{cgroups.PREFIX}-{dead.pid}-0") for folder in group.folders]
    for folder in orphans:
        folder.mkdir()
    cgroups.sweep()
    assert not [folder for folder in orphans if folder.exists()]
    assert all(folder.exists() for folder in group.folders)
    group.remove()
    assert not [folder for folder in group.folders if folder.exists()]


def test_the_filter_denies_by_name() -> None:
    wanted = {"ptrace", "mount", "unshare", "setns", "bpf", "io_uring_setup", "userfaultfd", "keyctl"}
    assert wanted <= set(seccomp.DENIED)
    sizes = []
    for gpu in (False, True):
        descriptor = seccomp.compile_filter(gpu=gpu)
        sizes.append(os.fstat(descriptor).st_size)
        os.close(descriptor)
    assert sizes[0] > sizes[1] > 8 * 60


def test_doctor_finds_this_machine_fit() -> None:
    checks = examine.examine()
    assert [check.name for check in checks if check.needed and not check.ok] == []
    assert {check.name for check in checks} >= {"bubblewrap", "user namespaces", "system call filter", "packages"}


def test_doctor_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    broken = {check.name: check for check in examine.examine() if check.needed and not check.ok}
    assert "apt-get install bubblewrap" in broken["bubblewrap"].what_to_do
    assert "a confined process" in broken
    with pytest.raises(SandboxUnavailable):
        examine.confinement()


def test_doctor_prints_the_apparmor_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine, "user_namespaces_for_others", lambda: False)
    monkeypatch.setattr(examine, "_setting", lambda name: "1" if "apparmor" in name else "")
    (check,) = [check for check in examine.examine() if check.name == "user namespaces"]
    if os.geteuid() == 0:
        assert not check.ok and examine.APPARMOR_PROFILE in check.what_to_do


def test_as_root_the_sandbox_holds_where_nobody_else_may_make_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("an ordinary user needs them")
    monkeypatch.setattr(sandbox, "user_namespaces_for_others", lambda: False)
    facts = examine.confinement()
    assert facts["capabilities"] == 0 and facts["seccomp"] == 2 and facts["no_new_privileges"] == 1
    assert facts["interfaces"] == ["lo"] and uids.FIRST <= facts["uid"] < uids.FIRST + uids.COUNT


def test_the_second_wall_holds_alone(tmp_path: Path) -> None:
    """Landlock by itself, in a process that nothing else confines."""
    if landlock.version() < 3:
        pytest.skip("this kernel has no Landlock, or an early one")
    (tmp_path / "mine").mkdir()
    (tmp_path / "other").write_text("as it was")
    code = f"""
import ctypes, os, signal, socket, sys
from grader import landlock
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # no new privileges
assert landlock.restrict(({str(tmp_path / "mine")!r},))
def tries(what, *args):
    try: what(*args); return "did"
    except OSError: return "could not"
print(tries(open, {str(tmp_path / "mine" / "new")!r}, "w"))
print(tries(open, {str(tmp_path / "other")!r}))
print(tries(open, {str(tmp_path / "other")!r}, "w"), tries(os.unlink, {str(tmp_path / "other")!r}))
print(tries(open, {str(tmp_path / "new")!r}, "w"), tries(os.mkdir, {str(tmp_path / "folder")!r}))
print(tries(os.kill, os.getppid(), 0) if landlock.version() >= 6 else "could not")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    nothing = "could not could not"
    assert done.stdout.splitlines() == ["did", "did", nothing, nothing, "could not"], done.stderr
    assert (tmp_path / "other").read_text() == "as it was"


def test_limits_of_version_2_groups_go_where_the_kernel_reads_them(tmp_path: Path) -> None:
    for name, text in {"memory.current": "1000", "memory.events": "low 0\noom 1\noom_kill 1\n"}.items():
        (tmp_path / name).write_text(text)
    group = cgroups.Group(2, tmp_path, tmp_path)
    group.limit(5000, 7)
    assert (tmp_path / "memory.max").read_text() == "6000"
    assert (tmp_path / "pids.max").read_text() == "7"
    assert group.folders == (tmp_path,)
    assert group.killed_for_memory()
    (tmp_path / "memory.events").write_text("low 0\noom_kill 0\n")
    assert not group.killed_for_memory()


def test_a_checkout_reached_through_a_link_confines_too(tmp_path: Path) -> None:
    link = tmp_path / "checkout"
    link.symlink_to(Path(sys.prefix).parent)
    python = link / Path(sys.prefix).name / "bin" / Path(sys.executable).name
    code = "import json; from grader import examine; print(json.dumps(examine.confinement()['uid']))"
    found = subprocess.run([python, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert int(found.stdout) > 0


def test_a_stand_in_for_triton_in_this_process_hides_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    real = layout.package_folder("triton")
    monkeypatch.setitem(sys.modules, "triton", type(sys)("triton"))
    assert real is not None and layout.package_folder("triton") == real
