"""Opening what the policy keeps closed: grants, codes, and what they add up to for one reader.

Reading order: `Target` → `opened_to` → `grant`, `take_back` → `new_code` → `redeem`, `revoke`.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.accounts import audit
from app.accounts.models import User
from app.accounts.service import as_viewer
from app.course.access import Opened
from app.course.models import Kind, Link
from app.course.snapshot import Snapshot
from app.course.unlock_tables import Scope, Source, Unlock, UnlockCode
from app.db import alone, new_id, now
from app.errors import InvalidForm

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # without I, L, O and U, which are read as others
LENGTH = 16  # 80 bits
STORED = frozenset([Source.CODE, Source.GRANT, Source.PURCHASE])
_ALIKE = str.maketrans("ILO", "110")


@dataclass(frozen=True, slots=True)
class Target:
    """What an unlock covers: the course, or one topic, question or drill by its id."""

    scope: Scope
    item: str = ""

    def __str__(self) -> str:
        return self.scope.value if self.scope is Scope.COURSE else f"{self.scope.value}:{self.item}"

    @property
    def href(self) -> str:
        """Where that is."""
        return "/tracks" if self.scope is Scope.COURSE else f"/{self.scope.value}s/{self.item}"


def target(text: str, snapshot: Snapshot) -> Target:
    """`course`, `topic:ID`, `question:ID` or `drill:ID` as a target. Raises `InvalidForm` for anything else."""
    scope, _, item = text.partition(":")
    shelves = {"topic": snapshot.topics, "question": snapshot.questions, "drill": snapshot.drills}
    if text == "course":
        return Target(Scope.COURSE)
    if scope not in shelves:
        raise InvalidForm({"target": "Say what to open: course, topic:ID, question:ID or drill:ID."})
    if item not in shelves[scope]:
        raise InvalidForm({"target": f"There is no {scope} {item}."})
    return Target(Scope(scope), item)


def title(what: Target, snapshot: Snapshot) -> str:
    """What a target is called on a page."""
    if what.scope is Scope.COURSE:
        return "the whole course"
    shelves = {
        Scope.TOPIC: {name: topic.name for name, topic in snapshot.topics.items()},
        Scope.QUESTION: {name: question.title for name, question in snapshot.questions.items()},
        Scope.DRILL: {name: drill.title for name, drill in snapshot.drills.items()},
    }
    return shelves[what.scope].get(what.item, what.item)


def opened_to(session: Session, user: str, passed: Iterable[str] = ()) -> Opened:
    """What is open to `user` beyond the policy; `passed` are the drills that the submissions tell of."""
    rows = session.execute(select(Unlock.scope, Unlock.item).where(Unlock.user_id == user)).all()
    kinds = {Scope.QUESTION: Kind.QUESTION, Scope.DRILL: Kind.DRILL}
    return Opened(
        course=any(scope == Scope.COURSE for scope, _ in rows),
        topics=frozenset(item for scope, item in rows if scope == Scope.TOPIC),
        items=frozenset(Link(kinds[Scope(scope)], item) for scope, item in rows if scope in kinds),
        passed=frozenset(passed),
    )


def unlocks_of(session: Session, user: str) -> list[Unlock]:
    """What was opened to `user`, the newest first."""
    return list(session.scalars(select(Unlock).where(Unlock.user_id == user).order_by(Unlock.at.desc())))


def grant(
    session: Session,
    user: str,
    what: Target,
    source: Source,
    given_by: str | None = None,
    code: str | None = None,
) -> bool:
    """Open something to `user`. False when it was open from the same source already."""
    if source not in STORED:
        raise ValueError(f"{source} is derived, so no row may say it")
    alone(session, user)
    if session.get(Unlock, (user, what.scope.value, what.item, source.value)) is not None:
        return False
    session.add(
        Unlock(
            user_id=user,
            scope=what.scope.value,
            item=what.item,
            source=source.value,
            at=now(),
            given_by=given_by,
            code_id=code,
        )
    )
    session.flush()
    who = session.get_one(User, user)
    giver = session.get(User, given_by) if given_by else None
    actor = who if source is Source.CODE else giver
    to = "" if actor is who else who.username
    details = {"to": to, "opens": str(what), "source": source, "code": code}
    audit.note(session, as_viewer(actor) if actor else None, "unlock", what.href, details)
    return True


def take_back(session: Session, user: str, what: Target) -> int:
    """Close something that was opened to `user`, from whatever source; returns how many unlocks that were."""
    mine = (Unlock.user_id == user, Unlock.scope == what.scope.value, Unlock.item == what.item)
    count = len(session.scalars(select(Unlock).where(*mine)).all())
    session.execute(delete(Unlock).where(*mine))
    if count:
        name = session.get_one(User, user).username
        audit.note(session, None, "take back unlock", what.href, {"from": name, "opens": str(what)})
    return count


def new_code(
    session: Session,
    what: Target,
    most: int,
    days: int | None = None,
    note: str = "",
    created_by: str | None = None,
) -> tuple[str, UnlockCode]:
    """A new code as it is handed out, and its row. The code itself is kept nowhere: it can't be shown again."""
    if not 1 <= most <= 1_000_000 or (days is not None and not 1 <= days <= 36_500):
        raise InvalidForm({"code": "A code has at least one use, and lives a day or longer."})
    plain = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
    moment = now()
    row = UnlockCode(
        id=new_id(),
        code_hash=_hash(plain),
        scope=what.scope.value,
        item=what.item,
        most=most,
        uses=0,
        note=note[:200],
        created_at=moment,
        created_by=created_by,
        expires_at=None if days is None else moment + timedelta(days=days),
        revoked_at=None,
    )
    session.add(row)
    session.flush()
    by = session.get(User, created_by) if created_by else None
    details = {"code": row.id, "opens": str(what), "uses": most, "days": days, "note": row.note}
    audit.note(session, as_viewer(by) if by else None, "make code", what.href, details)
    return "-".join(plain[at : at + 4] for at in range(0, LENGTH, 4)), row


def redeem(session: Session, user: str, typed: str) -> Target:
    """Open what the code says to `user`; twice is once and spends one use. Raises `InvalidForm` with the reason."""
    alone(session, user)
    row = session.scalar(select(UnlockCode).where(UnlockCode.code_hash == _hash(typed)).with_for_update())
    if row is None:
        raise InvalidForm({"code": "There is no such code. Check it letter by letter."})
    what = Target(Scope(row.scope), row.item)
    if session.get(Unlock, (user, row.scope, row.item, Source.CODE.value)) is not None:
        return what
    problem = why_not(row, now())
    if problem:
        raise InvalidForm({"code": problem})
    row.uses += 1
    grant(session, user, what, Source.CODE, given_by=row.created_by, code=row.id)
    return what


def why_not(row: UnlockCode, moment: datetime) -> str:
    """Why a code opens nothing more, in one sentence; empty when it does."""
    if row.revoked_at is not None:
        return "This code was withdrawn. Ask whoever gave it to you."
    if row.expires_at is not None and row.expires_at <= moment:
        return "This code has expired. Ask whoever gave it to you."
    if row.uses >= row.most:
        return "This code has been used as often as it may be. Ask whoever gave it to you."
    return ""


def codes(session: Session) -> list[UnlockCode]:
    """All codes, the newest first."""
    return list(session.scalars(select(UnlockCode).order_by(UnlockCode.created_at.desc(), UnlockCode.id)))


def revoke(session: Session, code_id: str) -> UnlockCode:
    """Withdraw a code. What it opened stays open. Raises `InvalidForm` for an unknown one."""
    row = session.get(UnlockCode, code_id, with_for_update=True)
    if row is None:
        raise InvalidForm({"code": f"There is no code {code_id}."})
    if row.revoked_at is None:
        row.revoked_at = now()
        audit.note(session, None, "withdraw code", Target(Scope(row.scope), row.item).href, {"code": row.id})
    return row


def _hash(typed: str) -> str:
    """Of a code however it was typed: small letters, spaces, dashes, and letters that look like digits."""
    plain = "".join(typed.upper().split()).replace("-", "").translate(_ALIKE)
    return hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()
