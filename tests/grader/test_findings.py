"""Remarks on a file's text: they name the line, and they survive any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.findings import findings, merged
from grader.verdict import Finding
from tests.grader.callers import toy

DRILL = toy(framework="triton")
KERNEL = "@triton.jit\ndef k(x):\n    pass\n"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("v = tl.load(x + at, mask=at < n)", "without other="),
        ("v = tl.load(x + at, at < n)", "without other="),
        ("v = torch.softmax(x, -1)", "torch.softmax is a library call"),
        ("v = torch.nn.functional.softmax(x, -1)", "library call"),
        ("v = x.softmax(-1)", "x.softmax is a library call"),
    ],
)
def test_remarks(line: str, words: str) -> None:
    (finding,) = findings(DRILL, KERNEL + line + "\n")
    assert finding.line == 4
    assert words in finding.text
    assert finding.severity == "warning"


@pytest.mark.parametrize(
    "line",
    ["v = tl.load(x + at, mask=m, other=0.0)", "v = tl.load(x)", "v = tl.load(x, m, 0.0)", "v = tl.softmax(x)"],
)
def test_no_remark_where_there_is_nothing_to_say(line: str) -> None:
    assert findings(DRILL, KERNEL + line + "\n") == ()


def test_a_file_without_a_kernel() -> None:
    (finding,) = findings(DRILL, "def softmax(x): return x\n")
    assert finding.line is None and "no kernel" in finding.text
    assert findings(toy(), "def softmax(x): return x\n") == ()


def test_findings_of_many_runs_are_said_once_and_errors_first() -> None:
    late, error = Finding(line=9, text="late"), Finding(line=20, text="outside", severity="error")
    early = Finding(line=2, text="early")
    assert merged([late, error], [late], [early]) == (error, early, late)


@given(st.text(max_size=200))
def test_any_text_is_survived(text: str) -> None:
    assert isinstance(findings(DRILL, text), tuple)


def test_deep_nesting_is_survived() -> None:
    assert findings(DRILL, "(" * 5000 + ")" * 5000) == ()
