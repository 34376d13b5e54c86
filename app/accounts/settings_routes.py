"""The settings page: how the site behaves, the account itself, taking everything along, and leaving."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, BackgroundTasks, Form, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy.orm import Session

from app.accounts import own, resets, service
from app.accounts.brakes import address_of
from app.accounts.mail import Sender, send_all, told_of_change
from app.accounts.models import User
from app.accounts.pages import ForgotPage, ResetPage, SettingsPage
from app.accounts.preferences import CAPS, EDITOR_KEYS, RETENTIONS, Preferences, keep, preferences_of, read_form
from app.accounts.preferences import time_zones as zones
from app.accounts.routes import COOKIE, SignedIn, begin
from app.db import Reading, Writing, database_of
from app.errors import InvalidForm
from app.security import Viewer, spend
from app.settings import Settings
from app.templating import keep_theme, render

router = APIRouter(include_in_schema=False)

Field = Annotated[str, Form()]


@router.get("/settings")
def show(request: Request, viewer: SignedIn, session: Reading, saved: str = "") -> Response:
    """Everything that I can set."""
    return render(request, "accounts/settings.html", _page(session, viewer, saved=saved))


@router.post("/settings")
def save(
    request: Request,
    viewer: SignedIn,
    session: Writing,
    theme: Field = "",
    time_zone: Field = "",
    editor_keys: Field = "",
    shortcuts: Field = "",
    retention: Field = "",
    daily_cap: Field = "",
) -> Response:
    """Keep how I like the site."""
    form = {"theme": theme, "time_zone": time_zone, "editor_keys": editor_keys, "shortcuts": shortcuts}
    try:
        chosen = read_form({**form, "retention": retention, "daily_cap": daily_cap})
    except InvalidForm as error:
        return _refused(request, session, viewer, error)
    keep(session, viewer.id, chosen)
    response = RedirectResponse("/settings?saved=preferences", 303)
    keep_theme(response, chosen.theme, _settings(request).secure)
    return response


@router.post("/settings/email")
def change_email(
    request: Request, viewer: SignedIn, reading: Reading, writing: Writing, email: Field = "", password: Field = ""
) -> Response:
    """Change or remove my e-mail address. The password again, since the address can reset it."""
    try:
        _prove(request, reading, viewer, password, "email_password")
        own.change_email(writing, viewer.id, email)
    except InvalidForm as error:
        return _refused(request, reading, viewer, error, email=email)
    return RedirectResponse("/settings?saved=email", 303)


@router.post("/settings/password")
def change_password(
    request: Request,
    background: BackgroundTasks,
    viewer: SignedIn,
    reading: Reading,
    writing: Writing,
    password: Field = "",
    new: Field = "",
) -> Response:
    """Change my password; every other browser is signed out, and a letter says so."""
    try:
        _prove(request, reading, viewer, password, "old_password")
        hashed = _hashed(new)
    except InvalidForm as error:
        return _refused(request, reading, viewer, error)
    user = own.change_password(writing, viewer.id, hashed)
    _tell(request, background, user)
    return begin(request, writing, user, RedirectResponse("/settings?saved=password", 303))


@router.get("/settings/export")
def export(request: Request, viewer: SignedIn, session: Reading) -> Response:
    """Everything that is stored about me, as one JSON file."""
    spend(database_of(request), f"export:{viewer.id}", 10, 3600)
    body = json.dumps(own.export(session, viewer, request.app.state.exporters), indent=1, ensure_ascii=True)
    headers = {"Content-Disposition": 'attachment; filename="tilewright-export.json"', "Cache-Control": "no-store"}
    return Response(body, media_type="application/json", headers=headers)


@router.post("/settings/delete")
def delete(
    request: Request,
    background: BackgroundTasks,
    viewer: SignedIn,
    reading: Reading,
    writing: Writing,
    password: Field = "",
    sure: Field = "",
) -> Response:
    """Delete my account and everything in it, at once and for good."""
    try:
        _prove(request, reading, viewer, password, "delete_password")
        if sure != "yes":
            raise InvalidForm({"sure": "Tick the box: this cannot be taken back."})
    except InvalidForm as error:
        return _refused(request, reading, viewer, error)
    own.erase(writing, viewer.id)
    background.add_task(request.app.state.after_erasing, request.app)
    response = RedirectResponse("/", 303, {"Clear-Site-Data": '"cookies", "storage"'})
    response.delete_cookie(COOKIE, secure=_settings(request).secure, httponly=True, samesite="lax")
    return response


@router.get("/forgot")
def forgot(request: Request) -> Response:
    """The form for a forgotten password."""
    return render(request, "accounts/forgot.html", ForgotPage())


@router.post("/forgot")
def send(request: Request, background: BackgroundTasks, who: Field = "") -> Response:
    """Send a letter, if there is anybody to send it to. The answer is the same either way, and so is its time."""
    database, settings = database_of(request), _settings(request)
    spend(database, f"forgot:{address_of(request)}", 10, 3600)
    sender: Sender = request.app.state.sender
    background.add_task(resets.write_letters, database, sender, settings.origin, who)
    page = ForgotPage(sent=True)
    return render(request, "accounts/forgot.html", page)


@router.get("/reset")
def reset_page(request: Request, session: Reading, token: str = "") -> Response:
    """The form for a new password, for whoever got the letter. Looking uses nothing up."""
    good = resets.holder(session, token)
    page = ResetPage(token=token if good else "", username=good.username if good else "", stale=good is None)
    return render(request, "accounts/reset.html", page, status=200 if good else 410)


@router.post("/reset")
def reset(
    request: Request,
    background: BackgroundTasks,
    reading: Reading,
    writing: Writing,
    token: Field = "",
    new: Field = "",
) -> Response:
    """Choose a new password. Every browser that was signed in is signed out, also a thief's; a letter says so."""
    spend(database_of(request), f"reset:{address_of(request)}", 20, 3600)
    good = resets.holder(reading, token)
    reading.close()  # before the other one asks for a connection
    try:
        if good is None:
            raise InvalidForm({"form": resets.STALE})
        _tell(request, background, resets.choose(writing, token, _hashed(new)))
    except InvalidForm as error:
        stale = "form" in error.problems
        page = ResetPage("" if stale else token, good.username if good else "", stale, error.problems)
        return render(request, "accounts/reset.html", page, status=410 if stale else error.status)
    return RedirectResponse("/sign-in", 303)


def _tell(request: Request, background: BackgroundTasks, user: User) -> None:
    """Send word of a new password once the answer has left, so that a slow mail server holds nobody up."""
    letters = told_of_change(user.username, user.email, "password", _settings(request).origin)
    background.add_task(send_all, request.app.state.sender, letters)


def _prove(request: Request, session: Session, viewer: Viewer, password: str, field: str) -> None:
    """Raise `InvalidForm` about `field` unless this is the viewer's password."""
    spend(database_of(request), f"prove:{viewer.id}", _settings(request).sign_in_tries, 300)
    try:
        service.check(session, viewer.name, password)
    except InvalidForm:
        raise InvalidForm({field: "That is not your password."}) from None


def _hashed(new: str) -> str:
    try:
        return service.hash_password(new)
    except InvalidForm as error:
        raise InvalidForm({"new_password": error.problems["password"]}) from None


def _refused(
    request: Request, session: Session, viewer: Viewer, error: InvalidForm, email: str | None = None
) -> Response:
    page = _page(session, viewer, problems=dict(error.problems), email=email)
    return render(request, "accounts/settings.html", page, status=error.status)


def _page(
    session: Session,
    viewer: Viewer,
    saved: str = "",
    problems: dict[str, str] | None = None,
    email: str | None = None,
) -> SettingsPage:
    chosen: Preferences = preferences_of(session, viewer.id)
    user = session.get_one(User, viewer.id)
    return SettingsPage(
        chosen=chosen,
        email=(user.email or "") if email is None else email[:254],
        saved=saved if saved in ("preferences", "email", "password") else "",
        problems=problems or {},
        time_zones=zones(),
        editor_keys=EDITOR_KEYS,
        retentions=RETENTIONS,
        caps=CAPS,
        password_least=service.PASSWORD_LEAST,
    )


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings
