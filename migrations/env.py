"""How Alembic finds our tables and the database, for `app.db.upgrade_tables`.

One history serves SQLite and PostgreSQL: SQLite rebuilds a table to alter it (batch mode), and the job engine's
tables, which lie beside ours there, are left alone.
"""

from __future__ import annotations

from typing import Any

from alembic import context
from sqlalchemy import Connection

import app.accounts.audit
import app.accounts.models
import app.course.unlock_tables
import app.desk.models
import app.discussion.models
import app.practice.models
import app.progress.attempts
import app.progress.models
import app.review.models
import app.security
import app.submissions.capstones.models
import app.submissions.grades.models
import app.submissions.models  # noqa: F401 - importing a module registers its tables
from app.db import Base
from app.jobs import own_tables

_NOT_OURS = own_tables()


def _ours(name: str | None, kind: str, _parents: Any) -> bool:
    return not (kind == "table" and name in _NOT_OURS)


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        include_name=_ours,
        render_as_batch=True,
        compare_type=True,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


_run(context.config.attributes["connection"])
