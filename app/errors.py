"""Every refusal of the app, each with the status it carries and the sentence a person reads.

AppError
├── BadRequest (400)          what was sent makes no sense
│   └── InvalidForm (422)     a form with its problems by field
├── NotSignedIn (401)         pages redirect to /sign-in, JSON says 401
├── CrossSite (403)           a state change that another site asked for
├── NotFound (404)            missing and forbidden look the same
├── Conflict (409)            the thing has moved on
├── TooLarge (413)            the body is over the limit
├── TooMany (429)             a rate limit, with the seconds to wait
└── Unavailable (503)         a part that we need is not there

They are raised anywhere and rendered once, in `main`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


class AppError(Exception):
    """Something that ends a request with a sentence for the person who made it."""

    status = 500
    title = "Something of ours broke"

    def __init__(self, message: str, what_to_do: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.what_to_do = what_to_do


class BadRequest(AppError):
    """What was sent makes no sense."""

    status = 400
    title = "That request makes no sense"


class InvalidForm(BadRequest):
    """A form with problems; `problems` maps a field's name to its sentence."""

    status = 422
    title = "Please look at this again"

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__(" ".join(problems.values()))
        self.problems = dict(problems)


class NotSignedIn(AppError):
    """The page belongs to somebody, and nobody is signed in."""

    status = 401
    title = "Sign in first"

    def __init__(self) -> None:
        super().__init__("This page belongs to an account.", "Sign in, and you will come back here.")


class CrossSite(AppError):
    """A state change that another site asked for."""

    status = 403
    title = "That came from another site"


class NotFound(AppError):
    """No such thing, or none that this person may see: the two look the same."""

    status = 404
    title = "There is nothing here"

    def __init__(self, what: str = "page") -> None:
        super().__init__(f"There is no such {what}.", "Check the address, or start from the home page.")


class Conflict(AppError):
    """The thing has moved on since the person last saw it."""

    status = 409
    title = "That has changed meanwhile"


class TooLarge(AppError):
    """The body is over the limit, in bytes."""

    status = 413
    title = "That is too large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"At most {limit:,} bytes can be sent here.", "Shorten it and send it again.")
        self.limit = limit


class TooMany(AppError):
    """A rate limit was reached; `seconds` until the next try may succeed."""

    status = 429
    title = "Too many tries"

    def __init__(self, seconds: int) -> None:
        super().__init__("That was tried too often in a short time.", f"Wait {seconds} seconds and try again.")
        self.seconds = seconds


class Unavailable(AppError):
    """A part that we need is not there."""

    status = 503
    title = "Not available right now"


@dataclass(frozen=True)
class ErrorPage:
    """`error.html`, the one page for every status from 400 up."""

    status: int
    title: str
    message: str
    what_to_do: str
    request_id: str
