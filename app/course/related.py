"""What to read beside an item: other items that share marks with it, of those that the reader may see."""

from __future__ import annotations

import math
from collections import Counter

from app.course.access import View
from app.course.models import Item, Kind, Link, Question, Track

CONCEPT_WEIGHT = 2.0  # sharing a concept says more than sharing a tag
MOST = 6


def link_of(item: Item) -> Link:
    """The address of any item."""
    kind = Kind.QUESTION if isinstance(item, Question) else Kind.TRACK if isinstance(item, Track) else Kind.CARD
    return Link(kind, item.id)


def related(view: View, item: Item) -> list[Item]:
    """Other items that share tags and concepts with this one, the closest first. Rare marks weigh more."""
    everything = [*view.cards.values(), *view.questions.values(), *view.tracks.values()]
    counts = Counter(mark for each in everything for mark in marks(each))
    here = marks(item)
    named = {*item.requires, link_of(item)}
    scored = [
        (-overlap(here, marks(each), counts, len(everything)), order, each)
        for order, each in enumerate(everything)
        if link_of(each) not in named
    ]
    return [each for score, _, each in sorted(scored, key=lambda entry: entry[:2]) if score < 0][:MOST]


def rank_concepts(view: View, question: Question) -> list[Item]:
    """The cards that a question builds on, the most overlapping first; ties keep the author's order."""
    cards = [view.cards[name] for name in question.concepts if name in view.cards]
    counts = Counter(mark for card in view.cards.values() for mark in marks(card))
    here = marks(question)
    return sorted(cards, key=lambda card: -overlap(here, marks(card), counts, len(view.cards)))


def marks(item: Item) -> frozenset[str]:
    """What an item is about: its tags, and the concepts that it is, needs or builds on."""
    concepts = {link.id for link in item.requires}
    if isinstance(item, Question):
        concepts.update(item.concepts)
    elif isinstance(item, Track):
        concepts.update(link.id for link in item.steps if link.kind is Kind.CARD)
    else:
        concepts.add(item.id)
    return frozenset([*(f"tag:{tag}" for tag in item.tags), *(f"card:{name}" for name in concepts)])


def overlap(here: frozenset[str], there: frozenset[str], counts: Counter[str], total: int) -> float:
    """Shared marks, each weighed by how rare it is among `total` items."""
    return sum(
        (CONCEPT_WEIGHT if mark.startswith("card:") else 1.0) * math.log(1 + total / max(counts[mark], 1))
        for mark in here & there
    )
