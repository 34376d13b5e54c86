"""docs/journey.md names real code: every file exists and every name in it can be imported."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "journey.md").read_text()
NAMES = [
    (path, name.strip())
    for path, names in re.findall(r"`([\w/]+\.py)::([\w, ]+)`", PAGE)
    for name in names.split(",")
]
FILES = re.findall(r"`([\w/.]+\.(?:py|html|md))(?:::[\w, ]+)?`", PAGE)


def test_the_page_has_all_thirteen_steps() -> None:
    steps = [int(number) for number in re.findall(r"^(\d+)\. ", PAGE, re.MULTILINE)]
    assert steps == list(range(1, 14))
    assert len(NAMES) >= 13


@pytest.mark.parametrize(("path", "name"), NAMES, ids=[f"{path}::{name}" for path, name in NAMES])
def test_a_named_function_exists(path: str, name: str) -> None:
    module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    assert hasattr(module, name), f"{path} has no {name}: mend docs/journey.md or the code"


@pytest.mark.parametrize("path", FILES)
def test_a_named_file_exists(path: str) -> None:
    assert (ROOT / path).is_file(), f"docs/journey.md names {path}, which is not there"
