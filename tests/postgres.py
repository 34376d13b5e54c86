"""A private PostgreSQL for one test session: the distribution's binaries, a folder of its own, a random port.

Under xdist the workers share one server: the first to come starts it, the last to go stops it.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import psycopg
import pytest

_names = itertools.count(1)


class Server:
    """A running server; `url` names one of its databases."""

    def __init__(self, port: int, user: str, state: dict[str, Any] | None = None) -> None:
        self.port = port
        self.user = user
        self._state = state or {}

    def kill(self) -> None:
        """kill −9 of the server and all its processes."""
        os.killpg(self._state["pid"], signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._state["pid"], 0)

    def start_again(self) -> None:
        """Start the killed server on its own files."""
        (Path(self._state["folder"]) / "data" / "postmaster.pid").unlink(missing_ok=True)
        self._state["pid"] = _serve(self._state)

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://{self.user}@127.0.0.1:{self.port}/{name}"

    def create(self, template: str = "template0") -> str:
        """A new database, copied from `template`; returns its name."""
        name = f"t{os.getpid()}_{next(_names)}"
        self._execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return name

    def drop(self, name: str) -> None:
        self._execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres").replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(statement.encode())


@contextlib.contextmanager
def shared_server(folder: Path) -> Iterator[Server]:
    """The server of this test session; `folder` is the same for all of its processes."""
    note = folder / "postgres.json"
    with _locked(folder / "postgres.lock"):
        state: dict[str, Any] = json.loads(note.read_text()) if note.exists() else {**_start(), "users": 0}
        state["users"] += 1
        note.write_text(json.dumps(state))
    try:
        yield Server(state["port"], state["user"])
    finally:
        with _locked(folder / "postgres.lock"):
            state = json.loads(note.read_text())
            state["users"] -= 1
            if state["users"]:
                note.write_text(json.dumps(state))
            else:
                note.unlink()
                _stop(state)


def binaries() -> Path:
    """The folder of the newest server that the distribution installed; without one the test fails with one line."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if not found:
        pytest.fail("no PostgreSQL under /usr/lib/postgresql: apt-get install postgresql", pytrace=False)
    return found[-1].parent


@contextlib.contextmanager
def own_server() -> Iterator[Server]:
    """A server for one test alone, which it may kill and start again."""
    state = _start()
    try:
        yield Server(state["port"], state["user"], state)
    finally:
        _stop(state)


def _start() -> dict[str, Any]:
    bin_folder = binaries()
    folder = Path(tempfile.mkdtemp(prefix="tilewright-pg-", dir="/tmp"))
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    if os.geteuid() == 0:  # the server refuses to run as root
        account = pwd.getpwnam("postgres")
        os.chown(folder, account.pw_uid, account.pw_gid)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    init = [str(bin_folder / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", user, "-N"]
    done = subprocess.run(
        [*init, "--no-locale", "-E", "UTF8"], capture_output=True, text=True, cwd="/", check=False, **_who()
    )
    if done.returncode:
        pytest.fail(f"initdb failed: {done.stderr[-600:]}", pytrace=False)
    state = {"port": port, "user": user, "folder": str(folder)}
    return {**state, "pid": _serve(state)}


def _serve(state: dict[str, Any]) -> int:
    folder = Path(state["folder"])
    options = {
        "listen_addresses": "127.0.0.1",
        "port": state["port"],
        "unix_socket_directories": folder,
        "fsync": "off",
        "full_page_writes": "off",
        "synchronous_commit": "off",
        "shared_buffers": "32MB",
        "max_connections": 200,
    }
    command = [str(binaries() / "postgres"), "-D", str(folder / "data")]
    command += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    with (folder / "log").open("a") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", start_new_session=True, **_who())
    for _ in range(200):
        if server.poll() is None and _answers(state["port"], state["user"]):
            return server.pid
        time.sleep(0.05)
    server.kill()
    pytest.fail(f"PostgreSQL did not start: {(folder / 'log').read_text()[-600:]}", pytrace=False)


def _who() -> dict[str, Any]:
    """As whom the server runs."""
    if os.geteuid() != 0:
        return {}
    account = pwd.getpwnam("postgres")
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _stop(state: dict[str, Any]) -> None:
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(state["pid"], signal.SIGQUIT)
        os.waitpid(state["pid"], 0)
    shutil.rmtree(state["folder"], ignore_errors=True)


def _answers(port: int, user: str) -> bool:
    try:
        psycopg.connect(f"postgresql://{user}@127.0.0.1:{port}/postgres", connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[IO[str]]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
