"""Capstones: what is taken, in versions, and how files lie and leave."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest
from fastapi import FastAPI
from sqlalchemy import select

from app.accounts.models import Role
from app.db import Database
from app.settings import Settings
from app.submissions.capstones import files, service
from app.submissions.capstones.models import CapstoneFile
from tests.app.conftest import Browser

ACTION = "/tracks/flashattention/capstone"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
Part = tuple[str, tuple[str, bytes, str]]


def part(name: str, content: bytes, type: str = "image/png") -> Part:
    return ("files", (name, content, type))


@pytest.fixture
def ada(browser: Browser) -> Browser:
    browser.sign_in_as("ada")
    return browser


def hand_in(browser: Browser, *parts: Part, **fields: str) -> str:
    answer = browser.post(ACTION, data={"text": "It runs.", **fields}, files=list(parts))
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def test_versions_follow_one_another_and_stay(ada: Browser) -> None:
    first = hand_in(ada, text="The **first** try.", links="https://example.org/repo\n\n http://example.org/b ")
    second = hand_in(ada, text="The second try.")
    assert first != second
    page = ada.get(first).text
    assert "<strong>first</strong>" in page and "There is a newer version" in page
    assert 'href="https://example.org/repo" rel="nofollow ugc noopener noreferrer"' in page
    mine = ada.get(ACTION).text
    assert "Version 1" in mine and "Version 2" in mine and "The second try." in mine
    assert "replaced before it was scored" in mine and "waits for a person" in mine


def test_the_same_form_again_is_the_same_version(ada: Browser) -> None:
    made = {hand_in(ada, part("a.png", PNG), text="Once.") for _ in range(3)}
    assert len(made) == 1


def test_a_file_leaves_as_an_attachment_that_nothing_runs(
    ada: Browser, database: Database, settings: Settings
) -> None:
    page = hand_in(ada, part("plot.svg", SVG, "image/svg+xml"), part("../../etc/x\u202egnp.html", b"<b>hi</b>"))
    found = re.findall(rf"{page}/files/[0-9a-z]+", ada.get(page).text)
    assert len(found) == 2
    answer = ada.get(found[0])
    assert answer.content == SVG
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    with database.read() as session:
        rows = session.scalars(select(CapstoneFile).order_by(CapstoneFile.number)).all()
    assert [row.kind for row in rows] == ["text", "text"]
    assert rows[1].name == "xgnp.html"
    kept = settings.data / files.FOLDER / rows[0].stored
    assert re.fullmatch("[0-9a-f]{32}", kept.name) and kept.read_bytes() == SVG
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


REFUSED: dict[str, tuple[dict[str, str], list[Part], str]] = {
    "no text": ({"text": "  \r\n"}, [], "Say in the text"),
    "a long text": ({"text": "x" * 40_001}, [], "at most 40,000"),
    "a script link": ({"links": "javascript:alert(1)"}, [], "no address"),
    "a script link with a host": ({"links": "javascript://x/%0aalert(1)"}, [], "begin with http"),
    "a data link": ({"links": "data:text/html,<script>"}, [], "no address"),
    "a file link": ({"links": "file://host/etc/passwd"}, [], "begin with http"),
    "a link with a password": ({"links": "https://a:b@example.org/"}, [], "name or a password"),
    "a link with a space": ({"links": "https://example.org/ x"}, [], "no address"),
    "half a link": ({"links": "https://[::1"}, [], "no address"),
    "many links": ({"links": "\n".join(f"https://e.org/{n}" for n in range(11))}, [], "At most 10 links"),
    "an executable": ({}, [part("a.png", b"\x7fELF\x02\x01\x01\0")], "none of what is taken"),
    "a zip": ({}, [part("a.pdf", b"PK\x03\x04rest\xff")], "none of what is taken"),
    "an empty file": ({}, [part("a.txt", b"")], "is empty"),
    "a large file": ({}, [part("a.txt", b"x" * (512 * 1024 + 1))], "at most 524,288"),
    "many files": ({}, [part(f"{n}.txt", b"x") for n in range(6)], "At most 5 files"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_comes_back_with_what_was_typed(
    ada: Browser, database: Database, settings: Settings, name: str
) -> None:
    fields, parts, sentence = REFUSED[name]
    answer = ada.post(ACTION, data={"text": "Kept as typed.", **fields}, files=parts)
    assert answer.status_code == 422
    assert sentence in answer.text
    if "text" not in fields:
        assert "Kept as typed." in answer.text
    assert not list((settings.data / files.FOLDER).glob("*"))


def test_the_whole_body_has_a_limit(ada: Browser) -> None:
    parts = [part(f"{n}.txt", b"x" * (512 * 1024)) for n in range(7)]
    assert ada.post(ACTION, data={"text": "x"}, files=parts).status_code == 413


def test_only_the_owner_and_admins_see_a_capstone(application: FastAPI, ada: Browser) -> None:
    page = hand_in(ada, part("a.png", PNG))
    file = re.search(rf"{page}/files/[0-9a-z]+", ada.get(page).text)
    assert file is not None
    other = Browser(application)
    other.sign_in_as("eve", Role.AUTHOR)
    for address in (page, file[0]):
        mine = re.sub(r"[0-9a-z]{16}", "…", other.get(address).text)
        none = re.sub(r"[0-9a-z]{16}", "…", other.get(re.sub(r"[0-9a-z]{16}", "0" * 16, address)).text)
        assert mine == none and other.get(address).status_code == 404
    root = Browser(application)
    root.sign_in_as("root", Role.ADMIN)
    assert root.get(page).status_code == 200 and root.get(file[0]).content == PNG
    elsewhere = hand_in(ada, text="Another.")
    wrong = f"{elsewhere}/files/{file[0].rsplit('/', 1)[1]}"  # a file of another version
    assert ada.get(wrong).status_code == 404


def test_visitors_sign_in_first_and_unknown_tracks_are_missing(browser: Browser) -> None:
    assert browser.get(ACTION).status_code == 303
    assert browser.post(ACTION, data={"text": "x"}).status_code == 303
    browser.sign_in_as("ada")
    assert browser.get("/tracks/nowhere/capstone").status_code == 404
    assert browser.post("/tracks/nowhere/capstone", data={"text": "x"}).status_code == 404


@pytest.mark.parametrize(
    "content",
    [b"--x\r\nnonsense", b"", b"\x00\xff", b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\nx'],
)
def test_multipart_of_any_kind(ada: Browser, content: bytes) -> None:
    answer = ada.post(ACTION, content=content, headers={"content-type": "multipart/form-data; boundary=x"})
    assert answer.status_code in (400, 422)


def test_any_text_is_kept_and_shown(ada: Browser) -> None:
    odd = "\0 \ufffe \u202e {{7*7}} %s \x1b[31m <script>alert(1)</script> " + "x" * 30_000
    page = ada.get(hand_in(ada, text=odd)).text
    assert "<script>alert" not in page and "{{7*7}}" in page


def test_files_that_no_row_names_are_swept(ada: Browser, database: Database, settings: Settings) -> None:
    import os

    hand_in(ada, part("a.png", PNG))
    left = settings.data / files.FOLDER / files.store(settings.data, b"left behind")
    young = settings.data / files.FOLDER / files.store(settings.data, b"a request is at work")
    foreign = settings.data / files.FOLDER / "notes.txt"
    foreign.write_text("not ours")
    for path in [left, foreign, *(settings.data / files.FOLDER).glob("*")]:
        if path != young:
            os.utime(path, (0, 0))
    assert service.sweep(database, settings.data) == 1
    assert not left.exists() and young.exists() and foreign.exists()
    assert len(list((settings.data / files.FOLDER).iterdir())) == 3


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("a.png", "a.png"),
        ("/etc/passwd", "passwd"),
        ("C:\\x\\y.txt", "y.txt"),
        ("..", "file"),
        ("", "file"),
        ("\u202eabc\0.txt\r\n", "abc.txt"),
        ("x" * 200 + ".pdf", "x" * 96 + ".pdf"),
    ],
)
def test_names_are_cleaned(name: str, clean: str) -> None:
    assert files.clean_name(name) == clean


def test_a_stored_name_is_never_a_path(tmp_path: Path) -> None:
    from app.errors import NotFound

    (tmp_path / "secret").write_text("x")
    for name in ("../secret", "secret", "", "/etc/passwd", "0" * 32):
        with pytest.raises(NotFound):
            files.download(tmp_path, name, "a")
    files.remove(tmp_path, ["../secret"])
    assert (tmp_path / "secret").exists()
