"""Kernels and constants come out of a file's text; nothing of it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.definitions import definitions
from grader.interpreter.jit import Function
from grader.interpreter.scope import Constexpr

IMPORTS = "import math\nimport torch\nimport triton\nimport triton.language as tl\n"


def read(text: str) -> dict[str, object]:
    return definitions(IMPORTS + text, "submission.py")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("A = tl.constexpr(64)", 64),
        ("A: tl.constexpr = tl.constexpr(2 * 32)", 64),
        ("B = 8\nA = tl.constexpr(B * 8)", 64),
        ("A = tl.constexpr(math.sqrt(4096))", 64.0),
        ("A = tl.constexpr(triton.next_power_of_2(33))", 64),
        ("A = tl.constexpr(min(64, 100) if True else 1)", 64),
    ],
)
def test_plain_constants(text: str, value: float) -> None:
    found = read(text)["A"]
    assert isinstance(found, Constexpr) and found.value == value


@pytest.mark.parametrize(
    "text",
    [
        "def f(x): return x",
        "@triton.jit\ndef f(x, B: tl.constexpr = 4): pass",
        "@triton.autotune(configs=[print('ran')], key=[])\n@triton.jit\ndef f(x): pass",
        "def outer():\n    @triton.jit\n    def f(x): pass",
        "class A:\n    @triton.jit\n    def f(x): pass",
    ],
)
def test_functions_become_kernels(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(read(text)["f"], Function)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "text",
    [
        "open({path!r}, 'w')",
        "A = open({path!r}, 'w')",
        "A = [open({path!r}, 'w')]",
        "A = tl.constexpr(open({path!r}, 'w'))",
        "A = (lambda: open({path!r}, 'w'))()",
        "A = [x for x in [open({path!r}, 'w')]]",
        "import os\nA = os.open({path!r}, 66)",
        "from os import open as cdiv\nA = cdiv({path!r}, 66)",
        "import triton.testing\nA = torch.sys.modules['os'].open({path!r}, 66)",
        "@open({path!r}, 'w')\ndef f(x): pass",
        "def f(x=open({path!r}, 'w')): pass",
        "def f(x: open({path!r}, 'w')): pass",
        "def f(x) -> open({path!r}, 'w'): pass",
        "class A(open({path!r}, 'w')): pass",
        "if open({path!r}, 'w'): pass",
        "@triton.jit\ndef f(): return open({path!r}, 'w')\nA = f.fn()",
        "@triton.jit\ndef f(): return open({path!r}, 'w')\nA = f()",
        "@triton.constexpr_function\ndef f(): return ().__class__\nA = f()",
        "A = ().__class__.__base__.__subclasses__()",
        "A = tl.load.__class__",
        "A = tl.load.function.__globals__",
        "A = '{{0.__class__}}'.format(1)",
        "import builtins\nA = builtins.open({path!r}, 'w')",
        "from builtins import open as min\nA = min({path!r}, 'w')",
        "A = __builtins__['__import__']('os')",
        "__builtins__ = 5\nA = 1 + open",
        "A = B = open({path!r}, 'w')",
        "with open({path!r}, 'w') as A: pass",
        "A: int = open({path!r}, 'w')",
        "(A := open({path!r}, 'w'))",
        'A = f"{{open({path!r}, 1)}}"',
    ],
)
def test_nothing_runs(text: str, tmp_path: Path) -> None:
    path = tmp_path / "written"
    found = read(text.format(path=str(path)))
    assert not path.exists()
    assert type(found.get("A")) in (type(None), str)


@pytest.mark.parametrize("text", ["(" * 60_000, "x = " + "-" * 60_000 + "1", "x = \0", "def"])
def test_what_is_not_python(text: str) -> None:
    with pytest.raises((SyntaxError, ValueError, RecursionError, MemoryError)):
        read(text)
