"""Handing a capstone in: what is checked, in the order of the form, and what is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.db import Database, alone, new_id, now
from app.errors import InvalidForm
from app.security import plain_text
from app.settings import Settings
from app.submissions.capstones import files
from app.submissions.capstones.models import Capstone, CapstoneFile

TEXT_MOST = 40_000  # characters
LINKS_MOST = 10
LINK_MOST = 500


@dataclass(frozen=True)
class Upload:
    """A file as it came."""

    name: str
    content: bytes


@dataclass(frozen=True)
class HandIn:
    """The form as it came."""

    text: str = ""
    links: str = ""  # one a line
    uploads: Sequence[Upload] = field(default_factory=tuple)


def tidy(given: HandIn) -> HandIn:
    """The form with text that any database keeps, and with the links one a line."""
    lines = [line.strip() for line in plain_text(given.links).split("\n")]
    return HandIn(
        text=plain_text(given.text).strip(),
        links="\n".join(line for line in lines if line),
        uploads=tuple(upload for upload in given.uploads if upload.name or upload.content),
    )


def problems_of(given: HandIn, settings: Settings) -> dict[str, str]:
    """Why this cannot be taken, by field of the form; empty when it can."""
    problems = {}
    if not given.text:
        problems["text"] = "Say in the text what you built and what it shows; links and files come on top."
    elif len(given.text) > TEXT_MOST:
        problems["text"] = f"The text has {len(given.text):,} characters; at most {TEXT_MOST:,} are taken."
    link = next((why for line in given.links.split("\n") if line and (why := link_problem(line))), "")
    if given.links.count("\n") >= LINKS_MOST:
        problems["links"] = f"At most {LINKS_MOST} links are taken."
    elif link:
        problems["links"] = link
    wrong = files_problem(given.uploads, settings)
    if wrong:
        problems["files"] = wrong
    return problems


def link_problem(link: str) -> str:
    """What is wrong with an address that a grader would follow, or nothing."""
    try:
        parts = urlsplit(link)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "One of the links is no address. Copy it again from the browser."
    plain = link.isascii() and link.isprintable() and not any(sign in link for sign in " \"'<>\\`")
    if len(link) > LINK_MOST or not plain or not host:
        return "One of the links is no address. Copy it again from the browser."
    if parts.scheme not in ("http", "https"):
        return "Links begin with http:// or https://."
    if parts.username is not None or parts.password is not None:
        return "A link must not hold a name or a password."
    return ""


def files_problem(uploads: Sequence[Upload], settings: Settings) -> str:
    """What is wrong with the files, or nothing."""
    if len(uploads) > settings.capstone_files:
        return f"At most {settings.capstone_files} files are taken."
    for upload in uploads:
        name = files.clean_name(upload.name)
        if not upload.content:
            return f"{name} is empty."
        if len(upload.content) > settings.capstone_file_limit:
            return f"{name} has {len(upload.content):,} bytes; at most {settings.capstone_file_limit:,} are taken."
        if not files.kind_of(upload.content):
            kinds = ", ".join(files.KINDS.values())
            return f"{name} is none of what is taken: {kinds}. What a file is, its content says, not its name."
    return ""


def hand_in(session: Session, settings: Settings, user: str, track: str, given: HandIn) -> Capstone:
    """Keep the next version. The same text, links and files as the newest version are that version again.

    Raises `InvalidForm`. The bytes are stored first: a transaction that fails leaves files that no row names, which
    `sweep` removes, and never a row without its file.
    """
    problems = problems_of(given, settings)
    if problems:
        raise InvalidForm(problems)
    alone(session, user)  # two clicks at once come one after the other
    last = newest(session, user, track)
    if last is not None and _same(session, last, given):
        return last
    capstone = Capstone(
        id=new_id(),
        user_id=user,
        track=track,
        version=last.version + 1 if last else 1,
        text=given.text,
        links=given.links,
        submitted_at=now(),
    )
    session.add(capstone)
    session.flush()
    for number, upload in enumerate(given.uploads, start=1):
        session.add(_kept(settings.data, capstone.id, number, upload))
    session.flush()
    return capstone


def _kept(data: Path, capstone: str, number: int, upload: Upload) -> CapstoneFile:
    return CapstoneFile(
        id=new_id(),
        capstone_id=capstone,
        number=number,
        name=files.clean_name(upload.name),
        kind=files.kind_of(upload.content),
        size=len(upload.content),
        sha256=hashlib.sha256(upload.content).hexdigest(),
        stored=files.store(data, upload.content),
    )


def _same(session: Session, last: Capstone, given: HandIn) -> bool:
    """Whether a form is the newest version over again: a double click, a reload, a retry."""
    sums = session.scalars(
        select(CapstoneFile.sha256).where(CapstoneFile.capstone_id == last.id).order_by(CapstoneFile.number)
    ).all()
    mine = [hashlib.sha256(upload.content).hexdigest() for upload in given.uploads]
    return (last.text, last.links, list(sums)) == (given.text, given.links, mine)


def newest(session: Session, user: str, track: str) -> Capstone | None:
    """The newest version of somebody's capstone."""
    return session.scalar(
        select(Capstone)
        .where(Capstone.user_id == user, Capstone.track == track)
        .order_by(Capstone.version.desc())
        .limit(1)
    )


def versions(session: Session, user: str, track: str) -> list[Capstone]:
    """All versions of somebody's capstone, newest first."""
    query = select(Capstone).where(Capstone.user_id == user, Capstone.track == track)
    return list(session.scalars(query.order_by(Capstone.version.desc())))


def files_of(session: Session, capstone: str) -> list[CapstoneFile]:
    """The files of a version, in the order of the form."""
    query = select(CapstoneFile).where(CapstoneFile.capstone_id == capstone)
    return list(session.scalars(query.order_by(CapstoneFile.number)))


def sweep(database: Database, data: Path) -> int:
    """Delete the stored files that no row names; returns how many."""
    with database.read() as session:
        known = set(session.scalars(select(CapstoneFile.stored)))
        left = files.orphans(data, known)
    files.remove(data, left)
    return len(left)
