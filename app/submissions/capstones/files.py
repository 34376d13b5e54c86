"""Files of learners: which are taken, where they lie, and how they leave.

What a file is, its bytes say; the name is only shown. A text may be anything, HTML and SVG too, since no browser
ever shows one: every file leaves as an attachment of no type, with sniffing off and a policy that runs nothing.
"""

from __future__ import annotations

import os
import re
import secrets
import time
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from fastapi.responses import FileResponse, Response

from app.errors import NotFound

FOLDER = "capstones"
KINDS = {"png": "PNG image", "jpeg": "JPEG image", "webp": "WebP image", "pdf": "PDF", "text": "text"}
NAME_MOST = 100
_STORED = re.compile(r"[0-9a-f]{32}")
_AN_HOUR = 3600.0


def kind_of(content: bytes) -> str:
    """What a file is by its bytes, a key of `KINDS`; empty for what is not taken."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if content.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "webp"
    if content.startswith(b"%PDF-"):
        return "pdf"
    return "text" if _is_text(content) else ""


def _is_text(content: bytes) -> bool:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return bool(text) and not any(ord(character) < 32 and character not in "\t\n\r\f" for character in text)


def clean_name(name: str) -> str:
    """A file's name for showing and for downloads: no path, no control or direction characters, not too long."""
    base = re.split(r"[/\\]", name)[-1]
    kept = "".join(one for one in base if one == " " or unicodedata.category(one)[0] not in "CZ")
    shown = " ".join(kept.split()).strip(". ")
    if len(shown) > NAME_MOST:
        stem, dot, ending = shown.rpartition(".")
        ending = f".{ending}" if dot and len(ending) <= 10 else ""
        shown = (stem or shown)[: NAME_MOST - len(ending)] + ending
    return shown or "file"


def store(data: Path, content: bytes) -> str:
    """Keep `content` in the data folder; returns the random name under which it lies."""
    folder = data / FOLDER
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = secrets.token_hex(16)
    descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return name


def remove(data: Path, names: Iterable[str]) -> None:
    """Delete stored files; those that are gone already are no matter."""
    for name in names:
        if _STORED.fullmatch(name):
            (data / FOLDER / name).unlink(missing_ok=True)


def orphans(data: Path, known: set[str]) -> list[str]:
    """Stored files that no row names, an hour old at least: what a failed request or a deleted account left."""
    folder = data / FOLDER
    if not folder.is_dir():
        return []
    old = time.time() - _AN_HOUR
    return [
        path.name
        for path in folder.iterdir()
        if _STORED.fullmatch(path.name) and path.name not in known and path.stat().st_mtime < old
    ]


def download(data: Path, stored: str, name: str) -> Response:
    """A stored file as an attachment that no browser shows or runs. Raises `NotFound` when its bytes are gone."""
    path = data / FOLDER / stored
    if not _STORED.fullmatch(stored) or not path.is_file():
        raise NotFound("file")
    plain = re.sub(r"[^A-Za-z0-9._ -]", "_", name)
    headers = {
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    return FileResponse(path, media_type="application/octet-stream", headers=headers)
