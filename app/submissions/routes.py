"""Handing in, looking at what was handed in, and taking it back."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Form, Header, Request
from fastapi.responses import RedirectResponse, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel
from sqlalchemy.orm import Session

from app.accounts.models import User
from app.accounts.routes import Anyone, SignedIn
from app.course.models import Kind, Link
from app.course.pages import ItemLink
from app.course.present import next_after
from app.course.routes import reader_of
from app.course.store import view_of
from app.db import Reading, Writing, database_of
from app.errors import Conflict, InvalidForm, NotFound, NotSignedIn
from app.security import Viewer
from app.settings import Settings
from app.submissions import live, service, view, visitors
from app.submissions.handed import TOKEN, Handed
from app.submissions.models import State, Submission
from app.submissions.pages import HistoryPage, SubmissionPage
from app.templating import render
from grader.verdict import Lane, Outcome

PAGE = 25
_NUMBER = re.compile(r"[0-9]{1,18}")

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api/v1", tags=["submissions"])


class Refused(InvalidForm):
    """A submission that cannot be graded, with what was typed, so that the workspace can show it again."""

    def __init__(self, handed: Handed, error: InvalidForm) -> None:
        super().__init__(error.problems)
        self.handed = handed


class Sent(BaseModel):
    """What the editor's form sends, by either of its buttons."""

    source: str = ""
    lane: str = Lane.CPU
    token: str = ""
    mode: str = ""  # the prediction
    words: str = ""

    def handed(self, drill: str, viewer: Viewer | None) -> Handed:
        """The form as a submission by `viewer`."""
        user, source = viewer.id if viewer else None, unix_lines(self.source)
        return Handed(user, drill, self.lane, source, self.token, mode=self.mode, words=self.words)


SentForm = Annotated[Sent, Form()]


@router.post("/drills/{drill}/submissions")
def create(request: Request, drill: str, viewer: SignedIn, session: Writing, sent: SentForm) -> Response:
    """Hand in; the same form again leads to the same submission."""
    submission = _submit(request, session, sent.handed(drill, viewer))
    return RedirectResponse(f"/submissions/{submission.id}", 303)


@router.post("/drills/{drill}/runs")
def run(request: Request, drill: str, viewer: Anyone, session: Writing, sent: SentForm) -> Response:
    """Run the visible cases: no attempt. Visitors may too, within strict limits."""
    settings: Settings = request.app.state.settings
    secret = "" if viewer else visitors.admit(request, settings)
    # Both buttons of one form carry the same token, and a run is not the submission.
    token = f"run-{sent.token[-60:]}" if TOKEN.fullmatch(sent.token) else ""
    visitor = visitors.hashed(secret) if secret else None
    handed = replace(sent.handed(drill, viewer), token=token, trial=True, visitor=visitor)
    submission = _submit(request, session, handed)
    response = RedirectResponse(f"/submissions/{submission.id}", 303)
    if secret:
        visitors.remember(response, secret, settings)
    return response


def unix_lines(text: str) -> str:
    """Text as files have it: browsers send the lines of a textarea with CRLF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _submit(request: Request, session: Session, handed: Handed) -> Submission:
    state = request.app.state
    try:
        require_open(request, handed.drill)
        return service.submit(session, handed, state.drills, state.settings, state.jobs)
    except InvalidForm as error:
        raise Refused(handed, error) from error


def require_open(request: Request, drill: str) -> None:
    """Raise `InvalidForm` with what opens a drill that is closed to whoever asks."""
    course = view_of(request)
    closed = course.work_opens_with(course.drills[drill]) if drill in course.drills else ""
    if closed:
        raise InvalidForm({"form": f"This drill is locked. {closed}"})


def visible(request: Request, submission_id: str, viewer: Anyone) -> Submission:
    """The submission of the address, for its owner and for administrators; for others there is none."""
    visitor = visitors.visitor_of(request)
    if viewer is None and visitor is None:
        raise NotSignedIn
    with database_of(request).read() as session:
        submission = session.get(Submission, submission_id)
    if submission is None or not _may_see(submission, viewer, visitor):
        raise NotFound("submission") if viewer else NotSignedIn
    return submission


def _may_see(submission: Submission, viewer: Viewer | None, visitor: str | None) -> bool:
    if visitor is not None and submission.visitor == visitor:
        return True
    return viewer is not None and (submission.user_id == viewer.id or viewer.is_admin)


Visible = Annotated[Submission, Depends(visible)]


@router.get("/submissions")
def history(
    request: Request, viewer: SignedIn, session: Reading, drill: str | None = None, before: str | None = None
) -> Response:
    """My submissions, newest first."""
    rows = view.history(session, viewer.id, request.app.state.drills, drill, before, limit=PAGE + 1)
    older = None
    if len(rows) > PAGE:
        rows = rows[:PAGE]
        older = f"/submissions?before={rows[-1].id}" + (f"&drill={rows[-1].drill}" if drill else "")
    return render(request, "submissions/history.html", HistoryPage(rows=rows, drill=drill, older=older))


@router.get("/submissions/{submission_id}")
def show(request: Request, submission: Visible, viewer: Anyone, session: Reading) -> Response:
    """One submission: live while it is graded, then its verdict."""
    drills = request.app.state.drills
    now = _look(request, session, submission, viewer)
    newest = view.newest(session, submission.user_id, submission.drill) if submission.user_id else None
    drill = drills.get(submission.drill)
    scored = drill is not None and drill.kind == "outline" and not submission.trial and _accepted(now)
    page = SubmissionPage(
        id=submission.id,
        number=view.number_of(session, submission),
        drill=submission.drill,
        drill_title=view.title_of(submission.drill, drills),
        lane=Lane(submission.lane),
        submitted_at=submission.submitted_at,
        state=now.state,
        source=submission.source,
        live=now.live,
        verdict=now.verdict,
        newest=newest.id if newest and not submission.trial else submission.id,
        by=_by(session, submission, viewer),
        trial=submission.trial,
        feedback=view.feedback_of(session, submission) if scored else None,
        up_next=_up_next(request, submission) if _accepted(now) and not submission.trial else None,
        desk_href=f"/desk/outline/{submission.id}" if scored and viewer is not None and viewer.is_admin else "",
    )
    return render(request, "submissions/show.html", page)


def _up_next(request: Request, submission: Submission) -> ItemLink | None:
    return next_after(reader_of(request), Link(Kind.DRILL, submission.drill))


@router.post("/submissions/{submission_id}/again")
def again(request: Request, submission: Visible, viewer: SignedIn, session: Writing) -> Response:
    """Send the same code once more after a fault of ours; asking twice is asking once."""
    now = _look(request, session, submission, viewer)
    ours = now.verdict is not None and now.verdict.verdict.outcome is Outcome.GRADER_PROBLEM
    if submission.user_id != viewer.id or not ours:
        raise Conflict("This has a verdict of its own, so there is nothing to send again.")
    handed = Handed(
        user=viewer.id,
        drill=submission.drill,
        lane=submission.lane,
        source=submission.source,
        token=f"again-{submission.id}",
        trial=submission.trial,
    )
    anew = _submit(request, session, handed)
    return RedirectResponse(f"/submissions/{anew.id}", 303)


@router.get("/submissions/{submission_id}/source.py")
def source_file(submission: Visible) -> Response:
    """The file that was handed in."""
    return _download(submission.source, f"{submission.drill}-{submission.id}.py")


@router.get("/submissions/{submission_id}/output.txt")
def output_file(request: Request, submission: Visible, viewer: Anyone, session: Reading) -> Response:
    """What the learner's code printed, as far as it was kept."""
    now = _look(request, session, submission, viewer)
    if now.verdict is None or not now.verdict.verdict.console.text:
        raise NotFound("output")
    return _download(now.verdict.verdict.console.text, f"{submission.drill}-{submission.id}-output.txt")


def _download(text: str, name: str) -> Response:
    """A text as a file to keep. `name` is made of ids, which hold letters, digits and `_` alone."""
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text.encode("utf-8", "replace"), headers=disposition, media_type="text/plain; charset=utf-8")


@router.get("/submissions/{submission_id}/events", response_class=EventSourceResponse)
async def events(
    request: Request,
    submission: Visible,
    viewer: Anyone,
    after: int = 0,
    last_event_id: Annotated[str, Header()] = "",
) -> AsyncIterator[ServerSentEvent]:
    """What happens to a submission, as it happens; a browser that lost its connection goes on where it was."""
    seen = int(last_event_id) if _NUMBER.fullmatch(last_event_id) else after
    database, state = database_of(request), request.app.state
    dead_after, operator = state.settings.dead_after_seconds, viewer is not None and viewer.is_admin
    course = view_of(request)
    async for event in live.stream(database, submission.id, state.drills, operator, seen, dead_after, course):
        yield event


@router.post("/submissions/{submission_id}/cancel")
def cancel(submission: Visible, session: Writing) -> Response:
    """Take a submission back. One that has its verdict keeps it, and its page says so."""
    with suppress(Conflict):  # the verdict came first; the page shows it
        service.cancel(session, submission.id)
    return RedirectResponse(f"/submissions/{submission.id}", 303)


@api.get("/submissions/{submission_id}")
def read(request: Request, submission: Visible, viewer: SignedIn, session: Reading) -> dict[str, Any]:
    """A submission as JSON: its state, its phase while it is graded, then its verdict."""
    now = _look(request, session, submission, viewer)
    return {
        "id": submission.id,
        "drill": submission.drill,
        "lane": submission.lane,
        "trial": submission.trial,
        "submitted_at": submission.submitted_at.isoformat(),
        "state": now.state,
        "final": now.state in (State.DECIDED, State.CANCELLED),
        "phase": now.live.phase if now.live else None,
        "queue_position": now.live.queue_position if now.live else None,
        "verdict": msgspec.to_builtins(now.verdict.verdict) if now.verdict else None,
    }


def _look(request: Request, session: Session, submission: Submission, viewer: Viewer | None) -> view.Look:
    state, operator = request.app.state, viewer is not None and viewer.is_admin
    dead_after = state.settings.dead_after_seconds
    return view.look(session, submission, state.drills, operator, dead_after, view_of(request))


def _accepted(look: view.Look) -> bool:
    return look.verdict is not None and look.verdict.verdict.outcome is Outcome.ACCEPTED


def _by(session: Session, submission: Submission, viewer: Viewer | None) -> str | None:
    if viewer is None or submission.user_id == viewer.id:
        return None
    owner = session.get(User, submission.user_id)
    return owner.username if owner else None
