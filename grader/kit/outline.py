"""What a machine can say of an outline in words: that it is empty, copied, a list of keywords, or lacks a part.

Each value must name a mechanism (what happens) and a decision (what is done, and why); where it has no quantity
(how much, how often, how precise), the decision must be argued. The lists of words are wide on purpose: a person
scores what it is worth, a machine only sends back what there would be nothing to score in. It reads English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from grader.kit.checked import Mark, Report
from grader.kit.served import Foreign

LEAST_WORDS = 8
MOST_CHARACTERS = 20_000
SHINGLE = 5  # words in a row: a run that two texts share by more than chance
COPIED = 0.5  # of the runs of a value; more are not the writer's own
SAME = 0.6  # of the runs of two values
PROSE = 0.1  # words that only sentences need, at least
BITS = 0.8  # words that stand alone or in pairs between commas, at most; items of a list are such too
VARIED = 0.35  # of the words are different ones, at least

SMALL = (
    "a after all an and any are as at be because been before both but by can each else every for from "
    "goes has have how i if in into is it its just may more most must no not of off on once one only or "
    "other our out over own per rather same since so than that the their them then there these they this "
    "those through to too twice under until up use used uses we what when where which while whose will "
    "with within without would you"
)
SMALL_WORDS = frozenset(SMALL.split())
QUANTITY = re.compile(
    r"\d|[²³√∞≤≥×]|\bo\(|\b[a-z]\s*[*/^·]\s*[a-z]\b|\b(?:exp|log2?|two|three|four|eight|sixteen|half|halves|twice|once|"
    r"double[sd]?|zero|quarter|linear(?:ly)?|quadratic(?:ally)?|square[sd]?|constant)\b"
)
# A decision that is argued, or has a condition; and one that is only said, which a figure has to make concrete.
ARGUED = re.compile(
    r"\b(?:because|since|so|instead|rather|therefore|hence|in order to|to avoid|avoid\w*|never|always|must|only|if|"
    r"when|whenever|unless|until|before|keep\w*|kept|choos\w+|chose\w*|prefer\w*|recomput\w+|subtract\w*|return\w*|"
    r"test\w*|check\w*|catch\w*|caught|detect\w*|guard\w*|compar\w+|assert\w*|verif\w+|reject\w*|refus\w+|outer|"
    r"inner|stay\w*|resid\w+|rescal\w+|clamp\w*|fit|fits|sized|accept\w*|trad\w+|fall\w* back)\b"
)
SAID = re.compile(
    r"\b(?:us(?:e|es|ed|ing)|we|i|hold\w*|held|split\w*|stream\w*|set|limit\w*|put\w*|assign\w*|stor\w+|writ\w+|"
    r"skip\w*|fus\w+|shar\w+|swap\w*|mask\w*|divid\w+|mitigat\w+|load\w*|fix\w*|read\w*|loop\w*|iterat\w+|inside|per)\b|\w\s*=\s*\d"
)
PARTS = {
    "mechanism": "Which mechanism? Say what happens, and to what: what is read or kept, by whom, at which step.",
    "quantity": "How much? Give a number or a formula: bytes, lengths, how often, how precise.",
    "decision": "What do you decide? Say what is done, and because of what, or instead of what.",
}


def read(value: object, keys: Mapping[str, Sequence[str]], given: Sequence[str]) -> Report:
    """The report on an outline: a dict of texts, with these keys, each with stems of words that name a mechanism.

    `given` are the texts that the learner had before them. A value may be a text, or a list or dict of texts and
    numbers.
    """
    if not isinstance(value, dict):
        kind = value.type_name if isinstance(value, Foreign) else type(value).__name__
        return Report(False, f"An outline is a dict of texts, not {kind}.", features=("no_dict",))
    texts = {key: flat(value[key]) if key in value else None for key in keys}
    shown = set().union(*(runs(text) for text in given))
    found = [mark for key in keys for mark in _marks(key, texts, keys[key], shown)]
    missing = [mark for mark in found if not mark.ok and mark.name != "quantity"]
    if not missing:
        bare = _listed([mark.group for mark in found if not mark.ok])
        remark = f" It saw no quantity in {bare}, and so may they." if bare else ""
        words = (
            "The automatic part has passed: every value names a mechanism and a decision. "
            f"A person scores the outline with the rubric.{remark}"
        )
        return Report(True, words, tuple(found), by_person=True)
    lacking = [key for key in keys if any(mark.group == key for mark in missing)]
    return Report(
        False,
        f"Not yet for a person to score: something is missing in {_listed(lacking)}.",
        tuple(found),
        features=tuple(sorted({mark.name for mark in missing})),
        question=next((PARTS[mark.name] for mark in missing if mark.name in PARTS), ""),
    )


def flat(value: object) -> str | None:
    """All texts and numbers in a value, as one text; ``None`` if there is anything else in it."""
    if isinstance(value, str):
        return value[:MOST_CHARACTERS]
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, dict):
        value = [part for pair in value.items() for part in pair]
    if isinstance(value, list):
        parts = [flat(item) for item in value]
        return None if None in parts else "\n".join(part for part in parts if part)[:MOST_CHARACTERS]
    return None


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z][a-z0-9_'’-]*", text.lower())


def in_bits(text: str) -> float:
    """The share of words that stand alone or in pairs between commas and line ends."""
    sizes = [len(words_of(bit)) for bit in re.split(r"[,;\n]", text)]
    return sum(size for size in sizes if size <= 2) / max(1, sum(sizes))


def runs(text: str | None) -> set[tuple[str, ...]]:
    """All runs of a few words in a text."""
    words = words_of(text or "")
    return {tuple(words[i : i + SHINGLE]) for i in range(len(words) - SHINGLE + 1)}


def _marks(
    key: str, texts: Mapping[str, str | None], stems: Sequence[str], shown: set[tuple[str, ...]]
) -> Iterator[Mark]:
    """One mark for what makes a value worthless, or three for its parts."""
    fault = _worthless(key, texts, shown)
    if fault is not None:
        yield Mark(key, *fault)
        return
    text = (texts[key] or "").lower()
    figures = QUANTITY.search(text) is not None
    named = {
        "mechanism": any(re.search(rf"(?<![a-z]){re.escape(stem)}", text) for stem in stems),
        "quantity": figures,
        "decision": ARGUED.search(text) is not None or (figures and SAID.search(text) is not None),
    }
    for part, there in named.items():
        yield Mark(key, part, there, "" if there else PARTS[part])


def _worthless(
    key: str, texts: Mapping[str, str | None], shown: set[tuple[str, ...]]
) -> tuple[str, bool, str] | None:
    """Why there is nothing to look for parts in: (what, False, words)."""
    if key not in texts or texts[key] is None:
        return "missing", False, "The key is missing, or its value is no text."
    words, own = words_of(texts[key] or ""), runs(texts[key])
    if not words:
        return "empty", False, "It says nothing yet."
    if len(words) < LEAST_WORDS:
        return "short", False, f"{len(words)} words can't name a mechanism, a quantity and a decision."
    if sum(word in SMALL_WORDS for word in words) < PROSE * len(words) or in_bits(texts[key] or "") > BITS:
        return "keywords", False, "It is a list of keywords. Say in sentences what is done with them."
    if len(set(words)) < VARIED * len(words):
        return "repeated", False, "It says the same words again and again."
    if len(own & shown) > COPIED * len(own):
        return "copied", False, "Most of it stands in the statement or the starter. What is your design?"
    for other, text in texts.items():
        theirs = runs(text)
        if other != key and len(own & theirs) > SAME * min(len(own), len(theirs) or 1):
            return "same", False, f"It says what {other} says."
    return None


def _listed(keys: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(keys[:-1]), *keys[-1:])))
