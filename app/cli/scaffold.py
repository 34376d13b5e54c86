"""`tilewright new concept|question|drill`: files that pass every check from the start, for an author to rewrite.

A new card or question is a draft, which only authors see, and is listed in course.toml. Nothing is overwritten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

from app.course.compile import compile_course
from app.course.course_file import FILE
from app.course.drills import read_drills
from app.course.schema import Id
from app.course.snapshot import Snapshot
from app.errors import InvalidForm
from app.settings import Settings

TEMPLATES = Path(__file__).parent / "scaffolds"
FOLDERS = {"concept": "concepts", "question": "questions"}
SHELVES = {"concept": "cards", "question": "questions"}
ITEM_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
DRILL_ID = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


def begin(kind: str, name: str, topic: str, settings: Settings) -> Iterator[tuple[Path, str]]:
    """Write the files, and say of each what to do with it next. Raises `InvalidForm`."""
    compiled = compile_course(settings.content, read_drills(settings.drills))
    if compiled.snapshot is None:
        raise InvalidForm({"content": "The content has problems; mend them first: tilewright check content"})
    if kind == "drill":
        yield from ((path, "") for path in new_drill(name, topic, settings.drills, compiled.snapshot))
        yield settings.drills / name, f"rewrite it, then: tilewright check drills {name} --write"
    else:
        path, listed = new_item(kind, name, topic, settings.content, compiled.snapshot, datetime.now(UTC).date())
        yield path, "rewrite it, check it with tilewright check content, and remove draft: true when it may go out"
        yield listed, "it stands last in its topic; move it to where it belongs"


def new_item(kind: str, name: Id, topic: str, content: Path, course: Snapshot, today: date) -> list[Path]:
    """A card or question as a draft, and its place in course.toml. Raises `InvalidForm` for what cannot be."""
    _check(ITEM_ID, name, "lower-case words joined by hyphens")
    if topic not in course.topics:
        raise InvalidForm({"topic": f"There is no topic {topic}; there are {', '.join(course.topics)}."})
    cards = course.topics[topic].cards or tuple(course.cards)
    if kind == "question" and not cards:
        raise InvalidForm({"topic": "A question builds on a card, and there is none yet."})
    tags = sorted({tag for card in course.cards.values() for tag in card.tags})
    path = content / FOLDERS[kind] / f"{name}.md"
    if path.exists():
        raise InvalidForm({"name": f"{path} is there already."})
    words = {"TOPIC": topic, "TODAY": today.isoformat(), "TITLE": name.replace("-", " ").capitalize()}
    words |= {"TAG": tags[0] if tags else topic, "CARD": cards[0] if cards else ""}
    listed = listed_in((content / FILE).read_text(encoding="utf-8"), topic, SHELVES[kind], name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(_filled((TEMPLATES / f"{kind}.md").read_text(encoding="utf-8"), words), encoding="utf-8")
    (content / FILE).write_text(listed, encoding="utf-8")
    return [path, content / FILE]


def new_drill(name: str, topic: str, drills: Path, course: Snapshot) -> list[Path]:
    """A small numeric drill that the gate accepts once its kill matrix is written. Raises `InvalidForm`."""
    _check(DRILL_ID, name, "lower-case words joined by underscores")
    if topic not in course.topics:
        raise InvalidForm({"topic": f"There is no topic {topic}; there are {', '.join(course.topics)}."})
    folder = drills / name
    if folder.exists():
        raise InvalidForm({"name": f"{folder} is there already."})
    words = {"TOPIC": topic, "TITLE": name.replace("_", " ").capitalize(), "NAME": name}
    return list(_copied(TEMPLATES / "drill", folder, words))


def listed_in(text: str, topic: str, key: str, name: str) -> str:
    """course.toml with `name` at the end of the list `key` of a topic; the rest of the file stays as it is."""
    start = re.search(
        rf'^\[\[topics\]\]\s*\n(?:(?!\[\[).*\n)*?id\s*=\s*"{re.escape(topic)}".*\n', text, re.MULTILINE
    )
    if start is None:
        raise InvalidForm({"topic": f"{FILE} has no topic {topic} that opens with its id."})
    end = text.find("[[topics]]", start.end())
    block = text[start.end() : end if end >= 0 else len(text)]
    found = re.search(rf"^{key}\s*=\s*\[(?P<inside>[^\]]*)\]", block, re.MULTILINE)
    if found is None:
        return f'{text[: start.end()]}{key} = ["{name}"]\n{text[start.end() :]}'
    inside = found["inside"]
    several = "\n" in inside
    kept = inside.rstrip().rstrip(",")
    joined = f'{kept},\n    "{name}",\n' if several else f'{kept}, "{name}"' if kept else f'"{name}"'
    at = start.end() + found.start("inside")
    return text[:at] + joined + text[at + len(inside) :]


def _copied(source: Path, target: Path, words: dict[str, str]) -> Iterator[Path]:
    for path in sorted(source.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            copy = target / path.relative_to(source).with_suffix("" if path.suffix == ".txt" else path.suffix)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(_filled(path.read_text(encoding="utf-8"), words), encoding="utf-8")
            yield copy


def _filled(text: str, words: dict[str, str]) -> str:
    return re.sub(r"@([A-Z]+)@", lambda match: words[match[1]], text)


def _check(pattern: re.Pattern[str], name: str, form: str) -> None:
    if not pattern.fullmatch(name) or len(name) > 64:
        raise InvalidForm({"name": f"{name!r} is not an id: use {form}."})
