"""The worker process: takes runs of one lane, grades them beside a warm pool, and writes down what happens.

Reading order: `work_one` (a submission, from lease to verdict) → `Reporter` (events, in batches) → `Worker` (the
process round it: heartbeat, leases, cancellations, the dead, the stop).

Correctness hangs on the lease alone. Whoever starts a run gets a new one, and only its holder can write; a worker
that was taken for dead, or whose learner cancelled, finds its lease gone and drops the work.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import timedelta

import msgspec
import structlog
from sqlalchemy.exc import DBAPIError

from app import jobs
from app.db import Database, check_tables, now, patiently
from app.jobs import Jobs
from app.security import forget_windows
from app.settings import Settings
from app.submissions import service
from app.submissions.service import Work
from grader.drill import read_drill, read_drills
from grader.gauge import NoGauge, prepare
from grader.grade import Cancelled, grade
from grader.pool import Pool, SandboxUnavailable
from grader.suite import BrokenDrill, load_answers
from grader.verdict import Decided, Event, Lane, Outcome, Verdict

TICK_SECONDS = 0.25  # how soon a cancellation is noticed and events are written
ADOPT_SECONDS = 3.0
SWEEP_SECONDS = 15.0
SWEEP_AFTER = timedelta(seconds=10)  # a younger run may be between its row and its job's first look
REST_SECONDS = 2.0  # after a sandbox was taken, before its replacement starts: most gradings are over by then
TROUBLE_SECONDS = 15.0  # between two tries to get a sandbox
log = structlog.get_logger(__name__)


@dataclass
class Bench:
    """What grading needs, shared by the threads of one worker."""

    settings: Settings
    database: Database
    queue: Jobs
    worker: str
    pool: Pool
    active: dict[str, Reporter] = field(default_factory=dict)  # by lease
    stopping: threading.Event = field(default_factory=threading.Event)


def work_one(bench: Bench, run: str) -> None:
    """Grade one run and record its verdict. Nothing is recorded when the lease is lost or the learner cancels."""
    database, seconds = bench.database, bench.settings.dead_after_seconds
    work = patiently(lambda: database.step(lambda s: service.start(s, run, bench.worker, seconds)))
    if work is None:
        return
    reporter = Reporter(database, work)
    bench.active[work.lease] = reporter
    try:
        verdict = _verdict(bench, work, reporter)
    except Cancelled:
        log.info("dropped", run=run, submission=work.submission)
        return
    finally:
        if bench.stopping.is_set():
            # The process is about to end and the engine must not note this job as done: another worker takes it.
            threading.Event().wait()
        bench.active.pop(work.lease, None)
    kept = patiently(lambda: _record(bench, work, reporter, verdict))
    log.info("recorded" if kept else "refused", run=run, submission=work.submission, outcome=verdict.outcome)


def _verdict(bench: Bench, work: Work, reporter: Reporter) -> Verdict:
    """What the grader says, with what the canary adds to a fault of ours."""
    verdict = _graded(bench, work, reporter.dropped.is_set, reporter.add)
    if verdict.outcome is not Outcome.GRADER_PROBLEM:
        return verdict
    said = _canary(bench, work, reporter.dropped.is_set)
    log.error("a fault of ours", run=work.run, drill=work.drill, problem=verdict.problem[-400:], canary=said)
    return msgspec.structs.replace(verdict, problem=f"{verdict.problem}\n{said}")


def _canary(bench: Bench, work: Work, dropped: Callable[[], bool]) -> str:
    """Whether it is this machine or the code that leads to a fault: the drill's own correct file in its place."""
    known = min((bench.settings.drills / work.drill / "correct").glob("*.py"), default=None)
    if known is None:
        return "Canary: the drill has no correct file to try here."
    source = known.read_text(encoding="utf-8")
    sung = _graded(bench, replace(work, source=source, trial=True), dropped, lambda _: None)
    if sung.outcome is Outcome.ACCEPTED:
        return f"Canary: {known.name}, which is correct, is accepted here. It is this code that leads to the fault."
    return f"Canary: {known.name}, which is correct, ends in {sung.outcome} here. It is the machine or the drill."


def _graded(bench: Bench, work: Work, dropped: Callable[[], bool], told: Callable[[Event], None]) -> Verdict:
    """What the grader says; whatever breaks on our side is a grader problem that names its reason."""
    folder = bench.settings.drills / work.drill
    drill, problems = read_drill(folder)
    if drill is None:
        return service.grader_problem(work.drill, work.lane, f"this worker cannot load the drill: {problems}")
    try:
        events = grade(
            drill,
            work.source,
            work.lane,
            pool=bench.pool,
            seed=secrets.token_bytes(16),
            cancelled=dropped,
            visible_only=work.trial,
        )
        for event in events:
            if isinstance(event, Decided):
                return event.verdict
            told(event)
    except Cancelled:
        raise
    except SandboxUnavailable as error:
        return service.grader_problem(work.drill, work.lane, f"no sandbox: {error.reason}")
    except Exception:
        log.exception("the grader broke", run=work.run)
        return service.grader_problem(work.drill, work.lane, traceback.format_exc(limit=-8))
    return service.grader_problem(work.drill, work.lane, "the grader ended without a verdict")


def _record(bench: Bench, work: Work, reporter: Reporter, verdict: Verdict) -> bool:
    reporter.flush()
    try:
        return bench.database.step(lambda s: service.record(s, bench.queue, work, verdict))
    except UnicodeEncodeError as error:
        problem = service.grader_problem(work.drill, work.lane, f"the verdict is not text: {error}")
        return bench.database.step(lambda s: service.record(s, bench.queue, work, problem))


class Reporter:
    """Events on their way to the database: collected, and written by the tick, so that SQLite is not hammered."""

    def __init__(self, database: Database, work: Work) -> None:
        self._database = database
        self._work = work
        self._waiting: list[Event] = []
        self._lock = threading.Lock()
        self.dropped = threading.Event()  # nobody wants this run's verdict any more

    def add(self, event: Event) -> None:
        """Take an event; it is written within a tick."""
        with self._lock:
            self._waiting.append(event)

    def flush(self) -> None:
        """Write what waits. The work is dropped when its lease is gone."""
        with self._lock:
            events, self._waiting = self._waiting, []
            if not events:
                return
            try:
                held = self._database.step(lambda s: service.note(s, self._work, events))
            except DBAPIError:
                self._waiting = events
                raise
            if not held:
                self.dropped.set()


class Worker:
    """One worker process. `serve` runs until it is told to stop or was taken for dead: the exit status."""

    def __init__(self, settings: Settings, lane: Lane) -> None:
        self.settings = settings
        self.lane = lane
        self.database = Database(settings.database)
        check_tables(self.database)
        self.queue = Jobs(settings.database)
        self.engine = jobs.Engine(settings, self.database, lane, self._work)
        hidden = tuple(path.resolve() for path in (settings.data, settings.drills, settings.content))
        pool = Pool(lane, settings.warm, hidden=hidden, gpu=settings.gpu or 0, rest=REST_SECONDS)
        self.bench = Bench(settings, self.database, self.queue, self.engine.id, pool)
        self.stop = threading.Event()
        self._due: dict[str, float] = {}

    def _work(self, run: str) -> None:
        work_one(self.bench, run)

    def serve(self) -> int:
        """Say that we live, wait for a sandbox, then take jobs until `stop`."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop.set())
        if not self._await_sandbox():
            return self._leave(0)
        self._measure()
        self.engine.launch()
        log.info("worker ready", worker=self.engine.id, lane=self.lane, slots=self.settings.slots)
        while not self.stop.wait(TICK_SECONDS):
            try:
                alive = self._tick()
            except DBAPIError as error:
                log.warning("the database does not answer", reason=str(error.orig))
                continue
            if not alive:
                log.error("others took this worker for dead", worker=self.engine.id)
                return self._leave(1)
        return self._leave(0)

    def _measure(self) -> None:
        """On a GPU, what it can do, before anybody waits: a speed is told as a part of that."""
        if self.lane is not Lane.GPU:
            return
        drills, _ = read_drills(self.settings.drills)
        try:
            timed = [load_answers(drill).suite.timed for drill in drills.values() if Lane.GPU in drill.lanes]
            gauge = prepare(self.bench.pool, [one for one in timed if one is not None])
        except (BrokenDrill, NoGauge, SandboxUnavailable) as error:
            log.warning("the GPU is not measured yet", reason=str(error))  # the first submission tries again
        else:
            log.info(
                "measured", gpu=gauge.gpu, bytes_a_second=gauge.bandwidth, operations_a_second=gauge.arithmetic
            )

    def _await_sandbox(self) -> bool:
        """Wait until the pool has a runner. No sandbox, no grading: while there is none, the site says why."""
        trouble: SandboxUnavailable | None = None
        while not self.stop.is_set():
            with ThreadPoolExecutor(
                1
            ) as aside:  # the first runner imports frameworks for seconds: say that we live
                ready = aside.submit(self._trouble)
                while not ready.done():
                    self.engine.announce(busy=0, trouble=trouble.reason if trouble else None)
                    wait([ready], min(1.0, self.settings.heartbeat_seconds))
                    if self.stop.is_set():
                        self.bench.pool.close()  # which ends the wait
            trouble = ready.result()
            if trouble is None:
                return not self.stop.is_set()
            log.error("no sandbox, so nothing is graded", reason=trouble.reason, what_to_do=trouble.what_to_do)
            until = time.monotonic() + TROUBLE_SECONDS
            while time.monotonic() < until and not self.stop.is_set():
                self.engine.announce(busy=0, trouble=trouble.reason)
                self.stop.wait(self.settings.heartbeat_seconds)
        return False

    def _trouble(self) -> SandboxUnavailable | None:
        try:
            self.bench.pool.ready()
        except SandboxUnavailable as error:
            return error
        return None

    def _tick(self) -> bool:
        """One round of the watch; False when others took us for dead."""
        for reporter in list(self.bench.active.values()):
            reporter.flush()
        leases = list(self.bench.active)
        if self._is_due("heartbeat", self.settings.heartbeat_seconds):
            if not self.engine.announce(busy=len(leases)):
                return False
            held = self.database.step(lambda s: service.renew(s, leases, self.settings.dead_after_seconds))
        elif leases:
            with self.database.read() as session:
                held = service.holding(session, leases)
        else:
            held = set()
        for lease in leases:
            lost = None if lease in held else self.bench.active.get(lease)
            if lost is not None:
                lost.dropped.set()
        if self._is_due("adopt", ADOPT_SECONDS):
            dead = self.engine.adopt()
            if dead:
                log.warning("took over from dead workers", workers=dead)
        if self._is_due("sweep", SWEEP_SECONDS):
            self._sweep()
        if self._is_due("prune", 3600.0):
            self.engine.prune()
            forget_windows(self.database)
            self.database.step(service.forget_trials)
        return True

    def _sweep(self) -> None:
        """Mend what fell between our rows and the engine's jobs."""
        with self.database.read() as session:
            lost = service.find_lost(session, self.queue, now() - SWEEP_AFTER)
        for run, end in lost.items():
            with self.database.write() as session:
                mended = service.mend(session, self.queue, run, end)
            if mended:
                log.warning("mended a run that nobody would finish", run=run, why=end.name)

    def _is_due(self, what: str, every: float) -> bool:
        moment = time.monotonic()
        if moment - self._due.get(what, -every) < every:
            return False
        self._due[what] = moment
        return True

    def _leave(self, status: int) -> int:
        """Finish or hand back: no new jobs, a short grace for the running one, then nothing of ours is left."""
        watch = threading.Thread(target=self._watch_while_leaving, daemon=True)
        watch.start()
        self.engine.stop(self.settings.stop_seconds if self.bench.active else 0.0)
        self.bench.stopping.set()
        leases = list(self.bench.active)
        if leases:
            self.database.step(lambda s: service.release(s, leases))
            log.warning("handed back", runs=len(leases))
        self.bench.pool.close()
        log.info("worker stopped", worker=self.engine.id)
        return status

    def _watch_while_leaving(self) -> None:
        """Keep the leases and the page of the last submissions alive during the grace."""
        while not self.bench.stopping.wait(TICK_SECONDS):
            for reporter in list(self.bench.active.values()):
                reporter.flush()


def run_worker(settings: Settings, lane: Lane) -> None:
    """Serve until stopped, then end this process at once: threads may hold work that was handed back."""
    status = Worker(settings, lane).serve()
    os._exit(status)
