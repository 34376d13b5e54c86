"""What `tilewright unlock …` does: opens parts of the course to people, by name or by code."""

from __future__ import annotations

from typing import Annotated

import typer
from sqlalchemy.orm import Session

from app.accounts import service as accounts
from app.course import unlocks
from app.course.store import CourseStore
from app.course.unlock_tables import Source
from app.db import Database, check_tables, now
from app.errors import InvalidForm
from app.settings import Settings

app = typer.Typer(no_args_is_help=True, help="What is open to whom, beyond the policy of course.toml.")

What = Annotated[str, typer.Argument(help="course, topic:ID, question:ID or drill:ID.")]
Name = Annotated[str, typer.Argument(help="The account's name.")]


@app.command()
def code(
    what: What,
    uses: Annotated[int, typer.Option(help="People who may use it.")] = 1,
    days: Annotated[int | None, typer.Option(help="Days until it expires; never when left out.")] = None,
    note: Annotated[str, typer.Option(help="For yourself: who it is for.")] = "",
) -> None:
    """Make a code. It is printed once and kept nowhere."""
    database, target = _open(what)
    with database.write() as session:
        plain, row = unlocks.new_code(session, target, uses, days, note)
    typer.echo(plain)
    until = f"until {row.expires_at:%Y-%m-%d}" if row.expires_at else "without end"
    typer.echo(
        f"Opens {target}, {uses} times, {until}. Withdraw it with: tilewright unlock revoke {row.id}", err=True
    )


@app.command()
def codes() -> None:
    """List the codes: id, what it opens, uses, state, note."""
    database = _database()
    with database.read() as session:
        for row in unlocks.codes(session):
            state = unlocks.why_not(row, now()).partition(".")[0].lower() or "open"
            what = f"{row.scope}:{row.item}".rstrip(":")
            typer.echo(f"{row.id}  {what}  {row.uses}/{row.most}  {state}  {row.note}".rstrip())


@app.command()
def revoke(code_id: Annotated[str, typer.Argument(help="The code's id, from `codes`.")]) -> None:
    """Withdraw a code. What it has opened stays open."""
    with _database().write() as session:
        unlocks.revoke(session, code_id)
    typer.echo(f"The code {code_id} opens nothing more.")


@app.command()
def grant(
    username: Name,
    what: What,
    bought: Annotated[bool, typer.Option("--bought", help="Keep it as a purchase.")] = False,
) -> None:
    """Open something to somebody."""
    database, target = _open(what)
    with database.write() as session:
        new = unlocks.grant(session, _user(session, username), target, Source.PURCHASE if bought else Source.GRANT)
    typer.echo(f"{target} is open to {username}." if new else f"{target} was open to {username} already.")


@app.command("take-back")
def take_back(username: Name, what: What) -> None:
    """Close something that was opened to somebody, by whatever source."""
    database, target = _open(what)
    with database.write() as session:
        count = unlocks.take_back(session, _user(session, username), target)
    typer.echo(f"{target} is as the policy says for {username} again." if count else "Nothing was open.")


def _open(what: str) -> tuple[Database, unlocks.Target]:
    settings = Settings()
    course = CourseStore.open(settings.content, settings.drills)
    return _database(), unlocks.target(what, course.current)


def _database() -> Database:
    database = Database(Settings().database)
    check_tables(database)
    return database


def _user(session: Session, username: str) -> str:
    user = accounts.find(session, username)
    if user is None:
        raise InvalidForm({"username": f"There is no account {username}."})
    return user.id
