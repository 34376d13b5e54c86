"""A learner's capstone: the form, its versions, and the files, which leave as attachments only."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from app.accounts.models import User
from app.accounts.routes import SignedIn
from app.course.access import View
from app.course.models import Track
from app.course.store import view_of
from app.db import Reading, Writing, database_of
from app.errors import InvalidForm, NotFound, TooLarge
from app.security import spend
from app.settings import Settings
from app.submissions.capstones import files, service, view
from app.submissions.capstones.models import Capstone, CapstoneFile
from app.submissions.capstones.pages import CapstoneVersionPage
from app.submissions.capstones.service import HandIn, Upload
from app.templating import render

PER_HOUR = 20

router = APIRouter(include_in_schema=False)


async def _form(request: Request, viewer: SignedIn) -> HandIn:
    """The form, whatever was sent in its place. Files are read here, within the limit of the whole body."""
    settings: Settings = request.app.state.settings
    form = await request.form(max_files=settings.capstone_files + 1, max_fields=20)
    uploads = [value for value in form.getlist("files") if isinstance(value, UploadFile)]
    if any((upload.size or 0) > settings.upload_limit for upload in uploads):
        raise TooLarge(settings.upload_limit)
    kept = tuple([Upload(upload.filename or "", await upload.read()) for upload in uploads])
    return service.tidy(HandIn(_text(form, "text"), _text(form, "links"), kept))


def _text(form: FormData, name: str) -> str:
    value = form.get(name)
    return value if isinstance(value, str) else ""


@router.get("/tracks/{track_id}/capstone")
def show(request: Request, track_id: str, viewer: SignedIn, session: Reading) -> Response:
    """My capstone of a track: what it asks for, the form, and my versions."""
    seen, track = _track(request, track_id)
    page = view.page(session, seen, track, viewer.id, request.app.state.settings)
    return render(request, "submissions/capstone.html", page)


@router.post("/tracks/{track_id}/capstone")
def hand_in(
    request: Request,
    track_id: str,
    viewer: SignedIn,
    given: Annotated[HandIn, Depends(_form)],
    session: Writing,
) -> Response:
    """Hand in the next version; the same form again is the same version."""
    seen, track = _track(request, track_id)
    settings: Settings = request.app.state.settings
    spend(database_of(request), f"capstone:{viewer.id}", PER_HOUR, 3600)
    try:
        made = service.hand_in(session, settings, viewer.id, track.id, given)
    except InvalidForm as error:
        page = view.page(session, seen, track, viewer.id, settings, given, error.problems)
        return render(request, "submissions/capstone.html", page, status=error.status)
    return RedirectResponse(f"/capstones/{made.id}", 303)


def visible(request: Request, capstone_id: str, viewer: SignedIn) -> Capstone:
    """The version of the address, for its owner and for administrators; for others there is none."""
    with database_of(request).read() as session:
        row = session.get(Capstone, capstone_id)
    if row is None or not (row.user_id == viewer.id or viewer.is_admin):
        raise NotFound("capstone")
    return row


Visible = Annotated[Capstone, Depends(visible)]


@router.get("/capstones/{capstone_id}")
def version(request: Request, row: Visible, viewer: SignedIn, session: Reading) -> Response:
    """One version with what was said about it."""
    mine = row.user_id == viewer.id
    owner = None if mine else session.get(User, row.user_id)
    track = view_of(request).tracks.get(row.track)
    newest = service.newest(session, row.user_id, row.track)
    page = CapstoneVersionPage(
        number=row.version,
        track=track.title if track else row.track,
        track_href=f"/tracks/{row.track}",
        capstone_href=f"/tracks/{row.track}/capstone" if mine else "",
        desk_href=f"/desk/capstone/{row.id}" if viewer.is_admin else "",
        by=owner.username if owner else None,
        submitted_at=row.submitted_at,
        handed=view.handed(session, row),
        feedback=view.feedback_of(session, row),
        newest=f"/capstones/{newest.id}" if newest and newest.id != row.id else "",
    )
    return render(request, "submissions/capstone_version.html", page)


@router.get("/capstones/{capstone_id}/files/{file_id}")
def download(request: Request, row: Visible, file_id: str, session: Reading) -> Response:
    """A file of a version, as an attachment."""
    file = session.get(CapstoneFile, file_id)
    if file is None or file.capstone_id != row.id:
        raise NotFound("file")
    settings: Settings = request.app.state.settings
    return files.download(settings.data, file.stored, file.name)


def _track(request: Request, track_id: str) -> tuple[View, Track]:
    seen = view_of(request)
    track = seen.tracks.get(track_id)
    if track is None:
        raise HTTPException(404)
    return seen, track
