"""What an author may write: the strict schemas of front matter and of course.toml.

An unknown key, a wrong type or a value out of range is a problem with its line, never a guess.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, StringConstraints, ValidationError

from app.course.models import Access, Level
from app.course.problems import Problem
from app.course.source import Document, Loc

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$", max_length=64)]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Step = Annotated[str, StringConstraints(pattern=r"^(card|question|drill):[a-z0-9]+(?:[-_][a-z0-9]+)*$")]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SourceMeta(Strict):
    """A primary source. `id` is what the text cites: [@id]."""

    id: Id
    authors: Text
    title: Text
    year: Annotated[int, Field(ge=1900, le=2100)]
    url: Annotated[HttpUrl, Field(strict=False)]
    read: Text


class PromptMeta(Strict):
    id: Id
    ask: Text
    answer: Text


class CriterionMeta(Strict):
    id: Id
    points: Annotated[int, Field(ge=1, le=100)]
    text: Text


class ItemMeta(Strict):
    title: Text
    topic: Id
    level: Annotated[Level, Field(strict=False)]
    minutes: Annotated[int, Field(ge=1, le=600)]
    tags: Annotated[list[Id], Field(min_length=1, max_length=8)]
    summary: Text
    requires: list[Id] = []  # cards to know first
    aliases: list[Id] = []  # ids this item had before; their addresses redirect
    draft: bool = False
    published: date | None = None  # the day it went out; the feed holds what has one
    sources: list[SourceMeta] = []


class CardMeta(ItemMeta):
    prompts: Annotated[list[PromptMeta], Field(min_length=1)]
    sources: Annotated[list[SourceMeta], Field(min_length=1)]


class QuestionMeta(ItemMeta):
    concepts: Annotated[list[Id], Field(min_length=1)]
    rubric: Annotated[list[CriterionMeta], Field(min_length=1)]


class TrackMeta(ItemMeta):
    steps: Annotated[list[Step], Field(min_length=2)]
    prompts: Annotated[list[PromptMeta], Field(min_length=1)]
    sources: Annotated[list[SourceMeta], Field(min_length=1)]
    rubric: Annotated[list[CriterionMeta], Field(min_length=1)]


class TopicMeta(Strict):
    id: Id
    name: Text
    summary: Text
    outcomes: list[Text] = []
    tracks: list[Id] = []
    cards: list[Id] = []
    questions: list[Id] = []


class AccessMeta(Strict):
    open_answers: Annotated[int, Field(ge=0)]
    member_answers: Annotated[int, Field(ge=0)]
    overrides: dict[Id, Annotated[Access, Field(strict=False)]] = {}  # of answers, by question
    drills_by_needs: bool = False  # work on a drill opens when the drills that it needs are passed
    drills: dict[Id, Annotated[Access, Field(strict=False)]] = {}  # of work on single drills


class CourseMeta(Strict):
    version: Literal[1]
    title: Text
    access: AccessMeta
    topics: Annotated[list[TopicMeta], Field(min_length=1)]


M = TypeVar("M", bound=Strict)


def validate(model: type[M], document: Document) -> tuple[M | None, list[Problem]]:
    """The front matter as its model, or every reason why it is not, each with its line."""
    return validate_data(model, document.meta, document.file, document.line_of)


def validate_data(model: type[M], data: dict[str, Any], file: str, line_of: Any) -> tuple[M | None, list[Problem]]:
    """As `validate`, for data from anywhere. `line_of` maps a pydantic location to a line."""
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        return None, [_problem(file, line_of, details) for details in error.errors()]


def _problem(file: str, line_of: Any, details: Any) -> Problem:
    loc: Loc = tuple(details["loc"])
    name = ".".join(str(part) for part in loc) or "the front matter"
    kind: str = details["type"]
    if kind == "extra_forbidden":
        return Problem(file, line_of(loc), "schema", f"unknown key '{name}'", "remove it or mend its spelling")
    if kind == "missing":
        return Problem(file, line_of(loc), "schema", f"'{name}' is missing", "add it")
    return Problem(file, line_of(loc), "schema", f"'{name}' is not valid: {details['msg']}", "mend the value")
