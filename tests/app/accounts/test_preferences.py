"""What somebody chose is kept as chosen, and nothing else gets in."""

from __future__ import annotations

import dataclasses

import pytest
from sqlalchemy import update

from app.accounts import models
from app.accounts.preferences import CAPS, RETENTIONS, Preferences, keep, preferences_of, read_form, time_zones
from app.db import Database
from app.errors import InvalidForm
from tests.app.submissions.conftest import add_user

FORM = {
    "theme": "dark",
    "time_zone": "Europe/Berlin",
    "editor_keys": "vim",
    "shortcuts": "on",
    "retention": "0.95",
    "daily_cap": "40",
}
CHOSEN = Preferences("dark", "Europe/Berlin", "vim", True, 0.95, 40)


def test_a_form_becomes_preferences() -> None:
    assert read_form(FORM) == CHOSEN
    assert read_form({**FORM, "shortcuts": ""}) == dataclasses.replace(CHOSEN, shortcuts=False)
    assert str(CHOSEN.zone) == "Europe/Berlin"


@pytest.mark.parametrize("field", ["theme", "time_zone", "editor_keys", "retention", "daily_cap"])
@pytest.mark.parametrize("value", ["", "nan", "inf", "-1", "../../etc/passwd", "\0", "\ud800", "1e999", "true"])
def test_what_cannot_be_chosen(field: str, value: str) -> None:
    with pytest.raises(InvalidForm) as refusal:
        read_form({**FORM, field: value})
    assert set(refusal.value.problems) == {field}


def test_all_problems_at_once() -> None:
    with pytest.raises(InvalidForm) as refusal:
        read_form({})
    assert set(refusal.value.problems) == {"theme", "time_zone", "editor_keys", "retention", "daily_cap"}


def test_they_are_kept(database: Database) -> None:
    ada, bob = add_user(database, "ada"), add_user(database, "bob")
    for chosen in (CHOSEN, dataclasses.replace(CHOSEN, theme="light")):
        with database.write() as session:
            keep(session, ada, chosen)
        with database.read() as session:
            assert preferences_of(session, ada) == chosen
            assert preferences_of(session, bob) == preferences_of(session, None) == Preferences()


def test_a_value_that_is_refused_today_falls_back_alone(database: Database) -> None:
    ada = add_user(database, "ada")
    with database.write() as session:
        keep(session, ada, CHOSEN)
        session.execute(update(models.Preferences).values(time_zone="Mars/Olympus", retention=7.0))
    with database.read() as session:
        assert preferences_of(session, ada) == dataclasses.replace(CHOSEN, time_zone="UTC", retention=0.90)


def test_the_defaults_can_be_chosen() -> None:
    default = Preferences()
    assert default.retention in RETENTIONS
    assert default.daily_cap in CAPS
    assert default.time_zone in time_zones()
