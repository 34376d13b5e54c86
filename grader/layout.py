"""What a confined process sees: the system's programs and libraries, Python with its packages, and our own few
modules for the inside. Everything read-only, and nothing else of ours, wherever it is installed.

The path lists are worked out from where this interpreter and this package lie; nothing here touches the disk but to
ask what exists.
"""

from __future__ import annotations

import compileall
import contextlib
import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from typing import Final

RUNNER: Final = "/runner"  # where our modules for the inside appear
# A checkout may be reached through a link; inside there are only real paths.
PYTHON: Final = str(Path(sys.executable).parent.resolve() / Path(sys.executable).name)
PACKAGE: Final = Path(__file__).resolve().parent
ROOT: Final = PACKAGE.parent  # the repository, or the site-packages we are installed in

# All that goes in. No judge, no drill, no reference, no kit with its answers.
MODULES: Final = (
    *("__init__.py", "wire.py", "bounded.py", "inside.py", "tensors.py", "blame.py", "evidence.py", "landlock.py"),
    *("memory.py", "forks.py"),
    *("lanes.py", "batched.py", "warmup.py", "device.py", "stopwatch.py", "served.py", "interpreter"),
    *("traced.py", "definitions.py", "replay.py", "walker.py", "front_end.py"),
)
LINKS: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")  # into /usr on most systems
OURS: Final = ("app", "grader", "drills", "kernels", "migrations", "content", "tests", "docs", "scripts", "var")
NEEDED: Final = ("numpy", "msgspec", "torch", "triton")

ENVIRONMENT: Final = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108 - inside, it is private to the runner
    "USER": "learner",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TRITON_CACHE_DIR": "/tmp/triton",  # noqa: S108
    "TORCHINDUCTOR_CACHE_DIR": "/tmp/inductor",  # noqa: S108
}


def root_options(hidden: tuple[Path, ...]) -> list[str]:
    """Bubblewrap options that build the root, outermost path first. `hidden` is covered where it would show."""
    wanted = _wanted()
    shown = _outermost(wanted)
    covered = _covered(shown, hidden)
    # Python may live inside a checkout that is covered: then it is shown again, on top of the cover.
    again = _outermost([path for path in wanted if any(path.is_relative_to(cover) for cover in covered)])
    options: list[str] = []
    for name in LINKS:
        path = Path("/") / name
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), str(path)]
    for folder in sorted(_ancestors(shown)):
        options += ["--perms", "0755", "--dir", str(folder)]
    for path in shown:
        options += ["--ro-bind", str(path), str(path)]
    for path in covered:
        cover = ["--perms", "0755", "--tmpfs"] if path.is_dir() else ["--ro-bind", "/dev/null"]
        options += [*cover, str(path)]
    for path in again:
        for folder in sorted(p for p in _ancestors([path]) if any(c in p.parents for c in covered)):
            options += ["--perms", "0755", "--dir", str(folder)]
        options += ["--ro-bind", str(path), str(path)]
    for path in covered:
        options += ["--remount-ro", str(path)] if path.is_dir() else []
    return options + _runner_options()


def _runner_options() -> list[str]:
    folders = (RUNNER, f"{RUNNER}/grader", f"{RUNNER}/grader/__pycache__")
    options = [word for folder in folders for word in ("--perms", "0755", "--dir", folder)]
    for name in MODULES:
        options += ["--ro-bind", str(PACKAGE / name), f"{RUNNER}/grader/{name}"]
        compiled = Path(importlib.util.cache_from_source(str(PACKAGE / name)))
        if name.endswith(".py") and compiled.exists():
            options += ["--ro-bind", str(compiled), f"{RUNNER}/grader/__pycache__/{compiled.name}"]
    # What a drill lets learners import; its name inside says whose it is.
    return [*options, "--ro-bind", str(PACKAGE / "drill_kit.py"), f"{RUNNER}/drill_kit.py"]


def precompile() -> None:
    """Compile what goes in, once for all runners, where our folders can be written; runners themselves can't."""
    for name in MODULES:
        path = PACKAGE / name
        compile_path = compileall.compile_dir if path.is_dir() else compileall.compile_file
        with contextlib.suppress(OSError):
            compile_path(str(path), quiet=2)


def _wanted() -> list[Path]:
    """Folders and files of the host that a runner needs to see."""
    wanted = [Path("/usr"), Path("/etc/ld.so.cache"), Path("/etc/alternatives"), *(Path("/") / n for n in LINKS)]
    wanted += [Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve()]
    wanted += [Path(sys.executable).resolve().parent.parent]
    wanted += [place for name in NEEDED if (place := package_folder(name)) is not None]
    return [path for path in wanted if path.exists() and not path.is_symlink() and path != Path("/")]


def _outermost(paths: list[Path]) -> list[Path]:
    """The paths that lie below no other of them."""
    kept: list[Path] = []
    for path in sorted(set(paths)):
        if not any(path.is_relative_to(other) for other in kept):
            kept.append(path)
    return kept


def package_folder(name: str) -> Path | None:
    """The folder on the import path that holds a package, found without importing it."""
    # Not `find_spec` of importlib.util: it answers for a module that is loaded, and ours may stand in for triton.
    found = importlib.machinery.PathFinder.find_spec(name)
    if found is None or found.origin is None:
        return None
    return Path(found.origin).resolve().parent.parent


def _covered(shown: list[Path], hidden: tuple[Path, ...]) -> list[Path]:
    """What of ours would be seen through the folders shown, and must not be."""
    secret = [ROOT / name for name in OURS]
    if (ROOT / "pyproject.toml").exists():  # a checkout: all of it
        secret = [ROOT]
    secret += [path.resolve() for path in hidden]
    return _outermost([p for p in secret if p.exists() and any(p != s and p.is_relative_to(s) for s in shown)])


def _ancestors(paths: list[Path]) -> set[Path]:
    """Folders to make on the way to `paths`: bubblewrap would make them for its own user only."""
    return {parent for path in paths for parent in path.parents if parent != Path("/")} - set(paths)
