"""What happens to a submission, from `submit` to `record`.

Every function takes the session of a transaction that its caller ends. `submit` is `alone` with its learner; those
that change a submission lock its row first (`_locked`). So on PostgreSQL, as on SQLite, {submit, result, regrade,
cancel} happen one after another.

Reading order: `submit` → `start` → `note` → `record` or `fault` → `cancel`, `regrade` → `find_lost`, `mend`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.orm import Session

from app import jobs
from app.accounts.audit import note as audit
from app.accounts.models import User
from app.accounts.service import as_viewer
from app.course.unlock_tables import Source
from app.db import alone, new_id, now
from app.errors import Conflict, InvalidForm, NotFound, TooMany, Unavailable
from app.jobs import Ended, Jobs, Priority
from app.settings import Settings
from app.submissions import predictions
from app.submissions.handed import TOKEN, Handed, problems_of
from app.submissions.models import RETRIES, Cause, Prediction, Run, RunEvent, State, Submission, state_of
from grader.drill import Drill
from grader.verdict import Event, Lane, Outcome, Verdict

PORTION = 500  # runs that are looked up at once
KEEP_TRIALS = timedelta(days=7)
KEEP_VISITORS = timedelta(hours=1)
OUR_FAULT = "Something of ours broke while grading this. No attempt was spent: send the same code again."


@dataclass(frozen=True)
class Work:
    """A run that a worker has started: what to grade, and the lease that lets it write."""

    run: str
    submission: str
    drill: str
    lane: Lane
    source: str
    lease: str
    trial: bool  # the visible cases only


def submit(
    session: Session, handed: Handed, drills: Mapping[str, Drill], settings: Settings, queue: Jobs
) -> Submission:
    """Take a submission in: one row, one run and one job, in one transaction. The same token again is the same one.

    Raises `NotFound` for an unknown drill, `InvalidForm` for what cannot be graded, `TooMany` over the rate limit,
    `Unavailable` when too many visitors try at once.
    """
    drill = drills.get(handed.drill)
    if drill is None:
        raise NotFound("drill")
    if not TOKEN.fullmatch(handed.token):
        raise InvalidForm({"form": "This form is stale. Open the drill again and submit from there."})
    alone(session, handed.user or "visitors")  # so that neither the token nor the rate is passed side by side
    known = _by_token(session, handed)
    if known is not None:
        return known
    problems = problems_of(handed, drill, settings)
    if problems:
        raise InvalidForm(problems)
    if handed.user is None:
        _check_visitors(session, settings.visitors_waiting)
    else:
        _check_rate(session, handed.user, settings.submissions_per_minute)
    submission = _new(handed)
    session.add(submission)
    session.flush()
    predictions.keep(session, submission, handed)
    _add_run(session, queue, submission, 1, Cause.SUBMIT)
    _add_events(session, submission.id, [("queued", "")])
    return submission


def start(session: Session, run_id: str, worker: str, lease_seconds: float) -> Work | None:
    """Lease a run to `worker`, or ``None`` when there is nothing left to do for it.

    A run that another worker had started is started again: its lease ends here, and whatever that worker still
    sends is refused.
    """
    run, submission = _locked(session, run_id)
    if run is None or submission is None or run.ended_at is not None:
        return None
    moment = now()
    run.started_at, run.worker, run.lease = moment, worker, new_id()
    run.leased_until = moment + timedelta(seconds=lease_seconds)
    lane = Lane(submission.lane)
    return Work(run.id, submission.id, submission.drill, lane, submission.source, run.lease, submission.trial)


def renew(session: Session, leases: Sequence[str], lease_seconds: float) -> set[str]:
    """Move leases on. Returns those that still hold; the work of the others is to be dropped."""
    if not leases:
        return set()
    session.execute(
        update(Run)
        .where(Run.lease.in_(leases), Run.ended_at.is_(None))
        .values(leased_until=now() + timedelta(seconds=lease_seconds))
    )
    return holding(session, leases)


def holding(session: Session, leases: Sequence[str]) -> set[str]:
    """Which of these leases still hold: their run has not ended, been cancelled or been started elsewhere."""
    held = session.scalars(select(Run.lease).where(Run.lease.in_(leases), Run.ended_at.is_(None)))
    return {lease for lease in held if lease is not None}


def release(session: Session, leases: Sequence[str]) -> None:
    """Give leases back unfinished, so that the page says at once that nobody is at work."""
    session.execute(
        update(Run).where(Run.lease.in_(leases), Run.ended_at.is_(None)).values(leased_until=now(), lease=None)
    )


def note(session: Session, work: Work, events: Iterable[Event]) -> bool:
    """Append what the grader reports. False, and nothing is written, when the lease holds no more."""
    run, _ = _locked(session, work.run)
    if run is None or run.ended_at is not None or run.lease != work.lease:
        return False
    _add_events(session, work.submission, [(_tag(event), msgspec.json.encode(event).decode()) for event in events])
    return True


def record(session: Session, queue: Jobs, work: Work, verdict: Verdict) -> bool:
    """Write a verdict, once: only for the live run and only from the worker that holds its lease.

    Returns whether it was accepted. After a fault of ours another run follows by itself, `RETRIES` times at most.
    """
    run, submission = _locked(session, work.run)
    if run is None or submission is None or run.ended_at is not None or run.lease != work.lease:
        return False
    _end(session, queue, submission, run, verdict, retry=True)
    return True


def fault(session: Session, queue: Jobs, run_id: str, problem: str, retry: bool = True) -> bool:
    """End a run that cannot end by itself with a grader problem. False when it has ended meanwhile."""
    run, submission = _locked(session, run_id)
    if run is None or submission is None or run.ended_at is not None:
        return False
    _end(session, queue, submission, run, grader_problem(submission.drill, submission.lane, problem), retry)
    return True


def grader_problem(drill: str, lane: str, problem: str) -> Verdict:
    """The verdict of a fault of ours; `problem` is for operators."""
    return Verdict(
        outcome=Outcome.GRADER_PROBLEM, sentence=OUR_FAULT, drill=drill, lane=Lane(lane), problem=problem[:4000]
    )


def cancel(session: Session, submission_id: str) -> None:
    """Take a submission back. Raises `Conflict` when it has its verdict already; twice is once."""
    submission = session.get(Submission, submission_id, with_for_update=True)
    if submission is None:
        raise NotFound("submission")
    runs = runs_of(session, submission_id)
    moment = now()
    state = state_of(submission.cancelled_at, runs, moment)
    if state is State.CANCELLED:
        return
    if state is State.DECIDED:
        raise Conflict("This submission has its verdict already, so there is nothing to cancel.")
    submission.cancelled_at = moment
    runs[-1].ended_at = moment
    _add_events(session, submission_id, [("cancelled", "")])


def regrade(session: Session, queue: Jobs, submission_id: str) -> Run:
    """Grade again, after everything interactive. What was shown stays until the new verdict is there."""
    submission = session.get(Submission, submission_id, with_for_update=True)
    if submission is None:
        raise NotFound("submission")
    if submission.cancelled_at is not None:
        raise Conflict("This submission was cancelled, so there is nothing to grade again.")
    live = runs_of(session, submission_id)[-1]
    if live.ended_at is None:
        live.ended_at = now()  # superseded: what its worker still sends is refused
    return _add_run(session, queue, submission, live.number + 1, Cause.REGRADE)


def find_lost(session: Session, queue: Jobs, older_than: datetime) -> dict[str, Ended]:
    """Open runs that nobody will ever finish, and why. In portions, since thousands may wait in good order."""
    open_runs = session.scalars(select(Run.id).where(Run.ended_at.is_(None), Run.created_at < older_than)).all()
    lost: dict[str, Ended] = {}
    for at in range(0, len(open_runs), PORTION):
        lost |= queue.ended(open_runs[at : at + PORTION])
    return lost


def mend(session: Session, queue: Jobs, run_id: str, end: Ended) -> bool:
    """See to it that a lost run ends. False when it has ended meanwhile.

    A run without a job gets one. A job that ended and left no verdict is a fault of ours; if it took several
    workers with it, it is not tried again.
    """
    if end is Ended.RETURNED:
        return fault(session, queue, run_id, "the job ended and left no verdict")
    if end is Ended.POISON:
        return fault(session, queue, run_id, f"the job took {jobs.TRIES} workers with it", retry=False)
    run, submission = _locked(session, run_id)
    if run is None or submission is None or run.ended_at is not None:
        return False
    jobs.enqueue(session, queue, Lane(submission.lane), run_id, _priority(run.cause))
    return True


def runs_of(session: Session, submission_id: str) -> list[Run]:
    """All runs of a submission, in order."""
    return list(session.scalars(select(Run).where(Run.submission_id == submission_id).order_by(Run.number)))


def _by_token(session: Session, handed: Handed) -> Submission | None:
    owner = Submission.user_id == handed.user if handed.user else Submission.visitor == handed.visitor
    return session.scalar(select(Submission).where(owner, Submission.token == handed.token))


def _check_rate(session: Session, user: str, limit: int) -> None:
    moment = now()
    recent = session.scalars(
        select(Submission.submitted_at)
        .where(Submission.user_id == user, Submission.submitted_at > moment - timedelta(minutes=1))
        .order_by(Submission.submitted_at)
    ).all()
    if len(recent) >= limit:
        raise TooMany(int((recent[-limit] + timedelta(minutes=1) - moment).total_seconds()) + 1)


def _check_visitors(session: Session, most: int) -> None:
    """Visitors share the workers with learners, so only so many of their trials may wait or run at a time."""
    waiting = session.scalar(
        select(func.count())
        .select_from(Run)
        .join(Submission, Submission.id == Run.submission_id)
        .where(Run.ended_at.is_(None), Submission.user_id.is_(None))
    )
    if (waiting or 0) >= most:
        raise Unavailable(
            "Too many visitors are running drills just now.",
            "Try again in a minute, or sign in to run at once.",
        )


def forget_trials(session: Session) -> None:
    """Delete trials that are done with: a visitor's after an hour, a learner's after some days.

    The one that a prediction was made for stays, so that what happened can be read beside it.
    """
    moment = now()
    visitors = Submission.user_id.is_(None)
    predicted = exists().where(
        Prediction.user_id == Submission.user_id,
        Prediction.drill == Submission.drill,
        Prediction.made_at == Submission.submitted_at,
    )
    for theirs, kept in ((visitors, KEEP_VISITORS), (~visitors, KEEP_TRIALS)):
        old = Submission.submitted_at < moment - kept
        session.execute(delete(Submission).where(Submission.trial.is_(True), theirs, old, ~predicted))


def _new(handed: Handed) -> Submission:
    return Submission(
        id=new_id(),
        user_id=handed.user,
        visitor=handed.visitor,
        trial=handed.trial,
        token=handed.token,
        drill=handed.drill,
        lane=handed.lane,
        source=handed.source,
        submitted_at=now(),
    )


def _add_run(
    session: Session, queue: Jobs, submission: Submission, number: int, cause: Cause, asked: str = ""
) -> Run:
    """One more run and its job; `asked` is the cause that a retry goes back to, whose priority it keeps."""
    run = Run(id=new_id(), submission_id=submission.id, number=number, cause=cause, created_at=now())
    session.add(run)
    session.flush()
    jobs.enqueue(session, queue, Lane(submission.lane), run.id, _priority(asked or cause))
    return run


def _priority(cause: str) -> Priority:
    return Priority.REGRADE if cause == Cause.REGRADE else Priority.INTERACTIVE


def _locked(session: Session, run_id: str) -> tuple[Run | None, Submission | None]:
    """A run and its submission, with the submission's row locked and both read after the lock was had."""
    owner = select(Run.submission_id).where(Run.id == run_id).scalar_subquery()
    submission = session.scalar(select(Submission).where(Submission.id == owner).with_for_update())
    return session.get(Run, run_id, populate_existing=True), submission


def _end(session: Session, queue: Jobs, submission: Submission, run: Run, verdict: Verdict, retry: bool) -> None:
    run.verdict, run.outcome, run.ended_at = verdict, verdict.outcome, now()
    tries = _tries(session, run)
    if verdict.outcome is Outcome.GRADER_PROBLEM and retry and len(tries) <= RETRIES:
        _add_run(session, queue, submission, run.number + 1, Cause.RETRY, asked=tries[0].cause)
        _add_events(session, submission.id, [("retrying", "")])
    else:
        _add_events(session, submission.id, [("decided", "")])
        if verdict.outcome is Outcome.ACCEPTED and submission.user_id is not None and not submission.trial:
            _note_earned(session, submission.user_id, submission, run)


def _note_earned(session: Session, user: str, submission: Submission, run: Run) -> None:
    """The first pass of a drill opens what needs it, so the trail of unlocks has it."""
    mine = (Submission.user_id == user, Submission.drill == submission.drill, Submission.trial.is_(False))
    accepted = select(Run.id).join(Submission, Submission.id == Run.submission_id).where(*mine)
    if session.scalar(accepted.where(Run.outcome == Outcome.ACCEPTED, Run.id != run.id).limit(1)) is None:
        details = {"opens": "what needs it", "source": Source.EARNED, "with": submission.id}
        audit(session, as_viewer(session.get_one(User, user)), "unlock", f"/drills/{submission.drill}", details)


def _tries(session: Session, run: Run) -> list[Run]:
    """The run that somebody asked for and its automatic retries, up to `run`."""
    earlier = [known for known in runs_of(session, run.submission_id) if known.number <= run.number]
    asked = max(at for at, known in enumerate(earlier) if known.cause != Cause.RETRY)
    return earlier[asked:]


def _add_events(session: Session, submission_id: str, events: Sequence[tuple[str, str]]) -> None:
    last = session.scalar(select(func.max(RunEvent.number)).where(RunEvent.submission_id == submission_id)) or 0
    moment = now()
    for number, (kind, body) in enumerate(events, start=last + 1):
        session.add(RunEvent(submission_id=submission_id, number=number, at=moment, kind=kind, body=body))


def _tag(event: Event) -> str:
    return str(type(event).__struct_config__.tag)
