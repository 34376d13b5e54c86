"""What machines are told of: addresses that open for everybody, and no word of an answer or a draft."""

from __future__ import annotations

import dataclasses
from datetime import date
from xml.etree import ElementTree as ET

import pytest
from fastapi.testclient import TestClient

from app.course import crawl
from app.course.access import visible_to
from app.course.snapshot import Snapshot
from tests.app.course.test_routes import app, client  # noqa: F401 - fixtures

ORIGIN = "https://learn.example.org"
LOC = f"{{{crawl.SITEMAP}}}loc"
ATOM = f"{{{crawl.ATOM}}}"


@pytest.fixture
def dated(small: Snapshot) -> Snapshot:
    """Alpha and the fourth question are out, beta is a draft with a day, and names are hostile."""
    day = date(2026, 11, 30)
    alpha = dataclasses.replace(small.cards["alpha"], published=day, title="Alpha <&> ]]> more")
    beta = dataclasses.replace(small.cards["beta"], published=day, draft=True, title="Hidden title")
    fourth = dataclasses.replace(small.questions["fourth"], published=date(2026, 12, 1))
    return dataclasses.replace(
        small, cards={"alpha": alpha, "beta": beta}, questions={**small.questions, "fourth": fourth}
    )


def test_the_map_names_every_public_page_once(dated: Snapshot) -> None:
    root = ET.fromstring(crawl.sitemap(visible_to(None, dated), ORIGIN))
    found = [element.text for element in root.iter(LOC)]
    assert len(found) == len(set(found))
    assert f"{ORIGIN}/cards/alpha" in found
    assert f"{ORIGIN}/questions/fourth" in found
    assert f"{ORIGIN}/drills/adding" in found
    assert f"{ORIGIN}/cards/beta" not in found


def test_every_address_of_the_map_answers(client: TestClient) -> None:  # noqa: F811
    root = ET.fromstring(client.get("/sitemap.xml").content)
    own = ("/drills", "/")  # pages of other features, which this application does not have
    for element in root.iter(LOC):
        path = (element.text or "").removeprefix("http://testserver")
        if path not in own and not path.startswith("/drills/"):
            assert client.get(path).status_code == 200, path


def test_the_feed_has_the_newest_first_and_only_open_text(dated: Snapshot) -> None:
    body = crawl.feed(visible_to(None, dated), ORIGIN)
    root = ET.fromstring(body)
    titles = [entry.findtext(f"{ATOM}title") for entry in root.iter(f"{ATOM}entry")]
    assert titles == [f"Question: {dated.questions['fourth'].title}", "Concept: Alpha <&> ]]> more"]
    assert root.findtext(f"{ATOM}updated") == "2026-12-01T00:00:00Z"
    ids = [entry.findtext(f"{ATOM}id") for entry in root.iter(f"{ATOM}entry")]
    assert ids == [f"{ORIGIN}/questions/fourth", f"{ORIGIN}/cards/alpha"]
    for section in dated.questions["fourth"].answer:
        assert section.text.encode() not in body
    assert b"Hidden title" not in body


def test_crawlers_are_kept_from_what_only_its_owner_opens() -> None:
    text = crawl.robots(ORIGIN)
    assert "Disallow: /submissions\n" in text
    assert text.endswith(f"Sitemap: {ORIGIN}/sitemap.xml\n")


@pytest.mark.parametrize(
    "address", ["/cards/alpha", "/questions/first", "/tracks/path", "/topics/numbers", "/tags/sums"]
)
def test_a_page_names_its_one_address_whatever_the_query(client: TestClient, address: str) -> None:  # noqa: F811
    text = client.get(f"{address}?parts.a=7").text
    assert f'<link rel="canonical" href="http://testserver{address}">' in text


def test_descriptions_say_nothing_of_a_locked_answer(client: TestClient) -> None:  # noqa: F811
    text = client.get("/questions/fourth").text
    assert '<meta name="description" content="' in text
    assert "secret" not in text
