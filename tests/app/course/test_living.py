"""Live figures: the script of the page draws their first state, and their numbers are what arithmetic gives."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import quickjs

from app.course.compile import compile_course
from app.course.drills import read_drills
from app.course.living import SCRIPT, live_html, live_names
from tests.app.course.test_arithmetic import ROOT

KIB = 1024
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def ask() -> Ask:
    """Rows, drawing and size of the controls of a figure for given places of its controls."""
    source = SCRIPT.read_text(encoding="utf-8").partition("\nexport {")[0]
    call = """
    function call(name, places) {
      const figure = FIGURES[name], state = stateOf(figure, JSON.parse(places));
      return JSON.stringify({rows: figure.rows(state), found: figure.compute(state), svg: svg(name, figure, state),
        controls: figure.controls.map((each) => [each.name, each.values])});
    }"""
    function = quickjs.Function("call", source + call)
    return lambda name, **places: json.loads(function(name, json.dumps(places), run_gc=False))


@pytest.mark.parametrize("name", sorted(live_names()))
def test_every_state_is_sound_and_within_its_frame(ask: Ask, name: str) -> None:
    controls = ask(name)["controls"]
    for places in itertools.product(*(range(len(values)) for _, values in controls)):
        found = ask(name, **dict(zip([key for key, _ in controls], places, strict=True)))
        root = ET.fromstring(found["svg"])
        _, _, width, _ = map(float, root.attrib["viewBox"].split())
        for shape in root.iter("rect"):
            assert float(shape.attrib["x"]) + float(shape.attrib["width"]) <= width
        assert not re.search(r"NaN|undefined|Infinity|null", found["svg"])
        assert all(label and value for label, value in found["rows"])


@pytest.mark.parametrize("name", sorted(live_names()))
def test_the_first_state_is_titled_described_and_waits_for_the_script(name: str) -> None:
    html = live_html(name)
    assert re.search(rf'<svg [^>]*aria-labelledby="live-{name}-title live-{name}-desc"', html)
    assert html.startswith('<fieldset class="live-controls" disabled>')
    assert html.count("<label ") == html.count("<input ") + html.count("<select ")
    assert "style=" not in html


def test_a_tile_of_128_by_128_takes_what_the_text_says(ask: Ask) -> None:
    found = ask("tile-memory")["found"]
    assert (found["q"] + found["kv"], found["acc"] + found["scores"]) == (160 * KIB, 128 * KIB)
    assert (found["fits"], found["passes"], found["intensity"]) == (True, 64, 128)
    assert ask("tile-memory", rows=5, keys=5)["found"]["fits"] is False


def test_a_batch_crosses_the_ridge_and_a_group_does_not(ask: Ask) -> None:
    at_310 = ask("batch-roofline", batch=9)["found"]
    expected = 2 * 310 * 8192 * 28672 / (2 * (8192 * 28672 + 310 * 8192 + 310 * 28672))
    assert at_310["gemm"] == pytest.approx(expected)
    assert at_310["gemm"] > at_310["ridge"] == pytest.approx(989.4 / 3.35)
    assert ask("batch-roofline", batch=8)["found"]["gemm"] < at_310["ridge"]
    assert {ask("batch-roofline", batch=place)["found"]["attention"] for place in range(12)} == {8}


def test_the_cache_is_token_times_context_times_sequences(ask: Ask) -> None:
    snapshot = compile_course(ROOT / "content", read_drills(ROOT / "drills")).snapshot
    assert snapshot is not None
    token = next(block for block in snapshot.worked["concepts/kv-cache.md"] if block.name == "token")
    small, large = (row.quantity.value for row in token.rows if row.name in ("small", "large"))
    for place, expected in enumerate([small, large, 8 * large, (512 + 64) * 61 * 2]):
        found = ask("context-cache", model=place, context=7, sequences=8)["found"]
        assert found["token"] == expected
        assert found["cache"] == expected * 128 * KIB * 256


def test_an_unknown_figure_is_a_problem_with_its_line(folder: Any) -> None:
    path = folder / "concepts" / "beta.md"
    path.write_text(path.read_text() + "\n::: live nothing\nA caption.\n:::\n")
    problems = compile_course(folder, {}).problems
    assert any("no live figure 'nothing'" in problem.what for problem in problems)
