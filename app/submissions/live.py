"""The live page of a submission: server-sent events, from the rows that the worker appends.

A stream holds no database session while it waits: each look takes one for some milliseconds and gives it back. It
waits in the event loop, so a thousand readers cost no threads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from fastapi.sse import ServerSentEvent
from starlette.concurrency import run_in_threadpool

from app.course.access import View
from app.db import Database
from app.submissions import view
from app.submissions.models import State, Submission
from app.submissions.view import Drills
from app.templating import fragment

POLL_SECONDS = 0.25
FRESH_SECONDS = 1.5  # how old a queue position on the page may be
LONGEST_SECONDS = 900.0  # then the browser connects again, perhaps to another replica


async def stream(
    database: Database,
    submission_id: str,
    drills: Drills,
    operator: bool,
    after: int,
    dead_after_seconds: float,
    course: View | None = None,
) -> AsyncIterator[ServerSentEvent]:
    """What happened to a submission after event `after`, then what happens, until its verdict or its end.

    Every event carries the page's whole fragment, so a browser that comes back with its last event's number misses
    nothing: when something happened meanwhile it is told at once. The last event is `verdict` or `cancelled`.
    """
    seen, sent, looked = after, "", 0.0
    deadline = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < deadline:
        newest = await run_in_threadpool(_newest, database, submission_id)
        if newest > seen or time.monotonic() - looked >= FRESH_SECONDS:
            viewed = (drills, operator, dead_after_seconds, course)
            event = await run_in_threadpool(_event, database, submission_id, *viewed)
            if event is None:
                return
            looked = time.monotonic()
            if event.raw_data != sent:
                yield event
            seen, sent = newest, event.raw_data or ""
            if event.event != "progress":
                return
        await asyncio.sleep(POLL_SECONDS)


def _newest(database: Database, submission_id: str) -> int:
    with database.read() as session:
        return view.last_event(session, submission_id)


def _event(
    database: Database,
    submission_id: str,
    drills: Drills,
    operator: bool,
    dead_after_seconds: float,
    course: View | None,
) -> ServerSentEvent | None:
    """The submission as it is now, or ``None`` when it was deleted."""
    with database.read() as session:
        submission = session.get(Submission, submission_id)
        if submission is None:
            return None
        number = view.last_event(session, submission_id)
        now = view.look(session, submission, drills, operator, dead_after_seconds, course)
    if now.verdict is not None:
        html = fragment("submissions/_verdict.html", now.verdict)
        return ServerSentEvent(raw_data=html, event="verdict", id=str(number))
    assert now.live is not None
    name = "cancelled" if now.state is State.CANCELLED else "progress"
    return ServerSentEvent(raw_data=fragment("submissions/_live.html", now.live), event=name, id=str(number))
