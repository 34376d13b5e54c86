"""The kill matrix of a drill as a table: which case refuses which fault.

It is read from `kill_matrix.json`, which the publication gate stores, and so shows what runs showed. Rows go from
the fault that most cases refuse down to the subtlest.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from markupsafe import Markup

from app.course.listings import Listing
from grader.hints import KillMatrix, KnownFault, load_matrix

ENDS = {
    "wrong_answer": "wrong answer",
    "runtime_error": "exception",
    "rule_broken": "rule broken",
    "compile_error": "does not compile",
    "out_of_memory": "out of memory",
    "time_limit": "too slow",
    "output_limit": "too much output",
}
HIT, ALONE, CONTROL = "●", "◆", "○"


def read_matrix(drill: Path) -> KillMatrix | None:
    """The stored matrix of the drill in this folder; None when there is none or it cannot be read."""
    return load_matrix(drill)


def tables_of(matrix: KillMatrix) -> dict[str, Listing]:
    """What the text may cite: `{{kills/no_rescale/cases}}`, `{{kills/all/faults}}`, `{{margins/online/error}}`."""
    rows = [
        (fault.name, str(len(fault.signature.cases)), "1", (*fault.signature.cases, "")[0])
        for fault in matrix.faults
    ]
    rows.append(("all", str(len(matrix.cases)), str(len(matrix.faults)), ""))
    margins = [(name, f"{error:g}") for name, error in matrix.margins.items()]
    return {
        "kills": Listing("kills", "", ("fault", "cases", "faults", "first"), tuple(rows)),
        "margins": Listing("margins", "", ("kernel", "error"), tuple(margins)),
    }


def kills_html(matrix: KillMatrix, names: Collection[str]) -> Markup:
    """The table for the faults named, or for all of them when none is."""
    faults = [fault for fault in matrix.faults if not names or fault.name in names]
    faults.sort(key=lambda fault: (-len(fault.signature.cases), fault.name))
    shown = [case for case in matrix.cases if not names or any(case in each.signature.cases for each in faults)]
    head = Markup("").join(_case(case, case in matrix.control) for case in shown)
    body = Markup("").join(_fault(fault, shown, anchored=not names) for fault in faults)
    foot = Markup("").join(
        Markup('<td class="number">{}</td>').format(sum(case in fault.signature.cases for fault in faults) or "")
        for case in shown
    )
    return Markup(
        '<div class="table-scroll kills" tabindex="0" role="region" aria-label="Kill matrix: faults by cases">'
        '<table class="kill-matrix"><caption>{}</caption>'
        '<thead><tr><th scope="col">Fault</th><th scope="col" class="number">refused&nbsp;by</th>{}</tr></thead>'
        "<tbody>{}</tbody>"
        '<tfoot><tr><th scope="row">faults that the case refuses</th><td></td>{}</tr></tfoot></table></div>'
    ).format(_legend(matrix, shown), head, body, foot)


def _legend(matrix: KillMatrix, shown: Collection[str]) -> str:
    alone = sum(case not in matrix.control for case in shown)
    legend = f"{HIT} the case refuses the fault. {CONTROL} control: no fault needs this case alone to be refused."
    return f"{legend} {ALONE} the only case that refuses some fault." if alone else legend


def _case(name: str, control: bool) -> Markup:
    sign, kind = (CONTROL, "control") if control else (ALONE, "alone")
    return Markup('<th scope="col" class="case {}"><span>{} {}</span></th>').format(kind, sign, name)


def _fault(fault: KnownFault, cases: Collection[str], *, anchored: bool) -> Markup:
    killed = set(fault.signature.cases)
    cells = Markup("").join(
        Markup('<td class="hit">{}</td>').format(HIT) if case in killed else Markup("<td></td>") for case in cases
    )
    anchor = Markup(' id="fault-{}"').format(fault.name) if anchored else ""
    how = ENDS.get(fault.signature.outcome, fault.signature.outcome)
    return Markup(
        '<tr{}><th scope="row"><code>{}</code><span class="fault-what">{} <em>{}</em></span></th>'
        '<td class="number">{}</td>{}</tr>'
    ).format(anchor, fault.name, fault.what, how, len(killed), cells)
