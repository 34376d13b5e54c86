"""What a text can refer to, and what is learnt of one page while it is rendered."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.course.excerpts import Excerpt, Shelf
from app.course.figures import Figure
from app.course.formulas import Stylesheet
from app.course.listings import Listing
from app.course.models import Kind, Link
from app.course.problems import Problem
from app.course.worked import Worked
from grader.hints import KillMatrix

ITEM_LINK = re.compile(r"(card|question|track|drill):([a-z0-9][a-z0-9_-]*)(?:#([a-z0-9-]+))?")
ITEM_ADDRESS = re.compile(r"/(card|question|track|drill)s/([a-z0-9][a-z0-9_-]*)(?:#([a-z0-9-]+))?")

# Anchors that the page templates use themselves.
RESERVED = frozenset(["main", "check", "sources", "answer", "note", "rubric", "attempt", "discussion", "top"])


@dataclass(frozen=True, slots=True)
class Scope:
    """Everything in the course that has an address. Titles are plain text."""

    items: Mapping[Link, str]
    terms: Mapping[str, str]
    topics: Mapping[str, str]
    tags: frozenset[str]
    figures: Mapping[str, Figure]
    listings: Mapping[str, Listing]
    unfit: frozenset[str] = frozenset()  # figures and listings whose files have problems of their own


@dataclass(frozen=True, slots=True)
class Mention:
    """A link from a page to a place in another item, kept until every page's anchors are known."""

    file: str
    line: int
    link: Link
    anchor: str


@dataclass(slots=True)
class Page:
    """One file on its way to HTML: filled by the renderer, read by the compiler. `sources` are ids in order."""

    file: str
    scope: Scope
    styles: Stylesheet
    sources: tuple[str, ...] = ()
    sourced: bool = False  # numbers with a unit need no worked block: a contract states its own
    shelf: Shelf | None = None  # the files whose code it may show: an editorial's
    matrix: KillMatrix | None = None  # of the editorial's drill
    excerpts: list[Excerpt] = field(default_factory=list)
    worked: dict[str, Worked] = field(default_factory=dict)
    unfit: set[str] = field(default_factory=set)  # worked blocks with problems of their own
    anchors: set[str] = field(default_factory=set)
    cited: set[str] = field(default_factory=set)
    figures: set[str] = field(default_factory=set)
    listings: set[str] = field(default_factory=set)
    quoted: set[str] = field(default_factory=set)  # listings whose cells the text cites
    terms: set[str] = field(default_factory=set)
    mentions: list[Mention] = field(default_factory=list)
    words: list[str] = field(default_factory=list)  # plain text of what was rendered since `take_words`
    problems: list[Problem] = field(default_factory=list)
    first_line: int = 1  # of the text that is being rendered

    def report(self, line: int, rule: str, what: str, fix: str) -> None:
        self.problems.append(Problem(self.file, line, rule, what, fix))

    def take_words(self) -> str:
        """The plain text gathered so far, and forget it."""
        text = re.sub(r"\s+", " ", " ".join(self.words)).strip()
        self.words.clear()
        return text

    def claim(self, anchor: str, line: int) -> str:
        """Take an anchor for this page; reports one that is taken."""
        if anchor in RESERVED or anchor in self.anchors:
            self.report(line, "anchor", f"the anchor '{anchor}' stands twice in the page", "rename one heading")
        self.anchors.add(anchor)
        return anchor


def slug(text: str) -> str:
    """A heading's anchor: lower-case words joined by hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower().replace("'", "")).strip("-") or "section"


def parse_link(target: str) -> tuple[Link, str] | None:
    """`card:online-softmax#the-guard` as (link, anchor); None when it does not name an item.

    The address itself, `/cards/online-softmax`, means the same: statements of drills are read elsewhere too.
    """
    match = ITEM_LINK.fullmatch(target) or ITEM_ADDRESS.fullmatch(target)
    return (Link(Kind(match[1]), match[2]), match[3] or "") if match else None
