"""The words of the course and where they stand, compiled once with the snapshot."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from app.course.passages import SOURCES, Passage

TITLE, HEADING, TAG = 6.0, 3.0, 3.0  # of a word there, against one in the text
SOURCE = 0.4  # names and titles that are only cited
INSIDE_TITLE = 1.0  # the item's title, for passages below its head

SMALL = frozenset(["a", "an", "and", "at", "for", "in", "of", "on", "one", "that", "the", "to", "why", "with"])
WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Index:
    """`postings[word]` holds (number of a passage, weighted count). `vocabulary` is sorted, for beginnings."""

    passages: tuple[Passage, ...]
    titles: tuple[frozenset[str], ...]  # the words of each passage's title, without the small ones
    lengths: tuple[float, ...]
    postings: Mapping[str, tuple[tuple[int, float], ...]]
    vocabulary: tuple[str, ...]


def words_of(text: str) -> list[str]:
    """The words of a text as the index knows them: no case, no accents, no plural s."""
    return [stem(match.group()) for match in WORD.finditer(text)]


def stem(word: str) -> str:
    plain = unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode().lower() or word.lower()
    if len(plain) > 3 and plain.endswith("s") and not plain.endswith(("ss", "us", "is")):
        return plain[:-1]
    return plain


def build_index(passages: Iterable[Passage]) -> Index:
    """Index what can be searched."""
    kept = tuple(passages)
    postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
    lengths = []
    for number, passage in enumerate(kept):
        counts = _weighted(passage)
        lengths.append(sum(counts.values()))
        for word, count in counts.items():
            postings[word].append((number, count))
    titles = tuple(frozenset(words_of(passage.title)) - SMALL for passage in kept)
    frozen = MappingProxyType({word: tuple(each) for word, each in postings.items()})
    return Index(kept, titles, tuple(lengths), frozen, tuple(sorted(frozen)))


def _weighted(passage: Passage) -> dict[str, float]:
    counts: dict[str, float] = defaultdict(float)
    fields = [
        (passage.text, SOURCE if passage.heading == SOURCES else 1.0),
        (passage.title, INSIDE_TITLE if passage.heading else TITLE),
        (passage.heading, HEADING),
        (" ".join(passage.tags), TAG),
    ]
    for text, weight in fields:
        for word in words_of(text):
            counts[word] += weight
    return counts
