"""What an account can take along: one entry for each table that says something about a person.

A test walks all tables from `users` outwards; it fails for one that is neither here nor in `WITHHELD`.
"""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from app.accounts.models import Preferences, SignIn, User
from app.accounts.own import Exporters, rows
from app.course.unlock_tables import Unlock
from app.db import Base
from app.discussion.models import Post, Report
from app.practice.models import DraftVersion, Evidence, HintOpened
from app.progress.attempts import Attempt
from app.progress.models import Bookmark, Note, Reading
from app.review.models import ReviewEvent, ReviewItem
from app.submissions.capstones.models import Capstone, CapstoneFile
from app.submissions.grades.models import Grade
from app.submissions.models import Prediction, Run, Submission
from app.submissions.view import for_viewer

WITHHELD = {
    "known_browsers": "a hash and a moment: it only says that a browser signed in before",
    "password_resets": "a hash and a moment, gone within the hour",
    "run_events": "the steps of a run while it ran; what they add up to is the verdict, which is exported",
    "desk_leases": "what a grader has open on the desk at this moment",
}


def _own(table: type[Base], *leave_out: str) -> Any:
    def gather(session: Session, user: str) -> list[dict[str, Any]]:
        owner: Any = table.__table__.c.user_id
        return rows(session, select(table).where(owner == user), leave_out)

    return gather


def _account(session: Session, user: str) -> list[dict[str, Any]]:
    return rows(session, select(User).where(User.id == user), ("password_hash", "username_key"))


def _submissions(session: Session, user: str) -> list[dict[str, Any]]:
    return rows(session, select(Submission).where(Submission.user_id == user), ("visitor", "token"))


def _runs(session: Session, user: str) -> list[dict[str, Any]]:
    """The verdicts as the learner may see them: a hidden case stays hidden in a file too."""
    query: Select[Any] = select(Run).join(Submission, Submission.id == Run.submission_id)
    found = rows(session, query.where(Submission.user_id == user), ("lease", "leased_until", "worker"))
    for row in found:
        if row["verdict"] is not None:
            row["verdict"] = msgspec.to_builtins(for_viewer(row["verdict"], operator=False))
    return found


def _grades(session: Session, user: str) -> list[dict[str, Any]]:
    found = rows(session, select(Grade).where(Grade.user_id == user), ("grader_id",))
    for row in found:
        row["marks"] = msgspec.to_builtins(row["marks"])
    return found


def _capstone_files(session: Session, user: str) -> list[dict[str, Any]]:
    query: Select[Any] = select(CapstoneFile).join(Capstone, Capstone.id == CapstoneFile.capstone_id)
    return rows(session, query.where(Capstone.user_id == user), ("stored",))


EXPORTERS: Exporters = {
    "users": _account,
    "preferences": _own(Preferences),
    "sign_ins": _own(SignIn, "secret_hash"),
    "unlocks": _own(Unlock, "given_by"),
    "readings": _own(Reading),
    "bookmarks": _own(Bookmark),
    "notes": _own(Note),
    "review_items": _own(ReviewItem),
    "review_events": _own(ReviewEvent, "token"),
    "submissions": _submissions,
    "runs": _runs,
    "draft_versions": _own(DraftVersion),
    "evidence": _own(Evidence),
    "hints_opened": _own(HintOpened),
    "predictions": _own(Prediction),
    "capstones": _own(Capstone),
    "capstone_files": _capstone_files,
    "grades": _grades,
    "attempts": _own(Attempt),
    "posts": _own(Post),
    "reports": _own(Report, "text"),  # the text is somebody else's post
}
