"""Every template renders in every state, says nothing undefined, lets no text act as markup, and breaks no rule
of the page: unique ids, no inline script or style, every referenced asset present."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from fastapi import Request

from app import templating
from app.course.access import visible_to
from app.course.store import CourseStore
from app.submissions.pages import LiveFragment
from app.submissions.view import for_viewer, related
from app.templating import STATIC, TEMPLATES, fragment, render
from grader.drill import load_drills
from grader.verdict import Diagnosis
from tests.app.course_samples import HOSTILE
from tests.app.samples import LIVE, OURS, RIGHT, SAMPLES, SOURCE, WRONG, verdict

ROOT = Path(__file__).parents[2]
VIEWERS = {"nobody": None, "learner": SimpleNamespace(name=f"Ada {HOSTILE}", role="learner")}


def request(viewer: object = None, cookie: str = "", banners: tuple[str, ...] = ()) -> Request:
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/a/page",
        "raw_path": b"/a/page",
        "query_string": b"",
        "scheme": "http",
        "server": ("testserver", 80),
        "headers": [(b"cookie", cookie.encode())],
        "state": {"viewer": viewer, "banners": banners},
    }
    return Request(scope)


def page(name: str, viewer: object = None, cookie: str = "", banners: tuple[str, ...] = ()) -> str:
    template, context = SAMPLES[name]
    return bytes(render(request(viewer, cookie, banners), template, context).body).decode()


class Facts(HTMLParser):
    """What a page is made of: its tags, ids, assets, and what its attributes try."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.assets: list[str] = []
        self.forbidden: list[str] = []
        self.anchors: list[str] = []
        self.headings: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key == "id":
                self.ids[value or ""] += 1
            if key == "style" or key.startswith("on"):
                self.forbidden.append(f"<{tag} {key}>")
            if key in ("src", "href") and (value or "").startswith("/static/"):
                self.assets.append(value or "")
            if key == "href" and (value or "").startswith("#"):
                self.anchors.append((value or "")[1:])
        if tag == "style" or (tag == "script" and "src" not in dict(attrs)):
            self.forbidden.append(f"<{tag}>")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(tag)


@pytest.mark.parametrize("who", VIEWERS)
@pytest.mark.parametrize("name", SAMPLES)
def test_page_renders_and_keeps_the_rules(name: str, who: str) -> None:
    html = page(name, VIEWERS[who], banners=(f"Grading is paused: {HOSTILE}",))
    facts = Facts(html)
    assert not facts.forbidden
    assert [one for one, count in facts.ids.items() if count > 1] == []
    assert [
        anchor for anchor in facts.anchors if anchor not in facts.ids and not re.fullmatch(r"L\d+", anchor)
    ] == []
    assert facts.headings.count("h1") == 1
    for asset in facts.assets:
        path = asset.removeprefix("/static/").split("?")[0]
        assert (STATIC / path).is_file() or name == "card/long", asset
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "49%s" not in html


def test_every_template_has_a_sample() -> None:
    pages = {
        str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.html") if not path.name.startswith("_")
    } - {"base.html", "gate.html"}  # the frame of all pages; the gate's report, which `test_gate_report` draws
    assert pages == {template for template, _ in SAMPLES.values()}


@pytest.mark.parametrize("state", ["usual", "empty"])
def test_lists_say_what_to_do_when_they_are_empty(state: str) -> None:
    empty = [
        name
        for name in SAMPLES
        if name.endswith("/empty") and name.split("/")[0] in ("drills", "history", "progress", "home")
    ]
    for name in empty:
        assert ('class="empty"' in page(name)) is True
        assert ('class="empty"' in page(name.replace("/empty", "/usual"))) is False


def test_an_undefined_name_is_an_error() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError):
        render(request(), "submissions/history.html", LIVE)


def test_fragments_render_without_a_request() -> None:
    assert 'data-after="6"' in fragment("submissions/_live.html", LIVE)
    assert 'data-outcome="wrong_answer"' in fragment("submissions/_verdict.html", verdict(WRONG))


def test_a_pending_page_refreshes_itself_without_script_and_a_decided_one_does_not() -> None:
    refresh = '<noscript><meta http-equiv="refresh"'
    assert refresh in page("submission/loading")
    assert refresh in page("submission/queued")
    for decided in ("wrong", "accepted", "cancelled"):
        assert refresh not in page(f"submission/{decided}")


def test_the_verdict_opens_the_first_failing_case_alone() -> None:
    html = page("submission/wrong")
    opened = re.findall(r'<details class="case [^>]* open>.*?class="case-body" id="([^"]+)"', html, re.DOTALL)
    assert opened == ["case-one-past-a-tile"]
    assert "first case that fails" in html
    assert "0.0213" in html
    assert "0.0198" in html


def test_hidden_cases_show_an_outcome_and_nothing_else() -> None:
    html = page("submission/wrong")
    assert "Hidden cases: 8 of 24 passed" in html
    assert "case-hidden" not in html


def test_an_error_that_is_not_a_number_is_drawn_as_failing() -> None:
    html = page("submission/long")
    assert ">NaN</text>" in html


def test_passing_and_failing_differ_without_colour() -> None:
    wrong, right = page("submission/wrong"), page("submission/accepted")
    assert '<p class="verdict-outcome">Wrong answer</p>' in wrong
    assert '<p class="verdict-outcome">Accepted</p>' in right
    mark = re.compile(r'<span class="verdict-mark">.*?glyph-box" d="([^"]+)"', re.DOTALL)
    wrong_mark, right_mark = mark.search(wrong), mark.search(right)
    assert wrong_mark
    assert right_mark
    assert wrong_mark[1] != right_mark[1]


def test_what_is_worth_reading_has_title_and_address_and_may_be_seen(course: CourseStore) -> None:
    seen = visible_to(None, course.current)
    drill = load_drills(ROOT / "drills")["tiled_softmax"]
    diagnosis = Diagnosis(related=("online-softmax", "fused-kernel-drift", "not-there"))
    assert related(msgspec.structs.replace(WRONG, diagnosis=diagnosis), drill, seen) == (
        (seen.cards["online-softmax"].title, "/cards/online-softmax"),
        (seen.questions["fused-kernel-drift"].title, "/questions/fused-kernel-drift"),
    )
    unseen = replace(seen, cards={})
    assert len(related(msgspec.structs.replace(WRONG, diagnosis=diagnosis), drill, unseen)) == 1
    assert related(RIGHT, drill, seen) == ()
    assert related(WRONG, None, seen) == ()
    assert related(WRONG, drill, None) == ()


def test_only_administrators_read_why_grading_broke() -> None:
    problem = msgspec.structs.replace(OURS, problem="the runner died <b>")
    told, untold = (
        fragment("submissions/_verdict.html", verdict(for_viewer(problem, operator))) for operator in (True, False)
    )
    assert "the runner died &lt;b&gt;" in told
    assert "the runner died" not in untold


def test_the_failing_line_is_marked_in_the_source() -> None:
    html = page("submission/wrong")
    assert re.search(r'<li id="L15" class="fails">', html)
    assert len(re.findall(r'<li id="L\d+"', html)) == len(SOURCE.splitlines())


def test_text_of_a_program_cannot_steer_the_page() -> None:
    html = page("submission/wrong")
    assert "\x1b" not in html
    assert "␛[31m" in html
    assert templating.visible("a\u202eb\x00\r\n") == "a⟨U+202E⟩b␀\n"


def test_lone_surrogates_do_not_break_a_page() -> None:
    live = LiveFragment("s", LIVE.state, "\ud800", None, 0, 0, (), False, "", 0)
    assert "?" in fragment("submissions/_live.html", live)


@pytest.mark.parametrize(
    ("cookie", "theme"),
    [("", "auto"), ("theme=dark", "dark"), ("theme=light", "light"), ('theme="><script>', "auto")],
)
def test_the_theme_is_drawn_by_the_server(cookie: str, theme: str) -> None:
    html = page("drills/usual", cookie=cookie)
    assert f'<html lang="en" data-theme="{theme}">' in html
    assert html.count('aria-pressed="true"') == 1


@pytest.mark.parametrize(
    ("back", "to"),
    [("/drills", "/drills"), ("//evil.example", "/"), ("https://evil.example", "/"), ("/\\evil", "/")],
)
def test_choosing_a_theme_returns_to_the_page(back: str, to: str) -> None:
    response = templating.choose_theme(request(), "dark", back)
    assert response.headers["location"] == to
    assert "theme=dark" in response.headers["set-cookie"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (1536, "1.5 KiB"), (1_572_864, "1.5 MiB"), (512 * 1024, "512 KiB"), (3 * 1024**4, "3072 GiB")],
)
def test_bytes_read_in_binary_units(value: int, text: str) -> None:
    assert templating.size(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NaN"),
        (0.0, "0"),
        (0.5, "0.50"),
        (31.04, "31.0"),
        (812.4, "812"),
        (2.3e7, "2.3 × 10⁷"),
        (3e-7, "< 0.01"),
        (23339.4, "23,339"),
    ],
)
def test_errors_read_in_three_figures(value: float | None, text: str) -> None:
    assert templating.figure(value) == text


@pytest.mark.parametrize("folder", ["app/static/vendor", "tests/browser/vendor"])
def test_vendored_files_are_the_ones_in_the_lock(folder: str) -> None:
    entries = json.loads((ROOT / folder / "vendor.lock.json").read_text())["files"]
    for entry in entries:
        assert entry["name"]
        assert entry["version"]
        assert entry["licence"]
        assert hashlib.sha256((ROOT / folder / entry["file"]).read_bytes()).hexdigest() == entry["sha256"], entry[
            "file"
        ]
    locked = {entry["file"] for entry in entries}
    there = {str(path.relative_to(ROOT / folder)) for path in (ROOT / folder).rglob("*") if path.is_file()}
    unlocked = {
        name for name in there - locked if not name.endswith(("vendor.lock.json", "LICENSE.txt", "LICENSE"))
    }
    assert unlocked == set()
