"""A small world with something of every kind in it, and canaries in every text that somebody may not read.

`ada` owns everything; `eve` is another learner, who has got nowhere; `editor` is an author, `root` an admin.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from fastapi import FastAPI
from sqlalchemy import update
from starlette.routing import BaseRoute

from app.accounts.models import Role, User
from app.accounts.service import hash_password
from app.course.store import CourseStore
from app.db import Database
from app.desk.models import RubricItem
from app.desk.service import new_item
from app.discussion.service import hide
from app.jobs import Jobs
from app.main import create_app
from app.security import Viewer
from app.settings import ROOT, Settings
from grader.drill import RubricItem as Criterion
from grader.drill import load_drills
from grader.verdict import Console
from tests.app.conftest import Browser
from tests.app.submissions.conftest import DRILL, live_run, record, start, verdict

QUESTION = "fused-kernel-drift"  # open to everybody
LOCKED = "fp8-attention"  # opens with an unlock
CLOSED_DRILL = "fused_attention"  # its editorial opens when it is passed
TRACK = "flashattention"
DRAFT = "split-kv-decode"  # a question that is not published, in this world
WHO = ("nobody", "eve", "editor", "root", "ada")

# Who may read a canary besides whoever wrote it.
ADA, ADA_ROOT, ROOT_ONLY = {"ada"}, {"ada", "root"}, {"root"}
STAFF, STAFF_ADA = {"editor", "root"}, {"ada", "editor", "root"}
CANARIES: dict[str, set[str]] = {
    "CANARY-locked-answer": STAFF,
    "CANARY-locked-note": STAFF,
    "CANARY-locked-rubric": STAFF,
    "CANARY-draft-question": STAFF,
    "CANARY-editorial": STAFF,
    "CANARY-hint": set(),  # nobody has opened it
    "CANARY-source": ADA_ROOT,
    "CANARY-draft-source": ADA,
    "CANARY-printed": ADA_ROOT,
    "SECRET": ROOT_ONLY,  # of a hidden case: its shape, data and detail
    "CANARY-operators-only": ROOT_ONLY,
    "CANARY-note-of-ada": ADA,
    "CANARY-attempt": ADA,
    "CANARY-capstone": ADA_ROOT,
    "CANARY-file-name": ADA_ROOT,
    "CANARY-file-bytes": ADA_ROOT,
    "CANARY-post": STAFF_ADA,
    "CANARY-hidden-post": ADA_ROOT,  # its author meets it in the export of her own data, and nowhere else
    "CANARY-report-reason": ROOT_ONLY,
    "CANARY-rubric-item": ROOT_ONLY,
}


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[CourseStore, Path]:
    """The course and the drills with canaries in what is locked, compiled once a session."""
    folder = tmp_path_factory.mktemp("planted")
    for name in ("content", "drills"):
        shutil.copytree(ROOT / name, folder / name)
    question = folder / "content" / "questions" / f"{LOCKED}.md"
    text = question.read_text()
    text = text.replace("## The answer\n", "## The answer\n\nCANARY-locked-answer\n", 1)
    text = text.replace("## Editor's note\n", "## Editor's note\n\nCANARY-locked-note\n", 1)
    text = re.sub(r"(\nrubric:.*?\n    text: )([^\n]+)", r"\1CANARY-locked-rubric", text, count=1, flags=re.S)
    question.write_text(text)
    draft = folder / "content" / "questions" / f"{DRAFT}.md"
    kept = draft.read_text().replace("---\n", "---\ndraft: true\n", 1)
    draft.write_text(re.sub(r"\nsummary: [^\n]+", "\nsummary: CANARY-draft-question.", kept, count=1))
    editorial = folder / "drills" / CLOSED_DRILL / "editorial.md"
    editorial.write_text(editorial.read_text() + "\n\nCANARY-editorial\n")
    for path in (folder / "drills").glob("*/drill.toml"):
        path.write_text(re.sub(r'(\nhints = \[\n\s*")', r"\1CANARY-hint ", path.read_text(), count=1))
    for canary in ("locked-answer", "locked-note", "locked-rubric"):
        assert f"CANARY-{canary}" in question.read_text(), canary
    assert "CANARY-draft-question" in draft.read_text()
    assert "CANARY-hint" in (folder / "drills" / DRILL / "drill.toml").read_text()
    return CourseStore.open(folder / "content", folder / "drills"), folder / "drills"


@pytest.fixture
def application(
    settings: Settings, planted: tuple[CourseStore, Path], monkeypatch: pytest.MonkeyPatch
) -> Iterator[FastAPI]:
    """The application on the planted course; one drill is an outline, so that the desk has work."""
    course, drills = planted
    monkeypatch.setattr(CourseStore, "open", lambda *_: course)
    made = create_app(settings)
    loaded = load_drills(drills)
    rubric = (Criterion(id="loops", text="Names the loops", points=2, full="Both, and why."),)
    loaded[DRILL] = loaded[DRILL].model_copy(update={"kind": "outline", "rubric": rubric})
    made.state.drills = loaded
    yield made
    made.state.jobs.close()
    made.state.database.close()


@pytest.fixture(scope="session")
def password_hash() -> str:
    """The hash of everybody's password, which is made once: that is slow on purpose."""
    return hash_password("correct horse")


@dataclass(frozen=True)
class World:
    """The application with everybody's browser, and the ids of what ada owns."""

    application: FastAPI
    browsers: dict[str, Browser]
    ids: dict[str, str]


@pytest.fixture
def world(application: FastAPI, database: Database, queue: Jobs, password_hash: str) -> World:
    """Something of every kind, of ada's."""
    roles = {"eve": Role.LEARNER, "editor": Role.AUTHOR, "root": Role.ADMIN, "ada": Role.LEARNER}
    browsers = {"nobody": Browser(application)}
    users = {}
    for name, role in roles.items():
        browsers[name] = Browser(application)
        users[name] = browsers[name].sign_in_as(name, role)
    ada, root = browsers["ada"], Viewer(users["root"], "root", Role.ADMIN)
    ids = {"submission": _submission(ada, database, queue)}
    ids |= _texts(ada, application)
    with database.write() as session:
        session.execute(update(User).values(password_hash=password_hash))
        hide(session, root, ids["hidden"], "Spoiler.")
        item: RubricItem = new_item(session, root, "outline", DRILL, "loops", 1, "CANARY-rubric-item")
        ids["item"] = item.id
    return World(application, browsers, ids)


def _submission(ada: Browser, database: Database, queue: Jobs) -> str:
    """One that was refused with a reason for operators, and an accepted one, which is returned."""
    for token, problem in (("token-broken", "CANARY-operators-only"), ("token-accepted", "")):
        form = {"source": f"print('CANARY-source')\nx = '{token}'\n", "lane": "cpu", "token": token}
        sent = ada.post(f"/drills/{DRILL}/submissions", data=form)
        made = sent.headers["location"].removeprefix("/submissions/")
        work = start(database, live_run(database, made))
        assert work is not None
        printed = Console(text="CANARY-printed")
        record(database, queue, work, msgspec.structs.replace(verdict(problem=problem), console=printed))
    return str(made)


def _texts(ada: Browser, application: FastAPI) -> dict[str, str]:
    """Everything that ada wrote."""
    draft = ada.post(f"/drills/{DRILL}/draft", data={"source": "y = 'CANARY-draft-source'\n", "base": "0"})
    assert draft.status_code in (200, 303), draft.text
    note = ada.post(f"/notes/question/{QUESTION}", data={"text": "CANARY-note-of-ada", "version": "0"})
    assert note.status_code == 303, note.text
    ada.post(f"/questions/{QUESTION}/attempt", data={"text": "CANARY-attempt"})
    sent = [("files", ("CANARY-file-name.txt", b"CANARY-file-bytes", "text/plain"))]
    capstone = ada.post(f"/tracks/{TRACK}/capstone", data={"text": "CANARY-capstone"}, files=sent)
    at = capstone.headers["location"]
    file = re.search(rf"{at}/files/([0-9a-z]+)", ada.get(at).text)
    assert file is not None
    posts = []
    for text in ("CANARY-post", "CANARY-hidden-post"):
        said = ada.post(f"/questions/{QUESTION}/discussion", data={"text": text})
        posts.append(said.headers["location"].rsplit("-", 1)[1])
    reporter = Browser(application)
    reporter.sign_in_as("reporter")
    reporter.post(f"/questions/{QUESTION}/attempt", data={"text": "mine"})
    told = reporter.post(f"/posts/{posts[0]}/report", data={"reason": "CANARY-report-reason"})
    assert told.status_code == 303
    return {"capstone": at.rsplit("/", 1)[1], "file": file[1], "post": posts[0], "hidden": posts[1]}


def routes_of(application: FastAPI) -> list[tuple[str, str, BaseRoute]]:
    """Every route with its method and path, those of included routers too."""
    found: list[tuple[str, str, BaseRoute]] = []

    def walk(routes: list[BaseRoute]) -> None:
        for route in routes:
            inner = getattr(route, "original_router", None)
            if inner is not None:
                walk(inner.routes)
            elif hasattr(route, "methods"):
                methods = set(getattr(route, "methods", None) or ()) - {"HEAD"}
                found.extend((method, getattr(route, "path", ""), route) for method in sorted(methods))

    walk(list(application.routes))
    return found
