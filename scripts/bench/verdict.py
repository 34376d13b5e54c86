"""Submit → verdict for `tiled_softmax` with a warm pool: a real server, a real worker, submissions over HTTP.

Prints p50 and p95 against the aim, and what each phase took. The named peer is a cold start: the same file graded
by a new `tilewright grade` process, which has to start its runner first. With LANE=gpu a GPU worker is started
beside the server, and the submissions are for it.
"""

import http.cookiejar
import json
import os
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TILEWRIGHT = (sys.executable, "-c", "from app.cli import main; main()")
DRILL = "tiled_softmax"
SOLUTION = ROOT / "drills" / DRILL / "correct" / "online.py"
SUBMISSIONS = int(os.environ.get("SUBMISSIONS", "20"))
LANE = os.environ.get("LANE", "cpu")
AIM_SECONDS = 1.5
PHASES = ("pool", "load", "run", "judge", "alone", "compiler", "diagnose")
PAUSE_SECONDS = 5.0  # between submissions: the three processes that one takes are replaced by then (see `pool`)


class Browser:
    """Just enough of one: cookies, forms, and the same-origin header that forms carry."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self._open = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        ).open

    def get(self, path: str) -> bytes:
        """The body of a page."""
        with self._open(self.origin + path, timeout=10) as answer:
            return bytes(answer.read())

    def post(self, path: str, **form: str) -> str:
        """Send a form; the path that it leads to."""
        body = urllib.parse.urlencode(form).encode()
        request = urllib.request.Request(self.origin + path, body, {"Origin": self.origin})
        with self._open(request, timeout=10) as answer:
            return urllib.parse.urlsplit(answer.url).path


def main() -> int:
    """Start everything in a folder of its own, measure, stop it again."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        environment = os.environ | {
            "TILEWRIGHT_DATA": folder,
            "TILEWRIGHT_PORT": str(port),
            "TILEWRIGHT_SUBMISSIONS_PER_MINUTE": "1000",
            "TILEWRIGHT_LOG_LEVEL": "error",
        }
        started = time.monotonic()
        quiet: Any = {"cwd": ROOT, "env": environment, "stdout": subprocess.DEVNULL}
        server = subprocess.Popen([*TILEWRIGHT, "run"], **quiet)
        others: list[subprocess.Popen[bytes]] = []
        try:
            browser = Browser(f"http://127.0.0.1:{port}")
            wait_for(browser, "/readyz", server)
            print(f"first page          {time.monotonic() - started:6.2f} s after start", flush=True)
            if LANE != "cpu":
                others.append(subprocess.Popen([*TILEWRIGHT, "worker", "--lane", LANE], **quiet))
            report(measure(browser), cold())
        finally:
            for process in (*others, server):
                process.terminate()
            for process in (*others, server):
                process.wait(timeout=30)
    return 0


def wait_for(browser: Browser, path: str, server: subprocess.Popen[bytes]) -> None:
    """Until the page answers; gives up with the server or after a minute."""
    for _ in range(600):
        if server.poll() is not None:
            raise SystemExit(f"the server ended with status {server.returncode}")
        try:
            browser.get(path)
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the server did not answer within a minute")


def measure(browser: Browser) -> list[dict[str, float]]:
    """One warm-up submission, then the measured ones: wall seconds and the phases of each verdict."""
    browser.post("/sign-up", username="bench", password=secrets.token_urlsafe(16))
    source = SOLUTION.read_text()
    rows = []
    for number in range(SUBMISSIONS + 1):
        time.sleep(PAUSE_SECONDS)
        begun = time.monotonic()
        path = browser.post(f"/drills/{DRILL}/submissions", source=source, lane=LANE, token=secrets.token_hex(16))
        while not (state := json.loads(browser.get(f"/api/v1{path}")))["final"]:
            time.sleep(0.02)
        wall = time.monotonic() - begun
        verdict = state["verdict"]
        if verdict["outcome"] != "accepted":
            raise SystemExit(f"the measured solution was not accepted: {verdict['sentence']} {verdict['problem']}")
        if number:
            phases = {name: verdict["timings"][name] for name in PHASES}
            rows.append({"wall": wall, **phases, "queue": wall - verdict["timings"]["total"]})
            print(f"\r{number}/{SUBMISSIONS}", end="", flush=True)
    print("\r", end="")
    return rows


def cold() -> float:
    """Seconds of a new process that grades the same file."""
    begun = time.monotonic()
    command = [*TILEWRIGHT, "grade", DRILL, str(SOLUTION), "--lane", LANE, "--json"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


def report(rows: list[dict[str, float]], cold_seconds: float) -> None:
    """The figures as a table, and the two ratios."""
    for name in ("wall", "queue", *PHASES):
        values = sorted(row[name] for row in rows)
        p95 = values[min(len(values) - 1, round(0.95 * (len(values) - 1)))]
        print(f"{name:<12} p50 {statistics.median(values):6.3f} s   p95 {p95:6.3f} s")
    p50 = statistics.median(row["wall"] for row in rows)
    print(f"p50 is {p50 / AIM_SECONDS:.2f} of the aim ({AIM_SECONDS} s)")
    print(f"p50 is {p50 / cold_seconds:.2f} of a cold start ({cold_seconds:.2f} s)")


if __name__ == "__main__":
    sys.exit(main())
