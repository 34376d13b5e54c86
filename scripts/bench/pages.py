"""Card, question, drill and home for somebody signed in, beside an empty database and beside a full one.

A million submissions on a private PostgreSQL, a hundred thousand on SQLite, each with its run and an event. The
same learner with the same forty submissions asks both servers in turn, over loopback, so that a busy machine slows
both.
Prints p50, p99 and their ratios: the aim for the p99s is 1.5, and the p50s tell growth from noise. `ROWS=1000`
fills less, `ASKS=50` asks less.
"""

import contextlib
import http.client
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import msgspec
import uvicorn
from sqlalchemy import text

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from app import jobs  # noqa: E402
from app.accounts import service as accounts  # noqa: E402
from app.accounts.models import Role, User  # noqa: E402
from app.accounts.routes import COOKIE  # noqa: E402
from app.db import Database, new_id, now, upgrade_tables  # noqa: E402
from app.main import create_app  # noqa: E402
from app.settings import Settings, configure_logs  # noqa: E402
from app.submissions.models import Run, Submission  # noqa: E402
from grader.verdict import CaseResult, Lane, Outcome, Verdict  # noqa: E402
from tests.postgres import own_server  # noqa: E402

DRILL = "tiled_softmax"
PAGES = {
    "home": "/",
    "card": "/cards/online-softmax",
    "question": "/questions/fused-kernel-drift",
    "drill": f"/drills/{DRILL}",
    "submissions": "/submissions",
}
ASKS = int(os.environ.get("ASKS", "200"))  # of each page, of each server
AIM = 1.5
OWN = 40  # submissions of the learner who looks


def verdict(outcome: Outcome) -> Verdict:
    """A verdict of usual size."""
    cases = tuple(
        CaseResult(
            name=f"case {n}",
            visible=True,
            outcome=outcome,
            shape=f"{n} rows × 129 columns",
            data="normal",
            error=0.1,
        )
        for n in range(20)
    )
    return Verdict(
        outcome=outcome, sentence="All 20 cases passed.", drill=DRILL, lane=Lane.CPU, cases=cases, expected_cases=20
    )


def user(name: str) -> User:
    """An account that nobody can sign in to by password."""
    return User(
        id=new_id(), username=name, username_key=name, password_hash="!", role=Role.LEARNER, created_at=now()
    )


def prepare(url: str) -> str:
    """All tables, and the learner who looks; returns the cookie."""
    database = Database(url)
    upgrade_tables(database)
    jobs.migrate(url)
    with database.write() as session:
        me = user("ada")
        session.add(me)
        session.flush()
        for n in range(OWN):
            at = now() - timedelta(minutes=n)
            outcome = Outcome.ACCEPTED if n % 3 else Outcome.WRONG_ANSWER
            made = Submission(
                id=new_id(),
                user_id=me.id,
                token=new_id(),
                drill=DRILL,
                lane="cpu",
                source="x = 1\n",
                submitted_at=at,
            )
            session.add(made)
            session.flush()
            session.add(
                Run(
                    id=new_id(),
                    submission_id=made.id,
                    number=1,
                    cause="submit",
                    created_at=at,
                    started_at=at,
                    ended_at=at,
                    verdict=verdict(outcome),
                    outcome=outcome,
                )
            )
        cookie = accounts.begin(session, me, "", 1)
    database.close()
    return cookie


def fill(url: str, rows: int) -> float:
    """Add `rows` submissions of two thousand others, in bulk; returns the seconds that it took."""
    database = Database(url)
    begun = time.perf_counter()
    if database.is_sqlite:
        series = (
            "WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < :rows - 1) SELECT {} FROM s"
        )
        at = "strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || (n % 500000) || ' minutes')"
        pad, who, no = "printf('%015d', n)", "printf('%015d', n % 2000)", "0"
    else:
        series = "SELECT {} FROM generate_series(0, :rows - 1) AS s(n)"
        at = "now() - (n % 500000) * interval '1 minute'"
        pad, who, no = "lpad(n::text, 15, '0')", "lpad((n % 2000)::text, 15, '0')", "false"
    tables = {
        "users (id, username, username_key, password_hash, role, created_at)": (
            f"'u' || {pad}, 'u' || {pad}, 'u' || {pad}, '!', 'learner', {at}"
        ),
        "submissions (id, user_id, trial, token, drill, lane, source, submitted_at)": (
            f"'s' || {pad}, 'u' || {who}, {no}, 't' || {pad}, '{DRILL}', 'cpu', 'x = 1', {at}"
        ),
        "runs (id, submission_id, number, cause, created_at, ended_at, verdict, outcome)": (
            f"'r' || {pad}, 's' || {pad}, 1, 'submit', {at}, {at}, :verdict, 'accepted'"
        ),
        "run_events (submission_id, number, at, kind, body)": f"'s' || {pad}, 1, {at}, 'queued', ''",
    }
    body = msgspec.json.encode(verdict(Outcome.ACCEPTED)).decode()
    with database.write() as session:
        for table, columns in tables.items():
            count = 2000 if table.startswith("users") else rows
            values = {"rows": count} | ({"verdict": body} if ":verdict" in columns else {})
            session.execute(text(f"INSERT INTO {table} {series.format(columns)}"), values)
        session.execute(text("ANALYZE"))
    database.close()
    return time.perf_counter() - begun


@dataclass
class Server:
    """An application on a database, served on loopback by a thread of this process."""

    port: int
    cookie: str

    def ask(self, path: str) -> float:
        """Get a page; returns the seconds to its last byte."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        begun = time.perf_counter()
        connection.request("GET", path, headers={"cookie": f"{COOKIE}={self.cookie}", "accept": "text/html"})
        answer = connection.getresponse()
        answer.read()
        seconds = time.perf_counter() - begun
        connection.close()
        if answer.status != 200:
            raise SystemExit(f"{path} answered {answer.status}")
        return seconds


@contextlib.contextmanager
def served(url: str, folder: Path, cookie: str, **more: int) -> Iterator[Server]:
    """The application on `url` while the block runs; `more` are settings."""
    application = create_app(
        Settings(data=folder, database_url=url, watch_content=False, log_level="error", **more)
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(application, host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    try:
        yield Server(port, cookie)
    finally:
        server.should_exit = True
        thread.join(10)


def at_percent(seconds: list[float], percent: float) -> float:
    """The value that `percent` of all stay within."""
    return sorted(seconds)[min(len(seconds) - 1, round(percent / 100 * len(seconds)))]


def compare(name: str, empty: Server, full: Server) -> bool:
    """Ask both in turn and print a line a page; whether all ratios are within the aim."""
    good = True
    print(f"\n{name:24} {'empty p50':>10} {'p99':>8} {'full p50':>10} {'p99':>8} {'p50s':>6} {'p99s':>6}")
    for page, path in PAGES.items():
        times: dict[int, list[float]] = {empty.port: [], full.port: []}
        for n in range(ASKS + 10):
            for server in (empty, full) if n % 2 else (full, empty):
                seconds = server.ask(path)
                if n >= 10:  # the first ones warm caches
                    times[server.port].append(seconds)
        small, large = times[empty.port], times[full.port]
        ratio = at_percent(large, 99) / at_percent(small, 99)
        good = good and ratio <= AIM
        ms = [1000 * at_percent(one, p) for one in (small, large) for p in (50, 99)]
        took = f"{ms[0]:8.1f}ms {ms[1]:6.1f}ms {ms[2]:8.1f}ms {ms[3]:6.1f}ms"
        print(f"{page:24} {took} {ms[2] / ms[0]:6.2f} {ratio:6.2f}")
    return good


def measure(name: str, urls: tuple[str, str], folder: Path, rows: int) -> bool:
    """One kind of database: an empty one and one with `rows` submissions."""
    cookies = [prepare(url) for url in urls]
    print(f"{name}: {rows:,} submissions in {fill(urls[1], rows):.0f} s", flush=True)
    with served(urls[0], folder, cookies[0]) as empty, served(urls[1], folder, cookies[1]) as full:
        return compare(name, empty, full)


def main() -> int:
    """Measure both; 1 when a ratio is over the aim."""
    configure_logs(Settings(log_level="error"))
    folder = Path(tempfile.mkdtemp(prefix="tilewright-pages-"))
    rows = int(os.environ.get("ROWS", "0"))
    try:
        sqlite = (f"sqlite:///{folder}/empty.db", f"sqlite:///{folder}/full.db")
        good = measure("SQLite", sqlite, folder, rows or 100_000)
        with own_server() as server:
            postgres = (server.url(server.create()), server.url(server.create()))
            good = measure("PostgreSQL", postgres, folder, rows or 1_000_000) and good
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    said = "met" if good else "missed"
    print(f"\nAim, every p99 beside a full database within {AIM}× of that beside an empty one: {said}.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
