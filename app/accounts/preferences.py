"""What somebody has chosen about the site, as a value: read it with `preferences_of`, keep it with `keep`.

Nobody, and whoever has chosen nothing, has `Preferences()`. A value from the database that a later version would
refuse, such as a time zone that was renamed, falls back to the default of its own field alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal
from zoneinfo import ZoneInfo, available_timezones

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts import models
from app.db import alone
from app.errors import InvalidForm
from app.templating import THEMES, Theme

EditorKeys = Literal["default", "vim"]
EDITOR_KEYS: tuple[EditorKeys, ...] = ("default", "vim")
RETENTIONS = (0.80, 0.85, 0.90, 0.93, 0.95, 0.97)  # above this the intervals become shorter than anybody keeps up
CAPS = (5, 10, 20, 40, 80, 200)


@dataclass(frozen=True)
class Preferences:
    """How somebody likes the site.

    `retention` is the share of reviews that shall be remembered; `daily_cap` the most reviews of one day.
    """

    theme: Theme = "auto"
    time_zone: str = "UTC"
    editor_keys: EditorKeys = "default"
    shortcuts: bool = True  # whether single keys do something outside of text fields
    retention: float = 0.90
    daily_cap: int = 20

    @property
    def zone(self) -> ZoneInfo:
        """The time zone, for the boundaries of days."""
        return ZoneInfo(self.time_zone)


def preferences_of(session: Session, user: str | None) -> Preferences:
    """What `user` has chosen; the defaults for nobody."""
    if user is None:
        return Preferences()
    row = session.scalar(select(models.Preferences).where(models.Preferences.user_id == user))
    if row is None:
        return Preferences()
    kept = {field.name: getattr(row, field.name) for field in fields(Preferences)}
    good = {name: value for name, value in kept.items() if not _problem(name, value)}
    return Preferences(**good)


def keep(session: Session, user: str, chosen: Preferences) -> None:
    """Keep all choices of `user`."""
    alone(session, user)
    values = {field.name: getattr(chosen, field.name) for field in fields(Preferences)}
    session.merge(models.Preferences(user_id=user, **values))


def read_form(form: Mapping[str, str]) -> Preferences:
    """The choices that a form of the settings page holds. Raises `InvalidForm` with every problem at once."""
    values: dict[str, Any] = {
        "theme": form.get("theme", ""),
        "time_zone": form.get("time_zone", ""),
        "editor_keys": form.get("editor_keys", ""),
        "shortcuts": form.get("shortcuts") == "on",  # a box that is not ticked sends nothing
        "retention": _number(form.get("retention", "")),
        "daily_cap": _number(form.get("daily_cap", "")),
    }
    problems = {name: problem for name, value in values.items() if (problem := _problem(name, value))}
    if problems:
        raise InvalidForm(problems)
    return Preferences(**values)


def at_home_in(time_zone: str, theme: Theme) -> Preferences | None:
    """What a new account begins with: the zone that its browser named, if it is one, and the theme of its page."""
    known = time_zone != Preferences.time_zone and not _problem("time_zone", time_zone)
    return Preferences(theme=theme, time_zone=time_zone) if known else None


@cache
def time_zones() -> tuple[str, ...]:
    """The zones to choose from, by name: those of places, and UTC."""
    no_places = ("Etc/", "SystemV/", "US/")
    places = (zone for zone in available_timezones() if "/" in zone and not zone.startswith(no_places))
    return ("UTC", *sorted(places))


def _problem(name: str, value: object) -> str:
    allowed: Mapping[str, tuple[tuple[object, ...], str]] = {
        "theme": (THEMES, "Choose one of the three."),
        "time_zone": (time_zones(), "Choose a zone of the list."),
        "editor_keys": (EDITOR_KEYS, "Choose one of the two."),
        "shortcuts": ((True, False), "Choose on or off."),
        "retention": (RETENTIONS, "Choose a share of the list."),
        "daily_cap": (CAPS, "Choose a number of the list."),
    }
    choices, sentence = allowed[name]
    return "" if value in choices else sentence


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if value.is_integer() else value
