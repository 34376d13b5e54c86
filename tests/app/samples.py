"""A context for every template in every state it can be in: usual, empty, long, error, loading, locked.

`SAMPLES` maps "template/state" to the template's name and its context. The long ones hold what breaks layouts:
words without a space, many rows, and text that would be markup if it were not escaped.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from markupsafe import Markup

from app.accounts.pages import ForgotPage, ResetPage, SettingsPage, SignInPage, SignUpPage
from app.accounts.preferences import CAPS, EDITOR_KEYS, RETENTIONS, Preferences
from app.course.models import Section
from app.errors import ErrorPage
from app.practice.diff import compare
from app.practice.evidence import Attempt, Facts
from app.practice.hints import Hint, Ladder
from app.practice.models import Cause
from app.practice.pages import (
    DiffPage,
    DraftRow,
    DraftsPage,
    DraftVersionPage,
    DrillRow,
    DrillsPage,
    EditorialPage,
    EvidencePage,
    HomePage,
    LaneChoice,
    Link,
    WelcomePage,
    WorkspacePage,
)
from app.practice.texts import Text
from app.progress.pages import (
    Beginning,
    BookmarkLine,
    BookmarksPage,
    KeptNote,
    NotePage,
    NotesPage,
    ProgressGroup,
    ProgressItem,
    ProgressPage,
    Standing,
)
from app.review.pages import Asked, GradeButton, JustDone, ReviewItemsPage, ReviewLine, ReviewPage
from app.submissions.grades.pages import Feedback
from app.submissions.models import State
from app.submissions.pages import HistoryPage, HistoryRow, LiveFragment, SubmissionPage, VerdictFragment
from app.submissions.predictions import Predicted
from grader.verdict import (
    CaseResult,
    Compiled,
    Console,
    Diagnosis,
    Element,
    Finding,
    Held,
    Lane,
    Mismatch,
    Outcome,
    Probe,
    Skipped,
    TileMap,
    TileStep,
    Timings,
    Traffic,
    Verdict,
    Walk,
    Where,
)
from tests.app import kind_samples as kinds
from tests.app.community_samples import COMMUNITY, EARLIER, GRADE, SCORES
from tests.app.course_samples import COURSE, HOSTILE, LONG

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

BEGINNING = Beginning("The memory hierarchy", "/cards/memory", "begins FlashAttention")
NOW = datetime(2025, 11, 30, 14, 2, 11, tzinfo=UTC)
SOURCE = """import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, out, cols, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = -float("inf")
    l = 0.0
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        s = tl.load(x + row * stride + at, mask=at < cols, other=-float("inf"))
        m = tl.maximum(m, tl.max(s, axis=0))
        l = l + tl.sum(tl.exp(s - m), axis=0)  # the old sum is still relative to the old maximum
    tl.store(out + row * stride, l)
"""


def case(name: str, shape: str, data: str, outcome: Outcome = Outcome.ACCEPTED, **more: Any) -> CaseResult:
    error: dict[str, Any] = {"error": 0.04} if outcome is Outcome.ACCEPTED else {}
    return CaseResult(
        name=name, visible=True, outcome=outcome, shape=shape, data=data, dtype="fp32", **{**error, **more}
    )


def hidden(number: int, outcome: Outcome) -> CaseResult:
    return CaseResult(name=f"hidden {number}", visible=False, outcome=outcome)


def miss(expected: str = "0.97951", actual: str = "0.46828", **more: Any) -> Mismatch:
    first = Where(index=(0, 64), axis=1, tile=1, lane=0, block=64)
    facts: dict[str, Any] = {
        "output": "result",
        "first": first,
        "expected": expected,
        "actual": actual,
        "wrong": 258,
        "total": 258,
        "nan": 0,
        "inf": 0,
    }
    return Mismatch(**{**facts, **more})


ODD = Element(at=Where(index=(1, 192), axis=1, tile=3, lane=0, block=64), expected="0.0049", actual="NaN")
MAP = TileMap(block=64, rows=(0, 1), cells=((0.2, 740.0, 2300.0, None), (0.4, 8.0, 61.0, 4800.0)))
RISING = case(
    "a maximum that rises",
    "2 rows × 129 columns",
    "a maximum that rises in every tile",
    Outcome.WRONG_ANSWER,
    error=812.4,
    mismatch=miss(features=("every element of a row is off by the same factor", "grows with the number of tiles")),
    map=MAP,
    detail="258 of 258 elements of the result are outside the tolerance.",
    line=15,
)
CASES = (
    case("one element", "1 row × 1 column", "normal"),
    case("three short rows", "3 rows × 8 columns", "normal"),
    case("exactly one tile", "2 rows × 64 columns", "normal"),
    case(
        "one past a tile",
        "2 rows × 65 columns",
        "normal",
        Outcome.WRONG_ANSWER,
        error=31.0,
        mismatch=miss("0.0213", "0.0198"),
        map=MAP,
    ),
    case(
        "three tiles and one",
        "2 rows × 193 columns",
        "normal",
        Outcome.WRONG_ANSWER,
        error=118.0,
        mismatch=miss("0.0061", "0.0058", nan=3, not_finite=ODD),
    ),
    RISING,
    case("rows of a wider matrix", "3 rows × 40 columns", "normal"),
    case(
        "half precision",
        "2 rows × 65 columns",
        "normal",
        Outcome.RUNTIME_ERROR,
        detail="ValueError: incompatible dimensions",
        line=13,
    ),
)


def held(role: str, name: str, yours: str, should: str, parts: bool = False) -> Held:
    return Held(role=role, name=name, yours=tuple(yours.split()), should=tuple(should.split()), parts=parts)


# What the starter of `drifting_attention` holds: maximum and sum are right, the accumulator keeps its old scale.
WALK = Walk(
    shape="1 sequence × 1 head × 1 query × 49 keys × 16 columns",
    data="a maximum that rises in every tile",
    kernel="attention_kernel",
    line=32,
    program=(0, 0, 0),
    index=(0, 0, 0, 0),
    unit="in base two",
    turns=(
        TileStep(
            keys="0–15",
            held=(
                held("maximum", "m", "−5.14", "−5.14"),
                held("factor", "", "", "0"),
                held("sum", "l", "3.466", "3.466"),
                held("accumulator", "acc", "1.988 4.556 1.2 −0.31 0.7 2 1 4", "1.988 4.556 1.2 −0.31 0.7 2 1 4"),
            ),
        ),
        TileStep(
            keys="16–31",
            held=(
                held("maximum", "m", "2.632", "2.632"),
                held("factor", "", "", "0.004577"),
                held("sum", "l", "3.96", "3.96"),
                held(
                    "accumulator", "acc", "3.26 7.839 2.44 0.2 1.11 3.9 2.01 7.5",
                    "1.28 3.303 1.24 0.51 0.41 1.9 1.01 3.5", parts=True,
                ),
            ),
        ),
        TileStep(
            keys="48",
            held=(
                held("maximum", "m", "11.25", "11.25"),
                held("factor", "", "", "1"),
                held("sum", "l", "NaN", "2.982", parts=True),
                held(
                    "accumulator", "acc", "7.049 10.17 4.4 1.25e+08 0.1 −∞ 3.1 9",
                    "3.793 2.336 1.24 0.51 0.41 1.9 1.01 3.5", parts=True,
                ),
            ),
        ),
    ),
    parts_at=1,
)  # fmt: skip
DIAGNOSIS = Diagnosis(
    smallest_failing=Probe(shape="1 row × 65 columns", ok=False, error=29.4, tiles=2),
    nearest_passing=Probe(shape="1 row × 64 columns", ok=True, error=0.03, tiles=1),
    error_by_tiles=tuple(
        Probe(shape=f"1 row × {64 * n} columns", ok=n == 1, error=0.03 if n == 1 else 24.0 * n**1.6, tiles=n)
        for n in (1, 2, 3, 4, 6, 8, 12, 16)
    ),
    trend="grows with the number of tiles",
    question="It is right with one tile and wrong with two: what happens to the old sum when the maximum rises?",
    related=("online-softmax", "flashattention-internals"),
    walk=WALK,
)
WRONG = Verdict(
    outcome=Outcome.WRONG_ANSWER,
    sentence="Right for rows that fit one tile, wrong as soon as there are two.",
    drill="tiled_softmax",
    lane=Lane.CPU,
    cases=(*CASES, *(hidden(n, Outcome.WRONG_ANSWER if n % 3 else Outcome.ACCEPTED) for n in range(1, 25))),
    expected_cases=33,
    skipped=(
        Skipped(name="bfloat16", visible=True, reason="The CPU lane can't compute in bf16 yet."),
        Skipped(name="hidden 25", visible=False, reason="bf16"),
    ),
    diagnosis=DIAGNOSIS,
    traffic=(
        Traffic(tensor="x", loaded=3_145_728, stored=0, least_loaded=1_572_864, least_stored=0),
        Traffic(tensor="result", loaded=0, stored=1_572_864, least_loaded=0, least_stored=1_572_864),
    ),
    findings=(Finding(line=15, text="The sum is added to without a factor that depends on the old maximum."),),
    console=Console(text="row 0 m=3.2\n\x1b[31mrow 1\x1b[0m m=7.0\n", dropped=20480),
    timings=Timings(pool=0.004, load=0.061, run=0.412, judge=0.093, diagnose=0.377, total=0.949),
)
RIGHT = Verdict(
    outcome=Outcome.ACCEPTED,
    sentence="All 33 cases pass.",
    drill="tiled_softmax",
    lane=Lane.CPU,
    expected_cases=33,
    cases=(
        *(replace_outcome for replace_outcome in (case(c.name, c.shape, c.data) for c in CASES)),
        *(hidden(n, Outcome.ACCEPTED) for n in range(1, 26)),
    ),
    traffic=WRONG.traffic,
    compiled=(
        Compiled(
            kernel="softmax_kernel",
            constants="BLOCK = 64",
            warps=4,
            target="sm_80",
            registers=27,
            spilled_bytes=0,
            shared_bytes=8,
        ),
        Compiled(
            kernel="softmax_kernel",
            constants="BLOCK = 64",
            warps=4,
            target="sm_90",
            registers=255,
            spilled_bytes=1184,
            shared_bytes=None,
        ),
    ),
    timings=WRONG.timings,
)
OURS = Verdict(
    outcome=Outcome.GRADER_PROBLEM,
    sentence="Grading broke on our side.",
    drill="tiled_softmax",
    lane=Lane.CPU,
    problem="the runner died",
)
BROKEN = Verdict(
    outcome=Outcome.COMPILE_ERROR,
    sentence="The file does not load: '(' was never closed on line 7.",
    drill="tiled_softmax",
    lane=Lane.CPU,
    expected_cases=33,
    cases=(
        CaseResult(
            name="loading your file",
            visible=True,
            outcome=Outcome.COMPILE_ERROR,
            detail="SyntaxError: '(' was never closed",
            line=7,
        ),
    ),
)
LONG_VERDICT = Verdict(
    outcome=Outcome.RUNTIME_ERROR,
    sentence=f"{LONG} {HOSTILE}",
    drill="tiled_softmax",
    lane=Lane.GPU,
    expected_cases=60,
    cases=tuple(
        case(
            f"{LONG} {n}",
            f"{n} rows × {10**n % 99991} columns",
            f"{LONG[: 12 + n]}",
            Outcome.RUNTIME_ERROR,
            detail=f"{LONG}\n" * 40 + HOSTILE,
            line=n,
        )
        for n in range(1, 13)
    ),
    diagnosis=Diagnosis(
        smallest_failing=Probe(shape=LONG, ok=False, error=None, tiles=None),
        question=LONG,
        trend=HOSTILE,
        error_by_tiles=tuple(
            Probe(shape=f"{n}", ok=False, error=None if n > 60 else math.exp(n / 3), tiles=n)
            for n in range(1, 72, 3)
        ),
    ),
    traffic=(Traffic(tensor=LONG, loaded=10**12, stored=1, least_loaded=1, least_stored=0),),
    compiled=(
        Compiled(
            kernel=LONG,
            constants=LONG,
            warps=4,
            target=HOSTILE,
            registers=None,
            spilled_bytes=None,
            shared_bytes=10**7,
        ),
        Compiled(
            kernel=HOSTILE, constants="", warps=1, target="sm_90", registers=9, spilled_bytes=0, shared_bytes=0
        ),
    ),
    findings=(Finding(line=None, text=LONG), Finding(line=3, text=HOSTILE)),
    console=Console(text=f"{LONG}\n{HOSTILE}\u202e\x00" * 50, dropped=1),
    timings=Timings(run=71.5, total=71.5),
)


def verdict(of: Verdict, spent: bool = True) -> VerdictFragment:
    return VerdictFragment(
        submission="s1",
        drill="tiled_softmax",
        drill_title="Tiled softmax",
        verdict=of,
        source_lines=tuple(SOURCE.splitlines()),
        attempt_spent=spent,
        related=(
            ("online softmax", "/cards/online-softmax"),
            ("fused kernel drift", "/questions/fused-kernel-drift"),
        ),
    )


LIVE = LiveFragment(
    submission="s1",
    state=State.RUNNING,
    phase="Case 6 of 33.",
    queue_position=None,
    done=5,
    cases=33,
    results=CASES[:5],
    can_cancel=True,
    stream="/submissions/s1/events",
    last_event=6,
)
QUEUED = replace(
    LIVE, state=State.QUEUED, phase="Waiting for a worker.", queue_position=3, done=0, cases=0, results=()
)
RETRYING = replace(QUEUED, state=State.RETRYING, phase="Waiting for another worker.", queue_position=1)
CANCELLED = replace(LIVE, state=State.CANCELLED, phase="Taken back.", can_cancel=False, results=())


def submission(
    live: LiveFragment | None, shown: VerdictFragment | None, state: State, **more: Any
) -> SubmissionPage:
    facts: dict[str, Any] = {
        "id": "s1",
        "number": 3,
        "drill": "tiled_softmax",
        "drill_title": "Tiled softmax",
        "lane": Lane.CPU,
        "submitted_at": NOW,
        "state": state,
        "source": SOURCE,
        "live": live,
        "verdict": shown,
        "newest": "s1",
        "by": None,
    }
    return SubmissionPage(**{**facts, **more})


def row(number: int, outcome: Outcome | None, sentence: str, state: State = State.DECIDED) -> HistoryRow:
    return HistoryRow(
        id=f"s{number}",
        number=number,
        drill="tiled_softmax",
        drill_title="Tiled softmax",
        lane=Lane.CPU,
        submitted_at=NOW,
        state=state,
        outcome=outcome,
        sentence=sentence,
    )


ROWS = (
    row(4, None, "Waiting for a worker.", State.QUEUED),
    row(3, Outcome.ACCEPTED, "All 33 cases pass."),
    row(2, Outcome.WRONG_ANSWER, "Right for rows that fit one tile, wrong as soon as there are two."),
    row(1, Outcome.COMPILE_ERROR, "The file does not load: '(' was never closed on line 7."),
)
DRILL = DrillRow(
    id="tiled_softmax",
    title="Tiled softmax",
    kind="implement",
    level="Core",
    lanes=(Lane.CPU, Lane.GPU),
    standing=Standing.TRIED,
    refused=29,
    accepted=6,
    summary="Softmax over rows of any length, one tile of columns at a time, reading each element at most twice.",
)
DRILLS = (
    DRILL,
    replace(
        DRILL,
        id="b",
        title="Name the drift",
        kind="diagnose",
        level="Advanced",
        standing=Standing.PASSED,
        lanes=(Lane.CPU,),
    ),
)
LONG_DRILL = replace(DRILL, title=LONG, summary=f"{LONG} {HOSTILE}", standing=Standing.NEW)
STATEMENT = Markup(
    "<p>Softmax turns a row of scores into weights that are positive and sum to one.</p><h2>What to write</h2>"
    '<pre class="code" tabindex="0" data-language="python"><code>'
    "def softmax(x: torch.Tensor) -&gt; torch.Tensor: ...\n</code></pre>"
    "<h2>The contract</h2><ul><li><strong>Shapes.</strong> "
    "<code>rows ≥ 1</code> and any <code>cols ≥ 1</code>.</li></ul>"
)
DRAFT = DraftRow(4, NOW, Cause.AUTO, 15, 512, True)
VERSIONS = (DRAFT, *(replace(DRAFT, number=n, cause=cause, is_draft=False) for n, cause in enumerate(Cause, 1)))
OLD = Text("starter", "The starter", SOURCE.replace("l + ", ""))
NEW = Text("s3", "Submission 3", f"{SOURCE}# {HOSTILE}\n", NOW, "/submissions/s3")
DIFF = DiffPage(
    drill="tiled_softmax",
    drill_title="Tiled softmax",
    old=OLD,
    new=NEW,
    diff=compare(OLD.source, NEW.source),
    inline=False,
    choices=(("draft", "Your draft"), ("s3", f"Submission 3: {HOSTILE}"), ("starter", "The starter")),
)
VERSION = DraftVersionPage(
    drill="tiled_softmax",
    drill_title="Tiled softmax",
    row=VERSIONS[3],
    draft=DRAFT,
    diff=DIFF.diff,
    inline=False,
)
FACTS = Facts(
    drill="tiled_softmax",
    title="Tiled softmax",
    command="tilewright grade tiled_softmax tiled_softmax.py",
    passed=Attempt("s3", 3, SOURCE, msgspec.structs.replace(RIGHT, console=WRONG.console)),
    failed=Attempt("s2", 2, SOURCE, WRONG),
    failures=ROWS[2:],
    predicted=Predicted("Wrong, and worse with every tile", "the sum is never rescaled", True),
    hints_opened=1,
    hints=3,
    notes="What I learned.",
    version=2,
)
WORKSPACE = WorkspacePage(
    drill=DRILL,
    statement=STATEMENT,
    objectives=("Keep a running maximum and a running sum.",),
    out_of_scope=("The backward pass.",),
    needs=(Link("Online softmax", "/cards/online-softmax"),),
    source=SOURCE,
    starter=SOURCE.replace("l + ", ""),
    from_starter=False,
    lanes=(
        LaneChoice(Lane.CPU, 2, True, ""),
        LaneChoice(Lane.GPU, 0, False, "No GPU worker is running; a submission waits until one is."),
    ),
    token="a" * 32,
    action="/drills/tiled_softmax/submissions",
    run_action="/drills/tiled_softmax/runs",
    draft_action="/drills/tiled_softmax/draft",
    owner="ada",
    draft=DRAFT,
    from_draft=True,
    just_saved=False,
    may_run=True,
    hints=Ladder((Hint(1, Markup("<p>What does the old sum refer to?</p>"), NOW),), 3),
    modes=(("passes", "It passes"), ("grows", "Wrong, and worse with every tile")),
    editorial=True,
    editorial_opens_with="Passing Tiled softmax opens this.",
    editor_keys="default",
    source_limit=65536,
    history=ROWS,
)
ITEMS = (
    ProgressItem(
        "card",
        "flashattention-internals",
        "FlashAttention internals",
        "/cards/flashattention-internals",
        Standing.READ,
        NOW,
    ),
    ProgressItem("card", "online-softmax", "Online softmax", "/cards/online-softmax", Standing.NEW, None),
    ProgressItem(
        "question",
        "fused-kernel-drift",
        "A fused attention kernel agrees at 512 tokens and drifts at 8,000",
        "/q",
        Standing.NEW,
        None,
    ),
    ProgressItem("drill", "tiled_softmax", "Tiled softmax", "/drills/tiled_softmax", Standing.PASSED, NOW),
)
TOPICS = (
    ProgressGroup("kernels", "Kernels & Compilers", "/topics/kernels", 2, 4, ITEMS),
    ProgressGroup("serving", "Inference & Serving", "/topics/serving", 0, 0, ()),
)
LINKS = tuple(
    Link(name, f"/topics/{i}", why)
    for i, (name, why) in enumerate(
        (
            ("Kernels & Compilers", "Attention kernels, their state and their tiles."),
            ("Inference & Serving", ""),
            ("Napkin Math & Capacity", "Work it out first."),
        )
    )
)

BOOKMARKS = (
    *(BookmarkLine(item.kind, item.id, item.title, item.href, NOW) for item in ITEMS),
    BookmarkLine("card", "long", LONG, "/cards/long", NOW),
)
NOTES = (
    KeptNote("card", "Online softmax", "/c", "/notes/card/c", Markup("<p>It is <em>at most 1</em>.</p>"), NOW),
    KeptNote("drill", LONG, "", "/notes/drill/x", Markup("<pre><code>m_new = max(m, t)</code></pre>"), NOW),
)
NOTE = NotePage(
    "card",
    "online-softmax",
    "Online softmax",
    "/c",
    "The *factor*.",
    3,
    Markup("<p>The <em>factor</em>.</p>"),
    None,
    {},
    20_000,
)

ASKED = Asked(
    key="card:online-softmax:rescale",
    title="Online softmax",
    href="/cards/online-softmax#prompt-rescale",
    kind="card",
    ask=Markup("<p>What factor makes the old sum relative to the new maximum?</p>"),
    answer=None,
    grades=(),
    recall=87,
    leech=False,
    last=NOW,
)
ANSWERED = replace(
    ASKED,
    answer=Markup("<p>exp(m_old − m_new), which is at most 1.</p>"),
    grades=tuple(
        GradeButton(n, name, comes)
        for n, name, comes in (
            (1, "Again", "10 min"),
            (2, "Hard", "2 d"),
            (3, "Good", "5 days"),
            (4, "Easy", "3 months"),
        )
    ),
)
REDO = replace(
    ASKED, key="drill:tiled_softmax", kind="drill", title="Tiled softmax", ask=None, recall=None, last=None
)
REVIEW = ReviewPage(
    asked=ASKED,
    token="t" * 16,
    left=12,
    done=3,
    over=7,
    cap=20,
    later=None,
    met=40,
    just=JustDone("Online softmax", "Good. It comes back in 5 days."),
)
LINE = ReviewLine(ASKED.key, ASKED.title, ASKED.href, "card", ASKED.ask, 87, NOW, 1, False, False, False)
REVIEW_LINES = (
    replace(LINE, lapses=6, leech=True),
    LINE,
    replace(LINE, title=LONG, kind="drill", ask=None, new=True, recall=None),
    replace(LINE, suspended=True),
)

SETTINGS = SettingsPage(
    chosen=Preferences(),
    email="ada@example.org",
    saved="",
    problems={},
    time_zones=("UTC", "America/Argentina/ComodRivadavia", "Europe/Berlin"),
    editor_keys=EDITOR_KEYS,
    retentions=RETENTIONS,
    caps=CAPS,
    password_least=8,
)
SETTINGS_FIELDS = ("time_zone", "email", "email_password", "old_password", "new_password", "delete_password")

SAMPLES: dict[str, tuple[str, DataclassInstance]] = {
    **COURSE,
    **COMMUNITY,
    "error/404": (
        "error.html",
        ErrorPage(
            404,
            "There is nothing here",
            "There is no such page.",
            "Check the address, or start from the home page.",
            "",
        ),
    ),
    "error/401": (
        "error.html",
        ErrorPage(
            401, "Sign in first", "This page belongs to an account.", "Sign in, and you will come back here.", "r1"
        ),
    ),
    "error/500": ("error.html", ErrorPage(500, "Something of ours broke", f"{LONG}{HOSTILE}", "", "3f9c")),
    "sign-in/empty": ("accounts/sign_in.html", SignInPage()),
    "sign-in/error": (
        "accounts/sign_in.html",
        SignInPage("/x?a=b&c", HOSTILE, {"form": "No account has this name and password."}),
    ),
    "sign-up/empty": ("accounts/sign_up.html", SignUpPage()),
    "sign-up/error": (
        "accounts/sign_up.html",
        SignUpPage(
            "/",
            LONG,
            "a",
            {"username": "This name is taken.", "password": "Use at least 8 characters.", "email": LONG},
        ),
    ),
    "welcome/usual": ("practice/welcome.html", WelcomePage(LINKS, LINKS[:1], DRILLS, DRILL)),
    "welcome/empty": ("practice/welcome.html", WelcomePage((), (), ())),
    "home/usual": (
        "practice/home.html",
        HomePage(Link("Online softmax", "/cards/online-softmax", "Read yesterday."), LINKS, ROWS, TOPICS, due=12),
    ),
    "home/empty": ("practice/home.html", HomePage(None, LINKS[:1], (), TOPICS)),
    "home/bare": ("practice/home.html", HomePage(None, (), (), ())),
    "home/long": (
        "practice/home.html",
        HomePage(
            Link(LONG, "/", LONG),
            (Link(LONG, "/", HOSTILE),),
            (replace(ROWS[1], sentence=LONG, drill_title=LONG),),
            (),
        ),
    ),
    "drills/usual": ("practice/drills.html", DrillsPage(DRILLS)),
    "drills/empty": ("practice/drills.html", DrillsPage(())),
    "drills/long": ("practice/drills.html", DrillsPage((LONG_DRILL,) * 40)),
    "workspace/usual": ("practice/workspace.html", WORKSPACE),
    "workspace/empty": (
        "practice/workspace.html",
        replace(
            WORKSPACE,
            history=(),
            objectives=(),
            out_of_scope=(),
            needs=(),
            lanes=WORKSPACE.lanes[:1],
            from_starter=True,
        ),
    ),
    "workspace/error": (
        "practice/workspace.html",
        replace(WORKSPACE, problems={"source": "The file is empty.", "form": "Too many submissions wait already."}),
    ),
    "workspace/vim": ("practice/workspace.html", replace(WORKSPACE, editor_keys="vim", modes=())),
    "workspace/locked": (
        "practice/workspace.html",
        replace(WORKSPACE, opens_with="Passing Online softmax opens it.", history=(), from_starter=True),
    ),
    "workspace/long": (
        "practice/workspace.html",
        replace(WORKSPACE, drill=LONG_DRILL, source=f"# {LONG * 20}\n</textarea>{HOSTILE}\n" * 200),
    ),
    "diff/usual": ("practice/diff.html", DIFF),
    "diff/inline": ("practice/diff.html", replace(DIFF, inline=True)),
    "diff/empty": ("practice/diff.html", replace(DIFF, diff=compare("x", "x"))),
    "diff/long": (
        "practice/diff.html",
        replace(DIFF, drill_title=LONG, diff=compare(f"{LONG}\n" * 60, f"{LONG * 3}\n{HOSTILE}\n" * 60)),
    ),
    "editorial/locked": (
        "practice/editorial.html",
        EditorialPage("tiled_softmax", "Tiled softmax", "Passing Tiled softmax opens this.", (), ()),
    ),
    "editorial/usual": (
        "practice/editorial.html",
        EditorialPage("tiled_softmax", "Tiled softmax", "", (Section("state", "The state", STATEMENT),), ()),
    ),
    "editorial/empty": ("practice/editorial.html", EditorialPage("tiled_softmax", LONG, "", (), ())),
    "evidence/usual": ("practice/evidence.html", EvidencePage(FACTS, Markup("<p>What I learned.</p>"))),
    "evidence/empty": (
        "practice/evidence.html",
        EvidencePage(replace(FACTS, passed=None, failed=None, failures=(), predicted=None, version=0), None),
    ),
    "evidence/stale": ("practice/evidence.html", EvidencePage(FACTS, Markup("<p>Theirs.</p>"), f"{LONG}{HOSTILE}")),
    "evidence/long": (
        "practice/evidence.html",
        EvidencePage(
            replace(
                FACTS,
                title=LONG,
                predicted=Predicted(LONG, HOSTILE, None),
                failed=Attempt("s2", 2, f"{LONG}\n{HOSTILE}\n" * 50, LONG_VERDICT),
            ),
            Markup(f"<p>{LONG}</p>"),
        ),
    ),
    "drafts/usual": ("practice/drafts.html", DraftsPage("tiled_softmax", "Tiled softmax", VERSIONS)),
    "drafts/empty": ("practice/drafts.html", DraftsPage("tiled_softmax", "Tiled softmax", ())),
    "draft/aside": ("practice/draft.html", VERSION),
    "draft/stale": ("practice/draft.html", replace(VERSION, stale=True)),
    "draft/current": ("practice/draft.html", replace(VERSION, row=DRAFT)),
    "submission/diagnosis": (
        "submissions/show.html",
        submission(None, verdict(kinds.DIAGNOSIS), State.DECIDED),
    ),
    "submission/suite": ("submissions/show.html", submission(None, verdict(kinds.WEAK_SUITE), State.DECIDED)),
    "submission/suite-right": (
        "submissions/show.html",
        submission(None, verdict(kinds.GOOD_SUITE), State.DECIDED),
    ),
    "submission/outline": ("submissions/show.html", submission(None, verdict(kinds.WEAK_OUTLINE), State.DECIDED)),
    "submission/outline-right": (
        "submissions/show.html",
        submission(None, verdict(kinds.GOOD_OUTLINE), State.DECIDED, feedback=Feedback(None, ())),
    ),
    "submission/wrong": ("submissions/show.html", submission(None, verdict(WRONG), State.DECIDED)),
    "submission/accepted": (
        "submissions/show.html",
        submission(None, verdict(RIGHT), State.DECIDED, newest="s2", by="Ada"),
    ),
    "submission/scored": (
        "submissions/show.html",
        submission(
            None, verdict(RIGHT), State.DECIDED, feedback=Feedback(GRADE, (EARLIER,)), desk_href="/desk/outline/s1"
        ),
    ),
    "submission/waits": (
        "submissions/show.html",
        submission(None, verdict(RIGHT), State.DECIDED, feedback=Feedback(None, ())),
    ),
    "submission/ours": ("submissions/show.html", submission(None, verdict(OURS, spent=False), State.DECIDED)),
    "submission/broken": ("submissions/show.html", submission(None, verdict(BROKEN), State.DECIDED)),
    "submission/long": (
        "submissions/show.html",
        submission(None, verdict(LONG_VERDICT), State.DECIDED, by=LONG, drill_title=LONG),
    ),
    "submission/loading": ("submissions/show.html", submission(LIVE, None, State.RUNNING)),
    "submission/queued": ("submissions/show.html", submission(QUEUED, None, State.QUEUED)),
    "submission/retrying": ("submissions/show.html", submission(RETRYING, None, State.RETRYING)),
    "submission/cancelled": ("submissions/show.html", submission(CANCELLED, None, State.CANCELLED)),
    "history/usual": ("submissions/history.html", HistoryPage(ROWS, None, "/submissions?before=s1")),
    "history/drill": ("submissions/history.html", HistoryPage(ROWS, "tiled_softmax", None)),
    "history/empty": ("submissions/history.html", HistoryPage((), None, None)),
    "history/long": (
        "submissions/history.html",
        HistoryPage(tuple(replace(r, sentence=f"{LONG} {HOSTILE}") for r in ROWS * 25), None, None),
    ),
    "progress/usual": ("progress/show.html", ProgressPage(TOPICS, TOPICS[:1], 1, 2, SCORES)),
    "progress/empty": ("progress/show.html", ProgressPage((), (), 0, 0, (), BEGINNING)),
    "progress/long": (
        "progress/show.html",
        ProgressPage(
            (replace(TOPICS[0], title=LONG, items=tuple(replace(i, title=LONG) for i in ITEMS)),), (), 99, 12345
        ),
    ),
    "bookmarks/usual": ("progress/bookmarks.html", BookmarksPage(BOOKMARKS)),
    "bookmarks/empty": ("progress/bookmarks.html", BookmarksPage(())),
    "notes/usual": ("progress/notes.html", NotesPage(NOTES)),
    "notes/empty": ("progress/notes.html", NotesPage(())),
    "note/usual": ("progress/note.html", NOTE),
    "note/empty": ("progress/note.html", replace(NOTE, text="", version=0, shown=Markup(""))),
    "note/conflict": ("progress/note.html", replace(NOTE, other=f"{LONG} {HOSTILE}")),
    "note/error": ("progress/note.html", replace(NOTE, href="", title=LONG, problems={"text": "It is too long."})),
    "review/usual": ("review/show.html", REVIEW),
    "review/answer": ("review/show.html", replace(REVIEW, asked=ANSWERED)),
    "review/drill": ("review/show.html", replace(REVIEW, asked=REDO, just=None)),
    "review/leech": ("review/show.html", replace(REVIEW, asked=replace(ANSWERED, leech=True, title=LONG))),
    "review/done": (
        "review/show.html",
        replace(REVIEW, asked=None, left=0, over=0, later=NOW + timedelta(days=90)),
    ),
    "review/capped": ("review/show.html", replace(REVIEW, asked=None, left=0)),
    "review/empty": ("review/show.html", replace(REVIEW, asked=None, left=0, over=0, done=0, met=0, just=None)),
    "review-items/usual": ("review/items.html", ReviewItemsPage(REVIEW_LINES, "t" * 16)),
    "review-items/empty": ("review/items.html", ReviewItemsPage((), "t" * 16)),
    "settings/usual": ("accounts/settings.html", SETTINGS),
    "settings/saved": ("accounts/settings.html", replace(SETTINGS, saved="preferences")),
    "settings/error": (
        "accounts/settings.html",
        replace(SETTINGS, email=LONG, problems=dict.fromkeys((*SETTINGS_FIELDS, "sure"), "Look at this again.")),
    ),
    "forgot/usual": ("accounts/forgot.html", ForgotPage()),
    "forgot/sent": ("accounts/forgot.html", ForgotPage(sent=True)),
    "reset/usual": ("accounts/reset.html", ResetPage("t" * 40, "ada", False)),
    "reset/error": ("accounts/reset.html", ResetPage("t" * 40, LONG[:32], False, {"new_password": "Too short."})),
    "reset/stale": ("accounts/reset.html", ResetPage("", "", True)),
}
