"""Discussion, capstones and the grading desk."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.db import UtcDateTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go forward."""
    op.create_table(
        "audit_entries",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("actor_id", sa.String(length=16), nullable=True),
        sa.Column("actor", sa.String(length=32), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("target", sa.String(length=160), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["actor_id"], ["users.id"], name=op.f("fk_audit_entries_actor_id_users"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entries")),
    )
    op.create_index("ix_audit_entries_at", "audit_entries", ["at", "id"])
    _discussion()
    _capstones()
    _desk()
    # What the desk looks for: the submissions to the few drills that a person scores.
    op.create_index("ix_submissions_drill", "submissions", ["drill", "submitted_at"])


def _discussion() -> None:
    op.create_table(
        "attempts",
        sa.Column("user_id", sa.String(length=16), nullable=False),
        sa.Column("question", sa.String(length=64), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("saved_at", UtcDateTime(), nullable=False),
        sa.Column("scores", sa.Text(), nullable=True),
        sa.Column("scored_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_attempts_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "question", name=op.f("pk_attempts")),
    )
    op.create_table(
        "posts",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("item", sa.String(length=64), nullable=False),
        sa.Column("parent_id", sa.String(length=16), nullable=True),
        sa.Column("user_id", sa.String(length=16), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("edited_at", UtcDateTime(), nullable=True),
        sa.Column("deleted_at", UtcDateTime(), nullable=True),
        sa.Column("hidden_at", UtcDateTime(), nullable=True),
        sa.Column("hidden_reason", sa.String(length=400), nullable=True),
        sa.ForeignKeyConstraint(
            ["parent_id"], ["posts.id"], name=op.f("fk_posts_parent_id_posts"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_posts_user_id_users"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_posts")),
    )
    op.create_index("ix_posts_place", "posts", ["kind", "item", "parent_id", "at", "id"])
    op.create_index(op.f("ix_posts_parent_id"), "posts", ["parent_id"])
    op.create_index(op.f("ix_posts_user_id"), "posts", ["user_id"])
    op.create_table(
        "reports",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("post_id", sa.String(length=16), nullable=False),
        sa.Column("user_id", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.String(length=400), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("closed_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["post_id"], ["posts.id"], name=op.f("fk_reports_post_id_posts"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_reports_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reports")),
    )
    open_only = sa.text("closed_at IS NULL")
    op.create_index("ix_reports_open", "reports", ["at"], postgresql_where=open_only, sqlite_where=open_only)
    op.create_index(op.f("ix_reports_post_id"), "reports", ["post_id"])
    op.create_index(op.f("ix_reports_user_id"), "reports", ["user_id"])


def _capstones() -> None:
    op.create_table(
        "capstones",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("user_id", sa.String(length=16), nullable=False),
        sa.Column("track", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("links", sa.Text(), nullable=False),
        sa.Column("submitted_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_capstones_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_capstones")),
        sa.UniqueConstraint("user_id", "track", "version", name=op.f("uq_capstones_user_id_track_version")),
    )
    op.create_index("ix_capstones_track", "capstones", ["track"])
    op.create_table(
        "capstone_files",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("capstone_id", sa.String(length=16), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("stored", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["capstone_id"],
            ["capstones.id"],
            name=op.f("fk_capstone_files_capstone_id_capstones"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_capstone_files")),
        sa.UniqueConstraint("stored", name=op.f("uq_capstone_files_stored")),
    )
    op.create_index(op.f("ix_capstone_files_capstone_id"), "capstone_files", ["capstone_id"])


def _desk() -> None:
    op.create_table(
        "grades",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("work", sa.String(length=16), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.String(length=16), nullable=False),
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("grader_id", sa.String(length=16), nullable=True),
        sa.Column("grader", sa.String(length=32), nullable=False),
        sa.Column("graded_at", UtcDateTime(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("possible", sa.Integer(), nullable=False),
        sa.Column("marks", sa.Text(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.CheckConstraint("points >= 0 AND points <= possible", name=op.f("ck_grades_points_within")),
        sa.ForeignKeyConstraint(
            ["grader_id"], ["users.id"], name=op.f("fk_grades_grader_id_users"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_grades_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grades")),
        sa.UniqueConstraint("kind", "work", "version", name=op.f("uq_grades_kind_work_version")),
    )
    op.create_index("ix_grades_learner", "grades", ["user_id", "kind", "subject"])
    op.create_table(
        "rubric_items",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("criterion", sa.String(length=64), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(length=400), nullable=False),
        sa.Column("author", sa.String(length=32), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("retired_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rubric_items")),
    )
    op.create_index("ix_rubric_items_subject", "rubric_items", ["kind", "subject"])
    op.create_table(
        "desk_leases",
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("work", sa.String(length=16), nullable=False),
        sa.Column("user_id", sa.String(length=16), nullable=False),
        sa.Column("until", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_desk_leases_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("kind", "work", name=op.f("pk_desk_leases")),
    )


def downgrade() -> None:
    """Go back."""
    op.drop_index("ix_submissions_drill", "submissions")
    for table in ("desk_leases", "rubric_items", "grades", "capstone_files", "capstones"):
        op.drop_table(table)
    for table in ("reports", "posts", "attempts", "audit_entries"):
        op.drop_table(table)
