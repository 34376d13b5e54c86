"""Every setting: its name, its default, and one sentence of help. All are environment variables `TILEWRIGHT_…`.

`docs/settings.md` lists them; a test fails when one is missing there.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import structlog
from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

ROOT = Path(__file__).resolve().parents[1]
PREFIX = "TILEWRIGHT_"


class Settings(BaseSettings):
    """What differs between one installation and another."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True)

    # Places
    data: Path = Field(
        default=Path("var"), description="Folder for what must survive, the SQLite database above all."
    )
    database_url: str = Field(
        default="",
        description="SQLAlchemy address of the database; empty means SQLite in the data folder. "
        "PostgreSQL: postgresql+psycopg://user:password@host/name.",
    )
    content: Path = Field(default=ROOT / "content", description="Folder of the course's Markdown.")
    drills: Path = Field(default=ROOT / "drills", description="Folder of the drills, one folder each.")
    watch_content: bool = Field(
        default=True, description="Whether the web process takes changes of the content in while it runs."
    )

    # Web
    host: str = Field(default="127.0.0.1", description="Address the web process listens on.")
    port: int = Field(
        default=8000, ge=0, le=65535, description="Port the web process listens on; 0 takes a free one."
    )
    public_origin: str = Field(
        default="",
        description="Scheme, host and port that browsers see, such as https://learn.example.org. State changes are "
        "accepted from it alone, and https makes the cookies secure. Empty means the host of each request.",
    )
    trusted_proxies: str = Field(
        default="127.0.0.1", description="Comma-separated addresses whose X-Forwarded-* headers are believed."
    )
    body_limit: int = Field(default=1 << 20, ge=1024, description="Largest request body, in bytes.")
    metrics_token: str = Field(
        default="", description="Bearer token for /metrics; empty serves it to the machine itself only."
    )

    # Accounts
    session_days: int = Field(default=30, ge=1, description="Days after which a sign-in ends.")
    sign_in_tries: int = Field(
        default=10, ge=1, description="Sign-ins one name may try in five minutes; one address, ten times as many."
    )
    sign_up_tries: int = Field(default=60, ge=1, description="Accounts one address may create in an hour.")

    # Letters
    mail: Literal["console", "smtp"] = Field(
        default="console",
        description="Whether letters, such as those that reset a password, are printed or sent by SMTP.",
    )
    mail_from: str = Field(default="tilewright@localhost", description="Address that letters come from.")
    smtp_host: str = Field(default="localhost", description="Mail server that sends the letters.")
    smtp_port: int = Field(default=587, ge=1, le=65535, description="Port of the mail server.")
    smtp_security: Literal["starttls", "tls", "none"] = Field(
        default="starttls", description="How the connection to the mail server is encrypted."
    )
    smtp_user: str = Field(default="", description="Name for the mail server; empty signs in to none.")
    smtp_password: str = Field(default="", repr=False, description="Password for the mail server.")

    # Submissions
    source_limit: int = Field(default=64 * 1024, ge=1024, description="Largest submission, in bytes of UTF-8.")
    submissions_per_minute: int = Field(
        default=12, ge=1, description="Submissions one account may make in a minute."
    )
    visitor_runs: int = Field(
        default=10,
        ge=0,
        description="Runs of a drill that one address may start in an hour without an account; 0 allows none.",
    )
    visitors_waiting: int = Field(
        default=4, ge=1, description="Runs of visitors that may wait or run at the same time."
    )

    # Capstones
    capstone_files: int = Field(default=5, ge=0, le=20, description="Files one version of a capstone may have.")
    capstone_file_limit: int = Field(
        default=512 * 1024, ge=1024, description="Largest file of a capstone, in bytes."
    )
    upload_limit: int = Field(
        default=3 << 20, ge=1024, description="Largest request body of a form with files, in bytes."
    )

    # Workers
    slots: int = Field(
        default=1,
        ge=1,
        le=64,
        description="Submissions one worker process grades at the same time; alike on all workers of a lane.",
    )
    warm: int = Field(
        default=2,
        ge=1,
        le=64,
        description="Sandboxes a worker keeps started and ready; a submission that fails uses two.",
    )
    gpu: int | None = Field(
        default=None,
        ge=0,
        description="Which GPU of its machine a worker of the GPU lane uses, counted from 0; unset means one "
        "worker process for each.",
    )
    poll_seconds: float = Field(default=0.1, gt=0, le=10, description="How often a worker asks its queue for work.")
    heartbeat_seconds: float = Field(default=2.0, gt=0, description="How often a worker says that it lives.")
    dead_after_seconds: float = Field(
        default=15.0,
        gt=0,
        description="Silence after which a worker counts as dead and its work is given to others.",
    )
    stop_seconds: float = Field(
        default=8.0,
        ge=0,
        description="What a worker that is told to stop may still spend on its current submission.",
    )
    keep_jobs_days: int = Field(
        default=7, ge=1, description="Days that ended jobs stay in the job engine's tables."
    )

    # Logs
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least severity logged."
    )
    log_format: Literal["console", "json"] = Field(
        default="console", description="For people, or for a log collector."
    )

    @field_validator("public_origin")
    @classmethod
    def _origin(cls, value: str) -> str:
        parts = urlsplit(value)
        if value and (parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/")):
            raise ValueError("must look like https://learn.example.org")
        return value.rstrip("/").lower()

    @property
    def database(self) -> str:
        """The SQLAlchemy address of the database."""
        url = self.database_url or f"sqlite:///{(self.data / 'tilewright.db').resolve()}"
        for plain in ("postgresql://", "postgres://"):
            if url.startswith(plain):
                return "postgresql+psycopg://" + url.removeprefix(plain)
        return url

    @model_validator(mode="after")
    def _letters_lead_here(self) -> Settings:
        if self.mail == "smtp" and not self.public_origin:
            raise ValueError("TILEWRIGHT_MAIL=smtp needs TILEWRIGHT_PUBLIC_ORIGIN, where links in letters lead")
        return self

    @property
    def origin(self) -> str:
        """Where links in letters lead. Never the host of a request, which a stranger may choose."""
        return self.public_origin or f"http://{self.host}:{self.port}"

    @property
    def secure(self) -> bool:
        """Whether browsers reach us through TLS."""
        return self.public_origin.startswith("https://")


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()


def configure_logs(settings: Settings) -> None:
    """Send our logs and those of libraries through one door, to standard error."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    last: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if settings.log_format == "json"
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            exception_formatter=structlog.dev.plain_traceback,  # the pretty one prints locals: passwords
        )
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, last],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(settings.log_level.upper())
    for noisy in ("uvicorn", "alembic", "watchfiles", "dbos"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
