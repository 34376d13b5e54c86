"""The typed contexts of `app/templates/accounts/*.html`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class SignInPage:
    """`accounts/sign_in.html`. Posts `username`, `password`, `next` to `/sign-in`.

    `problems` maps a field's name to its sentence; the key `form` is about the form as a whole.
    """

    next: str = "/"
    username: str = ""
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SignUpPage:
    """`accounts/sign_up.html`. Posts `username`, `password`, `email` (may be empty), `next` to `/sign-up`."""

    next: str = "/"
    username: str = ""
    email: str = ""
    problems: Mapping[str, str] = field(default_factory=dict)
    password_least: int = 8
