"""The command `tilewright`. Each subcommand is a few lines here; what is longer lies beside it in this package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from app.accounts.models import Role
from app.cli.unlock import app as unlock_app
from app.errors import AppError, InvalidForm
from app.settings import Settings, configure_logs
from grader.verdict import Lane

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help="Tilewright.")
check_app = typer.Typer(no_args_is_help=True, help="Check what authors write; every problem is named at once.")
db_app = typer.Typer(no_args_is_help=True, help="The database.")
user_app = typer.Typer(no_args_is_help=True, help="Accounts.")
new_app = typer.Typer(no_args_is_help=True, help="Begin a piece of the course: files that pass every check.")
app.add_typer(check_app, name="check")
app.add_typer(new_app, name="new")
app.add_typer(db_app, name="db")
app.add_typer(user_app, name="user")
app.add_typer(unlock_app, name="unlock")

LaneOption = Annotated[Lane, typer.Option(help="Where to run: cpu or gpu.")]


def main() -> None:
    """Entry point: our own refusals end in one clear line, not in a traceback."""
    try:
        app()
    except AppError as error:
        typer.echo(f"tilewright: {error.message} {error.what_to_do}".rstrip(), err=True)
        sys.exit(2)


@app.command()
def serve() -> None:
    """Serve the web pages."""
    from app.cli.processes import serve_web

    serve_web(Settings())


@app.command()
def worker(
    lane: LaneOption = Lane.CPU,
    gpu: Annotated[
        int | None, typer.Option(help="Only this GPU, counted from 0; each gets a worker if unset.")
    ] = None,
) -> None:
    """Grade the submissions of one lane."""
    from app.cli.processes import run_on_every_gpu
    from app.worker import run_worker

    settings = Settings()
    if gpu is not None:
        settings = settings.model_copy(update={"gpu": gpu})
    configure_logs(settings)
    if lane is Lane.GPU and settings.gpu is None:
        sys.exit(run_on_every_gpu(settings))
    run_worker(settings, lane)


@app.command()
def run() -> None:
    """Set the database up, then run the web and a CPU worker together; Ctrl-C stops both."""
    from app.cli.processes import run_together

    settings = Settings()
    upgrade(settings)
    sys.exit(run_together(settings))


@app.command()
def grade(
    drill: Annotated[str, typer.Argument(help="The drill's id, such as tiled_softmax.")],
    file: Annotated[Path, typer.Argument(help="The file to grade.")],
    lane: LaneOption = Lane.CPU,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> None:
    """Grade one file as a submission would be: exit 0 accepted, 1 not accepted, 2 grader problem."""
    from app.cli.grading import grade_file

    sys.exit(grade_file(Settings(), drill, file, lane, as_json))


@check_app.command("content")
def check_content(
    numbers: Annotated[bool, typer.Option("--numbers", help="Print every worked number with its value.")] = False,
) -> None:
    """Check the course: ids, references, links, figures, formulas, worked numbers."""
    from app.course.check import check, numbers_of

    settings = Settings()
    if numbers:
        typer.echo(numbers_of(settings.content, settings.drills), nl=False)
    problems = check(settings.content, settings.drills)
    for problem in problems:
        typer.echo(str(problem))
    typer.echo(f"{len(problems)} problem{'s' * (len(problems) != 1)} in {settings.content}", err=True)
    sys.exit(1 if problems else 0)


@check_app.command("drills")
def check_drills(
    drill: Annotated[str, typer.Argument(help="Only this drill; all when left out.")] = "",
    write: Annotated[bool, typer.Option("--write", help="Store the kill matrices anew.")] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write what was found into this folder, as a page.", file_okay=False)
    ] = None,
) -> None:
    """Put drills through the publication gate: every mutant refused, every correct kernel accepted."""
    from app.cli.grading import run_gate

    sys.exit(run_gate(Settings(), drill, write, report))


NewName = Annotated[str, typer.Argument(help="Its id, which is also its address and never changes.")]
NewTopic = Annotated[str, typer.Option("--topic", help="The topic of course.toml that it belongs to.")]


@new_app.command("concept")
def new_concept(name: NewName, topic: NewTopic) -> None:
    """Begin a card, as a draft."""
    _new("concept", name, topic)


@new_app.command("question")
def new_question(name: NewName, topic: NewTopic) -> None:
    """Begin a question, as a draft."""
    _new("question", name, topic)


@new_app.command("drill")
def new_drill(name: NewName, topic: NewTopic) -> None:
    """Begin a drill: a small numeric one to rewrite."""
    _new("drill", name, topic)


def _new(kind: str, name: str, topic: str) -> None:
    from app.cli.scaffold import begin

    for path, what in begin(kind, name, topic, Settings()):
        typer.echo(f"{path}: {what}" if what else str(path))


@db_app.command("upgrade")
def db_upgrade() -> None:
    """Create the tables, or bring them to this version. Nothing to do is quick and changes nothing."""
    settings = Settings()
    configure_logs(settings)
    upgrade(settings)
    typer.echo("The database has the tables of this version.")


def upgrade(settings: Settings) -> None:
    """Bring our tables and the job engine's to this version."""
    from app import jobs
    from app.db import Database, upgrade_tables

    database = Database(settings.database)
    try:
        upgrade_tables(database)
        jobs.migrate(settings.database)
    finally:
        database.close()


Username = Annotated[str, typer.Argument(help="The account's name.")]
Password = Annotated[
    str,
    typer.Option(prompt=True, hide_input=True, confirmation_prompt=True, help="Asked for when left out."),
]


@user_app.command("create")
def user_create(
    username: Username,
    password: Password,
    role: Annotated[str, typer.Option(help="learner, author or admin.")] = "learner",
    email: Annotated[str, typer.Option(help="May stay empty.")] = "",
) -> None:
    """Make an account of any role."""
    from app.accounts import service
    from app.db import Database, check_tables

    database = Database(Settings().database)
    check_tables(database)
    service.sign_up(database, username, password, email, _role(role))
    typer.echo(f"{username} can sign in as {role}.")


@user_app.command("role")
def user_role(username: Username, role: Annotated[str, typer.Argument(help="learner, author or admin.")]) -> None:
    """Give an account another role; its browsers are signed out."""
    from app.accounts import service
    from app.db import Database

    with Database(Settings().database).write() as session:
        user = service.find(session, username)
        if user is None:
            raise InvalidForm({"username": f"There is no account {username}."})
        service.change_role(session, user, _role(role))
    typer.echo(f"{username} is {role} now, and signed out everywhere.")


@user_app.command("password")
def user_password(username: Username, password: Password) -> None:
    """Set an account's password; its browsers are signed out."""
    from app.accounts import service
    from app.accounts.mail import send_all, sender_of, told_of_change
    from app.db import Database

    settings = Settings()
    hashed = service.hash_password(password)
    with Database(settings.database).write() as session:
        user = service.find(session, username)
        if user is None:
            raise InvalidForm({"username": f"There is no account {username}."})
        service.change_password(session, user, hashed)
    send_all(sender_of(settings), told_of_change(user.username, user.email, "password", settings.origin))
    typer.echo(f"The password of {username} is changed, and every browser signed out.")


@app.command()
def workers(
    lane: Annotated[Lane | None, typer.Option(help="Only this lane: cpu or gpu.")] = None,
    here: Annotated[bool, typer.Option("--here", help="Only those of this host.")] = False,
) -> None:
    """List the workers that live. Exit 1 when none of them can grade: a health check."""
    from app.cli.workers import list_workers

    sys.exit(list_workers(Settings(), lane, here))


@app.command()
def doctor() -> None:
    """Examine this machine: what works, what does not, and what to do about it."""
    from app.cli.doctor import examine

    sys.exit(examine(Settings()))


def _role(name: str) -> Role:
    try:
        return Role(name)
    except ValueError:
        raise InvalidForm({"role": "A role is learner, author or admin."}) from None
