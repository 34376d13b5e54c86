"""The command line: exit statuses that scripts rely on, and one clear line when something is wrong."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app import jobs
from app.accounts import service as accounts
from app.accounts.models import Role
from app.cli import app, main
from app.cli.grading import told
from app.course import unlocks
from app.db import Database, now
from app.settings import ROOT
from grader.verdict import CaseResult, Diagnosis, Lane, Mismatch, Outcome, Probe, Verdict, Where, decode_verdict

DRILL = ROOT / "drills" / "tiled_softmax"


@dataclass(frozen=True)
class Answer:
    """How a command ended, and what it printed."""

    status: int
    out: str
    err: str


@pytest.fixture
def data(tmp_path: Path, migrated_sqlite: Path) -> Path:
    """A data folder with an empty database."""
    shutil.copy(migrated_sqlite, tmp_path / "tilewright.db")
    return tmp_path


@pytest.fixture
def tilewright(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Answer]:
    """Run the command in this process, on the data folder of the test or another one."""

    def run(*arguments: str, data: Path = tmp_path) -> Answer:
        monkeypatch.setenv("TILEWRIGHT_DATA", str(data))
        monkeypatch.setattr(sys, "argv", ["tilewright", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return Answer(int(end.value.code or 0), said.out, said.err)

    return run


Tilewright = Callable[..., Answer]


@pytest.mark.sandbox
def test_grading_a_right_and_a_wrong_file(tilewright: Tilewright) -> None:
    right = tilewright("grade", "tiled_softmax", str(DRILL / "correct" / "online.py"), "--json")
    assert right.status == 0, right.err
    assert decode_verdict(right.out).outcome is Outcome.ACCEPTED
    wrong = tilewright("grade", "tiled_softmax", str(DRILL / "starter.py"))
    assert wrong.status == 1, wrong.err
    assert wrong.out.startswith("!!  ")
    assert "First failure: " in wrong.out
    assert "Ask yourself: " in wrong.out
    assert "hidden" in wrong.out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read"),
        (b"x = '\xff'", "is not UTF-8: byte 5"),
        (b"x = '\0'", "NUL byte"),
        (b"", "no code"),
        (b"x" * 70_000, "70,000 bytes"),
    ],
)
def test_a_file_that_cannot_be_graded_is_one_line(
    tilewright: Tilewright, data: Path, content: bytes | None, words: str
) -> None:
    file = data / "mine.py"
    if content is not None:
        file.write_bytes(content)
    answer = tilewright("grade", "tiled_softmax", str(file))
    assert (answer.status, answer.out) == (2, "")
    assert words in answer.err
    assert answer.err.count("\n") == 1


def test_an_unknown_drill_is_one_line_with_those_that_exist(tilewright: Tilewright) -> None:
    answer = tilewright("grade", "none", "x.py")
    assert answer.status == 2
    assert "tiled_softmax" in answer.err
    assert "Traceback" not in answer.err


def test_accounts(tilewright: Tilewright, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(f"sqlite:///{data / 'tilewright.db'}")
    monkeypatch.setenv("TILEWRIGHT_DATA", str(data))
    typed = "correct horse\ncorrect horse\n"
    made = CliRunner().invoke(app, ["user", "create", "Root", "--role", "admin"], input=typed)
    assert made.exit_code == 0, made.output
    assert "correct horse" not in made.output
    with database.read() as session:
        user = accounts.check(session, "root", "correct horse")
        assert user.role == Role.ADMIN
    assert tilewright("user", "role", "root", "learner").status == 0
    assert tilewright("user", "password", "root", "--password", "better horse").status == 0
    with database.read() as session:
        assert accounts.check(session, "Root", "better horse").role == Role.LEARNER
    for wrong in (("role", "nobody", "admin"), ("role", "root", "king"), ("create", "x", "--password", "12345678")):
        refused = tilewright("user", *wrong)
        assert refused.status == 2
        assert "Traceback" not in refused.err
    database.close()


def test_without_tables_every_command_says_what_to_do(tilewright: Tilewright, tmp_path: Path) -> None:
    for command in (("serve",), ("worker",), ("user", "create", "ada", "--password", "correct horse")):
        answer = tilewright(*command, data=tmp_path / "new")
        assert answer.status == 2, command
        assert "tilewright db upgrade" in answer.err
        assert "Traceback" not in answer.err
    assert tilewright("db", "upgrade", data=tmp_path / "new").status == 0
    assert tilewright("db", "upgrade", data=tmp_path / "new").status == 0


def test_the_web_process_never_loads_a_gpu_library() -> None:
    code = "import sys, app.main, app.cli.processes; print(sorted({'torch', 'triton'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_verdict_for_the_terminal_hides_what_is_hidden_and_acts_on_nothing() -> None:
    cases = (
        CaseResult(name="one tile", visible=True, outcome=Outcome.ACCEPTED, shape="3 × 64", error=0.25),
        CaseResult(
            name="one past a tile",
            visible=True,
            outcome=Outcome.WRONG_ANSWER,
            shape="3 × 65",
            data="falling",
            dtype="fp32",
            error=912.5,
            mismatch=Mismatch(
                output="result",
                first=Where(index=(0, 64), axis=1, tile=1, lane=0),
                expected="0.5",
                actual="nan",
                wrong=3,
                total=195,
                nan=3,
                inf=0,
            ),
        ),
        CaseResult(name="hidden 1", visible=False, outcome=Outcome.WRONG_ANSWER),
    )
    verdict = Verdict(
        outcome=Outcome.WRONG_ANSWER,
        sentence="Wrong answer.",
        drill="tiled_softmax",
        lane=Lane.CPU,
        cases=cases,
        expected_cases=3,
        diagnosis=Diagnosis(
            smallest_failing=Probe(shape="1 × 65", ok=False, error=912.5),
            nearest_passing=Probe(shape="1 × 64", ok=True, error=0.2),
            question="What is in the last tile?",
        ),
    )
    lines = list(told(verdict))
    assert lines[0] == "!!  Wrong answer."
    table = [line for line in lines if line[4:].startswith(("one tile", "one past"))]
    assert len(table) == 2 and table[1].endswith("3 NaN"), "an error that is no number is told as such"
    assert "!!  0 of 1 hidden cases passed" in lines and not any("hidden 1" in line for line in lines)
    at = {word: i for i, line in enumerate(lines) for word in ("Ask yourself", "error / tolerance") if word in line}
    assert at["Ask yourself"] < at["error / tolerance"], "what to think about comes before the list"
    assert "result at [0, 64], tile 1, lane 0: expected 0.5, got nan" in "\n".join(lines)
    assert "Nearest passing shape:  1 × 64" in lines
    printed = json.dumps(lines, ensure_ascii=False)
    assert "\\u001b" not in printed


@pytest.mark.parametrize("command", ["serve", "run"])
def test_a_port_in_use_is_said_in_one_line(
    tilewright: Tilewright, data: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        monkeypatch.setenv("TILEWRIGHT_PORT", str(port))
        ended = tilewright(command, data=data)
    assert ended.status == 2
    assert f"127.0.0.1:{port} cannot be listened on" in ended.err and "TILEWRIGHT_PORT" in ended.err
    assert "ready" not in ended.out


def test_workers_are_listed_and_a_lane_without_one_is_unhealthy(tilewright: Tilewright, data: Path) -> None:
    nobody = tilewright("workers", data=data)
    assert nobody.status == 1 and "No worker lives" in nobody.err
    database = Database(f"sqlite:///{data / 'tilewright.db'}")
    with database.write() as session:
        for name, lane, trouble in (("here", "cpu", None), ("elsewhere", "gpu", "no sandbox")):
            host = socket.gethostname()[:80] if name == "here" else name
            session.add(
                jobs.Heartbeat(
                    id=f"{host}:{lane}:1-a",
                    lane=lane,
                    started_at=now(),
                    seen_at=now(),
                    slots=1,
                    busy=0,
                    trouble=trouble,
                )
            )
    database.close()
    assert tilewright("workers", data=data).out.count("\n") == 2
    assert tilewright("workers", "--lane", "cpu", "--here", data=data).status == 0
    sick = tilewright("workers", "--lane", "gpu", data=data)
    assert sick.status == 1 and "no sandbox" in sick.out
    assert tilewright("workers", "--lane", "gpu", "--here", data=data).status == 1


def test_every_gpu_gets_a_worker_of_its_own() -> None:
    from app.cli.processes import gpu_commands
    from grader.gpus import Gpu

    two = [Gpu(number, f"/dev/nvidia{number}", "GPU", "") for number in (0, 3)]
    assert gpu_commands(two) == [["worker", "--lane", "gpu", "--gpu", number] for number in ("0", "3")]
    assert gpu_commands([]) == [["worker", "--lane", "gpu", "--gpu", "0"]]  # which says why it can't grade


def test_unlock_from_code_to_answer(data: Path, tilewright: Callable[..., Answer]) -> None:
    database = Database(f"sqlite:///{data / 'tilewright.db'}")
    user = accounts.sign_up(database, "ada", "correct horse", "")
    made = tilewright("unlock", "code", "topic:kernels", "--uses", "2", "--note", "spring class")
    assert made.status == 0, made.err
    code = made.out.strip()
    with database.write() as session:
        unlocks.redeem(session, user.id, code)
    listed = tilewright("unlock", "codes").out
    assert "topic:kernels  1/2  open  spring class" in listed
    assert code not in listed
    assert tilewright("unlock", "revoke", listed.split()[0]).status == 0
    assert "this code was withdrawn" in tilewright("unlock", "codes").out
    assert "is open to ada" in tilewright("unlock", "grant", "ada", "course", "--bought").out
    assert "already" in tilewright("unlock", "grant", "ada", "course", "--bought").out
    assert tilewright("unlock", "take-back", "ada", "course").status == 0
    with database.read() as session:
        assert not unlocks.opened_to(session, user.id).course
    database.close()


@pytest.mark.parametrize(
    "arguments",
    [
        ("code", "topic:none"),
        ("code", "everything"),
        ("code", "course", "--uses", "0"),
        ("grant", "nobody", "course"),
        ("revoke", "none"),
    ],
)
def test_unlock_says_what_is_wrong(
    data: Path, tilewright: Callable[..., Answer], arguments: tuple[str, ...]
) -> None:
    answer = tilewright("unlock", *arguments)
    assert answer.status == 2
    assert answer.err.startswith("tilewright: ")
