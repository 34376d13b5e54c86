"""Transactions, moments and migrations, on both databases."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, select, text

from app import jobs
from app.db import Base, Database, check_tables, new_id, now, upgrade_tables
from app.errors import Unavailable
from app.jobs import Heartbeat
from app.security import RateWindow
from tests.postgres import Server


def test_a_failed_block_leaves_nothing(database: Database) -> None:
    def fail() -> None:
        with database.write() as session:
            session.add(RateWindow(key="k", since=now(), tries=1))
            session.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.read() as session:
        assert session.get(RateWindow, "k") is None


def test_what_a_reader_changes_is_not_kept(database: Database) -> None:
    with database.write() as session:
        session.add(RateWindow(key="k", since=now(), tries=1))
    with database.read() as session:
        row = session.get_one(RateWindow, "k")
        row.tries = 99
    assert row.tries == 99  # readable after its session
    with database.read() as session:
        assert session.get_one(RateWindow, "k").tries == 1


def test_no_update_is_lost_between_many_writers(database: Database) -> None:
    """Each reads, then writes what it read plus one: the pattern that a late BEGIN loses on SQLite."""
    with database.write() as session:
        session.add(RateWindow(key="count", since=now(), tries=0))
    ready = threading.Barrier(8)

    def add_ten(_: int) -> None:
        ready.wait()
        for _ in range(10):
            with database.write() as session:
                row = session.scalars(select(RateWindow).where(RateWindow.key == "count").with_for_update()).one()
                row.tries += 1

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(add_ten, range(8)))
    with database.read() as session:
        assert session.get_one(RateWindow, "count").tries == 80


def test_a_reader_is_not_blocked_by_a_writer(database: Database) -> None:
    with database.write() as writer:
        writer.add(RateWindow(key="k", since=now(), tries=1))
        writer.flush()
        with database.read() as reader:
            assert reader.get(RateWindow, "k") is None


def test_moments_are_aware_and_in_utc(database: Database) -> None:
    there = datetime(2026, 3, 1, 14, 30, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    with database.write() as session:
        session.add(RateWindow(key="k", since=there, tries=1))
    with database.read() as session:
        kept = session.get_one(RateWindow, "k").since
    assert kept == there
    assert kept.tzinfo is UTC
    with pytest.raises(Exception, match="time zone"), database.write() as session:
        session.add(RateWindow(key="naive", since=datetime(2026, 3, 1), tries=1))  # noqa: DTZ001 - what is refused


def test_sqlite_is_set_up_as_promised(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'x.db'}")
    with database.read() as session:
        pragmas = {
            name: session.execute(text(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "foreign_keys", "busy_timeout")
        }
    assert pragmas == {"journal_mode": "wal", "foreign_keys": 1, "busy_timeout": 30_000}
    database.close()


def test_the_migrations_make_what_the_models_say(database: Database) -> None:
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "include_name": _ours})
        assert compare_metadata(context, Base.metadata) == []


def _ours(name: str | None, kind: str, _parents: object) -> bool:
    return not (kind == "table" and name in jobs.own_tables())


def test_upgrading_again_changes_nothing_and_keeps_rows(database: Database) -> None:
    with database.write() as session:
        session.add(Heartbeat(id="w", lane="cpu", started_at=now(), seen_at=now(), slots=1, busy=0))
    upgrade_tables(database)
    jobs.migrate(database.url.render_as_string(hide_password=False))
    check_tables(database)
    with database.read() as session:
        assert session.get(Heartbeat, "w") is not None


def test_several_may_upgrade_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new.db'}"
    _upgrade_at_once(url)


@pytest.mark.postgres
def test_several_may_upgrade_at_once_on_postgres(postgres: Server) -> None:
    name = postgres.create()
    _upgrade_at_once(postgres.url(name))
    postgres.drop(name)


def _upgrade_at_once(url: str) -> None:
    databases = [Database(url) for _ in range(3)]
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(upgrade_tables, databases))
    check_tables(databases[0])
    assert set(inspect(databases[0].engine).get_table_names()) >= set(Base.metadata.tables)
    for database in databases:
        database.close()


def test_without_tables_one_is_told_what_to_do(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'empty.db'}")
    with pytest.raises(Unavailable) as refusal:
        check_tables(database)
    assert "tilewright db upgrade" in refusal.value.what_to_do
    database.close()


def test_ids_do_not_repeat() -> None:
    assert len({new_id() for _ in range(1000)}) == 1000
