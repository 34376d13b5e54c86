"""A forgotten password: a stranger learns nothing, a letter works once, and a thief is out."""

from __future__ import annotations

import re
import socketserver
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from fastapi import FastAPI
from pydantic import ValidationError
from sqlalchemy import func, select, update

from app.accounts import resets
from app.accounts.mail import Console, Letter, Smtp, sender_of
from app.accounts.models import PasswordReset
from app.db import Database, now
from app.settings import Settings
from tests.app.accounts.test_accounts import GOOD, sign_up
from tests.app.conftest import Browser


class Kept:
    """Keeps letters instead of sending them."""

    def __init__(self) -> None:
        self.letters: list[Letter] = []

    def send(self, letter: Letter) -> None:
        self.letters.append(letter)


@pytest.fixture
def post(application: FastAPI) -> Kept:
    application.state.sender = Kept()
    kept: Kept = application.state.sender
    return kept


def secret(letter: Letter) -> str:
    found = re.search(r"/reset\?token=([A-Za-z0-9_-]+)", letter.text)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("who", ["Ada.Lovelace", "ada@example.org", " ADA@example.org "])
def test_from_forgotten_to_chosen(browser: Browser, application: FastAPI, post: Kept, who: str) -> None:
    sign_up(browser)
    stranger = Browser(application)
    assert stranger.post("/forgot", data={"who": who}).status_code == 200
    [letter] = post.letters
    assert letter.to == "ada@example.org"
    token = secret(letter)
    for _ in range(2):  # looking uses nothing up
        assert "Ada.Lovelace" in stranger.get("/reset", params={"token": token}).text
    assert stranger.post("/reset", data={"token": token, "new": "short"}).status_code == 422
    assert stranger.post("/reset", data={"token": token, "new": "another phrase"}).headers["location"] == "/sign-in"
    assert browser.get("/progress").status_code == 303  # whoever was signed in is out
    assert "was changed" in post.letters[1].subject and len(post.letters) == 2
    assert stranger.post("/reset", data={"token": token, "new": "a third phrase"}).status_code == 410
    assert Browser(application).post("/sign-in", data={**GOOD, "password": "another phrase"}).status_code == 303


def test_a_stranger_learns_nothing(browser: Browser, application: FastAPI, post: Kept) -> None:
    sign_up(browser)
    sign_up(Browser(application), username="no.address", email="")
    stranger = Browser(application)
    names = ("Ada.Lovelace", "no.address", "nobody.known", "nobody@example.org", "", "\0", "x" * 9999)
    answers = {stranger.post("/forgot", data={"who": who}).text for who in names}
    assert len(answers) == 1
    assert len(post.letters) == 1


def test_the_secret_is_in_the_letter_alone(browser: Browser, database: Database, post: Kept) -> None:
    sign_up(browser)
    browser.post("/forgot", data={"who": "Ada.Lovelace"})
    token = secret(post.letters[0])
    with database.read() as session:
        [kept] = session.scalars(select(PasswordReset.token_hash)).all()
    assert token not in kept
    assert len(token) >= 32


def test_a_letter_dies_after_an_hour(browser: Browser, database: Database, post: Kept) -> None:
    sign_up(browser)
    browser.post("/forgot", data={"who": "Ada.Lovelace"})
    with database.write() as session:
        session.execute(update(PasswordReset).values(expires_at=now() - timedelta(seconds=1)))
    token = secret(post.letters[0])
    assert browser.get("/reset", params={"token": token}).status_code == 410
    assert browser.post("/reset", data={"token": token, "new": "another phrase"}).status_code == 410


def test_only_so_many_letters(browser: Browser, database: Database, post: Kept) -> None:
    sign_up(browser)
    tried = [browser.post("/forgot", data={"who": "Ada.Lovelace"}).status_code for _ in range(11)]
    assert tried == [200] * 10 + [429]
    assert len(post.letters) == resets.MOST
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(PasswordReset)) == resets.MOST


def test_a_new_password_or_address_voids_letters(browser: Browser, post: Kept) -> None:
    sign_up(browser)
    for path, form in (
        ("/settings/email", {"email": "new@example.org"}),
        ("/settings/password", {"new": GOOD["password"]}),
    ):
        browser.post("/forgot", data={"who": "Ada.Lovelace"})
        token = secret(post.letters[-1])
        assert browser.post(path, data={**form, "password": GOOD["password"]}).status_code == 303
        assert browser.get("/reset", params={"token": token}).status_code == 410


def test_a_letter_never_leads_where_the_request_says(browser: Browser, application: FastAPI, post: Kept) -> None:
    sign_up(browser)
    browser.post("/forgot", data={"who": "Ada.Lovelace"}, headers={"host": "evil.example"})
    assert "evil.example" not in post.letters[0].text
    assert application.state.settings.origin in post.letters[0].text


def test_sending_by_smtp_needs_to_know_where_links_lead() -> None:
    with pytest.raises(ValidationError, match="PUBLIC_ORIGIN"):
        Settings(mail="smtp")
    assert isinstance(sender_of(Settings()), Console)
    assert isinstance(sender_of(Settings(mail="smtp", public_origin="https://learn.example.org")), Smtp)


class Talk(socketserver.StreamRequestHandler):
    """As much of a mail server as takes one letter."""

    heard: list[str]

    def handle(self) -> None:
        self.wfile.write(b"220 test\r\n")
        body = False
        for raw in self.rfile:
            line = raw.decode().rstrip("\r\n")
            self.heard.append(line)
            if body:
                body = line != "."
                if not body:
                    self.wfile.write(b"250 ok\r\n")
                continue
            word = line.split(" ")[0].upper()
            body = word == "DATA"
            self.wfile.write({"DATA": b"354 go\r\n", "QUIT": b"221 bye\r\n"}.get(word, b"250 ok\r\n"))
            if word == "QUIT":
                return


@pytest.fixture
def mail_server() -> Iterator[tuple[int, list[str]]]:
    heard: list[str] = []
    handler = type("Handler", (Talk,), {"heard": heard})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], heard
        server.shutdown()


def test_a_letter_by_smtp(mail_server: tuple[int, list[str]]) -> None:
    port, heard = mail_server
    settings = Settings(
        mail="smtp",
        public_origin="https://learn.example.org",
        smtp_host="127.0.0.1",
        smtp_port=port,
        smtp_security="none",
        mail_from="school@example.org",
    )
    sender_of(settings).send(
        Letter("ada@example.org", "A new password", "Choose one:\nhttps://learn.example.org/x\n")
    )
    assert "To: ada@example.org" in heard
    assert "Subject: A new password" in heard
    assert "https://learn.example.org/x" in heard


def test_a_server_that_is_away_breaks_no_page(browser: Browser, application: FastAPI, database: Database) -> None:
    class Away:
        def send(self, letter: Letter) -> None:
            raise ConnectionRefusedError

    sign_up(browser)
    application.state.sender = Away()
    assert browser.post("/forgot", data={"who": "Ada.Lovelace"}).status_code == 200
    assert resets.write_letters(database, Away(), "http://x", "Ada.Lovelace") == 0


def test_on_the_console_it_is_readable(capsys: pytest.CaptureFixture[str]) -> None:
    Console().send(Letter("a@example.org", "Hello", "text"))
    assert "letter to a@example.org: Hello" in capsys.readouterr().err
