"""What a learner keeps while working on a drill: drafts, runs apart from submissions, hints opened, predictions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.db import UtcDateTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go forward."""
    with op.batch_alter_table("submissions") as batch_op:
        batch_op.add_column(sa.Column("trial", sa.Boolean(), nullable=False, server_default=sa.false()))
        batch_op.add_column(sa.Column("visitor", sa.String(length=64), nullable=True))
        batch_op.alter_column("user_id", existing_type=sa.String(length=16), nullable=True)
        batch_op.create_check_constraint("one_owner", "(user_id IS NULL) <> (visitor IS NULL)")
        batch_op.create_check_constraint("visitors_only_try", "user_id IS NOT NULL OR trial")
        batch_op.create_unique_constraint(op.f("uq_submissions_visitor_token"), ["visitor", "token"])
        batch_op.create_index(
            "ix_submissions_trials",
            ["submitted_at"],
            unique=False,
            postgresql_where=sa.text("trial"),
            sqlite_where=sa.text("trial"),
        )
    _own("draft_versions", ["number"], _draft_version())
    _own("predictions", [], _prediction())
    _own("hints_opened", ["number"], [sa.Column("opened_at", UtcDateTime(), nullable=False)])
    _own("evidence", [], _evidence())


def _own(table: str, more_of_the_key: list[str], columns: list[sa.Column[object]]) -> None:
    """A table of what one learner keeps about one drill."""
    op.create_table(
        table,
        sa.Column("user_id", sa.String(length=16), nullable=False),
        sa.Column("drill", sa.String(length=64), nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in more_of_the_key),
        *columns,
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f(f"fk_{table}_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "drill", *more_of_the_key, name=op.f(f"pk_{table}")),
    )


def _draft_version() -> list[sa.Column[object]]:
    return [
        sa.Column("base", sa.Integer(), nullable=False),
        sa.Column("cause", sa.String(length=8), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("saved_at", UtcDateTime(), nullable=False),
    ]


def _prediction() -> list[sa.Column[object]]:
    return [
        sa.Column("mode", sa.String(length=24), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("made_at", UtcDateTime(), nullable=False),
    ]


def _evidence() -> list[sa.Column[object]]:
    return [
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.Column("failed", sa.String(length=16), nullable=True),
        sa.Column("changed_at", UtcDateTime(), nullable=False),
    ]


def downgrade() -> None:
    """Go back. Runs apart from submissions are lost."""
    for table in ("evidence", "hints_opened", "predictions", "draft_versions"):
        op.drop_table(table)
    op.execute("DELETE FROM submissions WHERE trial")
    with op.batch_alter_table("submissions") as batch_op:
        batch_op.drop_index("ix_submissions_trials")
        batch_op.drop_constraint(op.f("uq_submissions_visitor_token"), type_="unique")
        batch_op.drop_constraint(op.f("ck_submissions_visitors_only_try"), type_="check")
        batch_op.drop_constraint(op.f("ck_submissions_one_owner"), type_="check")
        batch_op.alter_column("user_id", existing_type=sa.String(length=16), nullable=False)
        batch_op.drop_column("visitor")
        batch_op.drop_column("trial")
