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

from app.errors import AppError
from app.settings import Settings, configure_logs, variable
from grader import gpus
from grader.verdict import Lane

RESTART_SECONDS = 1.0  # pause before a dead worker is started again
log = structlog.get_logger(__name__)


def serve_web(settings: Settings) -> None:
    """Serve pages in this process until told to stop. Live pages are cut after two seconds; they connect again."""
    import uvicorn

    from app.db import check_tables
    from app.main import create_app

    configure_logs(settings)
    require_port(settings.host, settings.port)
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
    port = require_port(settings.host, settings.port)
    environment = {**os.environ, variable("port"): str(port)}
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    web = _start(["serve"], environment)
    children, status = [web], 0
    try:
        if _await_first_page(web, settings.public_origin, f"http://{_reachable(settings.host)}:{port}", stop):
            # After the first page, since warming sandboxes keeps every core busy for seconds.
            children.append(_start(["worker", "--lane", Lane.CPU], environment))
        while not stop.wait(0.25) and web.poll() is None:
            if children[-1].poll() is not None:
                log.warning("the worker died and is started again", status=children[-1].returncode)
                stop.wait(RESTART_SECONDS)
                children[-1] = _start(["worker", "--lane", Lane.CPU], environment)
        status = 0 if stop.is_set() else web.returncode or 1
    finally:
        _end(children, settings.stop_seconds + 10)
    return status


def run_on_every_gpu(settings: Settings) -> int:
    """One worker for each GPU, so that nothing else runs on a GPU while a call is timed there; until told to stop.

    All take from the lane's one queue, one submission at a time: a GPU that is busy keeps none waiting. A dead
    worker is started again. Returns the exit status.
    """
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    commands = gpu_commands(gpus.visible())
    children = [_start(command, dict(os.environ)) for command in commands]
    try:
        while not stop.wait(0.25):
            for place, child in enumerate(children):
                if child.poll() is not None:
                    log.warning("a worker died and is started again", gpu=place, status=child.returncode)
                    stop.wait(RESTART_SECONDS)
                    children[place] = _start(commands[place], dict(os.environ))
    finally:
        _end(children, settings.stop_seconds + 10)
    return 0


def gpu_commands(found: list[gpus.Gpu]) -> list[list[str]]:
    """The arguments of one worker for each GPU. Without any there is one all the same, and the site says why."""
    numbers = [gpu.number for gpu in found] or [0]
    return [["worker", "--lane", str(Lane.GPU), "--gpu", str(number)] for number in numbers]


def _await_first_page(web: subprocess.Popen[bytes], origin: str, address: str, stop: threading.Event) -> bool:
    """Wait until the web process answers, and say where. False when it died or we are told to stop."""
    while not stop.wait(0.05) and web.poll() is None:
        if _answers(address):
            typer.echo(f"Tilewright is ready: {origin or address}")
            return True
    return False


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


def require_port(host: str, port: int) -> int:
    """The port to listen on, a free one for 0. Raises `AppError` for one that is taken, before anything is started:
    otherwise the answer of whoever has it would pass for ours.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            what_to_do = "Stop what listens there, or set TILEWRIGHT_PORT to another port (0 takes a free one)."
            raise AppError(f"{host}:{port} cannot be listened on: {error.strerror}.", what_to_do) from error
        taken: int = probe.getsockname()[1]
        return taken
