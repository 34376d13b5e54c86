"""Accounts, submissions, progress, workers and rate limits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.db import UtcDateTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go forward."""
    op.create_table(
        "rate_windows",
        sa.Column("key", sa.String(length=160), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_rate_windows")),
    )
    with op.batch_alter_table("rate_windows") as batch_op:
        batch_op.create_index(batch_op.f("ix_rate_windows_since"), ["since"], unique=False)

    op.create_table(
        "users",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("username", sa.String(length=32), nullable=False),
        sa.Column("username_key", sa.String(length=32), nullable=False),
        sa.Column("password_hash", sa.String(length=255), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=True),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("username_key", name=op.f("uq_users_username_key")),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("lane", sa.String(length=8), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("busy", sa.Integer(), nullable=False),
        sa.Column("trouble", sa.String(length=2000), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    with op.batch_alter_table("workers") as batch_op:
        batch_op.create_index(batch_op.f("ix_workers_lane"), ["lane"], unique=False)

    op.create_table(
        "readings",
        sa.Column("user_id", sa.String(length=16), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("item", sa.String(length=64), nullable=False),
        sa.Column("read_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_readings_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "kind", "item", name=op.f("pk_readings")),
    )
    op.create_table(
        "sign_ins",
        sa.Column("secret_hash", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=16), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_sign_ins_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("secret_hash", name=op.f("pk_sign_ins")),
    )
    with op.batch_alter_table("sign_ins") as batch_op:
        batch_op.create_index(batch_op.f("ix_sign_ins_expires_at"), ["expires_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_sign_ins_user_id"), ["user_id"], unique=False)

    op.create_table(
        "submissions",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("user_id", sa.String(length=16), nullable=False),
        sa.Column("token", sa.String(length=64), nullable=False),
        sa.Column("drill", sa.String(length=64), nullable=False),
        sa.Column("lane", sa.String(length=8), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("submitted_at", UtcDateTime(), nullable=False),
        sa.Column("cancelled_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_submissions_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submissions")),
        sa.UniqueConstraint("user_id", "token", name=op.f("uq_submissions_user_id_token")),
    )
    with op.batch_alter_table("submissions") as batch_op:
        batch_op.create_index("ix_submissions_user", ["user_id", "submitted_at", "id"], unique=False)
        batch_op.create_index("ix_submissions_user_drill", ["user_id", "drill", "submitted_at", "id"], unique=False)

    op.create_table(
        "run_events",
        sa.Column("submission_id", sa.String(length=16), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["submission_id"],
            ["submissions.id"],
            name=op.f("fk_run_events_submission_id_submissions"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("submission_id", "number", name=op.f("pk_run_events")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("submission_id", sa.String(length=16), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("cause", sa.String(length=8), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=True),
        sa.Column("worker", sa.String(length=128), nullable=True),
        sa.Column("lease", sa.String(length=16), nullable=True),
        sa.Column("leased_until", UtcDateTime(), nullable=True),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("outcome", sa.String(length=16), nullable=True),
        sa.CheckConstraint("(verdict IS NULL) = (outcome IS NULL)", name=op.f("ck_runs_verdict_with_outcome")),
        sa.ForeignKeyConstraint(
            ["submission_id"],
            ["submissions.id"],
            name=op.f("fk_runs_submission_id_submissions"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sa.UniqueConstraint("submission_id", "number", name=op.f("uq_runs_submission_id_number")),
    )
    with op.batch_alter_table("runs") as batch_op:
        batch_op.create_index(
            "ix_runs_open",
            ["created_at"],
            unique=False,
            postgresql_where=sa.text("ended_at IS NULL"),
            sqlite_where=sa.text("ended_at IS NULL"),
        )


def downgrade() -> None:
    """Go back."""
    with op.batch_alter_table("runs") as batch_op:
        batch_op.drop_index(
            "ix_runs_open", postgresql_where=sa.text("ended_at IS NULL"), sqlite_where=sa.text("ended_at IS NULL")
        )

    op.drop_table("runs")
    op.drop_table("run_events")
    with op.batch_alter_table("submissions") as batch_op:
        batch_op.drop_index("ix_submissions_user_drill")
        batch_op.drop_index("ix_submissions_user")

    op.drop_table("submissions")
    with op.batch_alter_table("sign_ins") as batch_op:
        batch_op.drop_index(batch_op.f("ix_sign_ins_user_id"))
        batch_op.drop_index(batch_op.f("ix_sign_ins_expires_at"))

    op.drop_table("sign_ins")
    op.drop_table("readings")
    with op.batch_alter_table("workers") as batch_op:
        batch_op.drop_index(batch_op.f("ix_workers_lane"))

    op.drop_table("workers")
    op.drop_table("users")
    with op.batch_alter_table("rate_windows") as batch_op:
        batch_op.drop_index(batch_op.f("ix_rate_windows_since"))

    op.drop_table("rate_windows")
