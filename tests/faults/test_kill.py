"""kill −9 at the worst moments: every submission still ends, none is graded twice, none is lost."""

from __future__ import annotations

import os
import signal
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from sqlalchemy import select

from app.accounts import service as accounts
from app.accounts.models import User
from app.accounts.routes import COOKIE
from app.jobs import Ended, Heartbeat
from app.submissions.models import Cause, Run, Submission
from grader.verdict import Outcome
from tests.faults.conftest import DRILL, RIGHT, SLOW, Machine, wait_for

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(300)]


on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # the other would show nothing new


def accepted_once(machine: Machine, submission: str) -> Run:
    """Wait for the verdict; it is there once, and no second run was made."""
    wait_for(lambda: machine.runs(submission)[-1].ended_at, why=machine.logs())
    runs = machine.runs(submission)
    assert [run.outcome for run in runs] == [Outcome.ACCEPTED], machine.logs()
    assert machine.kinds(submission).count("decided") == 1
    wait_for(lambda: machine.queue.ended([runs[0].id]) == {runs[0].id: Ended.RETURNED}, 10)
    return runs[0]


def test_a_worker_killed_in_the_middle_of_a_run(machine: Machine) -> None:
    worker = machine.start("worker", "--lane", "cpu")
    submission = machine.submit(SLOW)
    wait_for(lambda: machine.cases_done(submission) >= 2, why=machine.logs())
    first = machine.runs(submission)[0]
    worker.kill()
    worker.wait()
    machine.start("worker", "--lane", "cpu")
    run = accepted_once(machine, submission)
    assert run.worker != first.worker
    assert run.lease != first.lease
    assert machine.kinds(submission).count("started") == 2  # the page began anew


@on_sqlite
def test_a_worker_told_to_stop_hands_back(machine: Machine) -> None:
    worker = machine.start("worker", "--lane", "cpu")
    submission = machine.submit(SLOW)
    wait_for(lambda: machine.cases_done(submission) >= 1, why=machine.logs())
    begun = time.monotonic()
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(20) == 0
    assert time.monotonic() - begun < machine.settings.stop_seconds + 5
    run = machine.runs(submission)[0]
    assert (run.ended_at, run.lease) == (None, None)
    with machine.database.read() as session:
        assert session.scalars(select(Heartbeat)).all() == []
    machine.start("worker", "--lane", "cpu")
    accepted_once(machine, submission)


def post(machine: Machine, token: str, secret: str) -> int:
    """Hand in over HTTP; 0 when the connection broke."""
    data = urllib.parse.urlencode({"source": RIGHT, "lane": "cpu", "token": token}).encode()
    request = urllib.request.Request(f"{machine.address}/drills/{DRILL}/submissions", data, method="POST")
    request.add_header("Cookie", f"{COOKIE}={secret}")
    try:
        with urllib.request.build_opener(NoRedirect).open(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as answer:
        return answer.code
    except OSError:
        return 0


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


DIE = "import os; die = lambda *a, **k: os.kill(os.getpid(), 9)\n"
MOMENTS = {
    "between row and job": (DIE + "import app.jobs; app.jobs.enqueue = die", 0),
    "between job and commit": (
        DIE
        + "import app.submissions.service as s; put = s._add_events; s._add_events = lambda *a: (put(*a), die())",
        0,
    ),
    "between commit and answer": (
        DIE + "from fastapi.responses import RedirectResponse; RedirectResponse.__call__ = die",
        1,
    ),
}


@pytest.mark.parametrize(("fault", "kept"), MOMENTS.values(), ids=MOMENTS)
def test_a_web_process_killed_while_it_takes_a_submission_in(machine: Machine, fault: str, kept: int) -> None:
    """Whatever the moment: the row and its job are both there or both not, and the same form again makes one."""
    user = machine.user()
    with machine.database.write() as session:
        found = session.get_one(User, user)
        secret = accounts.begin(session, found, "", 1)
    web = machine.start_web(before=fault)
    assert post(machine, "one-token", secret) == 0
    assert web.wait(10) == -signal.SIGKILL
    assert machine.count(Submission) == machine.count(Run) == kept
    jobs = machine.queue.client.list_workflows()
    assert len(jobs) == kept
    machine.start_web()
    assert [post(machine, "one-token", secret) for _ in range(2)] == [303, 303]
    assert machine.count(Submission) == machine.count(Run) == len(machine.queue.client.list_workflows()) == 1


@on_sqlite
def test_everything_under_one_parent(machine: Machine) -> None:
    """`tilewright run`: a killed worker is started again and its submission ends; a stop leaves no process."""
    parent = machine.start("run")
    wait_for(lambda: machine.answers("/"), why=machine.logs())
    submission = machine.submit(SLOW)
    wait_for(lambda: machine.cases_done(submission) >= 1, why=machine.logs())
    victim = machine.runs(submission)[0].worker
    assert victim is not None
    os.kill(int(victim.split(":")[2].split("-")[0]), signal.SIGKILL)
    run = accepted_once(machine, submission)
    assert run.worker != victim
    assert run.worker is not None
    pid = int(run.worker.split(":")[2].split("-")[0])
    parent.send_signal(signal.SIGTERM)
    assert parent.wait(30) == 0
    assert not machine.answers("/healthz")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@on_sqlite
def test_without_a_sandbox_nothing_is_graded_and_the_site_says_why(machine: Machine) -> None:
    machine.start("worker", "--lane", "cpu", before="import shutil; shutil.which = lambda *a, **k: None")
    submission = machine.submit()

    def trouble() -> str | None:
        with machine.database.read() as session:
            return next((row.trouble for row in session.scalars(select(Heartbeat))), None)

    wait_for(lambda: trouble() is not None, why=machine.logs())
    assert "bwrap is not installed" in (trouble() or "")
    machine.start_web()
    with urllib.request.urlopen(machine.address, timeout=5) as answer:
        page = answer.read().decode()
    assert "Grading is paused" in page
    assert (trouble() or "?")[:20] in page
    assert machine.runs(submission)[0].started_at is None


@on_sqlite
def test_a_cancelled_run_ends_its_sandbox_and_frees_the_worker(machine: Machine) -> None:
    from app.submissions import service

    machine.start("worker", "--lane", "cpu")
    endless = machine.submit("def softmax(x):\n    while True: pass\n")
    wait_for(lambda: "started" in machine.kinds(endless), why=machine.logs())
    following = machine.submit()
    with machine.database.write() as session:
        service.cancel(session, endless)
    cancelled = time.monotonic()
    accepted_once(machine, following)
    assert machine.runs(endless)[0].outcome is None
    assert machine.runs(endless)[0].cause == Cause.SUBMIT
    started = machine.runs(following)[0].started_at
    cancelled_at = machine.runs(endless)[0].ended_at
    assert started is not None
    assert cancelled_at is not None
    assert (started - cancelled_at).total_seconds() < 3.0
    assert time.monotonic() > cancelled
