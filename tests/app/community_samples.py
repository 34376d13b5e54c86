"""Contexts for the templates of the desk, of feedback and of capstones, in every state."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from markupsafe import Markup

from app.course.models import Criterion
from app.desk.pages import (
    AuditLine,
    AuditPage,
    ChangeLine,
    CriterionLine,
    DeskNav,
    DeskPage,
    Draft,
    ItemLine,
    QueueLine,
    ReportedPost,
    ReportLine,
    ReportsPage,
    RubricGroup,
    RubricLine,
    RubricPage,
    Scoring,
    WorkPanel,
)
from app.discussion.pages import DiscussionPage, PostPage, PostView
from app.progress.pages import Score
from app.submissions.capstones.pages import CapstonePage, CapstoneVersionPage, FileLine, Handed, VersionLine
from app.submissions.grades.pages import Feedback, GradeView, MarkLine
from tests.app.course_samples import HOSTILE, LONG

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

NOW = datetime(2025, 11, 30, 14, 2, 11, tzinfo=UTC)
TITLE = "FlashAttention & attention kernels"
PROSE = Markup(
    "<p>One kernel with the loop over keys inside, measured on an H200 at "
    '<strong>31 % of the floor</strong>.</p><pre class="code" tabindex="0"><code>'
    "for start in range(0, keys, BLOCK):</code></pre>"
    "<ul><li>Q, K and V read once each;</li><li>no scores written.</li></ul>"
)
LINES = (
    MarkLine(
        "A working kernel or benchmark that someone else can run from the notes alone.",
        4,
        4,
        "All of it.",
        Markup(),
    ),
    MarkLine(
        "The core mechanism of each of the three milestones is explained with its own figures.",
        3,
        5,
        "One milestone has no figures of its own.",
        Markup("<p>The recurrence is right. Where do the <em>two</em> reads of V come from?</p>"),
    ),
    MarkLine("One failure is injected on purpose, and its signature predicted.", 0, 4, "Not there.", Markup()),
)
GRADE = GradeView(
    "Version 2", "/capstones/c2", 1, "grace", NOW, 7, 13, LINES, Markup("<p>Predict the failure next.</p>"), ""
)
EARLIER = replace(GRADE, title="Version 1", href="/capstones/c1", points=3)
AGAIN = replace(GRADE, version=2, reason="The bytes are on line 2.")
LONG_GRADE = replace(
    GRADE,
    grader=LONG[:32],
    lines=tuple(replace(line, text=f"{LONG} {HOSTILE}", item=LONG) for line in LINES),
    reason=LONG,
)
RUBRIC = (
    Criterion("system", 4, Markup("A working kernel or benchmark that someone else can run from the notes alone.")),
    Criterion("mechanism", 5, Markup("The core mechanism of each of the three milestones is explained.")),
)
HANDED = Handed(
    PROSE,
    ("https://example.org/ada/tiles", "https://example.org/" + "x" * 180),
    (
        FileLine("/capstones/c2/files/f1", "roofline.png", "PNG image", 81_234),
        FileLine("/capstones/c2/files/f2", f"{LONG}.csv", "text", 912),
    ),
)
VERSIONS = (
    VersionLine("/capstones/c3", 3, NOW, None, 0, True),
    VersionLine("/capstones/c2", 2, NOW, None, 0, False),
    VersionLine("/capstones/c1", 1, NOW, 7, 13, False),
)
CAPSTONE = CapstonePage(
    track=TITLE,
    track_href="/tracks/flashattention",
    action="/tracks/flashattention/capstone",
    brief=Markup(
        "<p>One working system of your own. It has to contain:</p><ul><li>a recurrence;</li><li>a loop.</li></ul>"
    ),
    rubric=RUBRIC,
    points=9,
    text="One kernel with the loop over keys inside.",
    links="https://example.org/ada/tiles",
    versions=VERSIONS,
    feedback=Feedback(None, (EARLIER,)),
    files_most=5,
    file_limit=512 * 1024,
    stylesheets=(),
)
VERSION = CapstoneVersionPage(
    number=2,
    track=TITLE,
    track_href="/tracks/flashattention",
    capstone_href="/tracks/flashattention/capstone",
    desk_href="",
    by=None,
    submitted_at=NOW,
    handed=HANDED,
    feedback=Feedback(GRADE, (EARLIER,)),
    newest="/capstones/c3",
)

NAV = DeskNav("work", 3, 1)
QUEUE = (
    QueueLine("/desk/capstone/c3", TITLE, "capstone", "ada", NOW, True, "", True),
    QueueLine("/desk/outline/s1", "Design a fused attention", "outline", "lin", NOW, False, "grace", False),
    QueueLine("/desk/capstone/c9", "Napkin math for serving", "capstone", "mary", NOW, False, "", False),
)
SCORED = (QueueLine("/desk/capstone/c2", TITLE, "7 of 13", "ada", NOW, False, "grace", False),)


def criterion(number: int, id: str, text: str, points: int, chosen: str = "") -> CriterionLine:
    items = (
        ItemLine("full", "All of it is there and holds up.", points, 1, chosen == "full"),
        ItemLine("i1", "Figures are there; one cannot be recomputed.", points - 2, 2, chosen == "i1"),
        ItemLine("none", "Not there.", 0, 3, chosen == "none"),
    )
    return CriterionLine(id, number, Markup.escape(text), points, items, chosen == "new", "", "", "", "")


CRITERIA = (
    criterion(1, "system", "A working kernel or benchmark that someone else can run.", 4, "full"),
    criterion(2, "mechanism", "The core mechanism of each milestone is explained with its own figures.", 5, "i1"),
    criterion(3, "failure", "One failure is injected on purpose, its signature predicted beforehand.", 4),
)
SCORING = Scoring("/desk/capstone/c3", True, "", True, NOW, CRITERIA, 13, 0, "", "", False)
WORK = WorkPanel(
    kind="capstone",
    title=TITLE,
    name="Version 3",
    href="/capstones/c3",
    subject_href="/tracks/flashattention",
    rubric_href="/desk/rubrics/capstone/flashattention",
    learner="ada",
    handed_at=NOW,
    handed=HANDED,
    source="",
    sentence="",
    feedback=Feedback(None, (EARLIER,)),
)
OUTLINE = replace(
    WORK,
    kind="outline",
    handed=None,
    source='PLAN = """\nThe loop over keys is inside.\n"""\n\n\ndef bytes_read(n, d):\n    return 3 * n * d * 2\n',
    sentence="All 9 cases passed.",
    feedback=Feedback(None, ()),
)
DESK = DeskPage(NAV, QUEUE, WORK, SCORING, SCORED)
NEW_ITEM = replace(
    CRITERIA[1],
    new_chosen=True,
    new_points="9",
    new_text=HOSTILE,
    comment=LONG,
    problem="A new item earns 0 to 5 points.",
)
GROUPS = (
    RubricGroup(RUBRIC[0].text, 4, ()),
    RubricGroup(
        RUBRIC[1].text,
        5,
        (
            RubricLine("i1", 3, "Figures are there; one cannot be recomputed.", "grace", 2),
            RubricLine("i2", 1, LONG, LONG, 0),
        ),
    ),
)
RUBRICS = RubricPage(NAV, TITLE, "/desk/rubrics/capstone/flashattention", GROUPS, None, ())
CHANGES = (ChangeLine("/desk/capstone/c2", "ada", 7, 8, 13), ChangeLine("/desk/capstone/c5", LONG, 9, 10, 13))
AUDIT = (
    AuditLine(NOW, "grace", "grade", "/desk/capstone/c2", "/desk/capstone/c2", "version 1, points 7 of 13"),
    AuditLine(NOW, LONG, "hide post", f"{LONG}{HOSTILE}", "", HOSTILE),
)

SCORES = (
    Score("track", "flashattention", 7, 13, NOW, "/capstones/c2", TITLE),
    Score("drill", "design", 5, 5, NOW, "/submissions/s1", "Design a fused attention"),
)

POST = PostView("p1", "ada", NOW, NOW, PROSE, "as typed", True, "", (), True)
GONE = replace(POST, id="p3", author="", html=Markup(), text="", mine=False, gone="Hidden by a moderator.")
REPLY = replace(POST, id="p2", author="lin", mine=False, can_reply=False, edited_at=None)
DISCUSSION = DiscussionPage(
    title="Find the fault in a fused kernel",
    kind="question",
    href="/questions/fused-kernel-drift",
    action="/questions/fused-kernel-drift/discussion",
    closed="",
    threads=(replace(POST, replies=(REPLY,)), replace(GONE, id="p4", replies=(replace(REPLY, id="p5"),))),
    older="/questions/fused-kernel-drift/discussion?before=p1",
    first_page=True,
)
POST_PAGE = PostPage(
    "edit", "/posts/p1/edit", "/questions/x/discussion#post-p1", DISCUSSION.title, PROSE, "as typed"
)
REPORTED = ReportedPost(
    "p1",
    DISCUSSION.title,
    "/questions/x/discussion#post-p1",
    "ada",
    NOW,
    PROSE,
    "",
    (
        ReportLine("lin", NOW, "It gives the fix away.", "multiply l by exp(m - m')"),
        ReportLine(LONG, NOW, HOSTILE, ""),
    ),
)

COMMUNITY: dict[str, tuple[str, DataclassInstance]] = {
    "capstone/usual": ("submissions/capstone.html", CAPSTONE),
    "capstone/empty": (
        "submissions/capstone.html",
        replace(CAPSTONE, text="", links="", versions=(), feedback=None, brief=Markup()),
    ),
    "capstone/error": (
        "submissions/capstone.html",
        replace(
            CAPSTONE,
            text=f"{LONG}</textarea>{HOSTILE}",
            problems={
                "text": "Too long.",
                "links": "One of the links is no address.",
                "files": f"{HOSTILE} is empty.",
            },
        ),
    ),
    "capstone-version/usual": ("submissions/capstone_version.html", VERSION),
    "capstone-version/waits": (
        "submissions/capstone_version.html",
        replace(VERSION, feedback=Feedback(None, ()), newest="", by="ada", capstone_href="", desk_href="/desk"),
    ),
    "capstone-version/long": (
        "submissions/capstone_version.html",
        replace(VERSION, feedback=Feedback(LONG_GRADE, (AGAIN, EARLIER)), track=LONG, by=f"{LONG}{HOSTILE}"),
    ),
    "desk/usual": ("desk/work.html", DESK),
    "desk/outline": (
        "desk/work.html",
        replace(DESK, work=OUTLINE, scoring=replace(SCORING, open=False, why_closed="Take it.", until=None)),
    ),
    "desk/locked": (
        "desk/work.html",
        replace(
            DESK, scoring=replace(SCORING, open=False, why_closed="grace is at work on this one.", can_take=False)
        ),
    ),
    "desk/error": (
        "desk/work.html",
        replace(
            DESK,
            scoring=replace(
                SCORING,
                criteria=(CRITERIA[0], NEW_ITEM),
                base=1,
                again=True,
                theirs=GRADE,
                problems={"form": "grace scored this one meanwhile.", "reason": "Say why.", "comment": "Too long."},
            ),
        ),
    ),
    "desk/waiting": ("desk/work.html", replace(DESK, work=None, scoring=None)),
    "desk/empty": ("desk/work.html", DeskPage(DeskNav("work", 0, 0), (), None, None, ())),
    "desk/long": (
        "desk/work.html",
        replace(
            DESK,
            queue=tuple(replace(line, title=LONG, learner=f"{LONG}{HOSTILE}") for line in QUEUE * 20),
            work=replace(WORK, title=LONG, learner=HOSTILE, feedback=Feedback(LONG_GRADE, (LONG_GRADE,))),
        ),
    ),
    "rubric/usual": ("desk/rubric.html", RUBRICS),
    "rubric/change": (
        "desk/rubric.html",
        replace(RUBRICS, draft=Draft("i1", "4", "Figures are there.", "", CHANGES)),
    ),
    "rubric/error": (
        "desk/rubric.html",
        replace(RUBRICS, draft=Draft("i1", "x", HOSTILE, "It earns 0 to 5 points.", ())),
    ),
    "discussion/usual": ("discussion/show.html", DISCUSSION),
    "discussion/empty": ("discussion/show.html", replace(DISCUSSION, threads=(), older="")),
    "discussion/last": ("discussion/show.html", replace(DISCUSSION, threads=(), older="", first_page=False)),
    "discussion/locked": (
        "discussion/show.html",
        replace(DISCUSSION, threads=(), older="", closed="It opens with the answer. Sign in to read the answer."),
    ),
    "discussion/error": (
        "discussion/show.html",
        replace(DISCUSSION, text=HOSTILE, parent="p1", problems={"text": "A post has at most 10,000 characters."}),
    ),
    "discussion/long": (
        "discussion/show.html",
        replace(
            DISCUSSION, title=LONG, threads=(replace(POST, author=f"{LONG}{HOSTILE}", html=Markup.escape(LONG)),)
        ),
    ),
    "post/edit": ("discussion/post.html", replace(POST_PAGE, typed=f"</textarea>{HOSTILE}")),
    "post/report": (
        "discussion/post.html",
        replace(POST_PAGE, step="report", problems={"reason": "Say what is wrong with it."}),
    ),
    "reports/usual": (
        "desk/reports.html",
        ReportsPage(
            replace(NAV, here="reports"),
            (REPORTED,),
            (replace(REPORTED, id="p9", hidden_reason="Spoiler.", reports=()),),
            False,
        ),
    ),
    "reports/empty": ("desk/reports.html", ReportsPage(replace(NAV, here="reports"), (), (), False)),
    "reports/error": (
        "desk/reports.html",
        ReportsPage(replace(NAV, here="reports"), (REPORTED,), (), True, problem="Give a reason."),
    ),
    "audit/usual": ("desk/audit.html", AuditPage(replace(NAV, here="audit"), AUDIT, "/desk/audit?before=a1")),
    "audit/empty": ("desk/audit.html", AuditPage(replace(NAV, here="audit"), (), "")),
}
