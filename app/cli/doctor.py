"""`tilewright doctor`: each part of this machine that we need, whether it works, and what to do when it does not.

Nothing here imports PyTorch or Triton: versions are read from the installed packages, the rest asked of processes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import typer

from app.errors import AppError
from app.settings import Settings

WIDTH = 20  # of the longest name of a part
TESTED = {"torch": ("2.11", "2.13"), "triton": ("3.6", "3.9")}


@dataclass(frozen=True)
class Finding:
    """One part: `needed` parts that are not well make the doctor's exit status 1."""

    part: str
    well: bool
    said: str
    what_to_do: str = ""
    needed: bool = True


def examine(settings: Settings) -> int:
    """Print a line for each part; returns 0 when everything needed is well."""
    ill = 0
    for look in (
        *(_python, _sandbox, _database, _content, _drills),
        *(_frameworks, _compiler, _gpu, _tools_for_tests),
    ):
        for finding in look(settings):
            ill += finding.needed and not finding.well
            mark = "OK" if finding.well else "!!" if finding.needed else "--"
            typer.echo(f"{mark}  {finding.part:<{WIDTH}} {finding.said}")
            if finding.what_to_do and not finding.well:
                typer.echo(
                    "".join(f"{'':{WIDTH + 5}}{line}\n" for line in finding.what_to_do.splitlines()), nl=False
                )
    typer.echo("")
    typer.echo("All that is needed works." if not ill else f"{ill} of the needed parts do not work.")
    return 1 if ill else 0


def _python(_: Settings) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", sys.version_info >= (3, 11), version, "Install Python 3.11 or newer.")


def _sandbox(_: Settings) -> Iterator[Finding]:
    """What the grader needs to confine a process, down to starting a real one."""
    from grader.examine import examine as look

    for check in look():
        yield Finding(check.name, check.ok, check.found, check.what_to_do, check.needed)


def _database(settings: Settings) -> Iterator[Finding]:
    from app.db import Database, check_tables

    file = settings.database.removeprefix("sqlite:///")
    if file != settings.database and not Path(file).exists():  # looking would create it
        yield Finding("database", False, f"none yet at {file}", "`tilewright run` creates it.", needed=False)
        return
    database = Database(settings.database)
    where = database.url.render_as_string(hide_password=True)
    try:
        check_tables(database)
    except AppError as error:
        yield Finding("database", False, f"{where}: {error.message}", error.what_to_do)
    except Exception as error:
        reason = str(error).splitlines()[0]
        yield Finding("database", False, f"{where}: {reason}", "Start it, or mend TILEWRIGHT_DATABASE_URL.")
    else:
        yield Finding("database", True, where)
    finally:
        database.close()


def _content(settings: Settings) -> Iterator[Finding]:
    from app.course.check import check

    problems = check(settings.content, settings.drills)
    said = f"{settings.content}: {len(problems)} problems" if problems else f"{settings.content}"
    yield Finding("content", not problems, said, "Run: tilewright check content")


def _drills(settings: Settings) -> Iterator[Finding]:
    from grader.drill import DrillProblems, load_drills

    try:
        drills = load_drills(settings.drills)
    except DrillProblems as error:
        yield Finding("drills", False, f"{settings.drills}: {len(error.problems)} problems", str(error))
    else:
        yield Finding("drills", bool(drills), f"{len(drills)} in {settings.drills}", "Set TILEWRIGHT_DRILLS.")


def _frameworks(_: Settings) -> Iterator[Finding]:
    for name, (oldest, newest) in TESTED.items():
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield Finding(name, False, "not installed", "A worker needs it: pip install 'tilewright[grader]'")
            continue
        tried = _numbers(oldest) <= _numbers(version)[:2] <= _numbers(newest)
        said = version if tried else f"{version}; tried were {oldest} to {newest}"
        yield Finding(name, tried, said, "Other versions may grade differently.", needed=False)


def _compiler(_: Settings) -> Iterator[Finding]:
    """Triton's compiler, which needs no GPU: started confined, as for a submission."""
    from grader.pool import Pool, SandboxUnavailable

    what = "registers, spills and what only the compiler refuses are not known without it"
    try:
        metadata.version("triton")
    except metadata.PackageNotFoundError:
        yield Finding("compiler", False, f"none; {what}", "pip install 'tilewright[grader]'", needed=False)
        return
    try:
        with Pool(framework="compiler") as pool:
            pool.ready()
    except SandboxUnavailable as error:
        yield Finding("compiler", False, f"{error.reason[:200]}; {what}", error.what_to_do, needed=False)
    else:
        yield Finding("compiler", True, "Triton's compiles for sm_80 and sm_90, without a GPU")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("+")[0].split(".")[:2] if part.isdigit())


def _gpu(_: Settings) -> Iterator[Finding]:
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    said = _said(query) if shutil.which("nvidia-smi") else ""
    nodes = sorted(path.name for path in Path("/dev").glob("nvidia[0-9]*"))
    if not said and not nodes:
        yield Finding("gpu", False, "none; the CPU lane needs none", "", needed=False)
        return
    for line in said.splitlines() or ["devices without nvidia-smi: " + ", ".join(nodes)]:
        yield Finding("gpu", bool(said), line, "Install the driver's tools (nvidia-smi).", needed=False)


def _tools_for_tests(_: Settings) -> Iterator[Finding]:
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    yield Finding("chromium", browser is not None, browser or "none", "Only for tests: make test", needed=False)
    servers = sorted(str(path.parent) for path in Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    said = servers[-1] if servers else "no server binaries"
    yield Finding("postgres", bool(servers), said, "Only for tests: make test", needed=False)


def _said(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)  # noqa: S603 - ours
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
