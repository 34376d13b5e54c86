"""One Chromium a test process, the gallery as a server for it, and the real thing: web and worker."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, sync_playwright

from tests.browser.gallery import gallery

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "var" / "screenshots"
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser on a busy machine may lose a key: a test here may fail once, and the summary names it."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not Path(CHROMIUM).exists():
        pytest.fail(f"{CHROMIUM} is missing: `make test` installs it, or: apt-get install chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def gallery_site() -> Iterator[str]:
    """The address of the gallery, served from this process."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(gallery(), host="127.0.0.1", port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 10
    while not server.started:
        assert time.monotonic() < deadline, "the gallery did not start"
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(5)


@pytest.fixture(scope="session")
def site_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of `site`, for commands of an operator beside it."""
    return tmp_path_factory.mktemp("tilewright")


@pytest.fixture(scope="session")
def site(site_data: Path) -> Iterator[str]:
    """The address of a running Tilewright: `tilewright run` on a new SQLite database, with its own CPU worker."""
    environment = os.environ | {
        "TILEWRIGHT_DATA": str(site_data),
        "TILEWRIGHT_PORT": str(free_port()),
        "TILEWRIGHT_SUBMISSIONS_PER_MINUTE": "60",
        "TILEWRIGHT_LOG_LEVEL": "warning",
    }
    command = [str(Path(sys.executable).parent / "tilewright"), "run"]
    log = (site_data / "log").open("w")
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
    )
    try:
        yield _address(process, site_data / "log")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(5)
        log.close()


def _address(process: subprocess.Popen[str], log: Path, seconds: float = 60) -> str:
    """What `tilewright run` prints when the first page can be opened."""
    assert process.stdout is not None
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        if select.select([process.stdout], [], [], 0.5)[0]:
            line = process.stdout.readline()
            if "Tilewright is ready:" in line:
                return line.split("ready:")[1].strip()
    pytest.fail(f"`tilewright run` printed no address; its log ends:\n{log.read_text()[-3000:]}")
