"""Keeping one's own answer to a question, and scoring it by the rubric."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData

from app.accounts.routes import SignedIn
from app.course.models import Criterion, Question
from app.course.store import view_of
from app.db import Writing, database_of
from app.errors import InvalidForm, NotFound
from app.progress import attempts
from app.security import plain_text, spend

PER_HOUR = 240

router = APIRouter(include_in_schema=False)


@router.post("/questions/{question_id}/attempt")
def keep(
    request: Request,
    question_id: str,
    viewer: SignedIn,
    session: Writing,
    text: Annotated[str, Form()] = "",
) -> Response:
    """Keep my own answer, and go on to the one of the course."""
    question = _question(request, question_id)
    spend(database_of(request), f"attempt:{viewer.id}", PER_HOUR, 3600)
    attempts.keep(session, viewer.id, question.id, plain_text(text).strip())
    return RedirectResponse(f"{question.link.href}#answer", 303)


async def _sent(request: Request, viewer: SignedIn) -> FormData:
    return await request.form(max_files=0, max_fields=100)


@router.post("/questions/{question_id}/self-score")
def score(
    request: Request,
    question_id: str,
    viewer: SignedIn,
    sent: Annotated[FormData, Depends(_sent)],
    session: Writing,
) -> Response:
    """Keep how I scored my own answer. Who may not read the rubric has nothing to score by."""
    question = _question(request, question_id)
    if not view_of(request).may_read_answer(question):
        raise NotFound("question")
    scores = {one.id: _points(sent.get(one.id), one) for one in question.rubric}
    attempts.score(session, viewer.id, question.id, scores)
    return RedirectResponse(f"{question.link.href}#rubric", 303)


def _points(value: object, criterion: Criterion) -> int:
    text = value.strip() if isinstance(value, str) else ""
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and int(text) <= criterion.points):
        raise InvalidForm({criterion.id: f"A criterion gets whole points, here at most {criterion.points}."})
    return int(text)


def _question(request: Request, question_id: str) -> Question:
    question = view_of(request).questions.get(question_id)
    if question is None:
        raise NotFound("question")
    return question
