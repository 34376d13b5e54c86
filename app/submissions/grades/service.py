"""Reading grades, and adding one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.audit import note
from app.course.render import render_untrusted
from app.db import new_id, now
from app.progress.pages import Score
from app.security import Viewer
from app.submissions.grades.models import Grade, Mark, WorkKind
from app.submissions.grades.pages import Feedback, GradeView, MarkLine


def newest(session: Session, kind: WorkKind, work: str) -> Grade | None:
    """The grade of a piece of work that counts, or ``None`` while it waits."""
    return session.scalar(
        select(Grade).where(Grade.kind == kind, Grade.work == work).order_by(Grade.version.desc()).limit(1)
    )


def counting(grades: Iterable[Grade]) -> dict[tuple[str, str], Grade]:
    """Of many grades the one of each piece of work that counts, by kind and work."""
    found: dict[tuple[str, str], Grade] = {}
    for grade in sorted(grades, key=lambda one: one.version):
        found[(grade.kind, grade.work)] = grade
    return found


def of_learner(session: Session, user: str) -> dict[tuple[str, str], Grade]:
    """The grades of one learner that count, by kind and work."""
    return counting(session.scalars(select(Grade).where(Grade.user_id == user)))


def scores(session: Session, user: str) -> list[Score]:
    """What people gave last for each outline and each capstone of a learner, newest first."""
    found: dict[tuple[str, str], Score] = {}
    rows = sorted(of_learner(session, user).values(), key=lambda grade: grade.graded_at, reverse=True)
    for grade in rows:
        outline = grade.kind == WorkKind.OUTLINE
        href = f"/submissions/{grade.work}" if outline else f"/capstones/{grade.work}"
        score = Score(
            "drill" if outline else "track", grade.subject, grade.points, grade.possible, grade.graded_at, href
        )
        found.setdefault((grade.kind, grade.subject), score)
    return list(found.values())


def add(
    session: Session,
    grader: Viewer,
    last: Grade | None,
    like: Mapping[str, str],
    marks: tuple[Mark, ...],
    comment: str,
    reason: str = "",
) -> Grade:
    """Add the version after `last` (None: the first). `like` has the columns kind, work, user_id and subject.

    The caller is `alone` with the rubric, or two graders might add the same version.
    """
    grade = Grade(
        id=new_id(),
        version=last.version + 1 if last else 1,
        grader_id=grader.id,
        grader=grader.name,
        graded_at=now(),
        points=sum(mark.points for mark in marks),
        possible=sum(mark.possible for mark in marks),
        marks=marks,
        comment=comment,
        reason=reason,
        **like,
    )
    session.add(grade)
    session.flush()
    before = f"{last.points} of {last.possible}" if last else None
    given = {"version": grade.version, "points": f"{grade.points} of {grade.possible}", "before": before}
    note(session, grader, "grade", f"/desk/{grade.kind}/{grade.work}", {**given, "reason": reason})
    return grade


Titled = Callable[[str], tuple[str, str]]  # a work's id → its title and address


def feedback(session: Session, user: str, kind: WorkKind, subject: str, work: str, titled: Titled) -> Feedback:
    """What people said about `work`, and about the learner's other works for the same subject."""
    rows = session.scalars(
        select(Grade).where(Grade.user_id == user, Grade.kind == kind, Grade.subject == subject)
    ).all()
    count = counting(rows)
    mine = count.pop((kind, work), None)
    others = sorted(count.values(), key=lambda grade: grade.graded_at, reverse=True)
    return Feedback(
        grade=seen(mine, *titled(work)) if mine else None,
        earlier=tuple(seen(grade, *titled(grade.work)) for grade in others),
    )


def seen(grade: Grade, title: str, href: str) -> GradeView:
    """A grade as its learner reads it."""
    return GradeView(
        title=title,
        href=href,
        version=grade.version,
        grader=grade.grader,
        graded_at=grade.graded_at,
        points=grade.points,
        possible=grade.possible,
        lines=_lines(grade.marks),
        comment=render_untrusted(grade.comment),
        reason=grade.reason,
    )


def _lines(marks: Sequence[Mark]) -> tuple[MarkLine, ...]:
    return tuple(
        MarkLine(mark.text, mark.points, mark.possible, mark.item, render_untrusted(mark.comment)) for mark in marks
    )
