"""kill −9 of the database in the middle of a run: the verdict waits for it, and is kept once."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from app import jobs
from app.db import Database, upgrade_tables
from grader.verdict import Outcome
from tests.faults.conftest import SLOW, Machine, wait_for
from tests.postgres import Server, own_server

pytestmark = [pytest.mark.sandbox, pytest.mark.postgres, pytest.mark.timeout(300)]


@pytest.fixture
def server() -> Iterator[Server]:
    with own_server() as made:
        yield made


@pytest.fixture
def database_url(server: Server) -> str:
    url = server.url(server.create())
    database = Database(url)
    upgrade_tables(database)
    jobs.migrate(url)
    database.close()
    return url


def test_the_database_killed_in_the_middle_of_a_run(machine: Machine, server: Server) -> None:
    worker = machine.start("worker", "--lane", "cpu")
    web = machine.start_web()
    submission = machine.submit(SLOW)
    wait_for(lambda: machine.cases_done(submission) >= 1, why=machine.logs())
    server.kill()
    wait_for(lambda: not machine.answers("/readyz"), 20)
    assert machine.answers("/healthz")
    time.sleep(2.0)
    server.start_again()
    wait_for(lambda: machine.answers("/readyz"), 30, why=machine.logs())
    wait_for(lambda: machine.runs(submission)[-1].ended_at, why=machine.logs())
    assert [run.outcome for run in machine.runs(submission)] == [Outcome.ACCEPTED], machine.logs()
    assert machine.kinds(submission).count("decided") == 1
    assert (worker.poll(), web.poll()) == (None, None)
    following = machine.submit()
    wait_for(lambda: machine.runs(following)[-1].outcome == Outcome.ACCEPTED, why=machine.logs())
