"""The database: how a transaction begins, where it ends, and what a column may hold.

One request, or one step of a worker, is one transaction: `Database.write` commits at its end or not at all.
On SQLite a writer begins with ``BEGIN IMMEDIATE``: under the driver's own habit of beginning late, two writers that
read before they write lose one update without an error. Readers begin ``DEFERRED`` and block nobody.
On PostgreSQL writers run side by side. One that decides by what it reads (is there a row? how many were there in
the last minute?) calls `alone` first, and then both databases behave alike.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import structlog
from fastapi import Depends, Request
from sqlalchemy import DateTime, Dialect, MetaData, create_engine, event, func, select, text
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.orm import DeclarativeBase, Session
from sqlalchemy.types import TypeDecorator

from app.errors import Unavailable

if TYPE_CHECKING:
    from alembic.config import Config

BUSY_MS = 30_000
PATIENCE = 120.0  # seconds that `patiently` waits for a database that is away
MIGRATIONS = Path(__file__).resolve().parents[1] / "migrations"
log = structlog.get_logger(__name__)
T = TypeVar("T")
_BEGIN = "tilewright_begin"  # execution option: how a SQLite transaction begins


class UtcDateTime(TypeDecorator[datetime]):
    """A moment. Only aware datetimes go in and UTC comes out, also from SQLite, which keeps no zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a moment needs a time zone: {value!r}")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    """Every table of ours. Constraints have names, so that a migration can drop them on both databases."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {datetime: UtcDateTime()}  # noqa: RUF012 - SQLAlchemy's own declaration


def now() -> datetime:
    """This moment, in UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    """A random id of 80 bits for addresses: it cannot be guessed and says nothing about how many there are."""
    return "".join(secrets.choice("0123456789abcdefghjkmnpqrstvwxyz") for _ in range(16))


class Database:
    """The engine, and the only two ways to a session."""

    def __init__(self, url: str, pool_size: int = 10) -> None:
        self.url: URL = make_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.engine = _sqlite(self.url, pool_size) if self.is_sqlite else _postgres(self.url, pool_size)
        self._writer = self.engine.execution_options(**{_BEGIN: "IMMEDIATE"})
        self._reader = self.engine.execution_options(
            **({_BEGIN: "DEFERRED"} if self.is_sqlite else {"postgresql_readonly": True})
        )

    @contextmanager
    def write(self) -> Iterator[Session]:
        """One transaction: committed when the block ends, rolled back when it raises."""
        with Session(self._writer, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def read(self) -> Iterator[Session]:
        """One consistent look. What is changed here is never kept."""
        with Session(self._reader, expire_on_commit=False, autoflush=False) as session:
            yield session  # closing it rolls back, and leaves what was read readable

    def step(self, step: Callable[[Session], T]) -> T:
        """One step as one transaction; returns what the step returns."""
        with self.write() as session:
            return step(session)

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


def _sqlite(url: URL, pool_size: int) -> Engine:
    if url.database and url.database != ":memory:":
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(
        url,
        # isolation_level=None: the driver begins nothing by itself, so that the event below can
        connect_args={"isolation_level": None, "check_same_thread": False, "timeout": BUSY_MS / 1000},
        pool_size=pool_size,
        max_overflow=pool_size,
        hide_parameters=True,  # an error that is logged must not carry what somebody typed
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        for pragma in ("journal_mode=WAL", f"busy_timeout={BUSY_MS}", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(f"BEGIN {connection.get_execution_options().get(_BEGIN, 'IMMEDIATE')}")

    return engine


def _postgres(url: URL, pool_size: int) -> Engine:
    return create_engine(url, pool_size=pool_size, max_overflow=pool_size, pool_pre_ping=True, hide_parameters=True)


def alone(session: Session, *name: str) -> None:
    """From here to the end of the transaction, no other one is behind this call with the same `name`.

    What was read before may be out of date, so it is read again when it is next asked for. Whoever needs two names
    asks for that of a learner first. On SQLite there is one writer anyway.
    """
    if session.get_bind().dialect.name == "sqlite":
        return
    key = int.from_bytes(hashlib.blake2b("\0".join(name).encode(), digest_size=8).digest(), signed=True)
    session.flush()
    session.execute(select(func.pg_advisory_xact_lock(key)))
    session.expire_all()


def upgrade_tables(database: Database) -> None:
    """Bring our tables to the newest migration; several processes may try at once. Nothing to do is quick."""
    from alembic import command

    config = _alembic()
    with database.engine.connect() as connection:
        raw: Any = connection.connection.driver_connection
        if database.is_sqlite:
            # Rebuilding a table drops the old one; with foreign keys on, that deletes the rows pointing to it.
            raw.execute("PRAGMA foreign_keys=OFF")
        with connection.begin():
            if not database.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(7263001)"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            if database.is_sqlite and connection.execute(text("PRAGMA foreign_key_check")).first():
                raise RuntimeError("the migration left rows that point to nothing; nothing was changed")
        if database.is_sqlite:
            raw.execute("PRAGMA foreign_keys=ON")


def check_tables(database: Database) -> None:
    """Raise `Unavailable` unless the tables are those of this version."""
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    with database.engine.connect() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
    if current != ScriptDirectory.from_config(_alembic()).get_current_head():
        raise Unavailable("The database has not the tables of this version.", "Run: tilewright db upgrade")


def _alembic() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config


def patiently(step: Callable[[], T]) -> T:
    """Try a step again while the database is away, for a while: no verdict is lost to that."""
    deadline = time.monotonic() + PATIENCE
    pause = 0.5
    while True:
        try:
            return step()
        except DBAPIError as error:
            passing = error.connection_invalidated or isinstance(error, (OperationalError, InterfaceError))
            if not passing or time.monotonic() > deadline:
                raise
            log.warning("waiting for the database", reason=str(error.orig))
            time.sleep(pause)
            pause = min(pause * 2, 10.0)


def database_of(request: Request) -> Database:
    """The database of the application that answers `request`."""
    database: Database = request.app.state.database
    return database


def _reading(request: Request) -> Iterator[Session]:
    with database_of(request).read() as session:
        yield session


def _writing(request: Request) -> Iterator[Session]:
    with database_of(request).write() as session:
        yield session


# scope="function": the transaction ends before the answer leaves, so that a redirect finds what it leads to.
Reading = Annotated[Session, Depends(_reading, scope="function")]
Writing = Annotated[Session, Depends(_writing, scope="function")]
