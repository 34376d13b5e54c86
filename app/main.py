"""The web process: what it is made of (`create_app`), the frame round every request, and the one error boundary.

Reading order: `create_app` → `Frame` (request id, log, metrics, the last resort) → `dress` (what every page needs
to know) → `answer_error` (every refusal becomes a page or JSON here) → the operators' addresses.
"""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import AsyncIterator, Iterable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import structlog
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import jobs, templating
from app.accounts.mail import sender_of
from app.accounts.preferences import preferences_of
from app.accounts.routes import identify
from app.accounts.routes import router as accounts
from app.accounts.settings_routes import router as settings_pages
from app.course.models import Link
from app.course.routes import router as course
from app.course.store import CourseStore
from app.course.unlock_routes import router as unlock
from app.course.unlocks import opened_to
from app.db import Database, database_of, new_id, patiently
from app.desk.moderation import router as moderation
from app.desk.routes import router as desk
from app.desk.rubric_routes import router as rubrics
from app.discussion.routes import router as discussion
from app.errors import AppError, BadRequest, ErrorPage, NotFound, NotSignedIn, TooMany
from app.exports import EXPORTERS
from app.jobs import Jobs
from app.practice import routes as practice
from app.progress.attempt_routes import router as attempts
from app.progress.attempts import own_answer
from app.progress.kept import bookmarks_of, noted_by
from app.progress.kept_routes import router as kept
from app.progress.routes import router as progress
from app.review.routes import due_today
from app.review.routes import router as review
from app.security import Guard, Heads, StrictHeaders, own_path
from app.settings import Settings
from app.submissions import routes as submissions
from app.submissions import view
from app.submissions.capstones.routes import router as capstones
from app.submissions.capstones.service import sweep
from app.submissions.grades import service as grades
from app.submissions.lanes import lane_note
from grader.drill import load_drills
from grader.verdict import Lane

BANNER_SECONDS = 3.0  # how old the banner about the workers may be
log = structlog.get_logger(__name__)


def create_app(settings: Settings) -> FastAPI:
    """The web application. Raises what is wrong with the content or the drills, since no page could be right."""
    app = FastAPI(
        title="Tilewright",
        lifespan=_lifespan,
        dependencies=[Depends(dress)],
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        redirect_slashes=False,  # those redirects repeat whatever Host a request names; `answer_error` has ours
    )
    state = app.state
    state.settings = settings
    state.database = Database(settings.database)
    state.jobs = Jobs(settings.database)
    state.drills = load_drills(settings.drills)
    state.course = CourseStore.open(settings.content, settings.drills)
    state.standings = view.standings
    state.scores = grades.scores
    state.due_today = due_today
    state.own_answer = own_answer
    state.exporters = EXPORTERS
    state.sender = sender_of(settings)
    state.after_erasing = _after_erasing
    state.banners = (0.0, ())
    metrics = Metrics()
    state.metrics = metrics
    for router in (
        operators,
        accounts,
        settings_pages,
        course,
        unlock,
        kept,
        progress,
        review,
        practice.router,
        templating.router,
    ):
        app.include_router(router)
    app.include_router(submissions.router)
    app.include_router(capstones)
    app.include_router(attempts)
    app.include_router(discussion)
    app.include_router(moderation)
    app.include_router(rubrics)
    app.include_router(desk)
    app.include_router(submissions.api)
    app.mount("/static", templating.Static(), name="static")
    for kind in (AppError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, answer_error)
    app.add_middleware(GZipMiddleware, minimum_size=1024)
    app.add_middleware(Guard, settings=settings, refuse=_refuse)
    app.add_middleware(Heads)
    app.add_middleware(Frame, metrics=metrics)
    app.add_middleware(StrictHeaders, secure=settings.secure)
    return app


def _sweep_files(app: FastAPI) -> None:
    removed = patiently(lambda: sweep(app.state.database, app.state.settings.data))
    if removed:
        log.info("files that no row names are gone", count=removed)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    stop = threading.Event()
    files = threading.Thread(target=_sweep_files, args=(app,), name="files", daemon=True)
    files.start()  # beside the start: a database that is away must not hold it up
    if app.state.settings.watch_content:
        threading.Thread(target=app.state.course.watch, args=(stop,), name="content", daemon=True).start()
    yield
    stop.set()
    app.state.jobs.close()
    app.state.database.close()


def _after_erasing(app: FastAPI) -> None:
    """What an account leaves outside of the database goes too."""
    sweep(app.state.database, app.state.settings.data)


class Metrics:
    """What Prometheus reads. One registry an application, so that two in one process do not meet."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "tilewright_requests", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "tilewright_request_seconds", "Time to the last byte.", ["route"], registry=self.registry
        )
        self.waiting = Gauge("tilewright_runs_waiting", "Runs that wait.", ["lane"], registry=self.registry)
        self.workers = Gauge("tilewright_workers", "Workers alive.", ["lane", "able"], registry=self.registry)
        self.busy = Gauge("tilewright_slots_busy", "Submissions being graded.", ["lane"], registry=self.registry)

    def gather(self, database: Database, settings: Settings) -> bytes:
        """The figures as text, those of the queue fresh from the database."""
        with database.read() as session:
            workers = jobs.living(session, settings.dead_after_seconds)
            for lane in Lane:
                mine = [worker for worker in workers if worker.lane == lane]
                self.waiting.labels(lane).set(view.waiting_in(session, lane))
                self.workers.labels(lane, "yes").set(sum(worker.trouble is None for worker in mine))
                self.workers.labels(lane, "no").set(sum(worker.trouble is not None for worker in mine))
                self.busy.labels(lane).set(sum(worker.busy for worker in mine))
        return generate_latest(self.registry)


class Frame:
    """The layer round each request: gives it an id, logs and counts it, and answers when nothing else could."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        state["request_id"] = new_id()
        begun, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", state["request_id"].encode())]
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except Exception:
            log.exception("request failed", request=state["request_id"], method=scope["method"], path=scope["path"])
            if not status:
                await _refuse(scope, AppError("This page broke.", "Try again."))(scope, receive, sending)
        finally:
            self._count(scope, status, time.perf_counter() - begun)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "static" if scope["path"].startswith("/static/") else "none")
        self._metrics.requests.labels(scope["method"], route, status).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        say = log.debug if route in ("static", "/healthz", "/readyz", "/metrics") else log.info
        say(
            "request",
            request=scope["state"]["request_id"],
            method=scope["method"],
            path=scope["path"],
            status=status,
            ms=round(seconds * 1000, 1),
        )


def dress(request: Request) -> None:
    """Put what every page asks into `request.state`: who looks, what is open to them and read, the banners."""
    if request.url.path in ("/healthz", "/readyz", "/metrics"):
        return
    viewer = identify(request)
    request.state.banners = _banners(request)
    request.state.read_items = frozenset()
    if viewer is not None:
        with database_of(request).read() as session:
            known = request.state.standings = request.app.state.standings(session, viewer.id)
            request.state.opened = opened_to(session, viewer.id, known.passed)
            request.state.bookmarked = _keys(link for link, _ in bookmarks_of(session, viewer.id))
            request.state.noted = _keys(noted_by(session, viewer.id))
            request.state.shortcuts = preferences_of(session, viewer.id).shortcuts
        read = {f"{kind}:{item}" for kind, item in known.read}
        request.state.read_items = frozenset(read | {f"drill:{drill}" for drill in known.passed})


def _keys(links: Iterable[Link]) -> frozenset[str]:
    return frozenset(f"{link.kind.value}:{link.id}" for link in links)


def _banners(request: Request) -> tuple[str, ...]:
    """What everybody should know now: that nothing is graded in the CPU lane, and why."""
    state = request.app.state
    read_at, banners = state.banners
    if time.monotonic() - read_at > BANNER_SECONDS:
        with database_of(request).read() as session:
            note = lane_note(Lane.CPU, jobs.living(session, state.settings.dead_after_seconds))
        banners = (f"Grading is paused. {note}",) if note else ()
        state.banners = (time.monotonic(), banners)
    found: tuple[str, ...] = banners
    return found


def answer_error(request: Request, error: Exception) -> Response:
    """The one place where a refusal becomes an answer: a page for people, JSON for programs."""
    if isinstance(error, submissions.Refused):
        return practice.refused(request, error)
    if isinstance(error, HTTPException) and error.status_code == 404 and (better := _without_slash(request)):
        return RedirectResponse(better, 307)
    refusal = _as_refusal(error)
    headers = {"Retry-After": str(refusal.seconds)} if isinstance(refusal, TooMany) else {}
    if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", "text/html"):
        body = {"error": refusal.title, "message": refusal.message, "what_to_do": refusal.what_to_do}
        return JSONResponse(body, refusal.status, headers)
    if isinstance(refusal, NotSignedIn):
        return RedirectResponse(f"/sign-in?next={quote(_came_from(request), safe='/')}", 303)
    if not hasattr(request.state, "banners"):
        dress(request)
    page = ErrorPage(refusal.status, refusal.title, refusal.message, refusal.what_to_do, request.state.request_id)
    return templating.render(request, "error.html", page, status=refusal.status, headers=headers)


def _as_refusal(error: Exception) -> AppError:
    if isinstance(error, AppError):
        return error
    if isinstance(error, HTTPException) and error.status_code == 405:
        refusal: AppError = BadRequest("This address does not take that kind of request.")
        refusal.status = 405
        return refusal
    if isinstance(error, HTTPException) and error.status_code == 404:
        return NotFound()
    return BadRequest("Something in that request could not be read.", "Go back and try again.")


def _without_slash(request: Request) -> str:
    """The address without the slashes at its end, for a page that was not found; empty where there are none."""
    path = request.url.path
    shorter = path.rstrip("/")
    plain = request.method == "GET" and shorter and shorter != path and ".." not in path
    return quote(own_path(shorter), safe="/") if plain else ""


def _came_from(request: Request) -> str:
    """The page to come back to after signing in: this one, or the one whose form was sent."""
    if request.method == "GET":
        query = f"?{request.url.query}" if request.url.query else ""
        return own_path(request.url.path + query)
    return own_path(urlsplit(request.headers.get("referer", "/")).path or "/")


def _refuse(scope: Scope, error: AppError) -> Response:
    """An answer outside of any route: plain, since nothing about the viewer is known or can be looked up here."""
    request = Request(scope)
    request.state.viewer = None
    request.state.banners = ()
    return answer_error(request, error)


operators = APIRouter(include_in_schema=False)


@operators.get("/healthz")
def healthz() -> Response:
    """The process answers."""
    return PlainTextResponse("ok")


@operators.get("/readyz")
def readyz(request: Request) -> Response:
    """The process can do its work: the database answers and has its tables."""
    try:
        with database_of(request).read() as session:
            jobs.living(session, 1.0)
    except Exception as error:
        log.warning("not ready", reason=type(error).__name__)
        return PlainTextResponse("the database does not answer", 503)
    return PlainTextResponse("ready")


@operators.get("/metrics")
def metrics(request: Request) -> Response:
    """Figures for Prometheus, for the machine itself or with the bearer token of the settings."""
    settings: Settings = request.app.state.settings
    given = request.headers.get("authorization", "")
    own = request.client is not None and request.client.host in ("127.0.0.1", "::1", "testclient")
    known = hmac.compare_digest(given.encode(), f"Bearer {settings.metrics_token}".encode())
    if not (known if settings.metrics_token else own and "x-forwarded-for" not in request.headers):
        raise NotFound
    return PlainTextResponse(request.app.state.metrics.gather(database_of(request), settings))
