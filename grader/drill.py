"""What a drill says about itself: `drill.toml`, the statement and the starter. Cheap to load, for pages and
judge alike.

Nothing here imports NumPy or any code of a drill; `grader.suite` does that, and only the judge uses it. Every
problem of every drill is collected and said at once, as ``file:line: what; what to do``.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Kind = Literal["implement", "debug", "diagnose", "test_design", "numeric", "outline", "review", "design"]
Level = Literal["Foundational", "Core", "Advanced"]
Topic = Literal["kernels", "serving", "weights", "napkin", "hardware"]
Framework = Literal["numpy", "torch", "triton"]

Id = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
ContentId = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=64)]
Line = Annotated[str, Field(min_length=1, max_length=400)]


@dataclass(frozen=True)
class Problem:
    """One thing to mend in a drill's files."""

    file: str
    line: int | None
    what: str
    to_do: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.what}; {self.to_do}"


class DrillProblems(Exception):
    """Some drills can't be loaded; `problems` holds all reasons, one a line in the message."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class Strict(BaseModel):
    """Frozen; an unknown key or a value of another type is a problem, never ignored or converted."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Entry(Strict):
    """A function that the learner's file must define."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=64)]
    signature: Line


class Limits(Strict):
    """What one submission may use. Seconds are the judge's clock; memory is what the learner's code may
    allocate.
    """

    load_seconds: Annotated[float, Field(gt=0, le=60)] = 10.0
    call_seconds: Annotated[float, Field(gt=0, le=60)] = 10.0
    total_seconds: Annotated[float, Field(gt=0, le=300)] = 60.0
    memory_mib: Annotated[int, Field(ge=64, le=16_384)] = 1024
    output_kib: Annotated[int, Field(ge=1, le=65_536)] = 1024  # printed before the run is stopped


class Rules(Strict):
    """Rules that the judge checks by evidence from the run. ``None`` and false mean: not a rule of this drill."""

    written_by_kernel: bool = False  # the bytes returned were stored by the learner's own kernel
    loads_per_element: Annotated[int, Field(ge=1)] | None = None  # most loads of any input element
    loads_of: tuple[str, ...] = ()  # the parameters whose loads are limited; all arrays when empty
    stores_per_element: Annotated[int, Field(ge=1)] | None = None  # most stores of any output element
    inputs_unchanged: bool = True


class RubricItem(Strict):
    """One thing that a person scores: `text` says what, `full` what full points look like."""

    id: ContentId
    points: Annotated[int, Field(ge=1, le=100)]
    text: Line
    full: Line


class DrillFile(Strict):
    """The schema of `drill.toml`."""

    title: Line
    summary: Line
    kind: Kind
    level: Level
    topic: Topic
    minutes: Annotated[int, Field(ge=1, le=600)]
    framework: Framework
    also: tuple[Framework, ...] = ()  # frameworks that a file may choose instead, by importing them
    tags: Annotated[tuple[ContentId, ...], Field(min_length=1)]
    needs: tuple[Id, ...] = ()  # drills to pass first
    cards: tuple[ContentId, ...] = ()
    questions: tuple[ContentId, ...] = ()
    lanes: Annotated[tuple[Literal["cpu", "gpu"], ...], Field(min_length=1)] = ("cpu",)
    entries: Annotated[tuple[Entry, ...], Field(min_length=1)]
    limits: Limits = Limits()
    rules: Rules = Rules()
    objectives: Annotated[tuple[Line, ...], Field(min_length=1)]
    out_of_scope: tuple[Line, ...] = ()
    rubric: tuple[RubricItem, ...] = ()
    hints: tuple[Line, ...] = ()  # a ladder: each says a little more than the one before
    excused: dict[Id, Line] = {}  # universal faults and checks that make no sense here, each with the reason


class Drill(DrillFile):
    """A drill as the rest of the product sees it: its metadata, the two files a learner starts from, and the text
    that opens once it is passed. `editorial` is empty while none is written.
    """

    id: Id
    folder: Path
    statement: str
    starter: str
    editorial: str = ""

    def written_for(self, source: str) -> Drill:
        """This drill in the framework that the file `source` imports, of those it allows; else in its own."""
        imported = _imports(source) if self.also else frozenset()
        chosen = next((name for name in ("triton", "torch") if name in imported and name in self.also), None)
        return self if chosen is None else self.model_copy(update={"framework": chosen})


def _imports(source: str) -> frozenset[str]:
    """The top-level names of the modules that a file imports anywhere; none for text that is not Python."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return frozenset(name.split(".")[0] for name in names)


def load_drills(folder: Path) -> dict[str, Drill]:
    """All drills under `folder`, by id (the folder's name), in order of id. Raises `DrillProblems` if any is
    broken.
    """
    drills, problems = read_drills(folder)
    if problems:
        raise DrillProblems(problems)
    return drills


def read_drills(folder: Path) -> tuple[dict[str, Drill], list[Problem]]:
    """The drills that can be read, and the problems of those that can't or that need a drill which does not
    exist.
    """
    drills: dict[str, Drill] = {}
    problems: list[Problem] = []
    for path in sorted(folder.glob("*/drill.toml")):
        drill, found = read_drill(path.parent)
        problems += found
        if drill is not None:
            drills[drill.id] = drill
    problems += _bad_needs(drills)
    return drills, problems


def read_drill(folder: Path) -> tuple[Drill | None, list[Problem]]:
    """One drill, or ``None`` with the reasons."""
    path = folder / "drill.toml"
    label = f"{folder.name}/drill.toml"
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return None, [Problem(label, _line_in(error), f"can't be read: {error}", "mend the file")]
    problems: list[Problem] = []
    if not re.fullmatch(r"[a-z][a-z0-9_]*", folder.name):
        problems.append(Problem(folder.name, None, "is not a drill id", "use lower-case letters, digits and _"))
    names = ["statement.md", "starter.py"] + ["editorial.md"] * (folder / "editorial.md").exists()
    texts = {name: _read_text(folder / name, problems) for name in names}
    try:
        # JSON mode: strict about types, and it takes TOML's arrays as tuples.
        parsed = DrillFile.model_validate_json(json.dumps(data, default=str))
    except ValidationError as error:
        problems += [_problem(label, text, item) for item in _telling(error)]
        return None, problems
    problems += _disagreements(label, text, parsed)
    if problems:
        return None, problems
    fields = {name: getattr(parsed, name) for name in DrillFile.model_fields}
    return (
        Drill(
            id=folder.name,
            folder=folder,
            statement=texts["statement.md"],
            starter=texts["starter.py"],
            editorial=texts.get("editorial.md", ""),
            **fields,
        ),
        [],
    )


def _disagreements(label: str, text: str, parsed: DrillFile) -> list[Problem]:
    """What the schema can't say: fields that contradict each other."""
    found = []
    counted = parsed.rules.written_by_kernel or parsed.rules.loads_per_element or parsed.rules.stores_per_element
    if counted and "triton" not in (parsed.framework, *parsed.also):
        line = line_of(text, ("rules",))
        found.append(
            Problem(label, line, "these rules need a Triton kernel", 'set framework = "triton" or drop the rules')
        )
    if parsed.kind == "outline" and not parsed.rubric:
        found.append(
            Problem(label, line_of(text, ("kind",)), "an outline without a rubric", "add [[rubric]] items")
        )
    if len({item.id for item in parsed.rubric}) != len(parsed.rubric):
        found.append(Problem(label, line_of(text, ("rubric",)), "two rubric items have one id", "rename one"))
    if parsed.rubric and parsed.kind != "outline":
        found.append(
            Problem(label, line_of(text, ("rubric",)), "only an outline is scored by a person", "drop the rubric")
        )
    names = [entry.name for entry in parsed.entries]
    if len(set(names)) != len(names):
        found.append(Problem(label, line_of(text, ("entries",)), "an entry is named twice", "keep one"))
    if parsed.limits.call_seconds > parsed.limits.total_seconds:
        line = line_of(text, ("limits", "call_seconds"))
        found.append(Problem(label, line, "call_seconds is above total_seconds", "lower it"))
    return found


def _bad_needs(drills: dict[str, Drill]) -> list[Problem]:
    """Needs that name no drill, and needs that go in a circle."""
    problems = []
    for drill in drills.values():
        for need in drill.needs:
            if need not in drills:
                what = f"needs {need!r}, which is not a drill"
                problems.append(
                    Problem(f"{drill.id}/drill.toml", None, what, "name a folder of drills/ or drop it")
                )
        if drill.id in _all_needs(drill.id, drills):
            what = "needs itself through its prerequisites"
            problems.append(Problem(f"{drill.id}/drill.toml", None, what, "break the circle"))
    return problems


def _all_needs(start: str, drills: dict[str, Drill]) -> set[str]:
    seen: set[str] = set()
    todo = list(drills[start].needs)
    while todo:
        need = todo.pop()
        if need in drills and need not in seen:
            seen.add(need)
            todo += drills[need].needs
    return seen


def _read_text(path: Path, problems: list[Problem]) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problems.append(Problem(f"{path.parent.name}/{path.name}", None, f"can't be read: {error}", "add the file"))
        return ""
    if not text.strip():
        problems.append(Problem(f"{path.parent.name}/{path.name}", None, "is empty", "write it"))
    return text


def _telling(error: ValidationError) -> list[dict[str, Any]]:
    """The errors, without "too short" for a list that is so only because its items are wrong."""
    items: list[dict[str, Any]] = [dict(item) for item in error.errors()]
    places = [tuple(item["loc"]) for item in items]

    def echoed(loc: tuple[str | int, ...]) -> bool:
        return any(len(other) > len(loc) and other[: len(loc)] == loc for other in places)

    return [item for item in items if not (item["type"] == "too_short" and echoed(tuple(item["loc"])))]


def _problem(label: str, text: str, error: dict[str, Any]) -> Problem:
    """A pydantic error as a problem with the line of its field."""
    loc = tuple(part for part in error["loc"] if isinstance(part, (str, int)))
    field = ".".join(str(part) for part in loc) or "the file"
    advice = {
        "missing": "add it",
        "extra_forbidden": "remove it, or mend its spelling",
    }.get(str(error["type"]), f"got {error.get('input')!r:.80}")
    return Problem(label, line_of(text, loc), f"{field}: {error['msg'][0].lower()}{error['msg'][1:]}", advice)


def line_of(text: str, loc: tuple[str | int, ...]) -> int | None:
    """The line (from 1) of a TOML text where the field at `loc` is set, or of the nearest table around it."""
    keys = [part for part in loc if isinstance(part, str)]
    nth = next((part for part in loc if isinstance(part, int)), 0)
    best: int | None = None
    table: list[str] = []
    opened: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*(\[\[?)\s*([\w.]+)\s*\]", line)
        if header:
            table = header.group(2).split(".")
            count = opened[header.group(2)] = opened.get(header.group(2), -1) + 1
            if table == keys[: len(table)] and (header.group(1) == "[" or count == nth):
                best = number
            elif header.group(1) == "[[":
                table = ["\0"]  # an element of the same array that was not asked for
            continue
        key = re.match(r"\s*([\w-]+)\s*=", line)
        if key and [*table, key.group(1)] == keys[: len(table) + 1]:
            best = number
    return best


def _line_in(error: Exception) -> int | None:
    found = re.search(r"line (\d+)", str(error))
    return int(found.group(1)) if found else None
