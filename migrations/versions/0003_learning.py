"""Bookmarks, notes, unlocks, spaced review, settings and password resets."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.db import UtcDateTime

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go forward."""
    _accounts()
    _unlocks()
    _kept()
    _review()


def _owner(table: str) -> tuple[sa.Column[str], sa.ForeignKeyConstraint]:
    """The account a row belongs to, and dies with."""
    name = op.f(f"fk_{table}_user_id_users")
    return (
        sa.Column("user_id", sa.String(length=16), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=name, ondelete="CASCADE"),
    )


def _accounts() -> None:
    op.create_table(
        "preferences",
        *_owner("preferences"),
        sa.Column("theme", sa.String(length=8), nullable=False),
        sa.Column("time_zone", sa.String(length=64), nullable=False),
        sa.Column("editor_keys", sa.String(length=8), nullable=False),
        sa.Column("shortcuts", sa.Boolean(), nullable=False),
        sa.Column("retention", sa.Double(), nullable=False),
        sa.Column("daily_cap", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_preferences")),
    )
    op.create_table(
        "known_browsers",
        sa.Column("secret_hash", sa.String(length=64), nullable=False),
        *_owner("known_browsers"),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("secret_hash", name=op.f("pk_known_browsers")),
    )
    op.create_table(
        "password_resets",
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        *_owner("password_resets"),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_password_resets")),
    )
    for table in ("known_browsers", "password_resets"):
        op.create_index(op.f(f"ix_{table}_user_id"), table, ["user_id"], unique=False)


def _unlocks() -> None:
    op.create_table(
        "unlock_codes",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("code_hash", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column("item", sa.String(length=64), nullable=False),
        sa.Column("most", sa.Integer(), nullable=False),
        sa.Column("uses", sa.Integer(), nullable=False),
        sa.Column("note", sa.String(length=200), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("created_by", sa.String(length=16), nullable=True),
        sa.Column("expires_at", UtcDateTime(), nullable=True),
        sa.Column("revoked_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint("uses <= most", name=op.f("ck_unlock_codes_within_limit")),
        sa.ForeignKeyConstraint(
            ["created_by"], ["users.id"], name=op.f("fk_unlock_codes_created_by_users"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_unlock_codes")),
        sa.UniqueConstraint("code_hash", name=op.f("uq_unlock_codes_code_hash")),
    )
    op.create_table(
        "unlocks",
        *_owner("unlocks"),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column("item", sa.String(length=64), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("given_by", sa.String(length=16), nullable=True),
        sa.Column("code_id", sa.String(length=16), nullable=True),
        sa.ForeignKeyConstraint(
            ["given_by"], ["users.id"], name=op.f("fk_unlocks_given_by_users"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["code_id"], ["unlock_codes.id"], name=op.f("fk_unlocks_code_id_unlock_codes"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("user_id", "scope", "item", "source", name=op.f("pk_unlocks")),
    )


def _kept() -> None:
    op.create_table(
        "bookmarks",
        *_owner("bookmarks"),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("item", sa.String(length=64), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "kind", "item", name=op.f("pk_bookmarks")),
    )
    op.create_table(
        "notes",
        *_owner("notes"),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("item", sa.String(length=64), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("saved_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "kind", "item", name=op.f("pk_notes")),
    )


def _review() -> None:
    op.create_table(
        "review_items",
        sa.Column("id", sa.Integer(), nullable=False),
        *_owner("review_items"),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("item", sa.String(length=64), nullable=False),
        sa.Column("prompt", sa.String(length=64), nullable=False),
        sa.Column("first_due", UtcDateTime(), nullable=False),
        sa.Column("state", sa.Integer(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=True),
        sa.Column("stability", sa.Double(), nullable=True),
        sa.Column("difficulty", sa.Double(), nullable=True),
        sa.Column("due", UtcDateTime(), nullable=False),
        sa.Column("last_review", UtcDateTime(), nullable=True),
        sa.Column("lapses", sa.Integer(), nullable=False),
        sa.Column("suspended", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_review_items")),
        sa.UniqueConstraint(
            "user_id", "kind", "item", "prompt", name=op.f("uq_review_items_user_id_kind_item_prompt")
        ),
    )
    op.create_table(
        "review_events",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        *_owner("review_events"),
        sa.Column("token", sa.String(length=64), nullable=False),
        sa.Column("action", sa.String(length=8), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("rating", sa.Integer(), nullable=True),
        sa.Column("retention", sa.Double(), nullable=True),
        sa.Column("undoes", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["item_id"], ["review_items.id"], name=op.f("fk_review_events_item_id_review_items"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("item_id", "number", name=op.f("pk_review_events")),
        sa.UniqueConstraint("user_id", "token", name=op.f("uq_review_events_user_id_token")),
    )
    op.create_index("ix_review_events_day", "review_events", ["user_id", "at"], unique=False)


def downgrade() -> None:
    """Go back."""
    for table in (
        "review_events",
        "review_items",
        "notes",
        "bookmarks",
        "unlocks",
        "unlock_codes",
        "password_resets",
        "known_browsers",
        "preferences",
    ):
        op.drop_table(table)
