"""The life of a submission on real databases: handed in once, graded once, and right in every order of events."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from sqlalchemy import func, select, update

from app import jobs
from app.db import Database, now
from app.errors import Conflict, InvalidForm, NotFound, TooMany
from app.jobs import Ended, Jobs
from app.settings import Settings
from app.submissions import service, view
from app.submissions.handed import Handed
from app.submissions.models import RETRIES, Cause, Run, RunEvent, State, Submission
from grader.drill import Drill
from grader.verdict import CaseDone, CaseResult, Outcome, Started
from tests.app.submissions.conftest import DEAD_AFTER, DRILL, Submit, add_user, live_run, record, start, verdict


def look(database: Database, submission: Submission, drills: dict[str, Drill]) -> view.Look:
    with database.read() as session:
        found = session.get(Submission, submission.id)
        assert found is not None
        return view.look(session, found, drills, False, DEAD_AFTER)


def count(database: Database, table: type[Submission | Run | RunEvent]) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def test_the_same_token_twenty_times_at_once_is_one_submission(
    database: Database, queue: Jobs, submit: Submit
) -> None:
    ready = threading.Barrier(20)

    def hand_in(_: int) -> str:
        ready.wait()
        return submit("the-same-token").id

    with ThreadPoolExecutor(20) as threads:
        found = set(threads.map(hand_in, range(20)))
    assert len(found) == 1
    assert count(database, Submission) == count(database, Run) == 1
    assert queue.ended([live_run(database, found.pop())]) == {}  # its job waits


def test_a_token_belongs_to_its_learner(database: Database, submit: Submit) -> None:
    other = add_user(database, "eve")
    assert submit("the-same-token").id != submit("the-same-token", user=other).id


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("", "no code"),
        (" \n\t\n", "no code"),
        ("x = 1\ny = '\0'\n", "Line 2"),
        ("x = '\ud800'", "surrogate"),
        ("x" * 70_000, "70,000"),
        ("é" * 40_000, "80,000"),
    ],
)
def test_what_cannot_be_graded_is_refused_in_words(
    database: Database, submit: Submit, source: str, word: str
) -> None:
    with pytest.raises(InvalidForm) as refusal:
        submit(source=source)
    assert word in refusal.value.problems["source"]
    assert count(database, Submission) == 0


@pytest.mark.parametrize(
    "source", ["'\x1b[31m'", "# \u202e\u2066 bidi", "x" * 60_000, "{{7*7}} %s", "\U0001f4a9", "\x01"]
)
def test_odd_text_is_kept_exactly(database: Database, submit: Submit, source: str) -> None:
    submission = submit(source=source)
    with database.read() as session:
        kept = session.get(Submission, submission.id)
        assert kept is not None
        assert kept.source == source


def test_guards(submit: Submit) -> None:
    with pytest.raises(NotFound):
        submit(drill="no_such_drill")
    for token in ("short", "with space in it", "x" * 65, "näher-als-acht"):
        with pytest.raises(InvalidForm) as refusal:
            submit(token)
        assert set(refusal.value.problems) == {"form"}


def test_an_unknown_lane_is_refused(
    database: Database, queue: Jobs, settings: Settings, drills: dict[str, Drill], ada: str
) -> None:
    with pytest.raises(InvalidForm) as refusal, database.write() as session:
        service.submit(session, Handed(ada, DRILL, "tpu", "x", "token-token"), drills, settings, queue)
    assert set(refusal.value.problems) == {"lane"}


def test_the_rate_limit_counts_submissions_not_retries(
    database: Database, queue: Jobs, settings: Settings, drills: dict[str, Drill], ada: str
) -> None:
    strict = settings.model_copy(update={"submissions_per_minute": 3})

    def hand_in(token: str) -> Submission:
        with database.write() as session:
            return service.submit(session, Handed(ada, DRILL, "cpu", "x", token), drills, strict, queue)

    made = [hand_in(f"token-000{n}").id for n in range(3)]
    with pytest.raises(TooMany) as refusal:
        hand_in("token-0003")
    assert 0 < refusal.value.seconds <= 61
    assert hand_in("token-0002").id == made[2]


def test_a_verdict_is_written_once_and_only_by_the_holder_of_the_lease(
    database: Database, queue: Jobs, submit: Submit, drills: dict[str, Drill]
) -> None:
    submission = submit()
    run = live_run(database, submission.id)
    zombie = start(database, run, worker="zombie")
    heir = start(database, run, worker="heir")
    assert zombie and heir
    assert not record(database, queue, zombie, verdict(Outcome.WRONG_ANSWER))
    assert look(database, submission, drills).state is State.RUNNING
    assert record(database, queue, heir, verdict())
    assert not record(database, queue, heir, verdict(Outcome.WRONG_ANSWER))
    assert not record(database, queue, zombie, verdict(Outcome.WRONG_ANSWER))
    now_shown = look(database, submission, drills)
    assert now_shown.verdict is not None
    assert now_shown.verdict.verdict.outcome is Outcome.ACCEPTED
    assert start(database, run) is None  # a job delivered twice finds nothing to do


STEPS = ("result", "regrade", "cancel", "result")


@pytest.mark.parametrize("order", sorted(set(itertools.permutations(STEPS))))
def test_every_order_of_result_regrade_and_cancel(
    order: tuple[str, ...], database: Database, queue: Jobs, submit: Submit, drills: dict[str, Drill]
) -> None:
    """A result is of the run that was live when its worker began; the n-th carries the n-th outcome."""
    submission = submit()
    outcomes = iter([Outcome.WRONG_ANSWER, Outcome.ACCEPTED])
    expected: Outcome | None = None
    cancelled = False
    work = start(database, live_run(database, submission.id))
    stale = False  # whether the live run has moved on since `work` was started
    for step in order:
        if step == "result":
            given = next(outcomes)
            accepted = work is not None and record(database, queue, work, verdict(given))
            assert accepted == (work is not None and not stale and not cancelled)
            expected = given if accepted else expected
            work, stale = start(database, live_run(database, submission.id)), False
        elif step == "regrade":
            with database.write() as session:
                if cancelled:
                    with pytest.raises(Conflict):
                        service.regrade(session, queue, submission.id)
                    continue
                service.regrade(session, queue, submission.id)
            stale = True
            if work is None:
                work, stale = start(database, live_run(database, submission.id)), False
        else:
            with database.write() as session:
                if expected is not None:
                    with pytest.raises(Conflict):
                        service.cancel(session, submission.id)
                    continue
                service.cancel(session, submission.id)
            cancelled = True
    shown = look(database, submission, drills)
    if expected is None:
        assert shown.state is State.CANCELLED
    else:
        assert shown.verdict is not None
        assert shown.verdict.verdict.outcome is expected


def test_results_and_cancels_at_once_leave_one_truth(
    database: Database, queue: Jobs, submit: Submit, drills: dict[str, Drill]
) -> None:
    for _ in range(8):
        submission = submit()
        work = start(database, live_run(database, submission.id))
        assert work is not None
        ready = threading.Barrier(2)

        def take_back(which: str = submission.id, ready: threading.Barrier = ready) -> bool:
            ready.wait()
            try:
                with database.write() as session:
                    service.cancel(session, which)
            except Conflict:
                return False
            return True

        def give(work: service.Work = work, ready: threading.Barrier = ready) -> bool:
            ready.wait()
            return record(database, queue, work, verdict())

        with ThreadPoolExecutor(2) as threads:
            cancelled, recorded = threads.submit(take_back), threads.submit(give)
        assert cancelled.result() != recorded.result()
        assert look(database, submission, drills).state is (
            State.CANCELLED if cancelled.result() else State.DECIDED
        )


def test_a_fault_of_ours_is_tried_again_twice_then_said(
    database: Database, queue: Jobs, submit: Submit, drills: dict[str, Drill]
) -> None:
    submission = submit()
    for attempt in range(RETRIES + 1):
        work = start(database, live_run(database, submission.id))
        assert work is not None
        assert record(database, queue, work, verdict(Outcome.GRADER_PROBLEM, problem="disk full"))
        state = look(database, submission, drills).state
        assert state is (State.DECIDED if attempt == RETRIES else State.RETRYING)
    shown = look(database, submission, drills)
    assert shown.verdict is not None
    assert not shown.verdict.attempt_spent
    assert shown.verdict.verdict.problem == ""  # the reason is for operators
    with database.read() as session:
        causes = [run.cause for run in service.runs_of(session, submission.id)]
    assert causes == [Cause.SUBMIT] + [Cause.RETRY] * RETRIES
    assert start(database, live_run(database, submission.id)) is None


def test_a_regrade_gets_its_own_retries(database: Database, queue: Jobs, submit: Submit) -> None:
    submission = submit()
    for cause in (Cause.SUBMIT, Cause.REGRADE):
        if cause is Cause.REGRADE:
            with database.write() as session:
                service.regrade(session, queue, submission.id)
        for _ in range(RETRIES + 1):
            work = start(database, live_run(database, submission.id))
            assert work is not None
            record(database, queue, work, verdict(Outcome.GRADER_PROBLEM))
    assert count(database, Run) == 2 * (RETRIES + 1)


def sweep(database: Database, queue: Jobs, older_than: datetime | None = None) -> dict[str, Ended]:
    """One round of a worker's sweeper; returns what it mended."""
    with database.read() as session:
        lost = service.find_lost(session, queue, older_than or now())
    mended = {}
    for run, end in lost.items():
        with database.write() as session:
            if service.mend(session, queue, run, end):
                mended[run] = end
    return mended


def test_the_sweeper_gives_a_lost_run_its_job(database: Database, queue: Jobs, submit: Submit) -> None:
    run = live_run(database, submit().id)
    queue.client.delete_workflows([run])
    assert queue.ended([run]) == {run: Ended.MISSING}
    assert sweep(database, queue, now() - timedelta(minutes=1)) == {}  # too young to be lost
    assert sweep(database, queue) == {run: Ended.MISSING}
    assert queue.ended([run]) == {}
    assert sweep(database, queue) == {}


def test_the_sweeper_sees_a_lost_run_behind_many_that_wait(
    database: Database, queue: Jobs, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "PORTION", 2)
    runs = [live_run(database, submit().id) for _ in range(5)]
    queue.client.delete_workflows([runs[-1]])
    assert sweep(database, queue) == {runs[-1]: Ended.MISSING}


def test_the_sweeper_ends_what_a_job_left_open(
    database: Database, queue: Jobs, submit: Submit, drills: dict[str, Drill]
) -> None:
    submission = submit()
    runs = []
    for _ in range(RETRIES + 1):
        run = live_run(database, submission.id)
        runs.append(run)
        queue.client.cancel_workflow(run)
        assert sweep(database, queue) == {run: Ended.RETURNED}
    assert len(set(runs)) == RETRIES + 1
    assert look(database, submission, drills).state is State.DECIDED


def test_what_ended_meanwhile_is_not_mended(database: Database, queue: Jobs, submit: Submit) -> None:
    work = start(database, live_run(database, submit().id))
    assert work is not None
    record(database, queue, work, verdict())
    for end in Ended:
        with database.write() as session:
            assert not service.mend(session, queue, work.run, end)


def test_poison_is_not_tried_again(
    database: Database, queue: Jobs, submit: Submit, drills: dict[str, Drill]
) -> None:
    submission = submit()
    run = live_run(database, submission.id)
    with database.write() as session:
        assert service.mend(session, queue, run, Ended.POISON)
    shown = look(database, submission, drills)
    assert shown.state is State.DECIDED
    assert shown.verdict is not None
    assert shown.verdict.verdict.outcome is Outcome.GRADER_PROBLEM
    with database.read() as session:
        found = session.get(Run, run)
        assert found is not None
        assert found.verdict is not None
        assert str(jobs.TRIES) in found.verdict.problem


def test_leases_hold_while_they_are_renewed(
    database: Database, queue: Jobs, submit: Submit, drills: dict[str, Drill]
) -> None:
    submission = submit()
    run = live_run(database, submission.id)
    work = start(database, run, seconds=-1.0)
    assert work is not None
    interrupted = look(database, submission, drills)
    assert interrupted.state is State.QUEUED
    assert interrupted.live is not None
    assert "nothing is lost" in interrupted.live.phase
    with database.write() as session:
        assert service.renew(session, [work.lease], 60.0) == {work.lease}
    assert look(database, submission, drills).state is State.RUNNING
    with database.write() as session:
        service.cancel(session, submission.id)
    with database.write() as session:
        assert service.renew(session, [work.lease], 60.0) == set()


def test_a_released_lease_writes_no_more(database: Database, queue: Jobs, submit: Submit) -> None:
    work = start(database, live_run(database, submit().id))
    assert work is not None
    with database.write() as session:
        service.release(session, [work.lease])
    assert not record(database, queue, work, verdict())


def test_events_are_numbered_without_gaps_and_a_new_start_voids_the_old(
    database: Database, queue: Jobs, submit: Submit, drills: dict[str, Drill]
) -> None:
    submission = submit()
    run = live_run(database, submission.id)
    first = start(database, run)
    assert first is not None
    case = CaseResult(name="one", visible=True, outcome=Outcome.ACCEPTED)
    with database.write() as session:
        assert service.note(session, first, [Started(cases=9), CaseDone(number=1, cases=9, result=case)])
    second = start(database, run)
    assert second is not None
    with database.write() as session:
        assert not service.note(session, first, [CaseDone(number=2, cases=9, result=case)])
        assert service.note(session, second, [Started(cases=2)])
    live = look(database, submission, drills).live
    assert live is not None
    assert (live.done, live.cases, live.phase) == (0, 2, "Running case 1 of 2.")
    with database.read() as session:
        numbers = session.scalars(select(RunEvent.number).order_by(RunEvent.number)).all()
    assert list(numbers) == [1, 2, 3, 4]
    assert live.last_event == 4


def test_hidden_cases_say_only_that_they_exist(
    database: Database, queue: Jobs, submit: Submit, drills: dict[str, Drill]
) -> None:
    submission = submit()
    work = start(database, live_run(database, submission.id))
    assert work is not None
    unseen = verdict(Outcome.WRONG_ANSWER).cases[1]
    with database.write() as session:
        service.note(session, work, [Started(cases=2), CaseDone(number=1, cases=2, result=unseen)])
    live = look(database, submission, drills).live
    assert live is not None
    assert live.results == (CaseResult(name="hidden 1", visible=False, outcome=Outcome.WRONG_ANSWER),)
    record(database, queue, work, verdict(Outcome.WRONG_ANSWER))
    shown = look(database, submission, drills).verdict
    assert shown is not None
    assert "SECRET" not in repr(shown.verdict)
    assert shown.verdict.cases[1] == live.results[0]
    with database.read() as session:
        found = session.get(Submission, submission.id)
        assert found is not None
        operator = view.look(session, found, drills, True, DEAD_AFTER).verdict
    assert operator is not None
    assert "SECRET" in repr(operator.verdict)


def test_queue_positions_put_regrades_last(
    database: Database, queue: Jobs, submit: Submit, drills: dict[str, Drill]
) -> None:
    old = submit()
    work = start(database, live_run(database, old.id))
    assert work is not None
    record(database, queue, work, verdict())
    with database.write() as session:
        again = service.regrade(session, queue, old.id)
    first, second = submit(), submit()
    positions = [look(database, one, drills).live for one in (first, second)]
    assert [live.queue_position for live in positions if live] == [1, 2]
    with database.read() as session:
        assert view.queue_position(session, again, "cpu") == 3
        assert view.waiting_in(session, "cpu") == 2
        assert view.waiting_in(session, "gpu") == 0
    start(database, live_run(database, first.id))
    live = look(database, second, drills).live
    assert live is not None
    assert live.queue_position == 1


def test_history_is_newest_first_in_pages_and_numbered_by_drill(
    database: Database, submit: Submit, drills: dict[str, Drill], ada: str
) -> None:
    made = [submit().id for _ in range(5)]
    add_user(database, "eve")
    with database.read() as session:
        page = view.history(session, ada, drills, limit=3)
        rest = view.history(session, ada, drills, before=page[-1].id)
        assert [row.id for row in (*page, *rest)] == made[::-1]
        assert [row.number for row in (*page, *rest)] == [5, 4, 3, 2, 1]
        assert view.history(session, ada, drills, drill="another") == ()
        assert view.history(session, "nobody", drills, before=page[0].id) == ()


def test_passing_is_told_by_the_verdict_that_counts(
    database: Database, queue: Jobs, submit: Submit, ada: str
) -> None:
    submission = submit()
    work = start(database, live_run(database, submission.id))
    assert work is not None
    record(database, queue, work, verdict())
    with database.read() as session:
        known = view.standings(session, ada)
        assert set(known.passed) == {DRILL}
        assert known.passed[DRILL].tzinfo is not None
    with database.write() as session:
        service.regrade(session, queue, submission.id)
    again = start(database, live_run(database, submission.id))
    assert again is not None
    record(database, queue, again, verdict(Outcome.WRONG_ANSWER))
    with database.read() as session:
        known = view.standings(session, ada)
        assert (set(known.passed), known.tried) == (set(), frozenset({DRILL}))


def test_the_outcome_beside_a_verdict_is_the_verdicts_own(database: Database, queue: Jobs, submit: Submit) -> None:
    work = start(database, live_run(database, submit().id))
    assert work is not None
    record(database, queue, work, verdict(Outcome.TIME_LIMIT, sentence="a NUL \0 and \x1b[31m"))
    with database.read() as session:
        run = session.get(Run, work.run)
        assert run is not None
        assert run.verdict is not None
        assert run.outcome == run.verdict.outcome == Outcome.TIME_LIMIT
        assert run.verdict.sentence == "a NUL \0 and \x1b[31m"
    with pytest.raises(Exception, match="verdict_with_outcome"), database.write() as session:
        session.execute(update(Run).where(Run.id == work.run).values(outcome=None))
