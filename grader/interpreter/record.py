"""What launches did to memory, and what is to be said about them.

A `Recorder` hears of every launch, load, store, atomic update and finding. Loads and stores are kept as row starts
until the launch ends; then they become counts per element, and the tensors that more than one program may have
touched are searched for races. Subclass it to pass things on: `ended` is called with each finished launch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grader.interpreter.address import Reach
from grader.interpreter.counting import Counts, Touch
from grader.interpreter.errors import Frame
from grader.interpreter.memory import Storage, View
from grader.interpreter.races import find_races

if TYPE_CHECKING:
    from grader.interpreter.dtypes import Array
    from grader.interpreter.run import Run

MOST_LOGGED = 1 << 24  # array elements kept by one launch in order to look for races; behind that it stops


@dataclass(frozen=True)
class Finding:
    """Something that a kernel did and should not have.

    `kind`: out-of-bounds, outside-view, uninitialised-read, undefined-lane, integer-wrap, write-write,
    read-after-write, write-after-read. `severity`: "error" where the result is undefined, else "warning".
    `element` is written as learners index the tensor; `program` is the program id; `lane` its place in the tile.
    """

    kind: str
    message: str
    file: str
    function: str
    line: int
    severity: str = "error"
    tensor: str | None = None
    element: str | None = None
    program: tuple[int, int, int] | None = None
    lane: tuple[int, ...] | None = None


@dataclass
class Traffic:
    """What one launch did to one storage, per element."""

    storage: Storage
    name: str
    loads: Counts
    stores: Counts
    atomics: Counts
    touches: list[Touch] = field(default_factory=list)


@dataclass
class Launch:
    """One launch. `constants` are the tl.constexpr arguments, `settings` num_warps and the like.

    `signature` gives the other arguments' types as the compiler writes them: "*fp32", "i32", "fp32", "u1".
    """

    kernel: str
    grid: tuple[int, int, int]
    constants: dict[str, Any]
    settings: dict[str, Any]
    arguments: dict[str, Any]
    signature: dict[str, str]
    traffic: dict[tuple[int, str], Traffic] = field(default_factory=dict)

    def bytes(self, name: str) -> tuple[int, int, int]:
        """Bytes loaded, stored and atomically updated in the tensor passed as `name`, per active lane."""
        loaded = stored = atomic = 0
        for traffic in self.traffic.values():
            if traffic.name == name:
                size = traffic.storage.itemsize
                loaded, stored = loaded + traffic.loads.lanes * size, stored + traffic.stores.lanes * size
                atomic += traffic.atomics.lanes * size
        return loaded, stored, atomic


class Recorder:
    """Collects launches and findings. `storages` are the allocations seen so far, kept alive."""

    def __init__(self) -> None:
        self.storages: dict[tuple[int, str], Storage] = {}
        self.launches: list[Launch] = []
        self.findings: dict[tuple[str, str, int], Finding] = {}
        self._pending: list[Touch] = []
        self._logged = 0

    def ended(self, launch: Launch) -> None:
        """A launch is over and counted."""

    # What the evaluator reports

    def begin(
        self,
        kernel: str,
        grid: tuple[int, int, int],
        constants: dict[str, Any],
        settings: dict[str, Any],
        arguments: dict[str, Any],
        signature: dict[str, str],
    ) -> None:
        self.launches.append(Launch(kernel, grid, constants, settings, arguments, signature))
        self._pending.clear()
        self._logged = 0

    def mark(self) -> None:
        """A chunk begins; `forget` takes back what was reported since."""
        self._settle()

    def forget(self) -> None:
        self._pending.clear()

    def load(self, run: Run, reach: Reach) -> None:
        self._pending.append(Touch("load", reach, run.programs.rows, run.frame(), run.exempt()))

    def store(self, run: Run, reach: Reach, values: Array) -> None:
        self._pending.append(Touch("store", reach, run.programs.rows, run.frame(), run.exempt(), values))

    def atomic(self, run: Run, view: View, index: Array) -> None:
        """`index`: the element of every active lane of every program."""
        reach = Reach(view, index.reshape(-1, 1), 1, None)
        self._pending.append(Touch("atomic", reach, run.programs.rows[:1], run.frame(), None))

    def note(
        self,
        kind: str,
        message: str,
        frame: Frame,
        *,
        severity: str = "error",
        tensor: str | None = None,
        element: str | None = None,
        program: tuple[int, int, int] | None = None,
        lane: tuple[int, ...] | None = None,
    ) -> None:
        """The first finding of a kind at a line is kept."""
        self.findings.setdefault(
            (kind, frame.file, frame.line),
            Finding(
                kind, message, frame.file, frame.function, frame.line, severity, tensor, element, program, lane
            ),
        )

    def end(self) -> None:
        """The launch is over, by an error or not."""
        self._settle()
        launch = self.launches[-1]
        for traffic in launch.traffic.values():
            if traffic.stores.lanes:
                for race in find_races(traffic.touches, traffic.stores, traffic.loads, launch.grid):
                    self.note(race.kind, race.message, race.frame, tensor=race.tensor, element=race.element)
            traffic.touches = []
        self.ended(launch)

    def _settle(self) -> None:
        """Count what was reported since the last time."""
        launch = self.launches[-1]
        for touch in self._pending:
            storage = touch.reach.view.storage
            traffic = launch.traffic.get(storage.key)
            if traffic is None:
                name = touch.reach.view.name
                loads, stores, atomics = (Counts(storage.size) for _ in range(3))
                traffic = launch.traffic[storage.key] = Traffic(storage, name, loads, stores, atomics)
            {"load": traffic.loads, "store": traffic.stores, "atomic": traffic.atomics}[touch.kind].add(touch)
            self._logged += touch.reach.starts.size + (0 if touch.values is None else touch.values.size)
            if self._logged < MOST_LOGGED:
                traffic.touches.append(touch)
        self._pending.clear()
