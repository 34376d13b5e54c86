"""The processes of an installation: the web alone, or the web and a CPU worker under one parent."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import structlog
import typer

from app.settings import Settings, configure_logs, variable
from grader.verdict import Lane

START_SECONDS = 60.0
RESTART_SECONDS = 1.0  # pause before a dead worker is started again
log = structlog.get_logger(__name__)


def serve_web(settings: Settings) -> None:
    """Serve pages in this process until told to stop. Live pages are cut after two seconds; they connect again."""
    import uvicorn

    from app.db import check_tables
    from app.main import create_app

    configure_logs(settings)
    application = create_app(settings)
    check_tables(application.state.database)
    uvicorn.run(
        application,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=True,
        forwarded_allow_ips=settings.trusted_proxies,
        timeout_graceful_shutdown=2,
    )


def run_together(settings: Settings) -> int:
    """Run the web and a CPU worker until one of us is told to stop; returns the exit status.

    A dead worker is started again, and its submission with it. A dead web process ends everything, so that whoever
    watches us sees it.
    """
    configure_logs(settings)
    port = settings.port or _free_port(settings.host)
    environment = {**os.environ, variable("port"): str(port)}
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    web = _start(["serve"], environment)
    worker = _start(["worker", "--lane", Lane.CPU], environment)
    address = f"http://{_reachable(settings.host)}:{port}"
    greeted, status = False, 0
    try:
        while not stop.wait(0.05 if not greeted else 0.25):
            if not greeted and _answers(address):
                greeted = True
                typer.echo(f"Tilewright is ready: {settings.public_origin or address}")
            if web.poll() is not None:
                status = web.returncode or 1
                break
            if worker.poll() is not None:
                log.warning("the worker died and is started again", status=worker.returncode)
                stop.wait(RESTART_SECONDS)
                worker = _start(["worker", "--lane", Lane.CPU], environment)
    finally:
        _end([web, worker], settings.stop_seconds + 10)
    return status


def _start(arguments: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from app.cli import main; main()", *arguments]
    return subprocess.Popen(command, env=environment, preexec_fn=_die_with_parent)  # noqa: S603 - ourselves


def _die_with_parent() -> None:
    """Be told to stop when the parent is gone, however it went; and hear Ctrl-C only through the parent."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    os.setsid()


def _end(children: list[subprocess.Popen[bytes]], seconds: float) -> None:
    for child in children:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + seconds
    for child in children:
        try:
            child.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=1) as answer:  # noqa: S310 - our own address
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _reachable(host: str) -> str:
    return "127.0.0.1" if host in ("0.0.0.0", "::", "") else host  # noqa: S104 - compared, not bound


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port
