"""The typed contexts of `app/templates/submissions/capstone.html` and `capstone_version.html`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from markupsafe import Markup

from app.course.models import Criterion
from app.submissions.grades.pages import Feedback


@dataclass(frozen=True)
class FileLine:
    """A file of a version. Its address sends it as an attachment."""

    href: str
    name: str
    kind: str  # what its content is
    size: int


@dataclass(frozen=True)
class Handed:
    """The content of one version, for reading."""

    text: Markup  # cleaned
    links: tuple[str, ...]  # http and https only
    files: tuple[FileLine, ...]


@dataclass(frozen=True)
class VersionLine:
    """A version in the list of them."""

    href: str
    number: int
    submitted_at: datetime
    points: int | None  # None while it waits, and for good when a newer one came before anybody scored it
    possible: int
    waits: bool  # it is the newest, and nobody has scored it


@dataclass(frozen=True)
class CapstonePage:
    """`submissions/capstone.html`. Posts `text`, `links` and `files` to its own address as multipart."""

    track: str  # its title
    track_href: str
    action: str
    brief: Markup  # what the track asks for
    rubric: tuple[Criterion, ...]
    points: int
    text: str  # what was typed, else the newest version, to go on from
    links: str
    versions: tuple[VersionLine, ...]  # newest first
    feedback: Feedback | None  # about the newest version; None before the first
    files_most: int
    file_limit: int
    stylesheets: tuple[str, ...]
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CapstoneVersionPage:
    """`submissions/capstone_version.html`: one version with what was said about it."""

    number: int
    track: str
    track_href: str
    capstone_href: str  # all versions; empty for an admin who looks at somebody else's
    desk_href: str  # for admins
    by: str | None  # whose it is, when that is not the viewer
    submitted_at: datetime
    handed: Handed
    feedback: Feedback
    newest: str  # address of the newest version, when there is a newer one
