"""The stream: what it says first, what it says again, and when it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from fastapi.sse import ServerSentEvent

from app.db import Database
from app.jobs import Jobs
from app.submissions import live, service
from grader.drill import Drill
from grader.verdict import CaseDone, CaseResult, Outcome, Started
from tests.app.submissions.conftest import DEAD_AFTER, Submit, live_run, record, start, verdict


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "POLL_SECONDS", 0.02)


def events(
    database: Database, submission: str, drills: dict[str, Drill], after: int = 0
) -> AsyncIterator[ServerSentEvent]:
    return live.stream(database, submission, drills, False, after, DEAD_AFTER)


async def following(stream: AsyncIterator[ServerSentEvent]) -> ServerSentEvent:
    return await asyncio.wait_for(anext(stream), 10)


def test_from_the_queue_to_the_verdict(
    database: Database, queue: Jobs, submit: Submit, drills: dict[str, Drill]
) -> None:
    async def story() -> None:
        submission = submit()
        stream = events(database, submission.id, drills)
        first = await following(stream)
        assert (first.event, first.id) == ("progress", "1")
        assert "you are next" in (first.raw_data or "")
        work = start(database, live_run(database, submission.id))
        assert work is not None
        done = CaseResult(name="one past a tile", visible=True, outcome=Outcome.ACCEPTED, error=0.1)
        with database.write() as session:
            service.note(session, work, [Started(cases=2), CaseDone(number=1, cases=2, result=done)])
        second = await following(stream)
        assert (second.event, second.id) == ("progress", "3")
        assert "Running case 2 of 2." in (second.raw_data or "")
        record(database, queue, work, verdict(Outcome.WRONG_ANSWER, sentence="Wrong in the last tile."))
        last = await following(stream)
        assert (last.event, last.id) == ("verdict", "4")
        assert "Wrong in the last tile." in (last.raw_data or "")
        assert "SECRET" not in (last.raw_data or "")
        with pytest.raises(StopAsyncIteration):
            await following(stream)

    asyncio.run(story())


def test_whoever_comes_back_is_told_what_they_missed(
    database: Database, queue: Jobs, submit: Submit, drills: dict[str, Drill]
) -> None:
    async def story() -> None:
        submission = submit()
        work = start(database, live_run(database, submission.id))
        assert work is not None
        with database.write() as session:
            service.note(session, work, [Started(cases=2)])
        missed = await following(events(database, submission.id, drills, after=1))
        assert (missed.event, missed.id) == ("progress", "2")
        record(database, queue, work, verdict())
        for after in (0, 2, 3, 10**9):
            late = await following(events(database, submission.id, drills, after))
            assert (late.event, late.id) == ("verdict", "3")

    asyncio.run(story())


def test_a_cancelled_submission_ends_its_stream(
    database: Database, submit: Submit, drills: dict[str, Drill]
) -> None:
    async def story() -> None:
        submission = submit()
        stream = events(database, submission.id, drills)
        await following(stream)
        with database.write() as session:
            service.cancel(session, submission.id)
        assert (await following(stream)).event == "cancelled"
        with pytest.raises(StopAsyncIteration):
            await following(stream)

    asyncio.run(story())


def test_waiting_holds_no_connection(database: Database, submit: Submit, drills: dict[str, Drill]) -> None:
    async def story() -> None:
        submission = submit()
        streams = [events(database, submission.id, drills) for _ in range(30)]
        await asyncio.gather(*(following(stream) for stream in streams))
        waiting = [asyncio.ensure_future(anext(stream)) for stream in streams]
        free = 0
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and not free:
            await asyncio.sleep(0.005)
            free = database.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
        assert free
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(story())
