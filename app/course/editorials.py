"""The editorials of the drills: `drills/<id>/editorial.md` to headed sections, with what they show of other files.

An editorial may show code of its drill and of the reference kernels, its kill matrix, and tables that programs in
`drills/<id>/measured/` printed. Only somebody who passed the drill may read it; that is for the page to see to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.course.authored import render_sections
from app.course.excerpts import Shelf
from app.course.formulas import Stylesheet
from app.course.kills import read_matrix, tables_of
from app.course.listings import Listing, read_listing
from app.course.models import DrillRef, Section
from app.course.problems import Problem
from app.course.scope import Page, Scope

FILE = "editorial.md"
MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class Editorials:
    """The compiled editorials by drill, and the pages that they were made from."""

    sections: Mapping[str, tuple[Section, ...]]
    pages: tuple[Page, ...]
    problems: tuple[Problem, ...]


def compile_editorials(drills: Mapping[str, DrillRef], scope: Scope, styles: Stylesheet) -> Editorials:
    """Every editorial there is."""
    sections, pages, problems = {}, [], []
    for drill in drills.values():
        if not drill.editorial:
            continue
        page, found = _page(drill, scope, styles)
        rendered, _, words = render_sections(drill.editorial, 1, page)
        if words[""]:
            page.report(1, "editorial", "text above the first heading", "open each part with ## and its title")
        sections[drill.id] = tuple(section for section in rendered if section.title)
        pages.append(page)
        problems += [*found, *_unused(drill, page)]
    return Editorials(sections, tuple(pages), tuple(problems))


def _page(drill: DrillRef, scope: Scope, styles: Stylesheet) -> tuple[Page, list[Problem]]:
    """An editorial on its way to HTML: what it may refer to is the course and the drill's own tables."""
    matrix = read_matrix(drill.folder)
    tables: dict[str, Listing] = {} if matrix is None else tables_of(matrix)
    problems: list[Problem] = []
    unfit = set(scope.unfit)
    for path in sorted((drill.folder / MEASURED).glob("*.py")):
        listing, found = read_listing(path, drill.folder.parent)
        problems += [replace(each, file=f"drills/{each.file}") for each in found]
        if listing is None:
            unfit.add(path.stem)
        elif path.stem in tables or path.stem in scope.listings:
            file = f"drills/{drill.id}/{MEASURED}/{path.name}"
            problems.append(Problem(file, 1, "listing", f"'{path.stem}' is the name of another table", "rename it"))
        else:
            tables[path.stem] = listing
    own = replace(scope, listings={**scope.listings, **tables}, unfit=frozenset(unfit))
    shelf = Shelf(drill.folder, drill.folder.parent.parent / "kernels")
    return Page(f"drills/{drill.id}/{FILE}", own, styles, shelf=shelf, matrix=matrix), problems


def _unused(drill: DrillRef, page: Page) -> list[Problem]:
    """A measurement that the text does not use is one that nobody looks at."""
    names = {path.stem for path in (drill.folder / MEASURED).glob("*.py")}
    return [
        Problem(
            f"drills/{drill.id}/{MEASURED}/{name}.py",
            1,
            "unreachable",
            f"the editorial does not use '{name}'",
            "show it with ::: listing, cite a cell, or remove it",
        )
        for name in sorted(names - page.listings - page.quoted - page.scope.unfit)
    ]
