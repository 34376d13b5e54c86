"""The contract with the job engine, on both databases: what the rest of the app relies on, and the private name."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from dbos import DBOS
from sqlalchemy import select, update

from app import jobs
from app.db import Database, now
from app.jobs import Ended, Engine, Heartbeat, Jobs, Priority
from app.settings import Settings
from grader.verdict import Lane


def wait_for(condition: Callable[[], bool], seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


class Recorder:
    """Work that notes what it was given, and can be made to wait or fail."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.hold = threading.Event()
        self.hold.set()
        self.begun: list[str] = []

    def __call__(self, run: str) -> None:
        self.begun.append(run)
        assert self.hold.wait(30)
        if run.startswith("broken"):
            raise RuntimeError("this job is broken")
        self.done.append(run)


@pytest.fixture
def work() -> Recorder:
    return Recorder()


@pytest.fixture
def engine(settings: Settings, database: Database, work: Recorder) -> Iterator[Engine]:
    made = Engine(settings, database, Lane.CPU, work)
    made.announce(busy=0)
    yield made
    work.hold.set()
    made.stop(0)


def put(database: Database, queue: Jobs, *runs: str, priority: Priority = Priority.INTERACTIVE) -> None:
    for run in runs:
        with database.write() as session:
            jobs.enqueue(session, queue, Lane.CPU, run, priority)
        time.sleep(0.002)  # the engine keeps the order of milliseconds


def test_a_job_is_done_once(database: Database, queue: Jobs, engine: Engine, work: Recorder) -> None:
    put(database, queue, "one", "two", "one")
    engine.launch()
    wait_for(lambda: len(work.done) == 2)
    time.sleep(0.3)
    assert sorted(work.done) == ["one", "two"]
    wait_for(lambda: queue.ended(["one"]) == {"one": Ended.RETURNED})


def test_a_job_dies_with_its_transaction(database: Database, queue: Jobs, engine: Engine, work: Recorder) -> None:
    with pytest.raises(ZeroDivisionError), database.write() as session:
        jobs.enqueue(session, queue, Lane.CPU, "never", Priority.INTERACTIVE)
        raise ZeroDivisionError
    put(database, queue, "after")
    engine.launch()
    wait_for(lambda: work.done == ["after"])
    assert queue.ended(["never"]) == {"never": Ended.MISSING}


def test_priority_comes_before_age(database: Database, queue: Jobs, engine: Engine, work: Recorder) -> None:
    put(database, queue, "regrade", priority=Priority.REGRADE)
    put(database, queue, "first", "second")
    engine.launch()
    wait_for(lambda: len(work.done) == 3)
    assert work.done == ["first", "second", "regrade"]


def test_no_more_at_once_than_slots(database: Database, queue: Jobs, engine: Engine, work: Recorder) -> None:
    work.hold.clear()
    put(database, queue, "one", "two")
    engine.launch()
    wait_for(lambda: work.begun == ["one"])
    time.sleep(0.5)
    assert work.begun == ["one"]
    work.hold.set()
    wait_for(lambda: work.done == ["one", "two"])


def test_another_lane_is_left_alone(
    settings: Settings, database: Database, queue: Jobs, engine: Engine, work: Recorder
) -> None:
    with database.write() as session:
        jobs.enqueue(session, queue, Lane.GPU, "gpu", Priority.INTERACTIVE)
    put(database, queue, "cpu")
    engine.launch()
    wait_for(lambda: work.done == ["cpu"])
    time.sleep(0.3)
    assert work.begun == ["cpu"]
    assert queue.ended(["gpu"]) == {}


def test_a_job_that_raises_is_not_tried_again(
    database: Database, queue: Jobs, engine: Engine, work: Recorder
) -> None:
    put(database, queue, "broken")
    engine.launch()
    wait_for(lambda: queue.ended(["broken"]) == {"broken": Ended.RETURNED})
    assert work.begun == ["broken"]


def held_by(database: Database, run: str, executor: str, attempts: int = 1) -> None:
    """Make `run` look as if worker `executor` had taken it and died."""
    from dbos._schemas.system_database import SystemSchema

    table = SystemSchema.workflow_status
    schema = None if database.is_sqlite else "dbos"
    engine = database.engine.execution_options(schema_translate_map={table.schema: schema})
    with engine.begin() as connection:
        connection.execute(
            update(table)
            .where(table.c.workflow_uuid == run)
            .values(status="PENDING", executor_id=executor, recovery_attempts=attempts)
        )


def test_the_jobs_of_the_dead_are_adopted_at_once(
    database: Database, queue: Jobs, engine: Engine, work: Recorder
) -> None:
    put(database, queue, "left")
    held_by(database, "left", "elsewhere:cpu:1-aa")
    engine.launch()
    assert engine.adopt() == ["elsewhere:cpu:1-aa"]
    wait_for(lambda: work.done == ["left"])
    assert engine.adopt() == []


def test_the_jobs_of_the_living_are_not(
    database: Database, queue: Jobs, engine: Engine, work: Recorder, settings: Settings
) -> None:
    put(database, queue, "theirs")
    held_by(database, "theirs", "elsewhere:cpu:1-aa")
    with database.write() as session:
        session.add(
            Heartbeat(id="elsewhere:cpu:1-aa", lane="cpu", started_at=now(), seen_at=now(), slots=1, busy=1)
        )
    engine.launch()
    assert engine.adopt() == []
    with database.write() as session:
        session.execute(
            update(Heartbeat)
            .where(Heartbeat.id == "elsewhere:cpu:1-aa")
            .values(seen_at=now() - timedelta(seconds=settings.dead_after_seconds + 1))
        )
    assert engine.adopt() == ["elsewhere:cpu:1-aa"]
    wait_for(lambda: work.done == ["theirs"])
    with database.read() as session:
        assert [row.id for row in session.scalars(select(Heartbeat))] == [engine.id]


def test_a_job_that_took_four_workers_is_poison(
    database: Database, queue: Jobs, engine: Engine, work: Recorder
) -> None:
    put(database, queue, "poison", "good")
    held_by(database, "poison", "elsewhere:cpu:1-aa", attempts=jobs.TRIES)
    engine.launch()
    engine.adopt()
    wait_for(lambda: queue.ended(["poison"]) == {"poison": Ended.POISON})
    wait_for(lambda: work.done == ["good"])


def test_one_try_less_is_not(database: Database, queue: Jobs, engine: Engine, work: Recorder) -> None:
    put(database, queue, "unlucky")
    held_by(database, "unlucky", "elsewhere:cpu:1-aa", attempts=jobs.TRIES - 1)
    engine.launch()
    engine.adopt()
    wait_for(lambda: work.done == ["unlucky"])


def test_a_worker_taken_for_dead_is_told(database: Database, engine: Engine) -> None:
    engine.launch()
    assert engine.announce(busy=0)
    with database.write() as session:
        session.execute(Heartbeat.__table__.delete())  # type: ignore[attr-defined]
    assert not engine.announce(busy=0)


def test_old_jobs_are_pruned(
    database: Database, queue: Jobs, engine: Engine, work: Recorder, settings: Settings
) -> None:
    put(database, queue, "old")
    engine.launch()
    wait_for(lambda: queue.ended(["old"]) == {"old": Ended.RETURNED})
    assert engine.prune() == 0
    object.__setattr__(settings, "keep_jobs_days", 0)
    time.sleep(0.01)
    assert engine.prune() == 1
    assert queue.ended(["old"]) == {"old": Ended.MISSING}


def test_arguments_are_plain_json(database: Database, queue: Jobs) -> None:
    """Not pickled: a row in the database must never become code."""
    put(database, queue, "plain")
    job = queue.client.list_workflows(workflow_ids=["plain"])[0]
    assert job.input is not None
    assert (list(job.input["args"]), job.input["kwargs"]) == (["plain"], {})
    with database.read() as session:
        prefix = "" if database.is_sqlite else "dbos."
        query = f"SELECT serialization FROM {prefix}workflow_status WHERE workflow_uuid = 'plain'"
        assert session.connection().exec_driver_sql(query).scalar() == "portable_json"


def test_the_private_door_to_recovery_is_where_it_was() -> None:
    """`Engine.adopt` needs it: the public `resume_workflow` resets the count by which poison is told."""
    signature = inspect.signature(DBOS._recover_pending_workflows)
    assert list(signature.parameters) == ["executor_ids"]
