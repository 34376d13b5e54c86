"""The environment of docker-compose.yml, started by hand: the same commands, settings and health checks, without an
engine. What only an engine can show (images, networks, restarts) is not tested here.
"""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import secrets
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.postgres import Server

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SOLUTION = ROOT / "drills" / "tiled_softmax" / "correct" / "online.py"


def stage(target: str) -> str:
    """The lines of one target of the Dockerfile, its comments and line breaks taken out."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE, flags=re.MULTILINE).replace("\\\n", " ")
    found = re.search(rf"^FROM \S+ AS {target}\n(.*?)(?=^FROM |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"the Dockerfile has no target {target}"
    return found[1]


def command_of(service: str) -> list[str]:
    """What the container of a service runs."""
    if "command" in SERVICES[service]:
        return [str(word) for word in SERVICES[service]["command"]]
    found = re.search(r"^CMD (\[.*\])$", stage(SERVICES[service]["build"]["target"]), re.MULTILINE)
    assert found, f"the image of {service} has no command"
    return [str(word) for word in json.loads(found[1])]


def health_of(service: str) -> list[str]:
    """What asks the container of a service how it is."""
    found = re.search(r"^HEALTHCHECK .*?CMD (\[.*\])$", stage(SERVICES[service]["build"]["target"]), re.MULTILINE)
    assert found, f"the image of {service} has no health check"
    return [str(word) for word in json.loads(found[1])]


def environment_of(service: str) -> dict[str, str]:
    """The settings of a service: those of its image, then those of the compose file with the defaults filled in."""
    image = dict(
        word.split("=", 1)
        for line in re.findall(r"^ENV (.*)$", stage(SERVICES[service]["build"]["target"]), re.MULTILINE)
        for word in shlex.split(line)
    )
    own = {
        name: re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value)
        for name, value in SERVICES[service]["environment"].items()
    }
    return image | own


def here(words: list[str], port: int) -> list[str]:
    """A container's command on this machine: our interpreter, our port."""
    if words[0] == "tilewright":
        return [sys.executable, "-c", "from app.cli import main; main()", *words[1:]]
    assert words[0] == "python"
    return [sys.executable, *(word.replace("127.0.0.1:8000", f"127.0.0.1:{port}") for word in words[1:])]


class Stack:
    """The services, each a process on this machine."""

    def __init__(self, server: Server, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        self._server = server
        self._database = server.create()
        self._folder = folder
        self._running: list[subprocess.Popen[bytes]] = []
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._open = urllib.request.build_opener(cookies).open

    def settings(self, service: str) -> dict[str, str]:
        """A service's environment with only the addresses changed to those of this machine."""
        settings = environment_of(service)
        assert settings["TILEWRIGHT_DATABASE_URL"].endswith("@postgres:5432/tilewright")
        settings["TILEWRIGHT_DATABASE_URL"] = self._server.url(self._database)
        settings["TILEWRIGHT_PUBLIC_ORIGIN"] = self.origin
        settings["TILEWRIGHT_PORT"] = str(self.port)
        return os.environ | settings | {"TILEWRIGHT_DATA": str(self._folder), "TILEWRIGHT_HOST": "127.0.0.1"}

    def once(self, service: str) -> None:
        """A service that ends by itself."""
        subprocess.run(
            here(command_of(service), self.port), cwd=ROOT, env=self.settings(service), check=True, timeout=60
        )

    def start(self, service: str) -> None:
        """A service that stays."""
        command = here(command_of(service), self.port)
        self._running.append(
            subprocess.Popen(command, cwd=ROOT, env=self.settings(service), start_new_session=True)
        )

    def healthy(self, service: str) -> bool:
        """What the container's health check says."""
        command = here(health_of(service), self.port)
        return subprocess.run(command, cwd=ROOT, env=self.settings(service), capture_output=True).returncode == 0

    def await_health(self, service: str, seconds: float = 90) -> None:
        deadline = time.monotonic() + seconds
        while not self.healthy(service):
            assert time.monotonic() < deadline, f"{service} is not healthy after {seconds} s"
            time.sleep(0.3)

    def post(self, path: str, **form: str) -> str:
        """Send a form; the path that it leads to."""
        body = urllib.parse.urlencode(form).encode()
        request = urllib.request.Request(self.origin + path, body, {"Origin": self.origin})
        with self._open(request, timeout=30) as answer:
            return str(urllib.parse.urlsplit(answer.url).path)

    def get(self, path: str) -> Any:
        """A JSON answer."""
        with self._open(self.origin + path, timeout=30) as answer:
            return json.load(answer)

    def stop(self) -> None:
        for process in self._running:
            process.terminate()
        for process in self._running:
            process.wait(timeout=30)
        self._server.drop(self._database)


@pytest.fixture
def stack(postgres: Server, tmp_path: Path) -> Iterator[Stack]:
    made = Stack(postgres, tmp_path / "var")
    yield made
    made.stop()


def test_every_service_of_ours_has_an_image_a_command_and_a_health_check() -> None:
    for service in ("web", "worker-cpu", "worker-gpu"):
        assert command_of(service)[0] == "tilewright"
        assert health_of(service)
    assert SERVICES["worker-gpu"]["profiles"] == ["gpu"]
    assert "torch" not in stage("web") and ".[grader]" not in stage("web")
    assert SERVICES["postgres"]["healthcheck"]["test"]


@pytest.mark.postgres
@pytest.mark.sandbox
@pytest.mark.timeout(300)
def test_the_services_together_grade_a_submission(stack: Stack) -> None:
    stack.once("migrate")
    stack.once("migrate")  # a second start changes nothing
    stack.start("web")
    stack.await_health("web")
    assert not stack.healthy("worker-cpu"), "a worker that was never started must not look healthy"
    stack.start("worker-cpu")
    stack.await_health("worker-cpu")
    stack.post("/sign-up", username="ada", password=secrets.token_urlsafe(16))
    path = stack.post(
        "/drills/tiled_softmax/submissions", source=SOLUTION.read_text(), lane="cpu", token=secrets.token_hex(16)
    )
    deadline = time.monotonic() + 120
    while not (state := stack.get(f"/api/v1{path}"))["final"]:
        assert time.monotonic() < deadline, state
        time.sleep(0.1)
    assert state["verdict"]["outcome"] == "accepted", state["verdict"]["sentence"]
