"""Whatever a learner types, no script, style or foreign tag comes out; whatever an author types, no raw HTML."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.course.render import LEARNER_TAGS, render_markdown, render_untrusted

CORPUS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](vbscript:msgbox(1))",
    "![x](https://example.org/tracker.png)",
    '![x](x"onerror="alert(1))',
    '[x](https://e.org "a\\" onmouseover=\\"alert(1)")',
    '<https://e.org/"onclick=alert(1)>',
    "<javascript:alert(1)>",
    "```html\n<script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "```python onload=alert(1)\nx\n```",
    "`<script>alert(1)</script>`",
    "| <script> | <b> |\n|---|---|\n| <img src=x onerror=1> | x |",
    "<style>*{display:none}</style>",
    "<p style='position:fixed'>x</p>",
    "<iframe src=https://e.org></iframe>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<form action=/sign-out method=post><button>x</button></form>",
    "<meta http-equiv=refresh content='0;url=https://e.org'>",
    "<base href=https://e.org>",
    "$\\href{javascript:alert(1)}{x}$",
    "$\\text{<img src=x onerror=alert(1)>}$",
    "$$\n\\unknown{<script>}\n$$",
    "$\\htmlStyle{color:red}{x}$ $\\url{javascript:alert(1)}$",
    "\ue0000\ue001 $x$ \ue0001\ue001",
    "{{7*7}} {% include 'x' %} %s %(x)s ${x}",
    "\0 \ud800 \x1b[31m \u202e \ufeff",
    "[x]: javascript:alert(1)\n\n[x]",
    "- [ ] <input autofocus onfocus=alert(1)>",
    "term\n: <script>alert(1)</script>",
]
MATH_TAGS = frozenset(
    [
        "math",
        "semantics",
        "annotation",
        "mrow",
        "mi",
        "mo",
        "mn",
        "mtext",
        "msup",
        "msub",
        "mfrac",
        "mstyle",
        "mspace",
        "munder",
    ]
)


class Seen(HTMLParser):
    """Collects what a browser would: tags with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def assert_harmless(html: str) -> None:
    for tag, attributes in Seen(html).tags:
        assert tag in LEARNER_TAGS | MATH_TAGS | {"div"}, tag
        for name, value in attributes.items():
            assert name in {
                "href",
                "title",
                "rel",
                "class",
                "start",
                "encoding",
                "xmlns",
                "display",
                *MATH_ATTRIBUTES,
            }, name
            if name == "href":
                assert (value or "").startswith(("https://", "http://", "mailto:", "/", "#")) or ":" not in (
                    value or ""
                )


MATH_ATTRIBUTES = frozenset(
    ["mathvariant", "displaystyle", "scriptlevel", "mathcolor", "width", "stretchy", "fence", "separator"]
)


@pytest.mark.parametrize("text", CORPUS)
def test_a_hostile_text_comes_out_harmless(text: str) -> None:
    html = render_untrusted(text)
    assert_harmless(html)
    html.encode("utf-8")


@settings(max_examples=150, deadline=None)
@given(
    st.text(st.characters(codec=None), max_size=200)
    | st.lists(st.sampled_from(CORPUS), max_size=4).map("\n\n".join)
)
def test_any_text_comes_out_harmless(text: str) -> None:
    html = render_untrusted(text)
    assert_harmless(html)
    html.encode("utf-8")


@pytest.mark.parametrize("text", CORPUS)
def test_authored_text_has_no_raw_html_either(text: str) -> None:
    if "\ud800" in text:
        pytest.skip("files are UTF-8: a lone surrogate never gets here")
    tags = {tag for tag, _ in Seen(render_markdown(text)).tags}
    assert not tags & {"script", "svg", "iframe", "style", "form", "meta", "base", "input", "math"}
    assert all(
        not name.startswith("on") for _, attributes in Seen(render_markdown(text)).tags for name in attributes
    )


def test_good_text_keeps_its_form() -> None:
    html = render_untrusted("**bold** `code` [link](https://e.org)\n\n```python\nx = 1\n```\n\n$x^2$")
    assert "<strong>bold</strong>" in html
    assert 'rel="nofollow ugc noopener noreferrer"' in html
    assert '<span class="n">x</span>' in html
    assert "<msup>" in html


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text", ["[" * 20_000, "*a " * 20_000, "`" * 50_000, "a" * 1_000_000, "> " * 5000, "$x$ " * 3000]
)
def test_long_texts_end_in_time(text: str) -> None:
    assert_harmless(render_untrusted(text))


@pytest.mark.parametrize("mark", ["- ", "> ", "1. ", "> - "])
def test_no_word_is_lost_however_deep_it_is_nested(mark: str) -> None:
    indent = " " * (len(mark) if mark.strip() != ">" else 0)
    nested = [f"{mark if '>' in mark else indent}" * depth + f"{mark}word{depth}" for depth in range(60)]
    shown = render_untrusted("\n".join(nested))
    assert [f"word{depth}" for depth in range(60) if f"word{depth}" not in shown] == []
    assert shown.count("<ul>") + shown.count("<ol>") + shown.count("<blockquote>") >= 15
