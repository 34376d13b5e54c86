"""The compiled course: one immutable value, and the store that swaps it for a newer one.

A reader of a page holds one `Snapshot` for the whole request; a reload replaces the store's reference and touches
nothing that is already in use.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from app.course.index import Index
from app.course.models import Card, DrillRef, Item, Kind, Link, Policy, Question, Section, Term, Topic, Track
from app.course.worked import Worked


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything the course says. Mappings are read-only and in course order. `digest` names this state."""

    title: str
    topics: Mapping[str, Topic]
    cards: Mapping[str, Card]
    questions: Mapping[str, Question]
    tracks: Mapping[str, Track]
    terms: Mapping[str, Term]
    drills: Mapping[str, DrillRef]
    statements: Mapping[str, Markup]  # of the drills, by id
    editorials: Mapping[str, tuple[Section, ...]]  # of the drills that have one; shown after a pass, never before
    worked: Mapping[str, tuple[Worked, ...]]  # the blocks of each file, in reading order
    search: Index
    aliases: Mapping[Link, Link]
    policy: Policy
    math_css: str  # one rule per declaration that the formulas need
    digest: str

    @property
    def math_digest(self) -> str:
        """Names the stylesheet by its content."""
        return hashlib.sha256(self.math_css.encode()).hexdigest()[:12]

    def item(self, link: Link) -> Item | None:
        """The card, question or track behind a link; None for drills and for what does not exist."""
        shelves: dict[Kind, Mapping[str, Item]] = {
            Kind.CARD: self.cards,
            Kind.QUESTION: self.questions,
            Kind.TRACK: self.tracks,
        }
        return shelves[link.kind].get(link.id) if link.kind in shelves else None
