from __future__ import annotations

import re

import pytest

from app.course.formulas import FormulaError, Stylesheet, render_formula, render_formula_plain

FORMULAS = [
    r"\sqrt{\frac{a}{b}}\left(\sum_{k}x_k\right)",
    r"\begin{aligned} a &= b \\ c &= d \end{aligned}",
    r"\textcolor{red}{x}\quad\hspace{2em}\underbrace{a+b}_{c}\widehat{xyz}\xrightarrow{f}",
    r"\begin{pmatrix} 1 & 0 \\ 0 & 1 \end{pmatrix}\boxed{x}\cancel{y}\rule{1em}{1em}",
    r"\text{<script>alert(1)</script>}\ \&\ \#",
]


@pytest.mark.parametrize("tex", FORMULAS)
@pytest.mark.parametrize("display", [True, False])
def test_no_inline_style_is_left(tex: str, display: bool) -> None:
    styles = Stylesheet()
    html = render_formula(tex, display=display, styles=styles)
    assert not re.search(r"<[^>]*\sstyle=", html)
    assert "<script" not in html
    named = set(re.findall(r"\bk-[0-9a-z]+\b", html))
    assert named == set(re.findall(r"^\.(k-[0-9a-z]+)\{[^{}<>]+ !important\}$", styles.text(), re.MULTILINE))


def test_every_class_attribute_stands_once() -> None:
    html = render_formula(r"\sqrt{x}", display=False, styles=Stylesheet())
    assert not re.search(r"<[^>]*class=[^>]*class=", html)


def test_the_same_declaration_has_one_rule() -> None:
    styles = Stylesheet()
    for _ in range(2):
        render_formula(r"x_j", display=False, styles=styles)
    rules = styles.text().splitlines()
    assert len(rules) == len(set(rules)) > 0


@pytest.mark.parametrize(
    "tex",
    [
        r"\frac{a",
        r"\unknown",
        r"\def\a{\a\a}\a",
        "{" * 1999,
        "x" * 3000,
        "é",  # KaTeX would only warn; here a warning is an error
        r"\htmlClass{a}{b}",
    ],
)
def test_what_does_not_parse_is_an_error_of_one_line(tex: str) -> None:
    with pytest.raises(FormulaError, match=r"\A[^\n]+\Z"):
        render_formula(tex, display=False, styles=Stylesheet())


@pytest.mark.parametrize("tex", [r"\href{javascript:alert(1)}{x}", r"\includegraphics{https://example.org/x.png}"])
def test_commands_that_need_trust_print_their_name_only(tex: str) -> None:
    html = render_formula(tex, display=False, styles=Stylesheet())
    without_source = re.sub(r"<annotation.*?</annotation>", "", html)
    assert "example.org" not in without_source
    assert "javascript" not in without_source
    assert "<a " not in html
    assert "<img" not in html


def test_plain_formulas_need_no_stylesheet() -> None:
    html = render_formula_plain(r"\frac{a}{b}", display=True)
    assert "<math" in html
    assert "style=" not in html.replace("displaystyle=", "")
