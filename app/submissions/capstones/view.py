"""What a capstone looks like: from its rows to the contexts of the pages."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup
from sqlalchemy.orm import Session

from app.course.access import View
from app.course.models import Track
from app.course.present import stylesheets
from app.course.render import render_untrusted
from app.settings import Settings
from app.submissions.capstones import files, service
from app.submissions.capstones.models import Capstone
from app.submissions.capstones.pages import CapstonePage, FileLine, Handed, VersionLine
from app.submissions.capstones.service import HandIn
from app.submissions.grades import service as grades
from app.submissions.grades.models import Grade, WorkKind
from app.submissions.grades.pages import Feedback

BRIEF = "build-evidence"  # the section of a track that says what its capstone holds


def page(
    session: Session,
    view: View,
    track: Track,
    user: str,
    settings: Settings,
    given: HandIn | None = None,
    problems: Mapping[str, str] | None = None,
) -> CapstonePage:
    """A track's capstone for the learner who makes it, with the form filled by `given` when it was refused."""
    rows = service.versions(session, user, track.id)
    known = grades.of_learner(session, user)
    brief = next((section.html for section in track.sections if section.id == BRIEF), Markup())
    newest = rows[0] if rows else None
    return CapstonePage(
        track=track.title,
        track_href=track.link.href,
        action=f"{track.link.href}/capstone",
        brief=brief,
        rubric=track.rubric,
        points=sum(criterion.points for criterion in track.rubric),
        text=given.text if given else newest.text if newest else "",
        links=given.links if given else newest.links if newest else "",
        versions=tuple(_line(row, known.get((WorkKind.CAPSTONE, row.id)), row is newest) for row in rows),
        feedback=feedback_of(session, newest) if newest else None,
        files_most=settings.capstone_files,
        file_limit=settings.capstone_file_limit,
        stylesheets=stylesheets(view, brief, *(criterion.text for criterion in track.rubric)),
        problems=problems or {},
    )


def _line(row: Capstone, grade: Grade | None, newest: bool) -> VersionLine:
    return VersionLine(
        href=f"/capstones/{row.id}",
        number=row.version,
        submitted_at=row.submitted_at,
        points=grade.points if grade else None,
        possible=grade.possible if grade else 0,
        waits=newest and grade is None,
    )


def handed(session: Session, row: Capstone) -> Handed:
    """The content of one version, for reading."""
    return Handed(
        text=render_untrusted(row.text),
        links=tuple(line for line in row.links.split("\n") if line and not service.link_problem(line)),
        files=tuple(
            FileLine(f"/capstones/{row.id}/files/{file.id}", file.name, files.KINDS[file.kind], file.size)
            for file in service.files_of(session, row.id)
        ),
    )


def feedback_of(session: Session, row: Capstone) -> Feedback:
    """What people said about a version, and about the learner's other ones."""
    numbers = {one.id: one.version for one in service.versions(session, row.user_id, row.track)}
    return grades.feedback(
        session,
        row.user_id,
        WorkKind.CAPSTONE,
        row.track,
        row.id,
        lambda work: (f"Version {numbers.get(work, '?')}", f"/capstones/{work}"),
    )
