"""The job engine, behind one small door. Nothing else in the project knows its name.

A job is one function call. It is kept in the same database as our own rows and written in the same transaction, so
that neither can exist without the other. Each lane has its own queue; a worker process listens to one. Reading
order: `enqueue` → `Engine` (a worker's side) → `Heartbeat` and `Engine.adopt`, by which the living find the work of
the dead.

What the engine leaves to us, and is done here: it never notices that another host died (`Engine.adopt`), it takes
the application's version from its source unless told otherwise (`VERSION`), it would pickle the arguments, and it
keeps ended jobs for ever (`Engine.prune`).
"""

from __future__ import annotations

import logging
import math
import os
import secrets
import socket
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import IntEnum

from sqlalchemy import String, delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.db import Base, Database, now
from app.settings import Settings
from grader.verdict import Lane

APPLICATION = "tilewright"
VERSION = "1"  # constant: a job outlives the code that made it
JOB = "grade"
TRIES = 4  # dispatches of one job before it counts as poison: it took four workers with it
_SCHEMA = "dbos"


class Priority(IntEnum):
    """Who goes first; lower is earlier."""

    INTERACTIVE = 10
    REGRADE = 100


class Ended(IntEnum):
    """Why a job will not run any more."""

    MISSING = 1  # it was never queued, or was pruned
    RETURNED = 2  # it ran to its end
    POISON = 3  # it took `TRIES` workers with it


_ENDS: dict[str, Ended] = {
    "SUCCESS": Ended.RETURNED,
    "ERROR": Ended.RETURNED,
    "CANCELLED": Ended.RETURNED,
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": Ended.POISON,
}


class Heartbeat(Base):
    """A worker process that is alive, or was until `seen_at`. Its id is new at each start, so no two share one."""

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(String(128), primary_key=True)  # host:lane:pid-random, the engine's executor id
    lane: Mapped[str] = mapped_column(String(8), index=True)
    started_at: Mapped[datetime]
    seen_at: Mapped[datetime]
    slots: Mapped[int]
    busy: Mapped[int]
    trouble: Mapped[str | None] = mapped_column(String(2000))  # why it grades nothing, in one sentence


def migrate(url: str) -> None:
    """Create or update the engine's own tables: beside ours on SQLite, in their own schema on PostgreSQL."""
    from dbos import DBOS

    _quiet()
    DBOS.migrate(_plain(url), schema=_SCHEMA)


def own_tables() -> frozenset[str]:
    """Names of the engine's tables, which our migrations leave alone."""
    from dbos._schemas.system_database import SystemSchema

    names = {table.name for table in SystemSchema.metadata_obj.tables.values()}
    return frozenset(names | {"dbos_migrations"})


def enqueue(session: Session, queue: Jobs, lane: Lane, run: str, priority: Priority) -> None:
    """Queue the grading of `run` in the transaction of `session`. The same run again changes nothing."""
    from dbos import WorkflowSerializationFormat

    queue.client.enqueue_in_transaction(
        session,
        {
            "workflow_name": JOB,
            "queue_name": queue_of(lane),
            "workflow_id": run,
            "priority": int(priority),
            "app_version": VERSION,
            "application_name": APPLICATION,
            "serialization_type": WorkflowSerializationFormat.PORTABLE,
        },
        run,
    )


class Jobs:
    """The side that hands out work: what a web process needs. Threads may share one."""

    def __init__(self, url: str) -> None:
        from dbos import DBOSClient

        _quiet()
        self.client = DBOSClient(
            system_database_url=_plain(url),
            dbos_system_schema=_SCHEMA,
            application_name=APPLICATION,
            system_database_pool_size=3,
            lazy=True,
        )

    def ended(self, runs: Sequence[str]) -> dict[str, Ended]:
        """Which of `runs` no worker will ever run as things stand, and why. The others wait or run."""
        found = {
            job.workflow_id: job.status
            for job in self.client.list_workflows(workflow_ids=list(runs), load_input=False, load_output=False)
        }
        ends = {run: _ENDS.get(found[run]) if run in found else Ended.MISSING for run in runs}
        return {run: end for run, end in ends.items() if end is not None}

    def close(self) -> None:
        """Let go of the engine's connections."""
        self.client.destroy()


_work: Callable[[str], None] | None = None  # what this process does with a job; the engine knows functions by name


class Engine:
    """The side that does the work: one per worker process, listening to the queue of one lane."""

    def __init__(self, settings: Settings, database: Database, lane: Lane, work: Callable[[str], None]) -> None:
        self.id = f"{_host()}:{lane}:{os.getpid()}-{secrets.token_hex(3)}"
        self._settings = settings
        self._database = database
        self._lane = lane
        self._launched = False
        global _work
        _work = work

    def announce(self, busy: int, trouble: str | None = None) -> bool:
        """Say that this worker lives. False when others took it for dead: then it must stop."""
        moment = now()
        with self._database.write() as session:
            row = session.get(Heartbeat, self.id)
            if row is None and self._launched:
                return False
            if row is None:
                row = Heartbeat(
                    id=self.id, lane=self._lane, started_at=moment, slots=slots(self._settings, self._lane)
                )
                session.add(row)
            row.seen_at, row.busy, row.trouble = moment, busy, trouble
        return True

    def launch(self) -> None:
        """Start taking jobs. `announce` comes first, or others would take the jobs for a dead worker's."""
        from dbos import DBOS

        _register_queue(self._settings, self._lane)
        DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": _plain(self._settings.database),
                "dbos_system_schema": _SCHEMA,
                "application_version": VERSION,
                "executor_id": self.id,
                "run_migrations": False,
                "sys_db_pool_size": 4,
                "log_level": "WARNING",
            }
        )
        _register()
        DBOS.listen_queues([queue_of(self._lane)])
        DBOS.launch()
        self._launched = True

    def adopt(self) -> list[str]:
        """Give the unfinished jobs of dead workers back to their queues. Returns the ids of those workers.

        Who is dead: a worker silent for too long, one of this host whose process is gone, and any that holds jobs
        without a heartbeat. Doing it twice does nothing twice: a job moves only while the dead one holds it.
        """
        from dbos import DBOS

        living = self._bury()
        held = DBOS.list_workflows(status="PENDING", name=JOB, load_input=False, load_output=False)
        dead = sorted({job.executor_id for job in held if job.executor_id} - living)
        if dead:
            DBOS._recover_pending_workflows(dead)
        return dead

    def _bury(self) -> set[str]:
        """Delete the heartbeats of the dead; return the ids of the living."""
        moment = now()
        limit = moment - timedelta(seconds=self._settings.dead_after_seconds)
        with self._database.write() as session:
            rows = session.scalars(select(Heartbeat)).all()
            dead = {row.id for row in rows if row.id != self.id and (row.seen_at < limit or _process_gone(row.id))}
            if dead:
                session.execute(delete(Heartbeat).where(Heartbeat.id.in_(dead)))
            return {row.id for row in rows} - dead

    def prune(self) -> int:
        """Delete jobs that ended long ago, at most a thousand. Returns how many."""
        from dbos import DBOS

        before = (now() - timedelta(days=self._settings.keep_jobs_days)).isoformat()
        old = DBOS.list_workflows(
            status=list(_ENDS), completed_before=before, limit=1000, load_input=False, load_output=False
        )
        if old:
            DBOS.delete_workflows([job.workflow_id for job in old])
        return len(old)

    def stop(self, seconds: float) -> None:
        """Take no more jobs, give running ones `seconds` to end, and sign off.

        Jobs that still run are not lost: without a heartbeat their next `adopt` gives them to another worker.
        """
        from dbos import DBOS

        if self._launched:
            DBOS.destroy(workflow_completion_timeout_sec=math.ceil(seconds))
        with self._database.write() as session:
            session.execute(delete(Heartbeat).where(Heartbeat.id == self.id))


def living(session: Session, dead_after_seconds: float) -> list[Heartbeat]:
    """The workers heard of lately, also those in trouble."""
    limit = now() - timedelta(seconds=dead_after_seconds)
    return list(session.scalars(select(Heartbeat).where(Heartbeat.seen_at >= limit).order_by(Heartbeat.id)))


def of_this_host(worker: str) -> bool:
    """Whether a worker runs on this host, as its id says."""
    return worker.partition(":")[0] == _host()


def _host() -> str:
    return socket.gethostname()[:80]


def queue_of(lane: Lane) -> str:
    """The name of a lane's queue."""
    return f"lane-{lane}"


def slots(settings: Settings, lane: Lane) -> int:
    """How many submissions one worker process grades at once. On a GPU one: another would disturb timing."""
    return 1 if lane is Lane.GPU else settings.slots


def _register_queue(settings: Settings, lane: Lane) -> None:
    """Say how the lane's queue is worked off. It is one row for all workers: who started last decides.

    Before the launch, since a launched engine looks for new queues only once a second.
    """
    queue = Jobs(settings.database)
    queue.client.register_queue(
        queue_of(lane),
        worker_concurrency=slots(settings, lane),
        polling_interval_sec=settings.poll_seconds,
        on_conflict="always_update",
    )
    queue.close()


def _register() -> None:
    from dbos import DBOS, WorkflowSerializationFormat

    @DBOS.workflow(
        name=JOB, max_recovery_attempts=TRIES - 1, serialization_type=WorkflowSerializationFormat.PORTABLE
    )
    def grade(run: str) -> None:
        assert _work is not None, "the engine was launched without work to do"
        _work(run)


def _process_gone(worker: str) -> bool:
    """Whether a worker of this host, as its id says, has no process any more. For a reused pid, silence decides."""
    pid = worker.rpartition(":")[2].partition("-")[0]
    if not of_this_host(worker) or not pid.isdigit():
        return False
    if int(pid) == os.getpid():
        return True  # an earlier process had our pid, as in a restarted container
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _plain(url: str) -> str:
    """The engine wants PostgreSQL without a driver's name."""
    return url.replace("postgresql+psycopg://", "postgresql://", 1)


def _quiet() -> None:
    """The engine logs every start at length, and prints an advertisement."""
    logging.getLogger("dbos").setLevel(logging.WARNING)
