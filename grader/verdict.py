"""What a submission's grading says: one schema, versioned, and the one pure function that decides.

Every struct here is data that crosses a wire or a database column as JSON. Non-finite numbers do not survive
JSON, so a figure that could not be computed is ``None`` and the counts beside it say why.

Reading order: `Outcome` → `CaseResult` → `Diagnosis` → `Verdict` → the events → `decide`.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

SCHEMA = (
    2  # 2: `compiled`, `Diagnosis.walk`. What is added has a default, so that stored verdicts can still be read.
)


class Outcome(StrEnum):
    """How a case, or a whole submission, ended."""

    ACCEPTED = "accepted"
    WRONG_ANSWER = "wrong_answer"
    RUNTIME_ERROR = "runtime_error"
    COMPILE_ERROR = "compile_error"
    OUT_OF_MEMORY = "out_of_memory"
    TIME_LIMIT = "time_limit"
    OUTPUT_LIMIT = "output_limit"
    RULE_BROKEN = "rule_broken"
    GRADER_PROBLEM = "grader_problem"


class Lane(StrEnum):
    """Where a submission runs."""

    CPU = "cpu"
    GPU = "gpu"


class Struct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Frozen, keyword-only, and strict: an unknown field is an error, never ignored."""


class Where(Struct, frozen=True, kw_only=True):
    """One element of a result: its index, and the tile and lane that held it when the kernel launched blocks.

    `axis` is the tiled axis; `tile` and `lane` count along it. They are ``None`` when no block size was launched.
    """

    index: tuple[int, ...]
    axis: int | None = None
    tile: int | None = None
    lane: int | None = None
    block: int | None = None


class Element(Struct, frozen=True, kw_only=True):
    """One element of an output: where it is, what it should be and what it is."""

    at: Where
    expected: str
    actual: str


class Mismatch(Struct, frozen=True, kw_only=True):
    """How one output differs from what was expected."""

    output: str
    first: Where
    expected: str  # written out, since NaN and infinities do not survive JSON
    actual: str
    wrong: int  # elements outside tolerance
    total: int
    nan: int  # NaN in the output where none was expected
    inf: int
    features: tuple[str, ...] = ()  # residual features: "only the last tile", "constant factor 0.93", …
    not_finite: Element | None = None  # the first NaN or infinity that does not belong, if `first` is none


class TileMap(Struct, frozen=True, kw_only=True):
    """Error by row and tile in units of tolerance, for the mismatch map. ``None`` is NaN or Inf.

    `cells[r][t]` is the largest error of row `rows[r]` in tile `t`; long axes are folded, keeping the largest.
    """

    block: int
    rows: tuple[int, ...]
    cells: tuple[tuple[float | None, ...], ...]


class Calls(Struct, frozen=True, kw_only=True):
    """How often a served function was called, and what with, in words: one line a call, refused ones included."""

    name: str
    used: int
    allowed: int
    log: tuple[str, ...] = ()


class Mark(Struct, frozen=True, kw_only=True):
    """One thing that a check looked at. Marks of one `group` belong together."""

    group: str
    name: str
    ok: bool
    words: str = ""


class Report(Struct, frozen=True, kw_only=True):
    """What a check found that compares with no expected value: a test suite, an outline. `words` is one sentence.

    `figures` are (what, how much). `by_person`: a person scores what a machine can't.
    """

    words: str
    marks: tuple[Mark, ...] = ()
    figures: tuple[tuple[str, str], ...] = ()
    by_person: bool = False


class CaseResult(Struct, frozen=True, kw_only=True):
    """One case of the suite. A hidden case names no shape, no data and no numbers."""

    name: str
    visible: bool
    outcome: Outcome
    shape: str = ""  # in words: "3 rows × 65 columns"
    data: str = ""  # in words: "a maximum that rises in every tile"
    dtype: str = ""
    error: float | None = None  # largest |actual − expected| in units of tolerance; accepted needs ≤ 1
    mismatch: Mismatch | None = None
    map: TileMap | None = None
    detail: str = ""  # what was raised, in the learner's words and lines
    line: int | None = None  # the learner's line, from 1
    seconds: float = 0.0
    calls: Calls | None = None  # of a function that the judge served
    report: Report | None = None  # of a check


class Probe(Struct, frozen=True, kw_only=True):
    """One extra run made to diagnose: a shape, and how it went."""

    shape: str
    ok: bool
    error: float | None
    tiles: int | None = None


class Held(Struct, frozen=True, kw_only=True):
    """One variable of one row after one tile: what the learner's kernel holds, and what it should, written out.

    A kernel may have no variable for its factor: then `name` is empty, and so is `yours`.
    """

    role: str  # maximum, factor, sum, accumulator
    name: str
    yours: tuple[str, ...]
    should: tuple[str, ...]
    parts: bool


class TileStep(Struct, frozen=True, kw_only=True):
    """One turn of a kernel's loop over tiles. `keys` are those that it loaded: "16–31"."""

    keys: str
    held: tuple[Held, ...]


class Walk(Struct, frozen=True, kw_only=True):
    """One program of a failing run, tile by tile, for the row of the result at `index`.

    `unit` says in which unit the maximum is held, where it is not the plain one. `missed` are keys that no turn
    loads and should: "16–48". `parts_at` is the first of `turns` at which the kernel holds something else than it
    should.
    """

    shape: str
    data: str
    kernel: str
    line: int | None
    program: tuple[int, int, int]
    index: tuple[int, ...]
    unit: str
    turns: tuple[TileStep, ...]
    missed: str = ""
    parts_at: int | None


class Diagnosis(Struct, frozen=True, kw_only=True):
    """What the failure looks like from outside, and the question to ask next.

    The shapes and errors come from probes, extra runs on public data, never from hidden cases.
    """

    smallest_failing: Probe | None = None
    nearest_passing: Probe | None = None
    error_by_tiles: tuple[Probe, ...] = ()
    trend: str = ""  # "grows with the number of tiles", "only the last tile", "flat", …
    question: str = ""
    related: tuple[str, ...] = ()  # content ids worth reading now
    walk: Walk | None = None


class Traffic(Struct, frozen=True, kw_only=True):
    """Bytes moved between memory and the kernels for one tensor, and the least that the contract needs."""

    tensor: str
    loaded: int
    stored: int
    least_loaded: int
    least_stored: int


class Compiled(Struct, frozen=True, kw_only=True):
    """What a kernel costs on one GPU architecture, by Triton's compiler; ``None`` is not known.

    Registers and spilled bytes are a thread's, shared memory is a program's.
    """

    kernel: str
    constants: str  # in words: "BLOCK = 64"
    warps: int
    target: str  # "sm_90"
    registers: int | None
    spilled_bytes: int | None
    shared_bytes: int | None


class Finding(Struct, frozen=True, kw_only=True):
    """A remark about a line of the learner's file. Warnings never change an outcome."""

    line: int | None
    text: str
    severity: str = "warning"


class Skipped(Struct, frozen=True, kw_only=True):
    """A case that this lane can't run. It counts neither as passed nor as failed; `reason` is for the learner."""

    name: str
    visible: bool
    reason: str


class Timings(Struct, frozen=True, kw_only=True):
    """Where the time went, in seconds of the judge's clock."""

    pool: float = 0.0  # waiting for a warm runner
    load: float = 0.0  # importing the learner's file
    run: float = 0.0  # the learner's code, all cases, without compiling
    compile: float = 0.0  # compiling kernels, as the runner says; 0 where kernels are interpreted
    speed: float = 0.0  # timing at full size, audits and all
    judge: float = 0.0  # drawing inputs, expected values, comparing
    alone: float = 0.0  # running the kernels once more without the rest of the file
    compiler: float = 0.0  # waiting for what Triton's compiler says, beyond all that it works beside
    diagnose: float = 0.0  # probes, after a failure
    total: float = 0.0


class Speed(Struct, frozen=True, kw_only=True):
    """What one call at full size takes on a GPU, by the judge's clock: the median, and an interval that holds it
    with 95 % confidence. `floor` is the least that the call's bytes (or its arithmetic: `bound` says which) need at
    the rate measured on the same GPU; `percent` is how much of that rate was reached. Times in microseconds.
    """

    case: str  # in words: "8192 rows × 8192 columns, fp32"
    gpu: str
    microseconds: float
    low: float
    high: float
    floor: float
    percent: float
    bound: str  # "bandwidth" or "arithmetic"
    calls: int  # that were timed
    audited: int  # of these, looked at afterwards


class Console(Struct, frozen=True, kw_only=True):
    """What the learner's code printed. Capped; `dropped` counts the bytes that were cut."""

    text: str = ""
    dropped: int = 0


class Verdict(Struct, frozen=True, kw_only=True):
    """The whole answer to a submission."""

    outcome: Outcome
    sentence: str  # one plain sentence
    drill: str
    lane: Lane
    cases: tuple[CaseResult, ...] = ()
    expected_cases: int = 0  # how many the suite has for this lane; fewer results than this is never accepted
    skipped: tuple[Skipped, ...] = ()  # cases of the suite that only another lane can run
    diagnosis: Diagnosis | None = None
    traffic: tuple[Traffic, ...] = ()
    compiled: tuple[Compiled, ...] = ()
    findings: tuple[Finding, ...] = ()
    console: Console = Console()
    timings: Timings = Timings()
    speed: Speed | None = None  # accepted submissions of the GPU lane
    visible_only: bool = False  # a trial: hidden cases did not run, so `accepted` says nothing about the drill
    problem: str = ""  # for operators: why a grader problem happened; learners see only the sentence
    schema: int = SCHEMA


class Started(Struct, frozen=True, kw_only=True, tag="started"):
    """A warm runner took the submission; `cases` is how many will run."""

    cases: int


class CaseDone(Struct, frozen=True, kw_only=True, tag="case_done"):
    """One more case is decided."""

    number: int  # from 1
    cases: int
    result: CaseResult


class Diagnosing(Struct, frozen=True, kw_only=True, tag="diagnosing"):
    """At least one case failed, and probes are running to find out how. Hidden cases may still follow."""


class Decided(Struct, frozen=True, kw_only=True, tag="decided"):
    """The last event, always: the verdict."""

    verdict: Verdict


Event = Started | CaseDone | Diagnosing | Decided


def decide(results: tuple[CaseResult, ...], expected_cases: int) -> Outcome:
    """The outcome of a submission from its cases: accepted only if all of them ran and every one was accepted.

    The first case that was not accepted names the outcome, since that is the one the learner is shown first.
    """
    for result in results:
        if result.outcome is not Outcome.ACCEPTED:
            return result.outcome
        if result.error is None or not result.error <= 1.0:
            return Outcome.GRADER_PROBLEM
    if expected_cases < 1 or len(results) != expected_cases:
        return Outcome.GRADER_PROBLEM
    return Outcome.ACCEPTED


def encode(value: Struct) -> bytes:
    """JSON bytes of any struct here."""
    return msgspec.json.encode(value)


def decode_verdict(data: bytes | str) -> Verdict:
    """A verdict from JSON. Raises `msgspec.ValidationError` for anything that is not exactly one."""
    return msgspec.json.decode(data, type=Verdict)
