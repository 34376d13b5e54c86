"""No text of a learner runs: what tries to is put into everything that takes text, and looked at in a real browser.

The site is the application itself with its own policy. Whatever a page shows of these texts, no script of
theirs ran, no dialog opened, and the policy had nothing to block.
"""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Dialog, Page

from app.accounts.models import Role, User
from app.accounts.routes import COOKIE
from app.db import Database
from app.jobs import Jobs
from app.main import create_app
from app.settings import Settings
from grader.verdict import CaseResult, Console, Diagnosis, Finding, Lane, Outcome, Verdict
from tests.app.conftest import Browser
from tests.app.submissions.conftest import live_run, record, start
from tests.browser.conftest import free_port
from tests.browser.watch import DESKTOP, Watched, new_context

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]
DRILL, QUESTION, TRACK = "tiled_softmax", "fused-kernel-drift", "flashattention"

CORPUS = (
    "<script>window.ran=1;alert(1)</script>",
    "<img src=x onerror=window.ran=1>",
    "<svg/onload=window.ran=1>",
    "</textarea><script>window.ran=1</script>",
    "</title></style></script><script>window.ran=1</script>",
    '"><body onload=window.ran=1>',
    "' autofocus onfocus=window.ran=1 x='",
    "[click](javascript:window.ran=1)",
    "[click](JaVaScRiPt&colon;window.ran=1)",
    "[click](data:text/html,<script>window.ran=1</script>)",
    "![x](javascript:window.ran=1)",
    "<javascript:window.ran=1>",
    "<iframe srcdoc='<script>parent.ran=1</script>'></iframe>",
    "<math><mtext><table><mglyph><style><img src=x onerror=window.ran=1>",
    "<a href='java\tscript:window.ran=1'>x</a>",
    "<style>@import 'javascript:window.ran=1';</style>",
    "<meta http-equiv=refresh content='0;url=javascript:window.ran=1'>",
    "<base href=//evil.example/>",
    "$\\href{javascript:window.ran=1}{x}$",
    "$\\htmlData{onclick=window.ran=1}{x}$ $\\url{javascript:window.ran=1}$",
    "```<script>window.ran=1</script>\nx\n```",
    "{{constructor.constructor('window.ran=1')()}}",
    "\u202e<script>window.ran=1</script>\u0000",
)
HOSTILE = "\n\n".join(CORPUS)
LINE = " ".join(CORPUS[:9])


@dataclass(frozen=True)
class Site:
    """The running application, the cookies of its people, and the addresses that show hostile text."""

    origin: str
    cookies: dict[str, str]
    pages: dict[str, tuple[str, ...]]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("hostile")
    shutil.copy(migrated_sqlite, folder / "tilewright.db")
    settings = Settings(data=folder, watch_content=False, submissions_per_minute=1000)
    application = create_app(settings)
    database: Database = application.state.database
    ada, root = Browser(application), Browser(application)
    ada.sign_in_as("ada")
    root.sign_in_as("root", Role.ADMIN)
    with database.write() as session:  # sign-up takes no such name; an import or an older version might have
        user = session.query(User).where(User.username == "ada").one()
        user.username = CORPUS[1][:32]
    pages = _planted(ada, root, database, application.state.jobs)
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(application, host="127.0.0.1", port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started:
        assert time.monotonic() < deadline, "the site did not start"
        time.sleep(0.05)
    cookies = {"ada": ada.cookies[COOKIE], "root": root.cookies[COOKIE]}
    yield Site(f"http://127.0.0.1:{port}", cookies, pages)
    server.should_exit = True
    thread.join(10)


def _planted(ada: Browser, root: Browser, database: Database, queue: Jobs) -> dict[str, tuple[str, ...]]:
    """Put the corpus into everything that takes text."""
    form = {"source": f'"""\n{HOSTILE}\n"""'.replace("\0", ""), "lane": "cpu", "token": "token-hostile"}
    submission = ada.post(f"/drills/{DRILL}/submissions", data=form).headers["location"]
    work = start(database, live_run(database, submission.removeprefix("/submissions/")))
    assert work is not None
    record(database, queue, work, _verdict())
    ada.post(f"/drills/{DRILL}/draft", data={"source": form["source"] + "# draft", "base": "0"})
    ada.post(f"/notes/question/{QUESTION}", data={"text": HOSTILE, "version": "0"})
    ada.post(f"/questions/{QUESTION}/attempt", data={"text": HOSTILE})
    sent = [("files", (f"{CORPUS[1]}.html", CORPUS[0].encode(), "text/html"))]
    capstone = ada.post(f"/tracks/{TRACK}/capstone", data={"text": HOSTILE}, files=sent).headers["location"]
    post = (
        ada.post(f"/questions/{QUESTION}/discussion", data={"text": HOSTILE}).headers["location"].rsplit("-", 1)[1]
    )
    root.post(f"/posts/{post}/report", data={"reason": LINE[:390]})
    desk = f"/desk/capstone/{capstone.removeprefix('/capstones/')}"
    root.post(f"{desk}/take")
    names = re.findall(r'name="item-([^"]+)" value="full"', root.get(desk).text)
    grade = {"base": "0", "then": "stay", "comment": HOSTILE}
    for name in names:
        new = {f"item-{name}": "new", f"points-{name}": "1", f"text-{name}": LINE[:390], f"comment-{name}": HOSTILE}
        grade |= new
    assert root.post(desk, data=grade).status_code == 303
    query = "%3Cscript%3Ewindow.ran%3D1%3C%2Fscript%3E%22onfocus%3Dwindow.ran%3D1%20autofocus"
    own = (submission, "/submissions", f"/drills/{DRILL}", f"/drills/{DRILL}/drafts", "/notes", "/bookmarks")
    more = (f"/notes/question/{QUESTION}", f"/questions/{QUESTION}", f"/questions/{QUESTION}/discussion")
    seen = (capstone, f"/tracks/{TRACK}/capstone", f"/posts/{post}/edit", "/progress", "/", f"/search?q={query}")
    admin = (
        "/desk",
        desk,
        f"/desk/rubrics/capstone/{TRACK}",
        "/desk/reports",
        f"/desk/posts/{post}",
        "/desk/audit",
    )
    return {
        "ada": (*own, *more, *seen, f"/drills/{DRILL}/evidence", f"/sign-in?next=/{query}"),
        "root": (submission, capstone, f"/questions/{QUESTION}/discussion", *admin, f"/posts/{post}/report"),
    }


def _verdict() -> Verdict:
    case = CaseResult(
        name=CORPUS[0],
        visible=True,
        outcome=Outcome.WRONG_ANSWER,
        shape=LINE,
        data=LINE,
        detail=LINE,
        error=2.0,
        line=1,
    )
    return Verdict(
        outcome=Outcome.WRONG_ANSWER,
        sentence=LINE,
        drill=DRILL,
        lane=Lane.CPU,
        cases=(case,),
        expected_cases=1,
        console=Console(text=HOSTILE),
        findings=(Finding(line=2, text=LINE),),
        diagnosis=Diagnosis(question=LINE, trend=LINE),
    )


@pytest.mark.parametrize("who", ["ada", "root"])
def test_no_text_runs(browser: Chromium, hostile: Site, who: str) -> None:
    context = new_context(browser, DESKTOP, "light")
    context.add_cookies([{"name": COOKIE, "value": hostile.cookies[who], "url": hostile.origin}])
    watched = Watched(context.new_page(), quiet=("the server responded with a status",))
    dialogs: list[str] = []

    def close(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    watched.page.on("dialog", close)
    for address in hostile.pages[who]:
        answer = watched.page.goto(hostile.origin + address)
        assert answer is not None and answer.status < 500, address
        watched.page.wait_for_timeout(150)
        assert watched.page.url.startswith(hostile.origin), address
        assert watched.page.evaluate("window.ran") is None, address
        assert watched.page.evaluate("window.violations") == [], address
        assert bad_links(watched.page) == [], address
    assert dialogs == []
    assert [fault for fault in watched.faults if "Content Security Policy" in fault] == []
    context.close()


def bad_links(page: Page) -> list[str]:
    """Links and forms that lead to a script, to data, or to another site without saying so."""
    found: list[str] = page.evaluate(
        """[...document.querySelectorAll("[href], [src], [action], [srcdoc]")]
             .flatMap((one) => ["href", "src", "action", "srcdoc"].map((name) => [name, one.getAttribute(name)]))
             .filter(([name, value]) => value !== null)
             .filter(([name, value]) => name === "srcdoc" || /^\\s*(javascript|data|vbscript):|evil/i.test(value))
             .map(([name, value]) => `${name}=${value}`)"""
    )
    return found
