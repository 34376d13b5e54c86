"""Who may ask what: every route × everybody × {there, not there, not published}.

The routes come from the application. One without a row here fails, so that nobody adds an address without saying
whose it is. Where somebody may not know of a thing, the answer is that for a thing that does not exist, byte for
byte.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import pytest
from fastapi import FastAPI

from tests.app.conftest import Browser
from tests.app.security.conftest import CLOSED_DRILL, DRAFT, QUESTION, TRACK, WHO, World, routes_of
from tests.app.submissions.conftest import DRILL

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
NO_ID = "0" * 16


class Policy(Enum):
    """Whose an address is."""

    OPEN = auto()  # everybody's
    MEMBER = auto()  # whoever is signed in
    OWNER = auto()  # whose the thing is, and administrators
    SELF = auto()  # whose the thing is, alone
    READER = auto()  # whoever has passed the gate of the discussion; staff have
    ADMIN = auto()  # administrators; for others it does not exist


ALLOWED = {
    Policy.OPEN: set(WHO),
    Policy.MEMBER: {"ada", "eve", "editor", "root"},
    Policy.OWNER: {"ada", "root"},
    Policy.SELF: {"ada"},
    Policy.READER: {"ada", "editor", "root"},
    Policy.ADMIN: {"root"},
}


@dataclass(frozen=True)
class Row:
    """What is expected of a route. Values that begin with @ are ids of the world; `draft` is an unpublished one."""

    policy: Policy
    there: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    draft: dict[str, str] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    query: str = ""
    answer: str = "ok"  # to whom it is allowed; "none" where the form names a thing of one's own that is not there


def item(policy: Policy, name: str, there: str, draft: str = "", **more: Any) -> Row:
    """A row with one parameter."""
    gone = NO_ID if there.startswith("@") else "nowhere"
    return Row(policy, {name: there}, {name: gone}, {name: draft} if draft else {}, **more)


OPEN, MEMBER, OWNER, SELF, ADMIN = Policy.OPEN, Policy.MEMBER, Policy.OWNER, Policy.SELF, Policy.ADMIN
WORK = {"kind": "capstone", "work_id": "@capstone"}
NO_WORK = {"kind": "capstone", "work_id": NO_ID}
RUBRIC = {"kind": "outline", "subject": DRILL}
NO_RUBRIC = {"kind": "outline", "subject": "nowhere"}
VERSION = {"drill_id": DRILL, "number": "1"}
NO_VERSION = {"drill_id": DRILL, "number": "99"}
REVIEW = {"key": "card:online-softmax:none", "rating": "3", "token": "matrix-token"}

TABLE: dict[str, Row] = {
    # for everybody
    "GET /api/v1/openapi.json": Row(OPEN),
    "GET /healthz": Row(OPEN),
    "GET /readyz": Row(OPEN),
    "GET /metrics": Row(OPEN),  # from the machine itself or with the token: tests/app/test_web.py
    "GET /": Row(OPEN),
    "GET /sign-in": Row(OPEN),
    "POST /sign-in": Row(OPEN, data={"username": "nobody-here", "password": "wrong"}),
    "GET /sign-up": Row(OPEN),
    "POST /sign-up": Row(OPEN, data={"username": "?", "password": ""}),
    "POST /sign-out": Row(OPEN),
    "POST /theme": Row(OPEN),
    "GET /forgot": Row(OPEN),
    "POST /forgot": Row(OPEN, data={"username": "nobody-here"}),
    "GET /reset": Row(OPEN),
    "POST /reset": Row(OPEN, data={"token": "none", "password": "correct horse"}),
    "GET /previews/{shelf}/{name}": Row(
        OPEN, {"shelf": "cards", "name": "online-softmax"}, {"shelf": "cards", "name": "nowhere"}
    ),
    "GET /topics/{name}": item(OPEN, "name", "kernels"),
    "GET /tags/{name}": item(OPEN, "name", "attention"),
    "GET /cards/{name}": item(OPEN, "name", "online-softmax"),
    "GET /questions/{name}": item(OPEN, "name", QUESTION, DRAFT),
    "GET /tracks": Row(OPEN),
    "GET /tracks/{name}": item(OPEN, "name", TRACK),
    "GET /glossary": Row(OPEN),
    "GET /search": Row(OPEN, query="?q=softmax"),
    "GET /search/suggest": Row(OPEN, query="?q=soft"),
    "GET /sitemap.xml": Row(OPEN),
    "GET /feed.xml": Row(OPEN),
    "GET /robots.txt": Row(OPEN),
    "GET /course/math-{digest}.css": item(OPEN, "digest", "@math"),
    "GET /drills": Row(OPEN),
    "GET /drills/{drill_id}": item(OPEN, "drill_id", DRILL),
    "GET /drills/{drill_id}/editorial": item(OPEN, "drill_id", CLOSED_DRILL),  # says what opens it
    "GET /questions/{item}/discussion": item(OPEN, "item", QUESTION, DRAFT),  # the gate is on the page
    "GET /drills/{item}/discussion": item(OPEN, "item", DRILL),
    "POST /drills/{drill}/runs": item(
        OPEN, "drill", DRILL, data={"source": "x = 1", "lane": "cpu", "token": "t" * 20}
    ),
    # for whoever is signed in
    "GET /unlock": Row(MEMBER),
    "POST /unlock": Row(MEMBER, data={"code": "none"}),
    "GET /bookmarks": Row(MEMBER),
    "POST /bookmarks": Row(MEMBER, data={"kind": "question", "id": QUESTION, "on": "yes"}),
    "GET /notes": Row(MEMBER),
    "GET /notes/{kind}/{id}": Row(
        MEMBER,
        {"kind": "question", "id": QUESTION},
        {"kind": "question", "id": "nowhere"},
        {"kind": "question", "id": DRAFT},
    ),
    "POST /notes/{kind}/{id}": Row(
        MEMBER,
        {"kind": "question", "id": QUESTION},
        {"kind": "question", "id": "nowhere"},
        {"kind": "question", "id": DRAFT},
        data={"text": "mine", "version": "0"},
    ),
    "GET /progress": Row(MEMBER),
    "GET /settings": Row(MEMBER),
    "POST /settings": Row(MEMBER),
    "GET /settings/export": Row(MEMBER),
    "POST /settings/email": Row(MEMBER, data={"email": "?"}),
    "POST /settings/password": Row(MEMBER, data={"old": "wrong", "new": "wrong"}),
    "POST /settings/delete": Row(MEMBER, data={"password": "wrong"}),
    "POST /progress/read": Row(MEMBER, data={"kind": "question", "id": QUESTION}),
    "GET /review": Row(MEMBER),
    "GET /review/items": Row(MEMBER),
    "POST /review/undo": Row(MEMBER),
    "POST /review/grade": Row(MEMBER, data=REVIEW, answer="none"),
    "POST /review/skip": Row(MEMBER, data=REVIEW, answer="none"),
    "POST /review/suspend": Row(MEMBER, data=REVIEW, answer="none"),
    "POST /review/resume": Row(MEMBER, data=REVIEW, answer="none"),
    "POST /drills/{drill_id}/draft": item(MEMBER, "drill_id", DRILL, data={"source": "x = 1", "base": "0"}),
    "GET /drills/{drill_id}/drafts": item(MEMBER, "drill_id", DRILL),
    "GET /drills/{drill_id}/diff": item(MEMBER, "drill_id", DRILL, query="?old=starter&new=starter"),
    "POST /drills/{drill_id}/hints": item(MEMBER, "drill_id", DRILL, data={"hint": "1"}),
    "GET /drills/{drill_id}/evidence": item(MEMBER, "drill_id", DRILL),
    "POST /drills/{drill_id}/evidence": item(MEMBER, "drill_id", DRILL),
    "GET /drills/{drill_id}/evidence.md": item(MEMBER, "drill_id", DRILL),
    "GET /drills/{drill_id}/evidence.zip": item(MEMBER, "drill_id", DRILL),
    "POST /drills/{drill}/submissions": item(
        MEMBER, "drill", DRILL, data={"source": "x = 1", "lane": "cpu", "token": "matrix-token"}
    ),
    "GET /submissions": Row(MEMBER),
    "GET /tracks/{track_id}/capstone": item(MEMBER, "track_id", TRACK),
    "POST /tracks/{track_id}/capstone": item(MEMBER, "track_id", TRACK, data={"text": "mine"}),
    "POST /questions/{question_id}/attempt": item(MEMBER, "question_id", QUESTION, DRAFT, data={"text": "mine"}),
    "POST /questions/{question_id}/self-score": item(MEMBER, "question_id", QUESTION, DRAFT),
    "POST /questions/{item}/discussion": item(MEMBER, "item", QUESTION, DRAFT, data={"text": "mine"}),
    "POST /drills/{item}/discussion": item(MEMBER, "item", DRILL, data={"text": "mine"}),
    # for whose the thing is
    "GET /drills/{drill_id}/drafts/{number}": Row(SELF, VERSION, NO_VERSION),
    "POST /drills/{drill_id}/drafts/{number}/restore": Row(SELF, VERSION, NO_VERSION),
    "POST /drills/{drill_id}/drafts/{number}/discard": Row(MEMBER, VERSION),  # one's own; twice is once
    "GET /submissions/{submission_id}": item(OWNER, "submission_id", "@submission"),
    "POST /submissions/{submission_id}/again": item(OWNER, "submission_id", "@submission"),
    "GET /submissions/{submission_id}/source.py": item(OWNER, "submission_id", "@submission"),
    "GET /submissions/{submission_id}/output.txt": item(OWNER, "submission_id", "@submission"),
    "GET /submissions/{submission_id}/events": item(OWNER, "submission_id", "@submission"),
    "POST /submissions/{submission_id}/cancel": item(OWNER, "submission_id", "@submission"),
    "GET /api/v1/submissions/{submission_id}": item(OWNER, "submission_id", "@submission"),
    "GET /capstones/{capstone_id}": item(OWNER, "capstone_id", "@capstone"),
    "GET /capstones/{capstone_id}/files/{file_id}": Row(
        OWNER, {"capstone_id": "@capstone", "file_id": "@file"}, {"capstone_id": NO_ID, "file_id": NO_ID}
    ),
    "GET /posts/{post_id}/edit": item(SELF, "post_id", "@post"),
    "POST /posts/{post_id}/edit": item(SELF, "post_id", "@post", data={"text": "mine"}),
    "POST /posts/{post_id}/delete": item(SELF, "post_id", "@post"),
    "GET /posts/{post_id}/report": item(Policy.READER, "post_id", "@post"),
    "POST /posts/{post_id}/report": item(Policy.READER, "post_id", "@post", data={"reason": "x"}),
    # for administrators
    "GET /desk": Row(ADMIN),
    "GET /desk/reports": Row(ADMIN),
    "GET /desk/audit": Row(ADMIN),
    "GET /desk/posts/{post_id}": item(ADMIN, "post_id", "@post"),
    "POST /desk/posts/{post_id}/hide": item(ADMIN, "post_id", "@post", data={"reason": "x"}),
    "POST /desk/posts/{post_id}/restore": item(ADMIN, "post_id", "@post"),
    "POST /desk/posts/{post_id}/dismiss": item(ADMIN, "post_id", "@post"),
    "GET /desk/rubrics/{kind}/{subject}": Row(ADMIN, RUBRIC, NO_RUBRIC),
    "POST /desk/rubrics/{kind}/{subject}/items/{item_id}": Row(
        ADMIN, {**RUBRIC, "item_id": "@item"}, {**RUBRIC, "item_id": NO_ID}, data={"points": "2", "text": "x"}
    ),
    "GET /desk/{kind}/{work_id}": Row(ADMIN, WORK, NO_WORK),
    "POST /desk/{kind}/{work_id}/take": Row(ADMIN, WORK, NO_WORK),
    "POST /desk/{kind}/{work_id}/release": Row(ADMIN, WORK, NO_WORK),
    "POST /desk/{kind}/{work_id}": Row(ADMIN, WORK, NO_WORK, data={"base": "0"}),
}


def filled(path: str, values: dict[str, str], ids: dict[str, str]) -> str:
    return path.format(**{name: ids[value[1:]] if value[0] == "@" else value for name, value in values.items()})


def ask(browser: Browser, method: str, address: str, data: dict[str, str]) -> tuple[str, str]:
    """What became of a request: ok, none, sign in, or the status; and the page without what varies by itself."""
    answer = browser.request(method, address, data=data if method == "POST" else None)
    location = answer.headers.get("location", "")
    body = re.sub(r"[0-9a-z]{16}", "…", answer.text.replace(address, "…"))
    if answer.status_code == 401 or location.startswith("/sign-in"):
        return "sign in", body
    if answer.status_code == 404:
        return "none", body
    if answer.status_code < 400 or answer.status_code in (400, 409, 410, 422):
        return "ok", body
    return str(answer.status_code), body


def test_every_route_has_a_row(application: FastAPI) -> None:
    """A new address needs a row in TABLE above: whose is it, and what is one that does not exist?"""
    routes = {f"{method} {path}" for method, path, _ in routes_of(application)}
    assert sorted(routes - set(TABLE)) == []
    assert sorted(set(TABLE) - routes) == [], "rows without a route"


@pytest.mark.parametrize("route", TABLE)
def test_everybody_gets_what_is_theirs(world: World, route: str) -> None:
    method, path = route.split()
    row = TABLE[route]
    ids = {**world.ids, "math": world.application.state.course.current.math_digest}
    for who in WHO:  # ada comes last: some things are gone when their owner has asked
        browser, allowed = world.browsers[who], who in ALLOWED[row.policy]
        shut = "sign in" if who == "nobody" and row.policy is not ADMIN else "none"
        gone = ask(browser, method, filled(path, row.missing, ids), row.data) if row.missing else None
        if gone is not None:
            asked_first = who == "nobody" and row.policy is not Policy.OPEN
            assert gone[0] == (shut if asked_first else "none"), f"{who} asks for what is missing"
        if row.draft:
            draft = ask(browser, method, filled(path, row.draft, ids), row.data)
            staff = who in ("editor", "root")
            assert draft[0] == ("ok" if staff else gone[0] if gone else "none"), f"{who} asks for a draft"
            assert staff or gone is None or draft[1] == gone[1], f"a draft looks other than nothing to {who}"
        there = ask(browser, method, filled(path, row.there, ids) + row.query, row.data)
        assert there[0] == (row.answer if allowed else shut), f"{who}: {there[1][:300]}"
        if not allowed and gone is not None:
            assert there[1] == gone[1], f"to {who} it looks other than what is missing"
