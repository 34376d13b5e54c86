"""What a submission looks like to somebody: pure functions from facts to the contexts of the pages, and the queries
that gather the facts.

Hidden cases are stripped here and nowhere else, so no page, stream or JSON can say more about them than that they
exist and how they ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec
from sqlalchemy import Subquery, case, func, or_, select, tuple_
from sqlalchemy.orm import Session

from app import jobs
from app.course.access import View
from app.course.models import Kind, Link
from app.db import now
from app.progress.service import Standings, read_by
from app.submissions import predictions
from app.submissions.grades import service as grades
from app.submissions.grades.models import WorkKind
from app.submissions.grades.pages import Feedback
from app.submissions.lanes import lane_note
from app.submissions.models import Cause, Run, RunEvent, State, Submission, shown_run, state_of
from app.submissions.pages import HistoryRow, LiveFragment, VerdictFragment
from app.submissions.predictions import Predicted
from app.submissions.service import runs_of
from grader.drill import Drill
from grader.verdict import CaseDone, CaseResult, Diagnosing, Event, Lane, Outcome, Started, Verdict

Drills = Mapping[str, Drill]
ATTEMPT = Submission.trial.is_(False)  # what counts: a trial is in no history and passes nothing


@dataclass(frozen=True)
class Progress:
    """What the events of a submission add up to."""

    last_event: int = 0
    started: bool = False
    diagnosing: bool = False
    cases: int = 0
    results: tuple[CaseResult, ...] = ()


def fold(events: Iterable[tuple[int, str, str]]) -> Progress:
    """Add up events, each as (number, kind, body). A run that starts anew makes what came before void."""
    progress = Progress()
    for number, _kind, body in events:
        event = msgspec.json.decode(body, type=Event) if body else None
        if isinstance(event, Started):
            progress = Progress(started=True, cases=event.cases)
        elif isinstance(event, CaseDone):
            progress = replace(progress, results=(*progress.results, event.result), cases=event.cases)
        elif isinstance(event, Diagnosing):
            progress = replace(progress, diagnosing=True)
        elif event is None:  # queued, retrying, cancelled, decided
            progress = Progress()
        progress = replace(progress, last_event=number)
    return progress


def phase_of(state: State, progress: Progress, position: int | None, interrupted: bool, unserved: str = "") -> str:
    """Where a submission stands, in one sentence. `unserved` says why nobody grades in its lane, if nobody does."""
    if state is State.CANCELLED:
        return "You took this back. It was not graded."
    if state is State.DECIDED:
        return "The verdict is there."
    if state is State.RETRYING:
        return "Something of ours broke. It is tried again by itself, and no attempt is spent."
    if state is State.QUEUED:
        return unserved or _waiting(position, interrupted)
    if not progress.started:
        return "A worker has it and prepares a sandbox."
    if progress.diagnosing:
        return "All cases ran and not all passed: finding the smallest shape that fails."
    if len(progress.results) < progress.cases:
        return f"Running case {len(progress.results) + 1} of {progress.cases}."
    return "All cases ran: writing the verdict."


def _waiting(position: int | None, interrupted: bool) -> str:
    if interrupted:
        return "Its worker stopped. Another one takes it over; nothing is lost."
    if position is None or position <= 1:
        return "Waiting for a worker: you are next."
    ahead = position - 1
    return f"Waiting for a worker: {ahead:,} {'submission is' if ahead == 1 else 'submissions are'} ahead of you."


def stripped(result: CaseResult) -> CaseResult:
    """A case as its learner may see it: of a hidden one, only that it exists and how it ended."""
    return result if result.visible else CaseResult(name=result.name, visible=False, outcome=result.outcome)


def for_viewer(verdict: Verdict, operator: bool) -> Verdict:
    """A verdict as somebody may see it. Operators see why a grader problem happened, and hidden cases as well."""
    if operator:
        return verdict
    return msgspec.structs.replace(verdict, cases=tuple(stripped(result) for result in verdict.cases), problem="")


@dataclass(frozen=True)
class Look:
    """A submission at one moment, as one viewer may see it."""

    submission: Submission
    state: State
    live: LiveFragment | None
    verdict: VerdictFragment | None


def look(
    session: Session,
    submission: Submission,
    drills: Drills,
    operator: bool,
    dead_after_seconds: float,
    course: View | None = None,
) -> Look:
    """Gather a submission's facts and say what they are, for its owner or an operator.

    `course` is what the viewer may see of it; without it there is nothing to read.
    """
    runs = runs_of(session, submission.id)
    state = state_of(submission.cancelled_at, runs, now())
    shown = shown_run(runs)
    if shown is not None and shown.verdict is not None:
        predicted = predictions.told(predictions.made_with(session, submission), shown.verdict)
        reading = related(shown.verdict, drills.get(submission.drill), course)
        verdict = _verdict(submission, shown.verdict, drills, operator, predicted)
        return Look(submission, state, None, replace(verdict, related=reading))
    unserved = lane_note(Lane(submission.lane), jobs.living(session, dead_after_seconds))
    return Look(submission, state, _live(session, submission, runs[-1], state, unserved), None)


def _verdict(
    submission: Submission, verdict: Verdict, drills: Drills, operator: bool, predicted: Predicted | None
) -> VerdictFragment:
    return VerdictFragment(
        submission=submission.id,
        drill=submission.drill,
        drill_title=title_of(submission.drill, drills),
        verdict=for_viewer(verdict, operator),
        source_lines=tuple(submission.source.split("\n")),
        attempt_spent=verdict.outcome is not Outcome.GRADER_PROBLEM or submission.user_id is None,
        trial=submission.trial,
        predicted=predicted,
    )


def related(verdict: Verdict, drill: Drill | None, course: View | None) -> tuple[tuple[str, str], ...]:
    """What is worth reading now, as (title, address). What the drill does not name, or the viewer may not see, is
    left out.
    """
    if verdict.diagnosis is None or drill is None or course is None:
        return ()
    kinds = dict.fromkeys(drill.questions, Kind.QUESTION) | dict.fromkeys(drill.cards, Kind.CARD)
    links = [Link(kinds[name], name) for name in verdict.diagnosis.related if name in kinds]
    found = [(course.item(link), link) for link in links]
    return tuple((item.title, link.href) for item, link in found if item is not None)


def _live(session: Session, submission: Submission, run: Run, state: State, unserved: str) -> LiveFragment:
    progress = fold(events_after(session, submission.id, 0))
    waiting = state in (State.QUEUED, State.RETRYING)
    position = queue_position(session, run, submission.lane) if waiting and not unserved else None
    running = state is State.RUNNING
    return LiveFragment(
        submission=submission.id,
        state=state,
        phase=phase_of(state, progress, position, run.started_at is not None, unserved),
        queue_position=position,
        done=len(progress.results) if running else 0,
        cases=progress.cases if running else 0,
        results=tuple(stripped(result) for result in progress.results) if running else (),
        can_cancel=state is not State.CANCELLED,
        stream=f"/submissions/{submission.id}/events",
        last_event=progress.last_event,
        trial=submission.trial,
    )


def events_after(session: Session, submission_id: str, after: int) -> list[tuple[int, str, str]]:
    """The events of a submission after number `after`, in order, as (number, kind, body)."""
    rows = session.execute(
        select(RunEvent.number, RunEvent.kind, RunEvent.body)
        .where(RunEvent.submission_id == submission_id, RunEvent.number > after)
        .order_by(RunEvent.number)
    )
    return [(number, kind, body) for number, kind, body in rows]


def last_event(session: Session, submission_id: str) -> int:
    """The number of a submission's newest event; 0 before the first."""
    return session.scalar(select(func.max(RunEvent.number)).where(RunEvent.submission_id == submission_id)) or 0


def queue_position(session: Session, run: Run, lane: str) -> int:
    """How many runs of the lane start before `run`, and one: the next has 1. Regrades stand behind all others."""
    return 1 + _waiting_before(session, lane, (int(run.cause == Cause.REGRADE), run.created_at))


def waiting_in(session: Session, lane: str) -> int:
    """How many runs of a lane wait before a submission made now."""
    return _waiting_before(session, lane, (0, now()))


def _waiting_before(session: Session, lane: str, place: tuple[int, datetime]) -> int:
    last = case((Run.cause == Cause.REGRADE, 1), else_=0)
    free = or_(Run.leased_until.is_(None), Run.leased_until <= now())
    # Not a join: SQLite would then begin with the submissions, all of them, and look for their runs.
    here = select(Submission.id).where(Submission.id == Run.submission_id, Submission.lane == lane).exists()
    query = (
        select(func.count())
        .select_from(Run)
        .where(Run.ended_at.is_(None), free, here)
        .where(tuple_(last, Run.created_at) < tuple_(place[0], place[1]))
    )
    return session.scalar(query) or 0


def history(
    session: Session,
    user: str,
    drills: Drills,
    drill: str | None = None,
    before: str | None = None,
    limit: int = 25,
) -> tuple[HistoryRow, ...]:
    """A learner's submissions, newest first: of one `drill` or all, older than the one with id `before`."""
    query = select(Submission).where(Submission.user_id == user, ATTEMPT)
    if drill is not None:
        query = query.where(Submission.drill == drill)
    if before is not None:
        mark = session.get(Submission, before)
        if mark is None or mark.user_id != user:
            return ()
        query = query.where(tuple_(Submission.submitted_at, Submission.id) < tuple_(mark.submitted_at, mark.id))
    newest_first = query.order_by(Submission.submitted_at.desc(), Submission.id.desc()).limit(limit)
    submissions = session.scalars(newest_first).all()
    return _rows(session, submissions, drills)


def _rows(session: Session, submissions: Sequence[Submission], drills: Drills) -> tuple[HistoryRow, ...]:
    runs: dict[str, list[Run]] = {submission.id: [] for submission in submissions}
    for run in session.scalars(select(Run).where(Run.submission_id.in_(runs)).order_by(Run.number)):
        runs[run.submission_id].append(run)
    return tuple(_row(session, submission, runs[submission.id], drills) for submission in submissions)


def _row(session: Session, submission: Submission, runs: Sequence[Run], drills: Drills) -> HistoryRow:
    state = state_of(submission.cancelled_at, runs, now())
    shown = shown_run(runs)
    verdict = shown.verdict if shown is not None else None
    return HistoryRow(
        id=submission.id,
        number=number_of(session, submission),
        drill=submission.drill,
        drill_title=title_of(submission.drill, drills),
        lane=Lane(submission.lane),
        submitted_at=submission.submitted_at,
        state=state,
        outcome=verdict.outcome if verdict else None,
        sentence=verdict.sentence if verdict else phase_of(state, Progress(), None, interrupted=False),
    )


def number_of(session: Session, submission: Submission) -> int:
    """The how-manieth submission of its learner to its drill this is, from 1; 0 for a trial."""
    if submission.trial:
        return 0
    earlier = (
        select(func.count())
        .select_from(Submission)
        .where(Submission.user_id == submission.user_id, Submission.drill == submission.drill, ATTEMPT)
        .where(
            tuple_(Submission.submitted_at, Submission.id) <= tuple_(submission.submitted_at, submission.id),
        )
    )
    return session.scalar(earlier) or 1


def newest(session: Session, user: str, drill: str) -> Submission | None:
    """A learner's newest submission to a drill."""
    return session.scalar(
        select(Submission)
        .where(Submission.user_id == user, Submission.drill == drill, ATTEMPT)
        .order_by(Submission.submitted_at.desc(), Submission.id.desc())
        .limit(1)
    )


def newest_text(session: Session, user: str, drill: str) -> Submission | None:
    """What a learner handed in last for a drill, runs included."""
    return session.scalar(
        select(Submission)
        .where(Submission.user_id == user, Submission.drill == drill)
        .order_by(Submission.submitted_at.desc(), Submission.id.desc())
        .limit(1)
    )


def made_at(session: Session, user: str, drill: str, moment: datetime) -> Submission | None:
    """What a learner handed in, or ran, for a drill at exactly that moment."""
    mine = (Submission.user_id == user, Submission.drill == drill, Submission.submitted_at == moment)
    return session.scalar(select(Submission).where(*mine).limit(1))


def verdict_of(session: Session, submission: Submission) -> Verdict | None:
    """The verdict of a submission as its learner may see it; ``None`` while there is none."""
    shown = shown_run(runs_of(session, submission.id))
    return for_viewer(shown.verdict, operator=False) if shown is not None and shown.verdict is not None else None


def passed(session: Session, user: str) -> dict[str, datetime]:
    """The drills a learner has passed, with the moment. A verdict that a regrade replaced does not count."""
    real = _decided(user)
    rows = session.execute(
        select(Submission.drill, Run.ended_at)
        .join(Run, Run.submission_id == Submission.id)
        .join(real, (real.c.submission_id == Run.submission_id) & (real.c.number == Run.number))
        .where(Run.outcome == Outcome.ACCEPTED)
    )
    found: dict[str, datetime] = {}
    for drill, moment in rows:
        if moment is not None:
            found[drill] = min(moment, found.get(drill, moment))
    return found


def attempts_of(session: Session, user: str) -> dict[str, list[tuple[datetime, bool]]]:
    """The decided attempts of a learner by drill, in order: when it was handed in, and whether it passed."""
    real = _decided(user)
    rows = session.execute(
        select(Submission.drill, Submission.submitted_at, Run.outcome)
        .join(Run, Run.submission_id == Submission.id)
        .join(real, (real.c.submission_id == Run.submission_id) & (real.c.number == Run.number))
        .order_by(Submission.submitted_at, Submission.id)
    )
    found: dict[str, list[tuple[datetime, bool]]] = {}
    for drill, moment, outcome in rows:
        found.setdefault(drill, []).append((moment, outcome == Outcome.ACCEPTED))
    return found


def _decided(user: str) -> Subquery:
    """The run that counts for each decided attempt, by number: the newest whose verdict is not our fault."""
    return (
        select(Run.submission_id, func.max(Run.number).label("number"))
        .join(Submission, Submission.id == Run.submission_id)
        .where(Submission.user_id == user, ATTEMPT, Run.outcome.is_not(None), Run.outcome != Outcome.GRADER_PROBLEM)
        .group_by(Run.submission_id)
        .subquery()
    )


def tried(session: Session, user: str) -> set[str]:
    """The drills a learner has handed something in for."""
    return set(session.scalars(select(Submission.drill).where(Submission.user_id == user, ATTEMPT).distinct()))


def standings(session: Session, user: str) -> Standings:
    """How far a learner is: what they have read, tried and passed."""
    return Standings(
        read=read_by(session, user), passed=passed(session, user), tried=frozenset(tried(session, user))
    )


def feedback_of(session: Session, submission: Submission) -> Feedback:
    """What people said about a submission to an outline, and about the learner's other ones to it."""

    def titled(work: str) -> tuple[str, str]:
        row = session.get(Submission, work)
        return f"Submission {number_of(session, row) if row else '?'}", f"/submissions/{work}"

    user, drill = submission.user_id, submission.drill
    if user is None:  # a visitor's run, which nobody scores
        return Feedback(None, ())
    return grades.feedback(session, user, WorkKind.OUTLINE, drill, submission.id, titled)


def title_of(drill: str, drills: Drills) -> str:
    """A drill's title; its id when the drill is gone, since history outlives it."""
    return drills[drill].title if drill in drills else drill
