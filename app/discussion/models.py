"""Posts and reports. A thread is a post with its replies, one level deep."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db import Base


class Post(Base):
    """Something somebody said. Deleting it empties its text; what replies to it stays."""

    __tablename__ = "posts"
    __table_args__ = (Index("ix_posts_place", "kind", "item", "parent_id", "at", "id"),)

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))  # "question" or "drill"
    item: Mapped[str] = mapped_column(String(64))
    # An account that goes takes its own posts with it; replies by others stay and stand alone.
    parent_id: Mapped[str | None] = mapped_column(ForeignKey("posts.id", ondelete="SET NULL"), index=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    text: Mapped[str] = mapped_column(Text)  # Markdown
    at: Mapped[datetime]
    edited_at: Mapped[datetime | None]
    deleted_at: Mapped[datetime | None]  # by its author
    hidden_at: Mapped[datetime | None]  # by a moderator
    hidden_reason: Mapped[str | None] = mapped_column(String(400))


class Report(Base):
    """Somebody says that a post should go. It keeps the text as it was: an edit destroys no evidence."""

    __tablename__ = "reports"
    __table_args__ = (
        Index(
            "ix_reports_open",
            "at",
            postgresql_where=text("closed_at IS NULL"),
            sqlite_where=text("closed_at IS NULL"),
        ),
    )

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    post_id: Mapped[str] = mapped_column(ForeignKey("posts.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    reason: Mapped[str] = mapped_column(String(400))
    text: Mapped[str] = mapped_column(Text)  # the post's, then
    at: Mapped[datetime]
    closed_at: Mapped[datetime | None]
