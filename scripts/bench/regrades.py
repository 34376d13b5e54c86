"""How soon a learner sees a first status while 5,000 regrades wait, on SQLite and on PostgreSQL.

A learner hands in, and asks for the submission's page until it says where it stands: nobody grades meanwhile, so
all of the regrades wait all of the time. Prints p50 and p95 from the click to the last byte of that page; the limit
for the p95 is one second. `ROWS=100` makes fewer wait, `ASKS=20` hands in less often.
"""

import http.client
import os
import shutil
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlencode

from pages import COOKIE, DRILL, Server, at_percent, prepare, served, user  # sets the path, so it comes first

from app.db import Database, new_id, now
from app.jobs import Heartbeat, Jobs
from app.settings import Settings, configure_logs
from app.submissions import service
from app.submissions.models import Run, Submission
from tests.postgres import own_server

ROWS = int(os.environ.get("ROWS", "5000"))
ASKS = int(os.environ.get("ASKS", "60"))
LIMIT = 1.0  # seconds


def let_wait(url: str, rows: int) -> None:
    """Ask for regrades of somebody else's submissions: each is a run and a job of its own."""
    database, queue = Database(url), Jobs(url)
    with database.write() as session:
        session.add(
            Heartbeat(id="w", lane="cpu", started_at=now(), seen_at=now() + timedelta(days=1), slots=1, busy=0)
        )
        other = user("lin")
        session.add(other)
        session.flush()
        made = [
            Submission(
                id=new_id(),
                user_id=other.id,
                token=new_id(),
                drill=DRILL,
                lane="cpu",
                source="x",
                submitted_at=now(),
            )
            for _ in range(rows)
        ]
        session.add_all(made)
        session.flush()
        session.add_all(
            Run(id=new_id(), submission_id=one.id, number=1, cause="submit", created_at=now(), ended_at=now())
            for one in made
        )
        session.flush()
        for one in made:
            service.regrade(session, queue, one.id)
    queue.close()
    database.close()


def send(server: Server, method: str, path: str, form: dict[str, str] | None = None) -> tuple[int, str, str]:
    """One request of the learner; returns status, location and body."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    origin = f"http://127.0.0.1:{server.port}"
    headers = {"cookie": f"{COOKIE}={server.cookie}", "accept": "text/html", "origin": origin}
    body = urlencode(form) if form else None
    if body:
        headers["content-type"] = "application/x-www-form-urlencoded"
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers.get("location", ""), text


def first_status(server: Server) -> float:
    """Hand in; seconds until a page says what phase it is in."""
    begun = time.perf_counter()
    form = {"source": "x = 1\n", "lane": "cpu", "token": new_id()}
    status, location, _ = send(server, "POST", f"/drills/{DRILL}/submissions", form)
    if status != 303:
        raise SystemExit(f"handing in answered {status}")
    _, _, page = send(server, "GET", location)
    if "in the queue" not in page:
        raise SystemExit("the page says nothing of the queue")
    return time.perf_counter() - begun


def measure(name: str, url: str, folder: Path) -> bool:
    """One database."""
    cookie = prepare(url)
    let_wait(url, ROWS)
    with served(url, folder, cookie, submissions_per_minute=10_000) as server:
        took = [first_status(server) for _ in range(ASKS)]
    half, most = at_percent(took, 50), at_percent(took, 95)
    print(
        f"{name}: {ROWS:,} regrades wait; first status p50 {1000 * half:.0f} ms, p95 {1000 * most:.0f} ms",
        flush=True,
    )
    return most <= LIMIT


def main() -> int:
    """Measure both; 1 when a p95 is over the limit."""
    configure_logs(Settings(log_level="error"))
    folder = Path(tempfile.mkdtemp(prefix="tilewright-regrades-"))
    try:
        good = measure("SQLite", f"sqlite:///{folder}/full.db", folder)
        with own_server() as server:
            good = measure("PostgreSQL", server.url(server.create()), folder) and good
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"Limit, a p95 of {LIMIT:.0f} s: {'met' if good else 'missed'}.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
