"""Settings: each is documented, and what makes no sense is refused at the start."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from app.settings import ROOT, Settings, variable

PAGE = (ROOT / "docs" / "settings.md").read_text()
ROWS = {line.split("|")[1].strip(" `"): line for line in PAGE.splitlines() if line.startswith("| `TILEWRIGHT_")}


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_documented_in_its_own_words(name: str) -> None:
    field = Settings.model_fields[name]
    row = ROWS.get(variable(name))
    assert row is not None, f"docs/settings.md has no row for {variable(name)}"
    assert field.description is not None
    assert row.split("|")[3].strip() == field.description
    default = str(field.default).removeprefix(f"{ROOT}/")
    assert row.split("|")[2].strip(" `") == default


def test_no_setting_is_documented_that_does_not_exist() -> None:
    assert set(ROWS) == {variable(name) for name in Settings.model_fields}


def test_the_environment_sets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_SLOTS", "3")
    monkeypatch.setenv("TILEWRIGHT_PUBLIC_ORIGIN", "https://Learn.Example.org/")
    settings = Settings()
    assert (settings.slots, settings.public_origin, settings.secure) == (3, "https://learn.example.org", True)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("", "sqlite:////data/tilewright.db"),
        ("postgres://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("postgresql://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("postgresql+psycopg://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("sqlite:///x.db", "sqlite:///x.db"),
    ],
)
def test_the_address_of_the_database(given: str, url: str) -> None:
    assert Settings(data=Path("/data"), database_url=given).database == url


@pytest.mark.parametrize("origin", ["learn.example.org", "ftp://x", "https://", "https://x/path", "javascript:1"])
def test_an_origin_is_scheme_and_host(origin: str) -> None:
    with pytest.raises(ValidationError):
        Settings(public_origin=origin)
