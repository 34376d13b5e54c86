"""Every template in every state as a small site, under the policy of the real one, for a browser to look at."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

from app import templating
from tests.app.samples import SAMPLES

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
VISITORS = ("welcome", "sign-in", "sign-up", "error")


def gallery() -> FastAPI:
    """`/gallery/{template}/{state}` for each sample; signed in, except where only visitors come."""
    site = FastAPI()
    site.mount("/static", templating.Static(), name="static")
    site.include_router(templating.router)

    @site.middleware("http")
    async def policy(request: Request, call_next: Any) -> Response:
        response: Response = await call_next(request)
        response.headers["Content-Security-Policy"] = POLICY
        return response

    @site.get("/gallery/{name}/{state}")
    def show(request: Request, name: str, state: str) -> Response:
        template, context = SAMPLES[f"{name}/{state}"]
        request.state.viewer = None if name in VISITORS else SimpleNamespace(name="ada", role="learner")
        return templating.render(request, template, context)

    return site
