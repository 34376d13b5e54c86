"""Every rule of the lint has a folder that breaks it: `good` with the files of `bad/<rule>` laid over it.

`EXPECT` holds exactly the messages that must come out, in order; `REMOVE` names files to take away first. A new
rule is a new folder.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from app.course.check import check

HERE = Path(__file__).parent
GOOD, BAD, DRILLS = HERE / "good", HERE / "bad", HERE / "drills"
RULES = sorted(path.name for path in BAD.iterdir())


def test_the_good_folder_has_no_problems() -> None:
    assert check(GOOD, DRILLS) == []


@pytest.mark.parametrize("rule", RULES)
def test_a_bad_folder_gets_its_messages(rule: str, tmp_path: Path) -> None:
    folder = tmp_path / "content"
    shutil.copytree(GOOD, folder)
    shutil.copytree(BAD / rule, folder, dirs_exist_ok=True)
    (folder / "EXPECT").unlink()
    if (folder / "REMOVE").exists():
        for name in (folder / "REMOVE").read_text().split():
            (folder / name).unlink()
        (folder / "REMOVE").unlink()
    found = [str(problem) for problem in check(folder, DRILLS)]
    assert found == (BAD / rule / "EXPECT").read_text().splitlines()
    assert found, "a bad folder without a problem tests nothing"


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "content"
    shutil.copytree(GOOD, folder)
    for rule in ("broken_link", "formula", "leak"):
        for path in (BAD / rule).rglob("*.md"):
            text = path.read_text()
            target = folder / path.relative_to(BAD / rule)
            target.write_text(text if rule != "formula" else text.replace("(card:alpha#how)", "(card:gamma)"))
    rules = {problem.rule for problem in check(folder, DRILLS)}
    assert {"link", "math", "leak"} <= rules


def test_problems_of_drills_point_at_the_drill(tmp_path: Path) -> None:
    drill = tmp_path / "adding"
    drill.mkdir()
    text = (DRILLS / "adding" / "drill.toml").read_text()
    (drill / "drill.toml").write_text(
        text.replace('cards = ["alpha"]', 'cards = ["gamma"]').replace("numbers", "letters")
    )
    assert [str(problem) for problem in check(GOOD, tmp_path)] == [
        "drills/adding/drill.toml:1: there is no card 'gamma'; mend the id or add the file",
        "drills/adding/drill.toml:1: there is no topic 'letters'; name one of course.toml",
    ]
