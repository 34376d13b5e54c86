"""What the pages ask often stays quick beside many rows: SQLite's planner begins with the few open runs."""

from __future__ import annotations

import pytest
from sqlalchemy import event, text

from app.db import Database
from app.submissions.view import waiting_in
from tests.app.submissions.conftest import add_user

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_counting_what_waits_reads_no_ended_submission(database: Database) -> None:
    """The count stood on every drill's page, and read all submissions once SQLite had statistics of them."""
    user = add_user(database, "ada")
    series = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 3000) "
    moment = "'2026-01-01 00:00:00.000000'"
    with database.write() as session:
        session.execute(
            text(
                "INSERT INTO submissions (id, user_id, trial, token, drill, lane, source, submitted_at) "
                f"{series} SELECT 's' || n, '{user}', 0, 't' || n, 'd', 'cpu', 'x', {moment} FROM s"
            )
        )
        session.execute(
            text(
                "INSERT INTO runs (id, submission_id, number, cause, created_at, ended_at) "
                f"{series} SELECT 'r' || n, 's' || n, 1, 'submit', {moment}, {moment} FROM s"
            )
        )
        session.execute(text("ANALYZE"))
    asked = []
    event.listen(database.engine, "before_cursor_execute", lambda *a: asked.append((a[2], a[3])))
    with database.read() as session:
        assert waiting_in(session, "cpu") == 0
        statement, parameters = asked[-1]
        plan = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
        steps = [row[3] for row in plan]
    assert steps and not [step for step in steps if step.startswith("SCAN submissions")], steps
