"""The content folder as read from disk: every file parsed and checked on its own, nothing rendered yet."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from app.course.course_file import FILE, TomlLines, read_course
from app.course.figures import Figure, read_figure
from app.course.listings import Listing, read_listing
from app.course.models import Kind, Link
from app.course.problems import Problem
from app.course.schema import CardMeta, CourseMeta, ItemMeta, QuestionMeta, TrackMeta, validate
from app.course.scope import slug
from app.course.source import Document, read_document, read_text

GLOSSARY = "glossary.md"
GUIDE = "README.md"
FOLDERS = {
    "concepts": (".md",),
    "questions": (".md",),
    "tracks": (".md",),
    "figures": (".svg",),
    "listings": (".py", ".csv"),
}
ID = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")

M = TypeVar("M", bound=ItemMeta)


@dataclass(frozen=True, slots=True)
class Authored(Generic[M]):
    """A file whose front matter is valid."""

    link: Link
    document: Document
    meta: M


@dataclass(slots=True)
class Folder:
    """What a content folder holds. `course` is None when course.toml is unfit."""

    course: CourseMeta | None = None
    lines: TomlLines = field(default_factory=lambda: TomlLines(""))
    cards: list[Authored[CardMeta]] = field(default_factory=list)
    questions: list[Authored[QuestionMeta]] = field(default_factory=list)
    tracks: list[Authored[TrackMeta]] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)
    listings: dict[str, Listing] = field(default_factory=dict)
    unfit: set[str] = field(default_factory=set)  # names of figures and listings that could not be read
    glossary: str = ""
    links: list[Link] = field(default_factory=list)  # of every item file, fit or not
    terms: dict[str, str] = field(default_factory=dict)  # id → name
    problems: list[Problem] = field(default_factory=list)

    @property
    def items(self) -> list[Authored[CardMeta] | Authored[QuestionMeta] | Authored[TrackMeta]]:
        return [*self.cards, *self.questions, *self.tracks]


def read_folder(root: Path) -> Folder:
    """Read everything under `root`; problems are collected in the result."""
    folder = Folder()
    folder.course, folder.lines, problems = read_course(root)
    folder.problems.extend(problems)
    _stray(root, folder)
    folder.cards = _items(root, "concepts", Kind.CARD, CardMeta, folder)
    folder.questions = _items(root, "questions", Kind.QUESTION, QuestionMeta, folder)
    folder.tracks = _items(root, "tracks", Kind.TRACK, TrackMeta, folder)
    for path in sorted((root / "figures").glob("*.svg")):
        figure, problems = read_figure(path, root)
        folder.problems.extend(problems)
        if figure is None:
            folder.unfit.add(path.stem)
        else:
            folder.figures[figure.id] = figure
    for path in sorted((root / "listings").glob("*.py")):
        listing, problems = read_listing(path, root)
        folder.problems.extend(problems)
        if listing is None:
            folder.unfit.add(path.stem)
        else:
            folder.listings[listing.name] = listing
    _read_glossary(root, folder)
    return folder


def _items(root: Path, name: str, kind: Kind, model: type[M], folder: Folder) -> list[Authored[M]]:
    found = []
    for path in sorted((root / name).glob("*.md")):
        document = read_document(path, root)
        folder.problems.extend(document.problems)
        if not ID.fullmatch(document.id):
            what = f"the file name '{path.name}' is not an id"
            folder.problems.append(Problem(document.file, 1, "id", what, "use lower-case words joined by hyphens"))
        folder.links.append(Link(kind, document.id))
        if document.problems:
            continue
        meta, problems = validate(model, document)
        folder.problems.extend(problems)
        if meta is not None:
            found.append(Authored(Link(kind, document.id), document, meta))
    return found


def _read_glossary(root: Path, folder: Folder) -> None:
    path = root / GLOSSARY
    if not path.is_file():
        return
    text, problem = read_text(path, root)
    if problem is not None:
        folder.problems.append(problem)
    folder.glossary = text
    for name in re.findall(r"^## (.+)$", text, flags=re.MULTILINE):
        folder.terms[slug(name)] = name.strip()


def _stray(root: Path, folder: Folder) -> None:
    """A file that nothing reads is a mistake: a wrong folder, a wrong ending, a forgotten copy."""
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        where = path.relative_to(root)
        if "__pycache__" in where.parts or path.name.startswith("."):
            continue
        parent, name = where.parent.as_posix(), where.name
        if parent == "." and name in (FILE, GLOSSARY, GUIDE):
            continue
        if path.suffix in FOLDERS.get(parent, ()):
            continue
        fix = "move it to concepts, questions, tracks, figures or listings, or remove it"
        folder.problems.append(Problem(where.as_posix(), 1, "stray", "nothing reads this file", fix))
