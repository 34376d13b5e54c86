"""Pages for signing up, in and out, and the dependencies by which other features learn who is asking."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy.orm import Session

from app.accounts import brakes, service
from app.accounts.brakes import KNOWN_COOKIE, KNOWN_DAYS, address_of
from app.accounts.models import Preferences, User
from app.accounts.pages import SignInPage, SignUpPage
from app.accounts.preferences import at_home_in, keep, preferences_of
from app.db import Reading, Writing, database_of
from app.errors import InvalidForm, NotFound, NotSignedIn
from app.security import Viewer, own_path, spend
from app.settings import Settings
from app.templating import keep_theme, render, site_of

COOKIE = "tilewright"
_A_DAY = 24 * 3600

router = APIRouter(include_in_schema=False)

Field = Annotated[str, Form()]


def identify(request: Request) -> Viewer | None:
    """Who is asking, by the cookie; looked up once a request and kept in `request.state.viewer` for every page."""
    if not hasattr(request.state, "viewer"):
        secret = request.cookies.get(COOKIE, "")
        viewer = None
        if secret:
            with database_of(request).read() as session:
                viewer = service.viewer_of(session, secret)
        request.state.viewer = viewer
    found: Viewer | None = request.state.viewer
    return found


def signed_in(request: Request) -> Viewer:
    """Who is asking; raises `NotSignedIn` for nobody."""
    viewer = identify(request)
    if viewer is None:
        raise NotSignedIn
    return viewer


def admin(request: Request) -> Viewer:
    """The administrator who is asking. For anyone else the page does not exist."""
    viewer = identify(request)
    if viewer is None or not viewer.is_admin:
        raise NotFound
    return viewer


Anyone = Annotated[Viewer | None, Depends(identify)]
SignedIn = Annotated[Viewer, Depends(signed_in)]
Admin = Annotated[Viewer, Depends(admin)]


@router.get("/sign-in")
def sign_in_page(request: Request, viewer: Anyone, next: str = "/") -> Response:
    """The form for signing in; who is signed in already goes on."""
    if viewer is not None:
        return RedirectResponse(own_path(next), 303)
    return render(request, "accounts/sign_in.html", SignInPage(next=own_path(next)))


@router.post("/sign-in")
def sign_in(
    request: Request,
    reading: Reading,
    writing: Writing,
    username: Field = "",
    password: Field = "",
    next: Field = "/",
) -> Response:
    """Sign in and go on to `next`, which is a page of ours or nothing."""
    settings = _settings(request)
    database = database_of(request)
    brakes.slow_down(database, request, username, settings.sign_in_tries)
    try:
        user = service.check(reading, username, password)
    except InvalidForm as error:
        page = SignInPage(next=own_path(next), username=username[:64], problems=error.problems)
        return render(request, "accounts/sign_in.html", page, status=error.status)
    return begin(request, writing, user, RedirectResponse(own_path(next), 303))


@router.get("/sign-up")
def sign_up_page(request: Request, viewer: Anyone, next: str = "/") -> Response:
    """The form for a new account."""
    if viewer is not None:
        return RedirectResponse(own_path(next), 303)
    return render(request, "accounts/sign_up.html", _sign_up_page(next))


@router.post("/sign-up")
def sign_up(
    request: Request,
    writing: Writing,
    username: Field = "",
    password: Field = "",
    email: Field = "",
    time_zone: Field = "",
    next: Field = "/",
) -> Response:
    """Make an account in the browser's time zone, sign its browser in, and go on to `next`."""
    settings = _settings(request)
    database = database_of(request)
    spend(database, f"sign-up:address:{address_of(request)}", settings.sign_up_tries, 3600)
    try:
        user = service.sign_up(database, username, password, email)
    except InvalidForm as error:
        page = _sign_up_page(next, username[:64], email[:254], error)
        return render(request, "accounts/sign_up.html", page, status=error.status)
    chosen = at_home_in(time_zone, site_of(request).theme)
    if chosen is not None:
        keep(writing, user.id, chosen)
    return begin(request, writing, user, RedirectResponse(own_path(next), 303))


@router.post("/sign-out")
def sign_out(request: Request, writing: Writing) -> Response:
    """Forget this browser, here and in it."""
    service.end(writing, request.cookies.get(COOKIE, ""))
    response = RedirectResponse("/", 303, {"Clear-Site-Data": '"storage"'})
    response.delete_cookie(COOKIE, secure=_settings(request).secure, httponly=True, samesite="lax")
    return response


def begin(request: Request, session: Session, user: User, response: Response) -> Response:
    """Sign the browser that asks in to `user`, in the theme that they chose, and make it known for next time."""
    settings = _settings(request)
    secret = service.begin(session, user, request.cookies.get(COOKIE, ""), settings.session_days)
    known = brakes.remember(session, user, request.cookies.get(KNOWN_COOKIE, ""))
    for name, value, days in ((COOKIE, secret, settings.session_days), (KNOWN_COOKIE, known, KNOWN_DAYS)):
        response.set_cookie(
            name, value, max_age=days * _A_DAY, secure=settings.secure, httponly=True, samesite="lax"
        )
    if session.get(Preferences, user.id) is not None:
        keep_theme(response, preferences_of(session, user.id).theme, settings.secure)
    return response


def _sign_up_page(next: str, username: str = "", email: str = "", error: InvalidForm | None = None) -> SignUpPage:
    return SignUpPage(
        next=own_path(next),
        username=username,
        email=email,
        problems=error.problems if error else {},
        password_least=service.PASSWORD_LEAST,
    )


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings
