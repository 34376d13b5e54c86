"""Figures that answer: their first state, drawn when the content is compiled by the script that redraws them.

`::: live name` in a text shows one. The drawing is app/static/js/living.js and nothing else, so the page that the
server sends and the one that the script makes cannot differ.
"""

from __future__ import annotations

import json
from functools import lru_cache

import quickjs
from markupsafe import Markup

from app.templating import STATIC

SCRIPT = STATIC / "js" / "living.js"
CALL = """
function call(name) { return JSON.stringify(name ? markup(name) : Object.keys(FIGURES)); }
"""


@lru_cache(maxsize=1)
def _engine() -> quickjs.Function:
    source = SCRIPT.read_text(encoding="utf-8").partition("\nexport {")[0]
    return quickjs.Function("call", source + CALL)


@lru_cache(maxsize=1)
def live_names() -> frozenset[str]:
    """The figures there are."""
    return frozenset(json.loads(_engine()("", run_gc=False)))


@lru_cache(maxsize=16)
def live_html(name: str) -> Markup:
    """Controls, drawing and values in their first state. `name` is one of `live_names`."""
    return Markup(json.loads(_engine()(name, run_gc=False)))  # noqa: S704 - our own script's own words
