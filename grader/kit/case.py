"""The words in which a drill's suite is written: axes, cases, what is asked of the learner's code and what must
return.

A suite's `play` is a generator. It yields one `Ask` for each call and is sent the `Reply` once the judge has
accepted it, so that a drill of several steps can feed a returned state into the next call. It never sees the
learner's code.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from grader.kit.checked import Checked
from grader.kit.data import DATA
from grader.kit.dtypes import DTYPES, Values
from grader.kit.place import LAYOUTS, Placed
from grader.kit.served import Served
from grader.kit.tolerance import Tolerance

if TYPE_CHECKING:
    from grader.kit.timed import Timed

Plain = int | float | bool | str | None
Json = Plain | Sequence["Json"] | Mapping[str, "Json"]
Argument = Placed | Served | Json


@dataclass(frozen=True)
class Axis:
    """One axis of the drill's shapes: its key in `Case.dims`, its name in words, and whether kernels cut it in
    tiles.
    """

    name: str
    one: str  # "row"
    many: str  # "rows"
    tiled: bool = False
    least: int = 1
    only: tuple[int, ...] = ()  # the lengths that the contract allows, shortest first; all when empty


@dataclass(frozen=True)
class Case:
    """One case: a shape, a kind of data, a type and a layout. `family` groups cases that fail for the same
    reason.

    `about` says in words what a case without shape and data is: the name of a model, a question. It replaces the
    words for shape and data, and `play` may look its input up by it. `data` is empty where nothing is drawn.
    `settings` are arguments other than arrays (``{"causal": True}``); they are said beside the data.
    """

    name: str
    family: str
    dims: Mapping[str, int]
    data: str = "normal"
    dtype: str = "fp32"
    layout: str = "contiguous"
    visible: bool = False
    block: int = 64  # the tile length that data axes are drawn for
    about: str = ""
    settings: Mapping[str, Plain] = field(default_factory=dict)

    def resized(self, axis: str, length: int) -> Case:
        """The same case with one axis changed."""
        return replace(self, dims={**self.dims, axis: length})


@dataclass(frozen=True)
class Output:
    """One array that a call must return, or leave in an argument. `tolerance` gets (expected, argument values).

    The shape ``()`` is a number: a Python float or int, or an array of one element, of any floating type.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    tolerance: Callable[[Values, Sequence[Values]], Tolerance]
    argument: int | None = None  # the position of an argument written in place; None is the returned value
    tiled_axis: int | None = None  # the axis of this array that is the suite's tiled axis, if it has it
    wider: bool = False  # float64 is as good as `dtype`, where the contract names no type


@dataclass(frozen=True)
class Exact:
    """One plain value that a call must return: int, bool, str, or lists and dicts of them.

    It must equal the reference's in value and in type: an int is neither a float nor a bool.
    """

    name: str
    argument: ClassVar[None] = None


Promise = Output | Exact | Checked


@dataclass(frozen=True)
class Ask:
    """One call of an entry point. The reference function of the same name gives the expected outputs, in order.

    `raises` names the exception that the call must raise instead (or one derived from it); all arrays must then
    be as they were sent. `reuse` are the positions of arrays that the call may overwrite as it likes. `peak_bytes`
    is how far the memory in use may grow during the call. `scratch_bytes` is how much memory kernels may use
    besides the arguments and the results, where the lane counts it.
    """

    entry: str
    args: tuple[Argument, ...]
    outputs: tuple[Promise, ...] = ()
    raises: str = ""
    reuse: tuple[int, ...] = ()
    peak_bytes: int | None = None
    scratch_bytes: int | None = None


@dataclass(frozen=True)
class Reply:
    """The outputs of an accepted call: arrays as float64, plain values as they are."""

    outputs: tuple[Any, ...]


Play = Generator[Ask, Reply, None]


@dataclass(frozen=True)
class Suite:
    """All of a drill's cases and how one is played.

    `around` gives `extra` hidden cases for the block lengths that a learner launched (an empty tuple when unknown).
    `probes` are public cases: a failure is diagnosed with them, never with hidden ones. `independent` names,
    for each entry point, a second float64 formula that the publication gate compares with the reference.
    """

    axes: tuple[Axis, ...]
    cases: tuple[Case, ...]
    play: Callable[[Case, np.random.Generator], Play]
    probes: tuple[Case, ...]
    independent: Mapping[str, Callable[..., object]]
    around: Callable[[tuple[int, ...]], tuple[Case, ...]] = field(default=lambda blocks: ())
    gpu_cases: tuple[Case, ...] = ()  # larger ones, for the GPU lane alone, after the others
    timed: Timed | None = None  # the call that the GPU lane times
    public: bool = False  # nothing here could be fitted to, so no case needs to be hidden

    @property
    def tiled(self) -> Axis | None:
        """The axis that kernels cut into tiles, if the drill has one."""
        return next((axis for axis in self.axes if axis.tiled), None)

    def shape_words(self, case: Case) -> str:
        """The shape in words: "3 rows × 65 columns". A case that says what it is about has none."""
        if case.about:
            return ""
        return " × ".join(
            f"{case.dims[axis.name]} {axis.one if case.dims[axis.name] == 1 else axis.many}" for axis in self.axes
        )

    def data_words(self, case: Case) -> str:
        """The data and, when it is not plain, the layout in words; or what the case is about."""
        if case.about:
            return case.about
        settings = [setting_words(name, value) for name, value in case.settings.items()]
        layout = [] if case.layout == "contiguous" else [LAYOUTS[case.layout]]
        drawn = [DATA[case.data].words] if case.data else []
        return ", ".join([*drawn, *settings, *layout])


def setting_words(name: str, value: Plain) -> str:
    """An argument other than an array in words: "causal", "not causal", "window 64"."""
    if isinstance(value, bool):
        return name if value else f"not {name}"
    return f"{name} {value}"


def faults_of(suite: Suite) -> list[str]:
    """What is wrong with the suite as written, in sentences; an empty list when nothing is."""
    names = [axis.name for axis in suite.axes]
    faults = [] if suite.cases else ["the suite has no cases"]
    cases = (*suite.cases, *suite.probes, *suite.around(()))
    seen: set[str] = set()
    for case in (*cases, *suite.gpu_cases):
        label = f"case {case.name!r}"
        if case.name in seen:
            faults.append(f"{label} appears twice")
        seen.add(case.name)
        if sorted(case.dims) != sorted(names):
            faults.append(f"{label} gives dims {sorted(case.dims)}, the axes are {sorted(names)}")
        for value, known, what in (
            (case.data, ("", *DATA), "data"),
            (case.dtype, DTYPES, "dtype"),
            (case.layout, LAYOUTS, "layout"),
        ):
            if value not in known:
                faults.append(f"{label} has {what} {value!r}; known are {', '.join(sorted(known))}")
    if suite.cases and not any(case.visible for case in suite.cases):
        faults.append("no case is visible, so a learner would have nothing to look at")
    if suite.cases and not suite.public and all(case.visible for case in suite.cases):
        faults.append("no case is hidden")
    if any(case.visible for case in suite.around(())):
        faults.append("cases around the launched blocks must be hidden")
    return faults
