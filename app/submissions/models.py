"""What was handed in and how its grading went: facts only. Where a submission stands is derived, by `state_of`.

A submission has one run at first; our own faults and regrades add more. The newest run is the live one, and only it
can be started or take a verdict. A verdict is written once and never changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, TypeVar

import msgspec
from sqlalchemy import CheckConstraint, Dialect, ForeignKey, Index, String, Text, UniqueConstraint, false, text
from sqlalchemy.orm import Mapped, mapped_column, relationship
from sqlalchemy.types import TypeDecorator

from app.db import Base
from grader.verdict import Outcome, Verdict

RETRIES = 2  # automatic runs after a fault of ours, before the learner is told


class State(StrEnum):
    """Where a submission stands."""

    QUEUED = "queued"  # no worker has it
    RUNNING = "running"  # a worker has it
    RETRYING = "retrying"  # our fault stopped a run; another one is queued, the attempt is not spent
    DECIDED = "decided"  # there is a verdict
    CANCELLED = "cancelled"  # the learner took it back


class Cause(StrEnum):
    """Why a run exists."""

    SUBMIT = "submit"
    RETRY = "retry"
    REGRADE = "regrade"


class VerdictText(TypeDecorator[Verdict]):
    """A verdict as the JSON text of its schema.

    Text and not JSONB: a learner's output may hold NUL, which JSONB refuses; here it stays an escape.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Verdict | None, dialect: Dialect) -> str | None:
        return None if value is None else msgspec.json.encode(value).decode()

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Verdict | None:
        return None if value is None else msgspec.json.decode(value, type=Verdict)


class Submission(Base):
    """One source, handed in once: an attempt, or a trial.

    A trial runs the visible cases only. It is no attempt: it is in no history, passes nothing, and is forgotten
    after a while. Visitors, who have no account, can only try; the hash of a cookie says whose a trial is.
    """

    __tablename__ = "submissions"
    __table_args__ = (
        UniqueConstraint("user_id", "token"),
        UniqueConstraint("visitor", "token"),
        CheckConstraint("(user_id IS NULL) <> (visitor IS NULL)", name="one_owner"),
        CheckConstraint("user_id IS NOT NULL OR trial", name="visitors_only_try"),
        # what is forgotten after a while
        Index(
            "ix_submissions_trials",
            "submitted_at",
            postgresql_where=text("trial"),
            sqlite_where=text("trial"),
        ),
        Index("ix_submissions_user_drill", "user_id", "drill", "submitted_at", "id"),
        Index("ix_submissions_user", "user_id", "submitted_at", "id"),
        Index("ix_submissions_drill", "drill", "submitted_at"),  # the desk's: what waits for a person
    )

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    user_id: Mapped[str | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    visitor: Mapped[str | None] = mapped_column(String(64))
    trial: Mapped[bool] = mapped_column(default=False, server_default=false())
    token: Mapped[str] = mapped_column(
        String(64)
    )  # chosen by the client: the same one again is the same submission
    drill: Mapped[str] = mapped_column(String(64))
    lane: Mapped[str] = mapped_column(String(8))
    source: Mapped[str] = mapped_column(Text)
    submitted_at: Mapped[datetime]
    cancelled_at: Mapped[datetime | None]

    runs: Mapped[list[Run]] = relationship(order_by="Run.number", lazy="raise", viewonly=True)


class Run(Base):
    """One try at grading a submission."""

    __tablename__ = "runs"
    __table_args__ = (
        UniqueConstraint("submission_id", "number"),
        CheckConstraint("(verdict IS NULL) = (outcome IS NULL)", name="verdict_with_outcome"),
        # what the sweeper looks for: the few runs that have not ended
        Index(
            "ix_runs_open",
            "created_at",
            postgresql_where=text("ended_at IS NULL"),
            sqlite_where=text("ended_at IS NULL"),
        ),
    )

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"))
    number: Mapped[int]  # from 1; the highest is the live one
    cause: Mapped[str] = mapped_column(String(8))
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    worker: Mapped[str | None] = mapped_column(String(128))
    lease: Mapped[str | None] = mapped_column(String(16))  # who may write: a new one at each start
    leased_until: Mapped[datetime | None]  # a worker that lives moves it on
    ended_at: Mapped[datetime | None]  # with a verdict, or without one when cancelled or superseded
    verdict: Mapped[Verdict | None] = mapped_column(VerdictText)
    # The verdict's own outcome, written with it, so that counting what was passed parses no verdicts.
    outcome: Mapped[str | None] = mapped_column(String(16))


class RunEvent(Base):
    """Something that happened to a submission, in order, for the live page. Append-only."""

    __tablename__ = "run_events"

    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)  # from 1 within the submission
    at: Mapped[datetime]
    kind: Mapped[str] = mapped_column(
        String(16)
    )  # "queued", "cancelled", "retrying", or the tag of a grader's event
    body: Mapped[str] = mapped_column(Text)  # JSON of the grader's event, or empty


class Prediction(Base):
    """How a learner expected the first run of a drill to fail, said before it; private."""

    __tablename__ = "predictions"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    drill: Mapped[str] = mapped_column(String(64), primary_key=True)
    mode: Mapped[str] = mapped_column(String(24))
    words: Mapped[str] = mapped_column(Text)
    made_at: Mapped[datetime]


class RunFacts(Protocol):
    """What is read of a run to tell where its submission stands."""

    @property
    def cause(self) -> str: ...
    @property
    def leased_until(self) -> datetime | None: ...
    @property
    def outcome(self) -> str | None: ...


AnyRun = TypeVar("AnyRun", bound=RunFacts)


def shown_run(runs: Sequence[AnyRun]) -> AnyRun | None:
    """The run whose verdict is the submission's, of all its `runs` in order.

    The newest real verdict counts: a fault of ours never hides one. Without any, the fault itself is the answer,
    but only once no retry is left to wait for.
    """
    for run in reversed(runs):
        if run.outcome is not None and run.outcome != Outcome.GRADER_PROBLEM:
            return run
    if runs and runs[-1].outcome is not None:
        return runs[-1]
    return None


def state_of(cancelled_at: datetime | None, runs: Sequence[RunFacts], moment: datetime) -> State:
    """Where a submission with these `runs` (in order, at least one) stands at `moment`."""
    if shown_run(runs) is not None:
        return State.DECIDED
    if cancelled_at is not None:
        return State.CANCELLED
    live = runs[-1]
    if live.leased_until is not None and live.leased_until > moment:
        return State.RUNNING
    return State.RETRYING if live.cause == Cause.RETRY else State.QUEUED
