"""Which workers live, for operators and for health checks."""

from __future__ import annotations

import typer

from app import jobs
from app.db import Database, check_tables, now
from app.settings import Settings
from grader.verdict import Lane


def list_workers(settings: Settings, lane: Lane | None, here: bool) -> int:
    """Print a line for each worker heard of lately; 0 if at least one of them can grade, else 1."""
    database = Database(settings.database)
    try:
        check_tables(database)
        with database.read() as session:
            living = jobs.living(session, settings.dead_after_seconds)
    finally:
        database.close()
    wanted = [row for row in living if lane in (None, row.lane) and (not here or jobs.of_this_host(row.id))]
    for row in wanted:
        state = row.trouble or f"{row.busy} of {row.slots} busy"
        typer.echo(f"{row.lane}  {row.id}  heard of {(now() - row.seen_at).total_seconds():.0f} s ago  {state}")
    if not wanted:
        typer.echo("No worker lives that was asked for. Start one: tilewright worker --lane cpu", err=True)
    return 0 if any(row.trouble is None for row in wanted) else 1
