"""A crawl as everybody over all that can be reached: no canary is in an answer to whom it is not for."""

from __future__ import annotations

import html
import re
from collections import deque
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest

from tests.app.conftest import ORIGIN, Browser
from tests.app.security.conftest import CANARIES, CLOSED_DRILL, DRAFT, LOCKED, QUESTION, WHO, World
from tests.app.security.test_matrix import TABLE, filled

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.timeout(600)]
MOST = 1500  # addresses a crawl may visit
LINK = re.compile(
    r"""(?:href|src|action)=["']([^"']+)["']|data-[a-z-]+=["'](/[^"']*)["']|<loc>([^<]+)</loc>|<id>([^<]+)</id>"""
)


def starts(world: World) -> list[str]:
    """Every address of the table, with what is there and what is locked, and searches for what is hidden."""
    ids = {**world.ids, "math": world.application.state.course.current.math_digest}
    found = ["/"]
    for route, row in TABLE.items():
        method, path = route.split()
        if method == "GET" and path != "/metrics":
            found += [
                filled(path, values, ids) + row.query
                for values in (row.there, row.draft)
                if values or "{" not in path
            ]
    found += [f"/questions/{LOCKED}", f"/questions/{DRAFT}", f"/questions/{LOCKED}/discussion"]
    found += [f"/drills/{CLOSED_DRILL}", f"/posts/{ids['hidden']}/edit", f"/posts/{ids['hidden']}/report"]
    for word in CANARIES:
        found += [f"/search?q={word}", f"/search/suggest?q={word}"]
    found += [
        f"/questions/{QUESTION}/discussion?before={ids['hidden']}",
        f"/submissions/{ids['submission']}/events",
    ]
    return list(dict.fromkeys(found))


def links_in(page: str, text: str) -> list[str]:
    """The addresses of our own that a page names, without fragments."""
    found = []
    for match in LINK.finditer(text):
        address, _ = urldefrag(
            urljoin(f"{ORIGIN}{page}", html.unescape(next(one for one in match.groups() if one)))
        )
        parts = urlsplit(address)
        if f"{parts.scheme}://{parts.netloc}" == ORIGIN and not parts.path.startswith("/static/"):
            found.append(parts.path + (f"?{parts.query}" if parts.query else ""))
    return found


def crawl(browser: Browser, begin: list[str]) -> dict[str, bytes]:
    """What every reachable address answers: its headers and its body."""
    seen: dict[str, bytes] = {}
    todo = deque(begin)
    while todo and len(seen) < MOST:
        address = todo.popleft()
        if address in seen or address == "/metrics":
            continue
        answer = browser.get(address)
        assert answer.status_code < 500, address
        head = "\n".join(f"{name}: {value}" for name, value in answer.headers.items())
        seen[address] = head.encode() + b"\n\n" + answer.content
        if "location" in answer.headers:
            todo.append(answer.headers["location"])
        if answer.headers.get("content-type", "").startswith(("text/html", "application/xml", "application/atom")):
            todo.extend(links_in(address, answer.text))
    assert len(seen) < MOST, "the crawl has no end: some page makes addresses for ever"
    return seen


@pytest.mark.parametrize("who", WHO)
def test_no_canary_reaches_whom_it_should_not(world: World, who: str) -> None:
    pages = crawl(world.browsers[who], starts(world))
    leaks = sorted(
        f"{canary} at {address}"
        for canary, readers in CANARIES.items()
        if who not in readers
        for address, body in pages.items()
        if canary.encode() in body and canary not in address  # a search repeats what was asked
    )
    assert leaks == []
    unseen = sorted(
        c for c, readers in CANARIES.items() if who in readers and not any(c.encode() in b for b in pages.values())
    )
    assert unseen == [], "canaries that their readers did not meet: the crawl does not reach them"
    found = f"/drills/{CLOSED_DRILL}/editorial#".encode() in pages["/search?q=CANARY-editorial"]
    assert found == (who in CANARIES["CANARY-editorial"]), "found by whoever may read it, and by nobody else"
