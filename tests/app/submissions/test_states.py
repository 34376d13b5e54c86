"""Where a submission stands follows from its facts alone: a table of facts, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from app.submissions.models import State, shown_run, state_of

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER, EARLIER = NOW + timedelta(seconds=5), NOW - timedelta(seconds=5)


@dataclass
class Facts:
    cause: str = "submit"
    leased_until: datetime | None = None
    outcome: str | None = None


WAITS, RUNS, LOST = Facts(), Facts(leased_until=LATER), Facts(leased_until=EARLIER)
GOOD, BAD, BROKE = Facts(outcome="accepted"), Facts(outcome="wrong_answer"), Facts(outcome="grader_problem")
RETRY_WAITS, RETRY_RUNS = Facts("retry"), Facts("retry", leased_until=LATER)
RETRY_BROKE, RETRY_GOOD = Facts("retry", outcome="grader_problem"), Facts("retry", outcome="accepted")
AGAIN, AGAIN_RUNS = Facts("regrade"), Facts("regrade", leased_until=LATER)
AGAIN_BAD, AGAIN_BROKE = Facts("regrade", outcome="wrong_answer"), Facts("regrade", outcome="grader_problem")

TABLE = [
    ("just handed in", False, [WAITS], State.QUEUED, None),
    ("a worker has it", False, [RUNS], State.RUNNING, None),
    ("its worker fell silent", False, [LOST], State.QUEUED, None),
    ("cancelled while waiting", True, [WAITS], State.CANCELLED, None),
    ("cancelled while running", True, [RUNS], State.CANCELLED, None),
    ("accepted", False, [GOOD], State.DECIDED, 0),
    ("not accepted", False, [BAD], State.DECIDED, 0),
    ("our fault, retry waits", False, [BROKE, RETRY_WAITS], State.RETRYING, None),
    ("our fault, retry runs", False, [BROKE, RETRY_RUNS], State.RUNNING, None),
    ("our fault, retry helped", False, [BROKE, RETRY_GOOD], State.DECIDED, 1),
    ("our fault to the end", False, [BROKE, RETRY_BROKE, RETRY_BROKE], State.DECIDED, 2),
    ("our fault, then cancelled", True, [BROKE, RETRY_WAITS], State.CANCELLED, None),
    ("regrade waits", False, [GOOD, AGAIN], State.DECIDED, 0),
    ("regrade runs", False, [GOOD, AGAIN_RUNS], State.DECIDED, 0),
    ("regrade turned it", False, [GOOD, AGAIN_BAD], State.DECIDED, 1),
    ("regrade broke: the old one stays", False, [GOOD, AGAIN_BROKE], State.DECIDED, 0),
    ("regrade broke, its retry waits", False, [BAD, AGAIN_BROKE, RETRY_WAITS], State.DECIDED, 0),
    ("regrade overtook the first run", False, [WAITS, AGAIN], State.QUEUED, None),
    ("regrade after overtaking", False, [WAITS, AGAIN_BAD], State.DECIDED, 1),
]


@pytest.mark.parametrize(
    ("cancelled", "runs", "state", "shown"), [row[1:] for row in TABLE], ids=[r[0] for r in TABLE]
)
def test_state_follows_from_facts(cancelled: bool, runs: list[Facts], state: State, shown: int | None) -> None:
    assert state_of(EARLIER if cancelled else None, runs, NOW) is state
    found = shown_run(runs)
    assert (None if found is None else runs.index(found)) == (None if shown is None else runs.index(runs[shown]))
