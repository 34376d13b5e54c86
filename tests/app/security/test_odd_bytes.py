"""Any bytes in, a page out: every parameter that a route declares, filled with what breaks parsers.

No answer is a 500, none shows a template as evaluated, and none takes a NUL, or a control character of an address,
into the page.
"""

from __future__ import annotations

from urllib.parse import quote, quote_from_bytes

import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from tests.app.security.conftest import World, routes_of
from tests.app.security.test_matrix import TABLE, filled

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

ODD: dict[str, bytes] = {
    "NUL": b"a\x00b",
    "invalid UTF-8": b"\xff\xfe\x80",
    "lone surrogate": b"\xed\xa0\x80",
    "ANSI": b"\x1b[31mred\x1b[0m\x07",
    "bidi": "\u202eabc\u2066x".encode(),
    "a long line": b"x" * 200_000,
    "template": b"{{7*7}}${7*7}<%= 7*7 %>%s%n",
    "markup": b'"><script>alert(1)</script><svg onload=alert(1)>',
    "path": b"../../etc/passwd",
    "SQL": b"' OR 1=1; --",
    "number": b"99999999999999999999999999",
    "minus": b"-1",
    "digits of another script": "\u0663\u00b2".encode(),
    "empty": b"",
    "header": b"x\r\nset-cookie: a=b",
}


def params_of(application: FastAPI, route: str) -> tuple[set[str], set[str]]:
    """The names of a route's query and form parameters, as it declares them."""
    for method, path, found in routes_of(application):
        if f"{method} {path}" == route and isinstance(found, APIRoute):
            flat = _flat(found.dependant)
            query = {one.alias for each in flat for one in each.query_params}
            return query, {one.alias for each in flat for one in each.body_params}
    return set(), set()


def _flat(dependant: Dependant) -> list[Dependant]:
    return [dependant, *(one for each in dependant.dependencies for one in _flat(each))]


@pytest.mark.parametrize("route", TABLE)
def test_any_bytes_in_a_page_out(world: World, route: str) -> None:
    method, path = route.split()
    row = TABLE[route]
    ids = {**world.ids, "math": world.application.state.course.current.math_digest}
    address = filled(path, row.there, ids)
    query, form = params_of(world.application, route)
    who = world.browsers["root" if path.startswith("/desk") else "ada"]

    def check(where: str, target: str, content: bytes | None) -> None:
        headers = {"content-type": "application/x-www-form-urlencoded"} if content is not None else {}
        answer = who.request(method, target, content=content, headers=headers)
        assert answer.status_code < 500, (where, answer.status_code)
        assert "set-cookie: a=b" not in str(answer.headers).lower(), where
        if answer.headers.get("content-type", "").startswith("text/html"):
            text = answer.text
            assert "<script>alert" not in text and "<svg onload" not in text, where
            assert "\x00" not in text, where
            # What was typed into a field comes back as typed; an address is nobody's text.
            assert "\x1b[31m" not in text or not where.startswith("/"), where
            assert "49${" not in text and "49<%" not in text, where

    body = None if method == "GET" else b""
    for name, value in ODD.items():
        raw = quote_from_bytes(value, safe="")
        for field in sorted(row.there):
            odd = {**{key: quote(one) for key, one in row.there.items()}, field: raw[:4000]}
            check(f"/{field}: {name}", filled(path, odd, ids) if raw else f"{address}x", body)
        for field in sorted(query):
            check(f"?{field}: {name}", f"{address}?{field}={raw[:8000]}", body)
        for field in sorted(form | set(row.data)):
            rest = {key: one for key, one in row.data.items() if key != field}
            sent = "&".join([f"{field}={raw}", *(f"{key}={quote(one)}" for key, one in rest.items())])
            check(f"{field}: {name}", address, sent.encode())
    if method == "POST":
        for junk in (b"\x00\xff\x00", b"&".join(b"f%d=x" % n for n in range(3000)), b"=&=&=", b"%"):
            check("body", address, junk)
