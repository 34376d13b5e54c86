"""What a learner keeps beside the course: bookmarks, and private notes that no save overwrites unseen."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.course.models import Kind, Link
from app.db import alone, now
from app.errors import Conflict, InvalidForm
from app.progress.models import Bookmark, Note

NOTE_MOST = 20_000  # characters


class StaleNote(Conflict):
    """A note was saved elsewhere meanwhile; `saved` is what is kept now, and `typed` what was not."""

    def __init__(self, saved: Note | None, typed: str) -> None:
        super().__init__("This note was changed in another window or on another device meanwhile.")
        self.saved = saved
        self.typed = typed


def set_bookmark(session: Session, user: str, link: Link, on: bool) -> None:
    """Mark an item, or take the mark away; twice is once."""
    alone(session, user)
    row = session.get(Bookmark, (user, link.kind.value, link.id))
    if on and row is None:
        session.add(Bookmark(user_id=user, kind=link.kind.value, item=link.id, at=now()))
    elif not on and row is not None:
        session.delete(row)


def bookmarks_of(session: Session, user: str) -> list[tuple[Link, datetime]]:
    """What `user` has marked, the newest first."""
    rows = session.execute(
        select(Bookmark.kind, Bookmark.item, Bookmark.at)
        .where(Bookmark.user_id == user)
        .order_by(Bookmark.at.desc(), Bookmark.item)
    )
    return [(Link(Kind(kind), item), moment) for kind, item, moment in rows]


def noted_by(session: Session, user: str) -> list[Link]:
    """What `user` has a note on."""
    rows = session.execute(select(Note.kind, Note.item).where(Note.user_id == user))
    return [Link(Kind(kind), item) for kind, item in rows]


def notes_of(session: Session, user: str) -> list[Note]:
    """The notes of `user`, those saved last first."""
    return list(session.scalars(select(Note).where(Note.user_id == user).order_by(Note.saved_at.desc(), Note.item)))


def note_on(session: Session, user: str, link: Link) -> Note | None:
    """The note of `user` on an item."""
    return session.get(Note, (user, link.kind.value, link.id))


def save_note(session: Session, user: str, link: Link, text: str, version: int) -> None:
    """Keep a note that was written on top of `version` (0: on none). An empty text removes it.

    Raises `StaleNote` when another version is kept by now, and `InvalidForm` for a text that can't be kept.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").rstrip()
    problem = _problem(text)
    if problem:
        raise InvalidForm({"text": problem})
    key = (user, link.kind.value, link.id)
    alone(session, user)
    row = session.get(Note, key)
    if (row.version if row is not None else 0) != version and not (row is not None and row.text == text):
        raise StaleNote(row, text)
    if not text:
        if row is not None:
            session.delete(row)
        return
    if row is not None:
        row.text, row.version, row.saved_at = text, row.version + 1, now()
        return
    session.add(Note(user_id=user, kind=link.kind.value, item=link.id, text=text, version=1, saved_at=now()))


def _problem(text: str) -> str:
    if "\0" in text or any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        return "The note holds a character that cannot be kept (NUL, or half of a pair). Remove it."
    if len(text) > NOTE_MOST:
        return f"The note has {len(text):,} characters; at most {NOTE_MOST:,} are kept."
    return ""
