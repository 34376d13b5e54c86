"""Contexts for the templates of the course, in every state."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from markupsafe import Markup

from app.course.models import Criterion, Kind, Level, Link, Prompt, Section, Source, Term
from app.course.pages import (
    Answer,
    CardPage,
    Found,
    GlossaryPage,
    ItemLink,
    OwnAnswer,
    QuestionPage,
    SearchPage,
    State,
    TagName,
    TagPage,
    TopicName,
    TopicPage,
    TrackPage,
    TracksPage,
    UnlockedLine,
    UnlockPage,
)
from app.course.passages import Shelf
from app.course.search import Piece

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft_log_sum_exp"
HOSTILE = "<script>alert('x')</script>{{7*7}}%s<img src=x onerror=alert(1)>"

KERNELS = TopicName("kernels", "Kernels & Compilers", "/topics/kernels")
TOPICS = (
    KERNELS,
    TopicName("serving", "Inference & Serving", "/topics/serving"),
    TopicName("napkin", "Napkin Math & Capacity", "/topics/napkin"),
)
TAGS = (
    TagName("attention", "/tags/attention"),
    TagName("numerics", "/tags/numerics"),
    TagName("softmax", "/tags/softmax"),
)
SNIPPET = (Piece("… the state of ", False), Piece("softmax", True), Piece(" after a tile. … ", False))
CARD = ItemLink(
    Kind.CARD,
    "online-softmax",
    "Online softmax",
    "/cards/online-softmax",
    Level.CORE,
    12,
    "Two numbers a row carries from tile to tile, and the factor between them.",
    "kernels",
    "Kernels & Compilers",
    ("softmax",),
    State.READ,
    "",
)
QUESTION = replace(
    CARD,
    kind=Kind.QUESTION,
    id="fused-kernel-drift",
    title="A fused attention kernel agrees at 512 tokens and drifts at 8,000: find the bug",
    href="/questions/fused-kernel-drift",
    level=Level.ADVANCED,
    minutes=25,
    state=State.LOCKED,
    opens_with="Passing Tiled softmax opens it.",
)
DRILL = replace(
    CARD,
    kind=Kind.DRILL,
    id="tiled_softmax",
    title="Tiled softmax",
    href="/drills/tiled_softmax",
    minutes=0,
    state=State.PASSED,
)
FOUND = (
    Found(
        Shelf.CONCEPT,
        (Piece("Online ", False), Piece("softmax", True)),
        "/cards/online-softmax#mechanism",
        "Mechanism",
        SNIPPET,
        CARD,
    ),
    Found(
        Shelf.TERM,
        (Piece(LONG, False),),
        "/glossary#term-lane",
        "",
        (Piece(HOSTILE, False), Piece(LONG, True)),
        None,
    ),
    Found(Shelf.QUESTION, (Piece(QUESTION.title, False),), QUESTION.href, "", SNIPPET, QUESTION),
)
NEW = replace(
    CARD,
    id="flashattention-internals",
    title="FlashAttention internals",
    href="/cards/flashattention-internals",
    level=Level.FOUNDATIONAL,
    state=State.NEW,
)
LONG_ITEM = replace(CARD, title=LONG, summary=f"{LONG} {HOSTILE}")

TABLE = (
    '<div class="table-scroll" tabindex="0"><table class="plain">'
    "<thead><tr><th>tile</th><th>m</th><th>l</th></tr></thead>"
    "<tbody><tr><td>1, 3</td><td>3</td><td>1.135335</td></tr></tbody></table></div>"
)
WIDE = (
    '<div class="table-scroll" tabindex="0"><table class="plain"><thead><tr>'
    + "<th>configuration_name</th>" * 12
    + "</tr></thead><tbody><tr>"
    + "<td>2,621,440 B</td>" * 12
    + "</tr></tbody></table></div>"
)
CODE = (
    '<pre class="code" tabindex="0" data-language="python"><code><span class="n">m_new</span> '
    '<span class="c1"># a line that is long enough to scroll in a narrow column</span>'
    "\n</code></pre>"
)
SECTIONS = (
    Section(
        "mechanism",
        "What a row carries",
        Markup(f"<p>After each tile keep the maximum and the sum of exponentials relative to it.</p>{TABLE}{CODE}"),
    ),
    Section(
        "failure",
        "How it fails",
        Markup(f"<ul><li>The old sum keeps its old scale.</li><li><code>{LONG}</code></li></ul>{WIDE}"),
    ),
)
PROMPTS = (
    Prompt(
        "rescale",
        Markup("<p>What factor makes the old sum relative to the new maximum?</p>"),
        Markup("<p>exp(m_old − m_new).</p>"),
    ),
)
SOURCES = (
    Source(
        "dao", "T. Dao et al.", "FlashAttention", 2022, "https://example.org/paper", Markup("<p>Section 3.1.</p>")
    ),
)
RUBRIC = (
    Criterion("state", 3, Markup("Names the state that drifts.")),
    Criterion("isolate", 4, Markup("Isolates it by a measurement.")),
)

CARD_PAGE = CardPage(
    kind=Kind.CARD,
    id="online-softmax",
    href="/cards/online-softmax",
    title="Online softmax",
    description="Two numbers a row carries.",
    topic=KERNELS,
    level=Level.CORE,
    minutes=12,
    tags=TAGS,
    state=State.NEW,
    draft=False,
    front=Markup(
        "<p>A softmax needs the maximum and the sum of a whole row, and a kernel sees the row tile by tile.</p>"
    ),
    sections=SECTIONS,
    prompts=PROMPTS,
    sources=SOURCES,
    requires=(NEW,),
    drills=(DRILL,),
    questions=(QUESTION,),
    related=(NEW,),
    up_next=QUESTION,
    stylesheets=(),
)
QUESTION_PAGE = QuestionPage(
    kind=Kind.QUESTION,
    id="fused-kernel-drift",
    href="/questions/fused-kernel-drift",
    title=QUESTION.title,
    description="Find the bug.",
    topic=KERNELS,
    level=Level.ADVANCED,
    minutes=25,
    tags=TAGS,
    state=State.NEW,
    draft=False,
    question=Markup("<p>It agrees at 512 and drifts at 8,000. Find the bug.</p>"),
    teaser=Markup("<p>The error grows with tiles.</p>"),
    answer=Answer(
        (Section("opening", "", Markup("<p>Look at the state.</p>")), *SECTIONS),
        Markup("<p>Names the state.</p>"),
        RUBRIC,
        7,
    ),
    opens_with="",
    concepts=(CARD, NEW),
    own=None,
    drills=(DRILL,),
    sources=SOURCES,
    related=(),
    up_next=DRILL,
    stylesheets=(),
)
TRACK_PAGE = TrackPage(
    kind=Kind.TRACK,
    id="flashattention",
    href="/tracks/flashattention",
    title="FlashAttention & attention kernels",
    description="Exact attention, reorganised.",
    topic=KERNELS,
    level=Level.CORE,
    minutes=180,
    tags=TAGS,
    state=State.NEW,
    draft=False,
    opening=Markup("<p>Exact attention reorganised around the memory hierarchy.</p>"),
    sections=SECTIONS,
    steps=(NEW, CARD, QUESTION, DRILL),
    done=2,
    prompts=PROMPTS,
    sources=SOURCES,
    drills=(DRILL,),
    rubric=RUBRIC,
    points=7,
    up_next=NEW,
    stylesheets=(),
)
TOPIC_PAGE = TopicPage(
    topic=KERNELS,
    summary=Markup("<p>How attention is computed, and how it goes wrong.</p>"),
    outcomes=(Markup("<p>Derive the online softmax.</p>"), Markup("<p>Find a drifting kernel.</p>")),
    tracks=(),
    cards=(NEW, CARD),
    questions=(QUESTION,),
    drills=(DRILL,),
    unlocked=1,
    done=2,
    total=4,
    up_next=NEW,
    topics=TOPICS,
    stylesheets=(),
)

UNLOCKED = (
    UnlockedLine(
        "topic:kernels", "Kernels & Compilers", "/topics/kernels", "code", datetime(2026, 3, 1, tzinfo=UTC)
    ),
    UnlockedLine("course", LONG, "/tracks", "grant", datetime(2026, 2, 1, tzinfo=UTC)),
)

COURSE: dict[str, tuple[str, DataclassInstance]] = {
    "card/usual": ("course/card.html", CARD_PAGE),
    "card/read": ("course/card.html", replace(CARD_PAGE, state=State.READ)),
    "card/empty": (
        "course/card.html",
        replace(
            CARD_PAGE,
            sections=(),
            prompts=(),
            sources=(),
            requires=(),
            drills=(),
            questions=(),
            related=(),
            up_next=None,
            tags=(),
            draft=True,
        ),
    ),
    "card/long": (
        "course/card.html",
        replace(
            CARD_PAGE,
            title=LONG,
            sections=SECTIONS * 1,
            related=(LONG_ITEM,) * 9,
            up_next=LONG_ITEM,
            stylesheets=("/static/css/prose.css",),
        ),
    ),
    "question/usual": ("course/question.html", QUESTION_PAGE),
    "question/locked": (
        "course/question.html",
        replace(
            QUESTION_PAGE, answer=None, state=State.LOCKED, opens_with="Passing Tiled softmax opens the answer."
        ),
    ),
    "question/own": (
        "course/question.html",
        replace(
            QUESTION_PAGE,
            own=OwnAnswer(
                f"The sum.</textarea>{HOSTILE}",
                Markup("<p>The sum is <em>not</em> rescaled.</p>"),
                datetime(2025, 11, 30, tzinfo=UTC),
                {RUBRIC[0].id: 2},
                datetime(2025, 11, 30, tzinfo=UTC),
            ),
        ),
    ),
    "question/long": ("course/question.html", replace(QUESTION_PAGE, title=LONG, related=(LONG_ITEM,))),
    "track/usual": ("course/track.html", TRACK_PAGE),
    "track/empty": (
        "course/track.html",
        replace(
            TRACK_PAGE,
            steps=(),
            done=0,
            sections=(),
            prompts=(),
            sources=(),
            drills=(),
            rubric=(),
            points=0,
            up_next=None,
        ),
    ),
    "topic/usual": ("course/topic.html", TOPIC_PAGE),
    "topic/empty": (
        "course/topic.html",
        replace(TOPIC_PAGE, outcomes=(), cards=(), questions=(), drills=(), done=0, total=0, up_next=None),
    ),
    "tracks/usual": (
        "course/tracks.html",
        TracksPage(
            tracks=(replace(NEW, kind=Kind.TRACK, id="flashattention", href="/tracks/flashattention"), LONG_ITEM),
            topics=TOPICS,
        ),
    ),
    "tracks/empty": ("course/tracks.html", TracksPage(tracks=(), topics=())),
    "topic/long": ("course/topic.html", replace(TOPIC_PAGE, cards=(LONG_ITEM,) * 30)),
    "tag/usual": ("course/tag.html", TagPage(TAGS[0], (QUESTION,), 0, (CARD,), ())),
    "tag/empty": ("course/tag.html", TagPage(TagName(LONG, "/tags/x"), (), 0, (), ())),
    "glossary/usual": (
        "course/glossary.html",
        GlossaryPage(
            terms=(
                Term(
                    "lse",
                    "Log-sum-exp",
                    Markup("<p>The logarithm of a sum of exponentials.</p>"),
                    Link(Kind.CARD, "online-softmax"),
                ),
                Term("tile", LONG, Markup("<p>A block of a tensor.</p>"), None),
            ),
            stylesheets=(),
        ),
    ),
    "search/usual": ("course/search.html", SearchPage("softmax", FOUND, ())),
    "search/long": (
        "course/search.html",
        SearchPage(HOSTILE, tuple(replace(each, item=None) for each in FOUND * 12), ()),
    ),
    "search/empty": ("course/search.html", SearchPage(LONG, (), TAGS)),
    "search/start": ("course/search.html", SearchPage("", (), TAGS)),
    "glossary/empty": ("course/glossary.html", GlossaryPage(terms=(), stylesheets=())),
    "unlock/usual": ("course/unlock.html", UnlockPage("", {}, UNLOCKED, UNLOCKED[0])),
    "unlock/empty": ("course/unlock.html", UnlockPage("", {}, (), None)),
    "unlock/error": (
        "course/unlock.html",
        UnlockPage(LONG, {"code": "There is no such code. Check it letter by letter."}, UNLOCKED, None),
    ),
}
