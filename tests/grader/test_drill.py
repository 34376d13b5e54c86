"""Drill metadata: strict, complete about what is wrong, and cheap enough for a web page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from grader.drill import Drill, DrillFile, DrillProblems, line_of, load_drills, read_drill, read_drills

REPOSITORY = Path(__file__).parents[2]

GOOD = """title = "A title"
summary = "What it is."
kind = "implement"
level = "Core"
topic = "kernels"
minutes = 10
framework = "triton"
tags = ["softmax"]
objectives = ["Do it."]

[[entries]]
name = "softmax"
signature = "softmax(x) -> y"

[limits]
call_seconds = 2.5

[rules]
loads_per_element = 2
"""


def write(folder: Path, toml: str, name: str = "sample") -> Path:
    drill = folder / name
    drill.mkdir()
    (drill / "drill.toml").write_text(toml)
    (drill / "statement.md").write_text("Do it.")
    (drill / "starter.py").write_text("def softmax(x): ...\n")
    return drill


def test_a_good_file_loads(tmp_path: Path) -> None:
    drill, problems = read_drill(write(tmp_path, GOOD))
    assert problems == []
    assert drill is not None
    assert (drill.id, drill.limits.call_seconds, drill.rules.loads_per_element) == ("sample", 2.5, 2)
    assert drill.statement == "Do it."
    assert drill.lanes == ("cpu",)


def test_a_drill_survives_a_round_trip_through_json(tmp_path: Path) -> None:
    drill, _ = read_drill(write(tmp_path, GOOD))
    assert drill is not None
    assert Drill.model_validate_json(drill.model_dump_json()) == drill


ITEM = '[[rubric]]\nid = "figures"\npoints = 3\ntext = "Names figures."\nfull = "Each can be recomputed."\n'


def test_a_rubric_has_items_with_ids_of_their_own(tmp_path: Path) -> None:
    outline = GOOD.replace('kind = "implement"', 'kind = "outline"')
    drill, problems = read_drill(write(tmp_path, outline + "\n" + ITEM))
    assert drill is not None and not problems
    assert [(item.id, item.points, item.text) for item in drill.rubric] == [("figures", 3, "Names figures.")]
    drill, problems = read_drill(write(tmp_path, outline + "\n" + ITEM + "\n" + ITEM, "twice"))
    assert drill is None and "two rubric items have one id" in str(problems[0])


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('title = "A title"\n', "", None, "title: field required; add it"),
        ("minutes = 10", 'minutes = "10"', 6, "minutes: input should be a valid integer"),
        ("minutes = 10", "minutes = 0", 6, "greater than or equal to 1"),
        (
            "minutes = 10",
            "minuts = 10",
            6,
            "minuts: extra inputs are not permitted; remove it, or mend its spelling",
        ),
        ('kind = "implement"', 'kind = "write"', 3, "kind: input should be 'implement'"),
        ('level = "Core"', 'level = "core"', 4, "level"),
        ('tags = ["softmax"]', "tags = []", 8, "tags"),
        ('tags = ["softmax"]', 'tags = ["Soft Max"]', 8, "tags.0"),
        ('name = "softmax"', 'name = "soft-max"', 12, "entries.0.name"),
        ("call_seconds = 2.5", "call_seconds = 0.0", 16, "limits.call_seconds"),
        ("call_seconds = 2.5", "call_seconds = 2.5\nfoo = 1", 17, "limits.foo"),
        (
            "call_seconds = 2.5",
            "call_seconds = 50.0\ntotal_seconds = 20.0",
            16,
            "call_seconds is above total_seconds",
        ),
        ('framework = "triton"', 'framework = "numpy"', 18, "these rules need a Triton kernel"),
        ('kind = "implement"', 'kind = "outline"', 3, "an outline without a rubric"),
        ("[limits]", ITEM + "\n[limits]", 15, "only an outline is scored by a person"),
        ("minutes = 10", "minutes = = 10", 6, "can't be read"),
    ],
)
def test_problems_name_file_line_fault_and_remedy(
    tmp_path: Path, old: str, new: str, line: int | None, words: str
) -> None:
    assert old in GOOD
    drill, problems = read_drill(write(tmp_path, GOOD.replace(old, new, 1)))
    assert drill is None
    problem = problems[-1]  # a misspelt key is also a missing one
    assert len(problems) == (2 if "minuts" in new else 1)
    assert problem.line == line
    place = "sample/drill.toml" if line is None else f"sample/drill.toml:{line}"
    assert str(problem).startswith(f"{place}: ")
    assert words in str(problem)
    assert problem.to_do


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    folder = write(tmp_path, GOOD.replace("minutes = 10", "minutes = 0").replace('"Core"', '"Hard"'))
    (folder / "statement.md").unlink()
    (folder / "starter.py").write_text(" \n")
    write(tmp_path, GOOD, "Bad-Name")
    with pytest.raises(DrillProblems) as caught:
        load_drills(tmp_path)
    text = str(caught.value)
    for part in (
        "minutes",
        "level",
        "statement.md: can't be read",
        "starter.py: is empty",
        "Bad-Name: is not a drill id",
    ):
        assert part in text


def test_a_broken_drill_leaves_the_others(tmp_path: Path) -> None:
    write(tmp_path, GOOD, "fine")
    write(tmp_path, "title = 1", "broken")
    drills, problems = read_drills(tmp_path)
    assert list(drills) == ["fine"]
    assert problems


def test_needs_must_exist_and_not_go_in_a_circle(tmp_path: Path) -> None:
    for name, need in (("a", "b"), ("b", "a"), ("c", "nowhere")):
        write(tmp_path, GOOD.replace("minutes", f'needs = ["{need}"]\nminutes', 1), name)
    _, problems = read_drills(tmp_path)
    texts = [str(problem) for problem in problems]
    assert any("c/drill.toml: needs 'nowhere'" in text for text in texts)
    assert sum("needs itself" in text for text in texts) == 2


def test_line_of_finds_the_nth_table_of_an_array() -> None:
    text = '[[entries]]\nname = "a"\n\n[[entries]]\nname = "b"\n'
    assert line_of(text, ("entries", 0, "name")) == 2
    assert line_of(text, ("entries", 1, "name")) == 5
    assert line_of(text, ("nowhere",)) is None


def test_every_field_of_the_schema_has_a_drill_that_uses_it() -> None:
    drill = load_drills(REPOSITORY / "drills")["tiled_softmax"]
    unused = {name for name in DrillFile.model_fields if not getattr(drill, name)} - {"needs", "rubric", "also"}
    assert unused == set()


def test_loading_metadata_imports_neither_numpy_nor_torch() -> None:
    code = (
        "import sys; from pathlib import Path; from grader.drill import load_drills; "
        f"load_drills(Path({str(REPOSITORY / 'drills')!r})); "
        "print([m for m in ('numpy', 'torch', 'triton', 'grader.kit') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_drill_may_be_written_for_another_framework_by_importing_it() -> None:
    drill = load_drills(REPOSITORY / "drills")["tiled_softmax"].model_copy(update={"framework": "numpy"})
    both = drill.model_copy(update={"also": ("triton",)})
    kernel = "import torch\nimport triton.language as tl\n"
    assert both.written_for(kernel).framework == "triton"
    assert both.written_for("from triton import jit").framework == "triton"
    for source in ("import numpy", "import torch", "triton = 1", "not Python", "# import triton"):
        assert both.written_for(source).framework == "numpy"
    assert drill.written_for(kernel) is drill
