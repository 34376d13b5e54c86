"""Hand-built figures: SVG that may stand inside a page, and what is checked before it does.

A figure is inlined so that it follows the theme. So it may hold shapes and text only: no script, no style, no link
out, no image; every id starts with the figure's own, because two figures may share a page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from markupsafe import Markup

from app.course.problems import Problem
from app.course.source import read_text

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = frozenset(
    [
        *("svg", "title", "desc", "g", "defs", "symbol", "use", "marker", "clipPath", "pattern"),
        *("path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan"),
    ]
)
ATTRIBUTES = frozenset(
    [
        *("id", "class", "viewBox", "role", "aria-labelledby", "aria-hidden", "preserveAspectRatio", "xml:space"),
        *(
            "x",
            "y",
            "x1",
            "y1",
            "x2",
            "y2",
            "cx",
            "cy",
            "r",
            "rx",
            "ry",
            "dx",
            "dy",
            "width",
            "height",
            "points",
            "d",
        ),
        *("fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity"),
        *("fill-opacity", "stroke-opacity", "fill-rule", "transform", "text-anchor", "dominant-baseline"),
        *("font-size", "font-weight", "font-style", "font-family", "letter-spacing", "baseline-shift", "href"),
        *("marker-start", "marker-mid", "marker-end", "markerWidth", "markerHeight", "refX", "refY", "orient"),
        *("clip-path", "patternUnits", "patternTransform", "markerUnits", "vector-effect", "paint-order"),
    ]
)
PAINT = re.compile(r"none|currentcolor|inherit|url\(#[\w-]+\)|var\(--[\w-]+(?:,\s*\w+)?\)", re.IGNORECASE)
LOCAL = re.compile(r"#[\w-]+|url\(#[\w-]+\)")
PHONE_WIDTH = 350  # CSS pixels that a figure gets on a phone
LEAST_TEXT = 9.0  # CSS pixels


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that passed its checks. `html` is the inline SVG."""

    id: str
    title: str
    html: Markup


def read_figure(path: Path, root: Path) -> tuple[Figure | None, list[Problem]]:
    """Read one SVG. The figure is None when a problem makes it unfit to be inlined."""
    file = path.relative_to(root).as_posix()
    text, problem = read_text(path, root)
    if problem is not None:
        return None, [problem]
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        return None, [Problem(file, 1, "figure", "the SVG declares a document type", "remove the declaration")]
    try:
        tree = ElementTree.fromstring(text)  # noqa: S314 - no document type, so no entities to expand
    except ElementTree.ParseError as error:
        what = f"the SVG does not parse: {error.msg}"
        return None, [Problem(file, error.position[0], "figure", what, "mend the XML")]
    problems = [*_root(tree, path.stem, file, text), *_inside(tree, path.stem, file, text)]
    if problems:
        return None, problems
    title = tree.findtext(f"{SVG}title", "").strip()
    return Figure(path.stem, title, Markup(_inline(text))), []  # noqa: S704 - whitelisted above


def _inline(text: str) -> str:
    without = re.sub(r"<\?xml[^>]*\?>|<!--.*?-->", "", text, flags=re.DOTALL)
    return re.sub(r">\s*\n\s*<", ">\n<", without).strip()


def _root(tree: ElementTree.Element, name: str, file: str, text: str) -> list[Problem]:
    def problem(what: str, fix: str) -> Problem:
        return Problem(file, _line(text, "<svg"), "figure", what, fix)

    found = []
    if tree.tag != f"{SVG}svg":
        return [problem("the root is not an SVG element", 'start with <svg xmlns="http://www.w3.org/2000/svg" …>')]
    if not re.fullmatch(r"0 0 \d+ \d+", tree.get("viewBox", "")):
        found.append(problem("the viewBox is missing", 'write viewBox="0 0 W H" with whole numbers'))
    if tree.get("width") or tree.get("height"):
        found.append(problem("the root has a fixed size", "remove width and height: the page decides"))
    for part in ("title", "desc"):
        element = tree.find(f"{SVG}{part}")
        if element is None or not (element.text or "").strip():
            found.append(problem(f"the figure has no <{part}>", f"add a <{part}> that says what it shows"))
    if tree.get("role") != "img" or tree.get("aria-labelledby") != f"fig-{name}-title fig-{name}-desc":
        fix = f'write role="img" aria-labelledby="fig-{name}-title fig-{name}-desc" and give those ids'
        found.append(problem("the figure is not named for screen readers", fix))
    return found


def _inside(tree: ElementTree.Element, name: str, file: str, text: str) -> list[Problem]:
    found = []
    width = _width(tree)
    for element in tree.iter():
        tag = element.tag.removeprefix(SVG) if isinstance(element.tag, str) else "?"
        line = _line(text, f"<{tag}")
        if tag not in ELEMENTS:
            found.append(
                Problem(file, line, "figure", f"<{tag}> is not allowed in a figure", "use shapes and text")
            )
        for key, value in element.attrib.items():
            key = key.replace("{http://www.w3.org/XML/1998/namespace}", "xml:")
            wrong = _attribute(key, value, name, width)
            if wrong:
                found.append(Problem(file, _line(text, f'{key}="{value}"'), "figure", *wrong))
    return found


def _attribute(key: str, value: str, name: str, width: float) -> tuple[str, str] | None:
    """What is wrong with an attribute, and what to do; None when nothing is."""
    if key not in ATTRIBUTES:
        return f"the attribute {key} is not allowed in a figure", "use a class or a presentation attribute"
    if key == "id" and not value.startswith(f"fig-{name}-"):
        return f"the id '{value}' could clash with another figure's", f"start it with fig-{name}-"
    if key in ("href", "marker-end", "marker-start", "marker-mid", "clip-path") and not LOCAL.fullmatch(value):
        return f"{key} points outside the figure", "point to an id of this file"
    if key in ("fill", "stroke") and not PAINT.fullmatch(value):
        return f"the colour {value} does not follow the theme", "use currentColor, none or a class"
    if key == "font-size" and not _legible(value, width):
        return f"text of size {value} is too small on a phone", f"at least {LEAST_TEXT * width / PHONE_WIDTH:.1f}"
    return None


def _legible(value: str, width: float) -> bool:
    try:
        return float(value) * PHONE_WIDTH / width >= LEAST_TEXT
    except ValueError:
        return False


def _width(tree: ElementTree.Element) -> float:
    match = re.fullmatch(r"0 0 (\d+) \d+", tree.get("viewBox", ""))
    return float(match[1]) if match else float(PHONE_WIDTH)


def _line(text: str, needle: str) -> int:
    position = text.find(needle)
    return text[:position].count("\n") + 1 if position >= 0 else 1
