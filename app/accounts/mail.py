"""Letters, through whatever door the settings name: printed for whoever runs the site, or sent by SMTP."""

from __future__ import annotations

import smtplib
import ssl
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Protocol

import structlog

from app.settings import Settings

SECONDS = 20.0  # that a mail server may take
log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Letter:
    """A plain text to one address."""

    to: str
    subject: str
    text: str


class Sender(Protocol):
    """The door that letters leave by."""

    def send(self, letter: Letter) -> None:
        """Send it, or raise `OSError` (which SMTP's errors are)."""


class Console:
    """Prints letters to standard error, beside the log and not in it: a log is kept, and letters hold secrets."""

    def send(self, letter: Letter) -> None:
        print(f"--- letter to {letter.to}: {letter.subject}\n{letter.text}\n---", file=sys.stderr, flush=True)  # noqa: T201


@dataclass(frozen=True)
class Smtp:
    """Sends letters through a mail server."""

    settings: Settings

    def send(self, letter: Letter) -> None:
        settings = self.settings
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = settings.mail_from, letter.to, letter.subject
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(letter.text)
        with self._connect() as server:
            if settings.smtp_security == "starttls":
                server.starttls(context=ssl.create_default_context())
            if settings.smtp_user:
                server.login(settings.smtp_user, settings.smtp_password)
            server.send_message(message)

    def _connect(self) -> smtplib.SMTP:
        host, port = self.settings.smtp_host, self.settings.smtp_port
        if self.settings.smtp_security == "tls":
            return smtplib.SMTP_SSL(host, port, timeout=SECONDS, context=ssl.create_default_context())
        return smtplib.SMTP(host, port, timeout=SECONDS)


def send_all(sender: Sender, letters: Sequence[Letter]) -> int:
    """Send letters; one that cannot be sent is logged and holds up no other. Returns how many went."""
    sent = 0
    for letter in letters:
        try:
            sender.send(letter)
            sent += 1
        except OSError as error:
            log.error("a letter was not sent", reason=type(error).__name__)
    return sent


def told_of_change(name: str, email: str | None, what: str, origin: str) -> list[Letter]:
    """The letter to whoever may not have been the one who changed `what`; none where there is no address."""
    text = (
        f"The {what} of the Tilewright account {name} was changed just now.\n\n"
        "If that was you, there is nothing to do.\n"
        f"If it was not, somebody else can sign in to it. Ask for a new password: {origin}/forgot\n"
    )
    return (
        [Letter(to=email, subject=f"The {what} of your Tilewright account was changed", text=text)] if email else []
    )


def sender_of(settings: Settings) -> Sender:
    """The door that the settings name."""
    return Smtp(settings) if settings.mail == "smtp" else Console()
