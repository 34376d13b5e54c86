"""Editorials: code, numbers and matrices come from the files beside them, and what is not there is a problem."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from app.course.access import visible_to
from app.course.compile import Compiled, compile_course
from app.course.drills import read_drills
from app.course.excerpts import ExcerptError, Shelf
from app.course.present import editorial
from app.course.snapshot import Snapshot
from grader.drill import read_drill
from grader.hints import KillMatrix, KnownFault, Signature

GOOD = Path(__file__).parent / "good"
TOML = """
title = "Sum"
summary = "Adds."
kind = "implement"
level = "Core"
topic = "numbers"
minutes = 5
framework = "numpy"
tags = ["numerics"]
objectives = ["Add."]

[[entries]]
name = "total"
signature = "total(x) -> y"
"""
REFERENCE = '''"""Adds <b>."""

import numpy as np

LIMIT = 3


@staticmethod
def total(x):
    y = 0
    for each in x:
        y = y + each
    y = y + 0
    return y
'''
TEXT = """## The matrix

::: kills
All of them.
:::

The subtlest is [`late`](fault:late): {{kills/late/cases}} of {{kills/all/cases}} cases, and `plain` errs by
{{margins/plain/error}}. After 2 tiles it is {{curve/2/error}}.

## The code

::: source reference.py total
`y = y + each`
: Adds one.

`y = y + 0`
: Adds nothing.
:::

::: source kernels/adds.py
:::

::: listing curve
:::
"""


def signature(*cases: str) -> Signature:
    return Signature(outcome="wrong_answer", kind="values", cases=cases)


MATRIX = KillMatrix(
    drill="adds",
    inputs="",
    cases=("one", "two", "many"),
    control=("one", "many"),
    faults=(
        KnownFault(name="late", what="Late <i>.", ask="When?", expect="wrong_answer", signature=signature("two")),
        KnownFault(
            name="never", what="Never.", ask="When?", expect="wrong_answer", signature=signature("one", "two")
        ),
    ),
    margins={"plain": 0.04},
)


@pytest.fixture
def drill(tmp_path: Path) -> Path:
    """A drill with an editorial, a matrix and a measured table, and a kernel beside the drills."""
    folder = tmp_path / "drills" / "adds"
    (folder / "measured").mkdir(parents=True)
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "adds.py").write_text('"""Adds."""\n\nimport torch\n\n\ndef adds(): ...\n')
    (folder / "drill.toml").write_text(TOML)
    (folder / "statement.md").write_text("Add.\n")
    (folder / "starter.py").write_text("def total(x): ...\n")
    (folder / "reference.py").write_text(REFERENCE)
    (folder / "kill_matrix.json").write_bytes(msgspec.json.encode(MATRIX))
    (folder / "measured" / "curve.py").write_text("print('tiles,error')\n")
    (folder / "measured" / "curve.csv").write_text("tiles,error\n1,0.1\n2,0.25\n")
    (folder / "editorial.md").write_text(TEXT)
    return folder


def compiled(drill: Path) -> Compiled:
    return compile_course(GOOD, read_drills(drill.parent))


def graded(drill: Path) -> Path:
    """The same folder for the grader, which knows the topics of the real course."""
    (drill / "drill.toml").write_text(TOML.replace("numbers", "kernels"))
    return drill


def problems(drill: Path) -> list[str]:
    """What `check content` says of the drill's own files."""
    return [str(each) for each in compiled(drill).problems if each.file.startswith("drills/adds/")]


def course(drill: Path) -> Snapshot:
    """The good course refers to drills of its own: they are read besides."""
    drills = {**read_drills(Path(__file__).parent / "drills"), **read_drills(drill.parent)}
    done = compile_course(GOOD, drills)
    assert done.snapshot is not None, done.problems
    return done.snapshot


def test_an_editorial_shows_what_stands_in_the_files(drill: Path) -> None:
    assert problems(drill) == []
    snapshot = course(drill)
    page = editorial(visible_to(None, snapshot), "adds")
    assert page is not None
    assert [section.title for section in page.sections] == ["The matrix", "The code"]
    matrix, code = (section.html for section in page.sections)
    assert re.findall(r'<tr id="fault-(\w+)">', matrix) == ["never", "late"]  # the subtlest comes last
    assert "Late &lt;i&gt;." in matrix
    assert matrix.count('class="hit"') == 3
    assert re.findall(r'class="case (\w+)"><span>. (\w+)<', matrix) == [
        ("control", "one"),
        ("alone", "two"),
        ("control", "many"),
    ]
    assert 'href="#fault-late"' in matrix
    numbers = re.findall(r'<span class="num" data-ref="[^"]*">([^<]*)<', matrix)
    assert numbers == ["1", "3", "0.04", "0.25"]
    # Line 1 is the decorator; the two quotes are at lines 5 and 6 of the function.
    assert re.findall(r'href="#(code-1-l\d)"', code) == ["code-1-l5", "code-1-l6"]
    assert re.findall(r'id="(code-1-l\d)"', code) == [f"code-1-l{n}" for n in range(1, 8)]
    assert "import" in code
    assert "torch" in code
    assert "style=" not in matrix + code


def test_a_drill_without_an_editorial_has_none(drill: Path) -> None:
    (drill / "editorial.md").unlink()
    assert editorial(visible_to(None, course(drill)), "adds") is None
    loaded, found = read_drill(graded(drill))
    assert loaded is not None
    assert (loaded.editorial, found) == ("", [])


def test_the_drill_carries_its_editorial_and_an_empty_one_is_a_problem(drill: Path) -> None:
    loaded, _ = read_drill(graded(drill))
    assert loaded is not None
    assert loaded.editorial == TEXT
    (drill / "editorial.md").write_text("\n")
    assert [str(each) for each in read_drill(graded(drill))[1]] == ["adds/editorial.md: is empty; write it"]


WRONG = [
    ("::: source refrence.py total\n:::", "3: 'refrence.py' is not a file that an editorial shows"),
    ("::: source ../../secret.py x\n:::", "3: '../../secret.py' is not a file that an editorial shows"),
    ("::: source correct/gone.py\n:::", "3: 'correct/gone.py' is not there or is not Python"),
    ("::: source reference.py totals\n:::", "3: reference.py defines no 'totals'; it defines LIMIT, total"),
    (
        "::: source reference.py total\n\n`y = y + each`\n: Adds.\n\n`y = y - each`\n: Takes away.\n:::",
        "8: no line of reference.py total holds 'y = y - each'",
    ),
    (
        "::: source reference.py total\n\n`y = 0`\n: None.\n`return y`\n: All.\n:::",
        "8: a second explanation of one line",
    ),
    ("::: kills never gone\n:::", "3: there is no fault 'gone' in the kill matrix; name late, never"),
    ("See [it](fault:gone).", "3: the link 'fault:gone' leads nowhere"),
    ("It errs by {{margins/gone/error}}.", "3: nothing gives {{margins/gone/error}}"),
    ("It moves 4 MiB.", "3: '4 MiB' comes from nowhere"),
    ("::: listing gone\n:::", "3: there is no listing 'gone'"),
]


@pytest.mark.parametrize(("body", "said"), WRONG)
def test_what_is_not_there_is_said_with_its_line(drill: Path, body: str, said: str) -> None:
    rest = "\n\n::: listing curve\n:::\n"
    (drill / "editorial.md").write_text(f"## One\n\n{body}{rest}")
    found = problems(drill)
    assert len(found) == 1
    assert found[0].startswith(f"drills/adds/editorial.md:{said}")


def test_what_changes_in_a_file_makes_the_text_stale(drill: Path) -> None:
    (drill / "reference.py").write_text(REFERENCE.replace("y = y + 0", "y += 0"))
    assert len(problems(drill)) == 1
    (drill / "kill_matrix.json").unlink()
    assert sum("no kill matrix to draw" in each for each in problems(drill)) == 1


def test_a_measurement_needs_its_table_and_a_reader(drill: Path) -> None:
    (drill / "editorial.md").write_text("## One\n\nText.\n")
    assert [each.split("; ")[0] for each in problems(drill)] == [
        "drills/adds/measured/curve.py:1: the editorial does not use 'curve'"
    ]
    (drill / "editorial.md").write_text("## One\n\n::: listing curve\n:::\n")
    (drill / "measured" / "curve.csv").unlink()
    assert [each.split("; ")[0] for each in problems(drill)] == [
        "drills/adds/measured/curve.py:1: curve.csv is missing"
    ]


def test_the_state_of_the_course_changes_with_what_an_editorial_shows(drill: Path) -> None:
    before = course(drill).digest
    (drill / "reference.py").write_text(REFERENCE.replace("return y", "return +y"))
    assert course(drill).digest != before


def test_pages_outside_editorials_show_no_files(drill: Path) -> None:
    (drill / "statement.md").write_text("::: source reference.py total\n:::\n\n::: kills\n:::\n")
    found = [each for each in problems(drill) if "statement.md" in each]
    assert len(found) == 2


def test_an_excerpt_reads_only_where_it_may(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "a.py").write_text("x = 1\n")
    shelf = Shelf(tmp_path / "drills" / "d", tmp_path / "kernels")
    assert shelf.excerpt("kernels/a.py", "x").lines == ("x = 1",)
    for file in ("/etc/passwd", "kernels/../a.py", "kernels/a.py/..", "correct/../../x.py", "kill_matrix.json"):
        with pytest.raises(ExcerptError):
            shelf.excerpt(file, "")
