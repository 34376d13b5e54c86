"""Settings, taking everything along, and leaving nothing behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import (
    Boolean,
    DateTime,
    ForeignKey,
    Integer,
    Numeric,
    String,
    Table,
    TypeDecorator,
    func,
    insert,
    inspect,
    select,
    text,
)

from app.accounts.models import Role, User
from app.accounts.preferences import preferences_of
from app.db import Base, Database, now
from app.exports import EXPORTERS, WITHHELD
from app.jobs import Jobs
from app.security import RateWindow
from app.submissions.grades.models import Mark, MarksText
from grader.verdict import Outcome
from tests.app.accounts.test_accounts import GOOD, sign_up
from tests.app.accounts.test_preferences import FORM
from tests.app.accounts.test_resets import Kept
from tests.app.conftest import Browser
from tests.app.submissions.conftest import live_run, record, start, verdict
from tests.app.submissions.test_routes import hand_in

MARK = "zqxjkvbpw"  # in everything that is Ada's and in nothing else
ADA = {**GOOD, "username": f"ada-{MARK}", "email": f"{MARK}@example.org"}
PASSWORD = GOOD["password"]
# A value of each kind of column that holds more than plain text or a number, none of them empty.
SAMPLES: dict[type[TypeDecorator[Any]], Any] = {
    MarksText: (Mark("memory", MARK, 1, 2, MARK, "none", MARK),),
}


@pytest.fixture
def ada(browser: Browser, database: Database) -> str:
    assert browser.post("/sign-up", data=ADA).status_code == 303
    with database.read() as session:
        return session.scalars(select(User.id)).one()


# --- settings -------------------------------------------------------------------------------------


def test_settings_are_kept_and_the_theme_goes_along(browser: Browser, ada: str, database: Database) -> None:
    answer = browser.post("/settings", data={**FORM, "shortcuts": ""})
    assert answer.headers["location"] == "/settings?saved=preferences"
    assert "theme=dark" in answer.headers["set-cookie"]
    with database.read() as session:
        assert preferences_of(session, ada).time_zone == "Europe/Berlin"
    page = browser.get("/settings?saved=preferences").text
    assert "<option selected>Europe/Berlin</option>" in page
    assert 'data-shortcuts="off"' in page
    browser.cookies.clear()
    signed_in = browser.post("/sign-in", data=ADA)
    assert "theme=dark" in signed_in.headers["set-cookie"]


def test_what_cannot_be_set_is_said(browser: Browser, ada: str) -> None:
    answer = browser.post("/settings", data={**FORM, "time_zone": "Mars/Olympus"})
    assert answer.status_code == 422
    assert "Choose a zone of the list." in answer.text


def test_the_password_changes_and_other_browsers_are_out(
    browser: Browser, application: FastAPI, ada: str, database: Database
) -> None:
    phone = Browser(application)
    assert phone.post("/sign-in", data=ADA).status_code == 303
    wrong = browser.post("/settings/password", data={"password": "wrong horse", "new": "another phrase"})
    assert wrong.status_code == 422
    short = browser.post("/settings/password", data={"password": PASSWORD, "new": "short"})
    assert "at least 8" in short.text
    with database.write() as session:
        session.get_one(User, ada).email = "ada@example.org"
    application.state.sender = post = Kept()
    changed = browser.post("/settings/password", data={"password": PASSWORD, "new": "another phrase"})
    assert changed.status_code == 303
    [letter] = post.letters
    assert letter.to == "ada@example.org" and "/forgot" in letter.text and "another phrase" not in letter.text
    assert browser.get("/progress").status_code == 200
    assert phone.get("/progress").status_code == 303
    assert Browser(application).post("/sign-in", data=ADA).status_code == 422
    assert Browser(application).post("/sign-in", data={**ADA, "password": "another phrase"}).status_code == 303


def test_the_address_changes_with_the_password_only(browser: Browser, ada: str, database: Database) -> None:
    form = {"email": "new@example.org", "password": "wrong horse"}
    assert browser.post("/settings/email", data=form).status_code == 422
    assert browser.post("/settings/email", data={**form, "email": "x", "password": PASSWORD}).status_code == 422
    assert browser.post("/settings/email", data={**form, "password": PASSWORD}).status_code == 303
    with database.read() as session:
        assert session.get_one(User, ada).email == "new@example.org"


def test_guessing_the_password_from_inside_is_limited(browser: Browser, ada: str, application: FastAPI) -> None:
    form = {"password": "wrong horse", "new": "another phrase"}
    tried = [browser.post("/settings/password", data=form).status_code for _ in range(11)]
    assert tried == [422] * application.state.settings.sign_in_tries + [429]


# --- what belongs to an account -------------------------------------------------------------------


def owned() -> Iterator[Table]:
    """The tables whose rows go with an account, parents first: by cascading keys from `users` outwards."""
    found = {"users"}
    for table in Base.metadata.sorted_tables:
        if table.name == "users" or any(
            key.ondelete == "CASCADE" and key.column.table.name in found for key in table.foreign_keys
        ):
            found.add(table.name)
            yield table


def test_every_table_of_a_person_is_exported_or_withheld_for_a_reason() -> None:
    assert {table.name for table in owned()} == set(EXPORTERS) | set(WITHHELD)


def fill(database: Database, user: str) -> None:
    """One row of Ada's in every table that can have one, her mark in every text."""
    with database.write() as session:
        keys: dict[str, Any] = {"users.id": user}
        for table in owned():
            if table.name == "users" or session.scalar(select(func.count()).select_from(table)):
                continue
            row = {column.name: _value(column, keys) for column in table.columns if not _automatic(column)}
            made = session.connection().execute(insert(table).values(row)).inserted_primary_key
            names = [column.name for column in table.primary_key]
            keys |= {f"{table.name}.{name}": value for name, value in zip(names, made or (), strict=True)}


def _automatic(column: Any) -> bool:
    return column.primary_key and isinstance(column.type, Integer) and len(column.table.primary_key) == 1


def _value(column: Any, keys: dict[str, Any]) -> Any:
    for key in column.foreign_keys:
        if key.ondelete == "CASCADE":
            return keys[f"{key.column.table.name}.{key.column.name}"]
    if column.nullable:
        return None
    kind = column.type
    if isinstance(kind, Boolean):
        return False
    if isinstance(kind, Integer | Numeric):
        return 1
    if isinstance(getattr(kind, "impl", kind), DateTime):
        return now()
    if isinstance(kind, TypeDecorator):
        return SAMPLES[type(kind)]
    return MARK[: getattr(kind, "length", None) or 99]


def everything(database: Database) -> dict[str, str]:
    """All that the database holds, the job engine's tables too, a text a table."""
    found = {}
    places = inspect(database.engine)
    schemas = [None] if database.is_sqlite else [None, "dbos"]
    with database.read() as session:
        for schema in schemas:
            for table in places.get_table_names(schema=schema):
                name = f'"{schema}"."{table}"' if schema else f'"{table}"'
                rows = session.execute(text(f"SELECT * FROM {name}")).all()
                found[table] = "\n".join(str(tuple(row)) for row in rows)
    return found


def live(browser: Browser, database: Database, queue: Jobs) -> str:
    """What a learner does in a day; returns the submission's id."""
    browser.post("/settings", data=FORM)
    browser.post("/progress/read", data={"kind": "card", "id": "online-softmax"})
    browser.post("/bookmarks", data={"kind": "card", "id": "online-softmax", "on": "yes"})
    browser.post("/notes/card/online-softmax", data={"text": MARK, "version": "0"})
    submission = hand_in(browser, source=f"# {MARK}\n")
    work = start(database, live_run(database, submission))
    assert work is not None
    record(database, queue, work, verdict(Outcome.WRONG_ANSWER, problem="for operators only", sentence=MARK))
    return submission


def test_the_export_has_everything_and_no_secret(
    browser: Browser, ada: str, database: Database, queue: Jobs, application: FastAPI
) -> None:
    live(browser, database, queue)
    fill(database, ada)
    other = Browser(application)
    sign_up(other)
    answer = browser.get("/settings/export")
    assert answer.headers["content-disposition"] == 'attachment; filename="tilewright-export.json"'
    data = json.loads(answer.text)
    assert set(data) == {"format", "exported_at", *EXPORTERS}
    assert all(data[name] for name in EXPORTERS), [name for name in EXPORTERS if not data[name]]
    assert data["users"][0]["email"] == ADA["email"]
    assert data["submissions"][0]["source"] == f"# {MARK}\n"
    assert data["runs"][0]["verdict"]["sentence"] == MARK
    assert data["grades"][0]["marks"][0]["text"] == MARK
    for secret in ("SECRET", "argon2", "hash", "for operators only", "ada@example.org"):
        assert secret not in answer.text


def test_leaving_leaves_nothing(
    browser: Browser, ada: str, database: Database, queue: Jobs, application: FastAPI
) -> None:
    marks = (MARK, ada, live(browser, database, queue))
    fill(database, ada)
    other = Browser(application)
    sign_up(other)
    before = everything(database)
    assert {table.name for table in owned()} <= {
        name for name, held in before.items() if any(mark in held for mark in marks)
    }
    assert browser.post("/settings/delete", data={"password": "wrong horse", "sure": "yes"}).status_code == 422
    assert browser.post("/settings/delete", data={"password": PASSWORD}).status_code == 422
    answer = browser.post("/settings/delete", data={"password": PASSWORD, "sure": "yes"})
    assert answer.headers["location"] == "/"
    left = everything(database)
    assert {name: held for name, held in left.items() if any(mark in held for mark in marks)} == {}
    assert "ada.lovelace" in left["users"]  # somebody else's account stays
    assert browser.get("/progress").status_code == 303
    assert browser.post("/sign-in", data=ADA).status_code == 422


def test_a_name_like_anothers_keeps_its_limits(browser: Browser, ada: str, database: Database) -> None:
    with database.write() as session:
        session.add(RateWindow(key=f"sign-in:name:ada-{MARK}-two", since=now(), tries=3))
    browser.post("/settings/delete", data={"password": PASSWORD, "sure": "yes"})
    with database.read() as session:
        assert session.get(RateWindow, f"sign-in:name:ada-{MARK}-two") is not None


def test_the_last_administrator_stays(browser: Browser, ada: str, database: Database) -> None:
    with database.write() as session:
        session.get_one(User, ada).role = Role.ADMIN
    assert browser.post("/settings/delete", data={"password": PASSWORD, "sure": "yes"}).status_code == 409
    with database.read() as session:
        assert session.get(User, ada) is not None


def test_the_walk_over_the_tables_finds_what_hangs_on_what() -> None:
    names = [table.name for table in owned()]
    assert names[0] == "users"
    assert names.index("submissions") < names.index("runs")
    assert "unlock_codes" not in names  # an administrator's codes stay when he goes
    assert any(isinstance(key, ForeignKey) for table in owned() for key in table.foreign_keys)
    assert isinstance(User.__table__.c.id.type, String)
