"""Somebody who hands in, and a verdict to give."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.accounts.models import Role, User
from app.db import Database, new_id, now
from app.jobs import Heartbeat, Jobs
from app.settings import ROOT, Settings
from app.submissions import service
from app.submissions.handed import Handed
from app.submissions.models import Submission
from app.submissions.service import Work
from grader.drill import Drill, load_drills
from grader.verdict import CaseResult, Lane, Outcome, Verdict

DRILL = "tiled_softmax"
DEAD_AFTER = 15.0


@pytest.fixture(autouse=True)
def served(database: Database) -> None:
    """A worker of the CPU lane that was heard of just now."""
    with database.write() as session:
        session.add(Heartbeat(id="w", lane="cpu", started_at=now(), seen_at=now(), slots=1, busy=0))


@pytest.fixture(scope="session")
def drills() -> dict[str, Drill]:
    return load_drills(ROOT / "drills")


def add_user(database: Database, name: str, role: Role = Role.LEARNER) -> str:
    """An account that nobody can sign in to; returns its id."""
    user = User(id=new_id(), username=name, username_key=name, password_hash="!", role=role, created_at=now())
    with database.write() as session:
        session.add(user)
    return user.id


@pytest.fixture
def ada(database: Database) -> str:
    return add_user(database, "ada")


Submit = Callable[..., Submission]


@pytest.fixture
def submit(database: Database, queue: Jobs, settings: Settings, drills: dict[str, Drill], ada: str) -> Submit:
    def hand_in(token: str = "", user: str = ada, source: str = "x = 1\n", drill: str = DRILL) -> Submission:
        handed = Handed(user=user, drill=drill, lane="cpu", source=source, token=token or new_id())
        with database.write() as session:
            return service.submit(session, handed, drills, settings, queue)

    return hand_in


def verdict(outcome: Outcome = Outcome.ACCEPTED, problem: str = "", sentence: str = "said") -> Verdict:
    shown = CaseResult(name="one", visible=True, outcome=outcome, shape="3 × 65", error=0.5)
    unseen = CaseResult(
        name="hidden 1", visible=False, outcome=outcome, shape="SECRET", data="SECRET", detail="SECRET", error=7.5
    )
    return Verdict(
        outcome=outcome,
        sentence=sentence,
        drill=DRILL,
        lane=Lane.CPU,
        cases=(shown, unseen),
        expected_cases=2,
        problem=problem,
    )


def start(database: Database, run: str, seconds: float = 60.0, worker: str = "w") -> Work | None:
    with database.write() as session:
        return service.start(session, run, worker, seconds)


def record(database: Database, queue: Jobs, work: Work, given: Verdict) -> bool:
    with database.write() as session:
        return service.record(session, queue, work, given)


def live_run(database: Database, submission: str) -> str:
    with database.read() as session:
        return service.runs_of(session, submission)[-1].id
