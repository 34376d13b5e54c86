"""What was handed in for a track. A version is never changed; the highest one waits for a person."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.db import Base


class Capstone(Base):
    """One version of somebody's capstone."""

    __tablename__ = "capstones"
    __table_args__ = (UniqueConstraint("user_id", "track", "version"), Index("ix_capstones_track", "track"))

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    track: Mapped[str] = mapped_column(String(64))
    version: Mapped[int]  # from 1
    text: Mapped[str] = mapped_column(Text)  # Markdown
    links: Mapped[str] = mapped_column(Text)  # http and https addresses, one a line
    submitted_at: Mapped[datetime]

    files: Mapped[list[CapstoneFile]] = relationship(order_by="CapstoneFile.number", lazy="raise", viewonly=True)


class CapstoneFile(Base):
    """A file of a version. Its bytes lie under a random name in the data folder, outside of what is served."""

    __tablename__ = "capstone_files"

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    capstone_id: Mapped[str] = mapped_column(ForeignKey("capstones.id", ondelete="CASCADE"), index=True)
    number: Mapped[int]  # from 1, in the order of the form
    name: Mapped[str] = mapped_column(String(100))  # cleaned; never used as a path
    kind: Mapped[str] = mapped_column(String(16))  # what its content is: see `files.KINDS`
    size: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))
    stored: Mapped[str] = mapped_column(String(32), unique=True)  # its name in the data folder
