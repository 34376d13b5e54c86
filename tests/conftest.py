"""Real databases for the tests: a file of SQLite, or a database of a private PostgreSQL."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from sqlalchemy import text

from app import jobs
from app.db import Base, Database, upgrade_tables
from app.jobs import Jobs
from app.settings import Settings
from tests.postgres import Server, shared_server

# A busy machine is slow, not wrong; and a failure found once must be found again.
hypothesis.settings.register_profile("tilewright", deadline=None, derandomize=True)
hypothesis.settings.load_profile("tilewright")


@pytest.fixture(autouse=True)
def logs_as_found() -> Iterator[None]:
    """A door for logs that a test sets up ends with it: its stream is closed by then."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    for handler in [one for one in root.handlers if type(one) is logging.StreamHandler and one not in before]:
        root.removeHandler(handler)
    root.setLevel(level)


def session_folder(factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this test session share."""
    base = factory.getbasetemp()
    return base.parent if base.name.startswith("popen-") else base


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The private server of this session."""
    with shared_server(session_folder(tmp_path_factory)) as server:
        yield server


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all tables, to copy."""
    path = tmp_path_factory.mktemp("sqlite") / "empty.db"
    url = f"sqlite:///{path}"
    database = Database(url)
    upgrade_tables(database)
    jobs.migrate(url)
    database.close()
    return path


@pytest.fixture(scope="session")
def migrated_postgres(postgres: Server) -> Iterator[str]:
    """The address of a database with all tables, for one process of the session."""
    name = postgres.create()
    database = Database(postgres.url(name))
    upgrade_tables(database)
    jobs.migrate(postgres.url(name))
    database.close()
    yield postgres.url(name)
    postgres.drop(name)


def empty(url: str) -> None:
    """Delete all rows of ours and the job engine's."""
    ours = [table.name for table in Base.metadata.sorted_tables]
    theirs = [f"dbos.{name}" for name in jobs.own_tables() if name != "dbos_migrations"]
    database = Database(url)
    with database.write() as session:
        session.execute(text(f"TRUNCATE {', '.join([*ours, *theirs])} CASCADE"))
    database.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty database with all tables: the test runs once on each kind."""
    if request.param == "sqlite":
        path = tmp_path / "tilewright.db"
        shutil.copy(request.getfixturevalue("migrated_sqlite"), path)
        yield f"sqlite:///{path}"
        return
    url: str = request.getfixturevalue("migrated_postgres")
    yield url
    empty(url)


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """Settings for that database, quick enough for tests."""
    return Settings(
        data=tmp_path / "var",
        database_url=database_url,
        poll_seconds=0.05,
        heartbeat_seconds=0.5,
        dead_after_seconds=3.0,
        submissions_per_minute=1000,
    )


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    """The database itself."""
    opened = Database(settings.database)
    yield opened
    opened.close()


@pytest.fixture
def queue(settings: Settings) -> Iterator[Jobs]:
    """The side of the job engine that hands out work."""
    client = Jobs(settings.database)
    yield client
    client.close()
