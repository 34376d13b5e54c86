"""The typed contexts of `app/templates/accounts/*.html`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.accounts.preferences import Preferences


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
    """`accounts/sign_up.html`. Posts `username`, `password`, `email` (may be empty), `time_zone`
    (which a script fills in), `next` to `/sign-up`.
    """

    next: str = "/"
    username: str = ""
    email: str = ""
    problems: Mapping[str, str] = field(default_factory=dict)
    password_least: int = 8


@dataclass(frozen=True)
class SettingsPage:
    """`accounts/settings.html`. Posts to `/settings`, and to `email`, `password` and `delete` under it.

    Keys of `problems`: the preferences' own names; `email`, `email_password`; `old_password`, `new_password`;
    `delete_password`, `sure`. `saved` names the form that was just saved.
    """

    chosen: Preferences
    email: str
    saved: str  # "preferences", "email", "password" or empty
    problems: Mapping[str, str]
    time_zones: tuple[str, ...]
    editor_keys: tuple[str, ...]
    retentions: tuple[float, ...]
    caps: tuple[int, ...]
    password_least: int


@dataclass(frozen=True)
class ForgotPage:
    """`accounts/forgot.html`. Posts `who`, a name or an e-mail address, to `/forgot`."""

    sent: bool = False


@dataclass(frozen=True)
class ResetPage:
    """`accounts/reset.html`. Posts `token` and `new` to `/reset`; a stale letter has no form."""

    token: str
    username: str
    stale: bool
    problems: Mapping[str, str] = field(default_factory=dict)
    password_least: int = 8
