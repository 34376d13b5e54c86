from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from fastapi import FastAPI, Request, Response
from fastapi.testclient import TestClient

from app.course.routes import router
from app.course.snapshot import Snapshot
from app.course.store import CourseStore
from tests.app.course.conftest import DRILLS, GOOD

ADDRESSES = [
    "/tracks",
    "/topics/numbers",
    "/tags/sums",
    "/cards/alpha",
    "/questions/first",
    "/tracks/path",
    "/glossary",
    "/search",
    "/search?q=alpha",
    "/search?q=%3Cscript%3Ealert(1)%3C/script%3E%22%00%1b",
]


@pytest.fixture
def app(small: Snapshot) -> FastAPI:
    application = FastAPI()
    draft = dataclasses.replace(small.cards["beta"], draft=True)
    snapshot = dataclasses.replace(small, cards={**small.cards, "beta": draft})
    application.state.course = CourseStore(GOOD, DRILLS, snapshot)
    application.state.database = SimpleNamespace(read=nullcontext)  # answers of one's own have tests of their own
    application.state.own_answer = lambda _session, _viewer, _question: None
    application.include_router(router)

    @application.middleware("http")
    async def viewer(request: Request, call_next) -> Response:  # type: ignore[no-untyped-def]
        role = request.headers.get("x-role")
        request.state.viewer = SimpleNamespace(id="ada", name="Ada", role=role) if role else None
        request.state.read_items = frozenset(request.headers.get("x-read", "").split())
        response: Response = await call_next(request)
        return response

    return application


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, follow_redirects=False) as found:
        yield found


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_page_answers_without_inline_style_or_script(client: TestClient, address: str) -> None:
    response = client.get(address)
    assert response.status_code == 200
    assert not re.search(r"<[^>]+\sstyle=", response.text)
    assert "<style" not in response.text
    assert not re.search(r"<script(?![^>]*\ssrc=)", response.text)
    assert not re.search(r"<[^>]+\son[a-z]+=", response.text)


def test_pages_with_formulas_bring_their_stylesheets(client: TestClient, small: Snapshot) -> None:
    sheet = f"/course/math-{small.math_digest}.css"
    page = client.get("/cards/alpha").text
    assert sheet in page
    assert "katex.min.css" in page
    assert "katex.min.css" not in client.get("/tags/sums").text
    response = client.get(sheet)
    assert response.headers["content-type"].startswith("text/css")
    assert "immutable" in response.headers["cache-control"]
    assert response.text == small.math_css
    assert client.get("/course/math-000000000000.css").status_code == 404


def test_a_locked_answer_is_nowhere_in_the_page(client: TestClient) -> None:
    assert "The secret of the first" in client.get("/questions/first").text
    page = client.get("/questions/second").text
    assert "secret" not in page
    assert "Clarity is scored" not in page
    assert "Says what adds up" not in page
    assert "Sign in to read the answer." in page
    assert "The secret of the second" in client.get("/questions/second", headers={"x-role": "learner"}).text


def test_missing_and_forbidden_look_the_same(client: TestClient) -> None:
    hidden, missing = client.get("/cards/beta"), client.get("/cards/gamma")
    assert hidden.status_code == missing.status_code == 404
    assert hidden.content == missing.content
    assert client.get("/cards/beta", headers={"x-role": "author"}).status_code == 200


def test_a_draft_is_in_no_list(client: TestClient) -> None:
    for address in ADDRESSES:
        assert "/cards/beta" not in client.get(address).text, address


def test_the_question_of_a_prompt_is_one_cell_beside_its_sign(client: TestClient) -> None:
    """Words around a number or a formula would otherwise each be a cell of the summary's grid."""
    page = client.get("/cards/alpha").text
    assert page.count('<details class="prompt"') == page.count("<summary><span>") > 0


def test_an_old_id_redirects(client: TestClient) -> None:
    response = client.get("/cards/old-alpha")
    assert response.status_code == 301
    assert response.headers["location"] == "/cards/alpha"
    assert client.get("/questions/old-alpha").status_code == 404


def test_what_was_read_is_marked(client: TestClient) -> None:
    before = client.get("/topics/numbers").text
    after = client.get("/topics/numbers", headers={"x-role": "learner", "x-read": "card:alpha question:first"}).text
    assert before != after


@pytest.mark.parametrize(
    "address", ["/topics/none", "/tags/none", "/questions/none", "/tracks/none", "/cards/%00", "/tags/%F0%9F"]
)
def test_nothing_there_is_a_404(client: TestClient, address: str) -> None:
    assert client.get(address).status_code == 404


@pytest.mark.parametrize(
    "address", ["cards/alpha", "questions/fourth", "tracks/path", "drills/adding", "terms/sum"]
)
def test_a_preview_says_what_a_link_leads_to_and_nothing_guarded(client: TestClient, address: str) -> None:
    response = client.get(f"/previews/{address}")
    assert response.status_code == 200
    assert 'class="preview-title"' in response.text
    assert "secret" not in response.text
    assert "<a" not in response.text


@pytest.mark.parametrize("address", ["cards/none", "cards/beta", "terms/none", "topics/numbers", "nothing/at-all"])
def test_there_is_no_preview_of_what_is_not_there_or_hidden(client: TestClient, address: str) -> None:
    assert client.get(f"/previews/{address}").status_code == 404


def test_a_draft_has_a_preview_for_its_authors(client: TestClient) -> None:
    assert client.get("/previews/cards/beta", headers={"x-role": "author"}).status_code == 200
