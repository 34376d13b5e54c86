"""Search over the course: an index compiled with the snapshot, asked through what the reader may see.

Ranking is BM25 over passages with weighted fields; an item is as good as its best passage. How rare a word is gets
counted over visible passages only, so that not even the order of results depends on guarded text.
docs/adr/0011-search-in-the-snapshot.md has the measurements behind this.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, takewhile

from app.course.access import View
from app.course.index import WORD, Index, stem, words_of
from app.course.models import Item, Kind, Question
from app.course.passages import Passage, Shelf

LONGEST_QUERY = 200  # characters; what stands behind is not read
MOST_TOKENS = 10
MOST_COMPLETIONS = 24  # words that a beginning may stand for
COMPLETED = 0.6  # what a completed word counts against a whole one
SHORTEST_BEGINNING = 2
TITLED = 8.0  # shared by the words of a title
SECTION = 0.5  # of that, for a passage below the head of its item
SHARES = {Shelf.TAG: 0.5, Shelf.TERM: 0.8}  # of that, so that what teaches comes before what only names
K1, B = 1.2, 0.6  # BM25
SNIPPET_WORDS = 30


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of a snippet; `hit` where the query matched."""

    text: str
    hit: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """One item that was found, by its best passage."""

    passage: Passage
    score: float
    title: tuple[Piece, ...]
    snippet: tuple[Piece, ...]


def shows(view: View, passage: Passage) -> bool:
    """Whether this reader may find the passage."""
    if passage.shelf is Shelf.TAG:
        return any(passage.id in item.tags for item in _items(view))
    if passage.shelf is Shelf.TOPIC:
        return passage.id in view.topics
    if passage.link is None:
        return passage.id in view.terms
    if passage.link.kind is Kind.DRILL:
        return passage.id in view.drills and (not passage.guarded or view.may_read_editorial(passage.id))
    item = view.item(passage.link)
    if item is None:
        return False
    return not passage.guarded or (isinstance(item, Question) and view.may_read_answer(item))


def _items(view: View) -> Iterator[Item]:
    yield from view.cards.values()
    yield from view.questions.values()
    yield from view.tracks.values()


def search(index: Index, view: View, query: str, most: int) -> list[Hit]:
    """The items that this reader may see and that fit the query best; one that lacks a word only if all do."""
    wanted = list(dict.fromkeys(words_of(query[:LONGEST_QUERY])))[:MOST_TOKENS]
    if not wanted:
        return []
    visible = _Visible(index, view)
    scores: dict[int, float] = defaultdict(float)
    matched: dict[tuple[str, str], set[str]] = defaultdict(set)
    forms: set[str] = set()
    for place, token in enumerate(wanted):
        for word, share in visible.forms(token, last=place == len(wanted) - 1):
            forms.add(word)
            for number, score in visible.scored(word):
                scores[number] += score * (1 if word in index.titles[number] else share) + _in_title(
                    index, number, word
                )
                matched[index.passages[number].owner].add(token)
    full = max((len(tokens) for tokens in matched.values()), default=0)
    best: dict[tuple[str, str], int] = {}
    for number in sorted(scores, key=lambda number: (-scores[number], number)):
        owner = index.passages[number].owner
        if len(matched[owner]) == full:
            best.setdefault(owner, number)
    return [_hit(index.passages[number], scores[number], forms) for number in list(best.values())[:most]]


def _in_title(index: Index, number: int, word: str) -> float:
    """What a word of the title adds: the more of the title it is, and the most for the head of an item."""
    title, passage = index.titles[number], index.passages[number]
    if word not in title:
        return 0.0
    share = SECTION if passage.heading else SHARES.get(passage.shelf, 1.0)
    return TITLED / len(title) * share


class _Visible:
    """The part of the index that one reader may see. Nothing else of it is looked at, for counts neither."""

    def __init__(self, index: Index, view: View) -> None:
        self._index = index
        self._shown = [shows(view, passage) for passage in index.passages]
        self._total = sum(self._shown)
        lengths = [length for length, shown in zip(index.lengths, self._shown, strict=True) if shown]
        self._average = sum(lengths) / max(self._total, 1)

    def forms(self, token: str, *, last: bool) -> list[tuple[str, float]]:
        """The word itself, and what it may be the beginning of: while it is typed, or when it is no word here."""
        found = [(token, 1.0)] if self._postings(token) else []
        if (last or not found) and len(token) >= SHORTEST_BEGINNING:
            vocabulary = self._index.vocabulary
            rest = islice(vocabulary, bisect_left(vocabulary, token), None)
            begun = takewhile(lambda word: word.startswith(token), rest)
            longer = (word for word in begun if word != token and self._postings(word))
            found += [(word, COMPLETED) for word in islice(longer, MOST_COMPLETIONS)]
        return found

    def scored(self, word: str) -> list[tuple[int, float]]:
        """BM25 of the word in each visible passage that has it."""
        postings, lengths = self._postings(word), self._index.lengths
        rarity = math.log(1 + (self._total - len(postings) + 0.5) / (len(postings) + 0.5))
        return [
            (number, rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * lengths[number] / self._average)))
            for number, count in postings
        ]

    def _postings(self, word: str) -> list[tuple[int, float]]:
        return [(number, count) for number, count in self._index.postings.get(word, ()) if self._shown[number]]


def _hit(passage: Passage, score: float, forms: set[str]) -> Hit:
    return Hit(passage, score, tuple(_pieces(passage.title, forms)), tuple(_snippet(passage.text, forms)))


def _snippet(text: str, forms: set[str]) -> list[Piece]:
    """The stretch of words with the most different hits, the first such stretch, with … where it was cut."""
    words = list(re.finditer(r"\S+", text))
    hits = [frozenset(words_of(word.group())) & forms for word in words]
    starts = range(max(len(words) - SNIPPET_WORDS, 0) + 1)
    start = max(starts, key=lambda at: (len(frozenset().union(*hits[at : at + SNIPPET_WORDS])), -at), default=0)
    first = next((at for at in range(start, len(words)) if hits[at]), start)
    start = max(min(first - 4, len(words) - SNIPPET_WORDS), 0)
    chosen = words[start : start + SNIPPET_WORDS]
    if not chosen:
        return []
    pieces = _pieces(text[chosen[0].start() : chosen[-1].end()], forms)
    before = [Piece("… ", False)] if start else []
    after = [Piece(" …", False)] if start + SNIPPET_WORDS < len(words) else []
    return [*before, *pieces, *after]


def _pieces(text: str, forms: set[str]) -> list[Piece]:
    pieces, end = [], 0
    for match in WORD.finditer(text):
        if stem(match.group()) in forms:
            pieces += [Piece(text[end : match.start()], False), Piece(match.group(), True)]
            end = match.end()
    return [piece for piece in (*pieces, Piece(text[end:], False)) if piece.text]
