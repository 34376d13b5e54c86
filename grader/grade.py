"""A submission from source to verdict, as a stream of events: take a runner, judge each case, ask why it failed.

Reading order: `grade` → `Grading.events` → `_judge_all` → `_judge_some` → `_probe`, `_explain` → `_verdict`.
Whatever goes wrong on our side ends in a verdict that says so and costs the learner nothing.

Visible cases run first, and the console is taken then: from the first hidden case on, nothing that the learner's
code says or prints reaches the verdict, only whether it passed. Probes run before that, or else on another runner.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence

import msgspec

from grader import compilable, hints, messages
from grader.abilities import can_mute, computes, counts_traffic, times
from grader.again import judge_kernels_alone
from grader.compilable import Compilation, Said, refuted
from grader.diagnose import Probed, explain_failure, probe, worth_probing
from grader.drill import Drill
from grader.findings import findings, merged, uncounted
from grader.gauge import Gauge, NoGauge, prepare
from grader.judge import Bench, Judged, explain, judge_case
from grader.kit import Case
from grader.pool import Failure, Limits, Pool, Runner, SandboxUnavailable
from grader.provenance import judge_without_kernels
from grader.results import shown, skipped, visible_traffic
from grader.speed import judge_speed
from grader.suite import Answers, load_answers, load_steps
from grader.verdict import (
    CaseDone,
    CaseResult,
    Console,
    Decided,
    Diagnosing,
    Diagnosis,
    Event,
    Finding,
    Lane,
    Outcome,
    Skipped,
    Speed,
    Started,
    Timings,
    Verdict,
    Walk,
    decide,
)
from grader.walk import walk_through
from grader.wire import Load

WATCH_SECONDS = 0.2
FRESH_SECONDS = 2.0  # worth waiting for a runner to explain a failure with

# After these the rest is not run: it would fail the same way, and the learner waits.
FATAL = frozenset(
    {
        Outcome.COMPILE_ERROR,
        Outcome.TIME_LIMIT,
        Outcome.OUT_OF_MEMORY,
        Outcome.OUTPUT_LIMIT,
        Outcome.GRADER_PROBLEM,
    }
)
EXPLAINED = frozenset({Outcome.WRONG_ANSWER, Outcome.RUNTIME_ERROR, Outcome.RULE_BROKEN, Outcome.TIME_LIMIT})


class Cancelled(Exception):
    """The submission was cancelled; there is no verdict."""


def grade(
    drill: Drill,
    source: str,
    lane: Lane,
    *,
    pool: Pool,
    seed: bytes,
    cancelled: Callable[[], bool] = lambda: False,
    visible_only: bool = False,
) -> Generator[Event, None, None]:
    """Grade `source`. Always ends with `Decided`, unless `cancelled()` turns true: then it raises `Cancelled`.

    `seed` must be secret and new for each submission. Closing the generator ends the sandbox. With `visible_only`
    only the visible cases run, and nothing that follows them: the verdict says so, and is worth no more than that.
    """
    yield from Grading(drill, source, lane, pool, seed, cancelled, visible_only).events()


class Grading:
    """One submission being graded. `judged` keeps what only our side may know; the gate reads it."""

    def __init__(
        self,
        drill: Drill,
        source: str,
        lane: Lane,
        pool: Pool,
        seed: bytes,
        cancelled: Callable[[], bool] = lambda: False,
        visible_only: bool = False,
    ) -> None:
        self.drill = drill.written_for(source)
        self.source = source
        self.lane = lane
        self.pool = pool
        self.seed = seed
        self.cancelled = cancelled
        self.answers: Answers | None = None  # those of the drill, if somebody has loaded them already
        self.visible_only = visible_only
        self.patience = FRESH_SECONDS
        self.judged: list[Judged] = []
        self.signature: hints.Signature | None = None
        self._started = time.perf_counter()
        self._time = dict.fromkeys(("pool", "load", "alone", "compiler", "diagnose", "speed"), 0.0)
        self._runner: Runner | None = None
        self._console = Console()
        self._expected = 0
        self._gauge: Gauge | None = None
        self._speed: Speed | None = None
        self._skipped: tuple[Skipped, ...] = ()
        self._loading: CaseResult | None = None
        self._loading_problem = ""
        self._probed: Probed | None = None
        self._diagnosis: Diagnosis | None = None
        self._walk: Walk | None = None
        self._compilation: Compilation | None = None
        self._at_compiler = 0
        self._said = Said()

    def events(self) -> Generator[Event, None, None]:
        """The events, in order."""
        done = threading.Event()
        threading.Thread(target=self._watch, args=(done,), name="cancel", daemon=True).start()
        try:
            answers = self.answers or load_answers(self.drill)
            self._gauge = self._prepare(answers)
            runner = self._take()
            if self._loading is None:
                yield from self._judge_all(Bench(self.drill, answers, self.lane, self.seed), runner)
            yield Decided(verdict=self._verdict())
        except Cancelled:
            raise
        except NoGauge as error:
            yield Decided(verdict=self._problem(f"the GPU could not be measured: {error}"))
        except SandboxUnavailable as error:
            yield Decided(verdict=self._problem(f"no sandbox: {error}"))
        except Exception as error:  # ours, whatever it is: the learner's code runs elsewhere
            yield Decided(verdict=self._problem(f"{type(error).__name__}: {error}"))
        finally:
            done.set()
            self._close()
            if self._compilation is not None:
                self._compilation.close()

    def _watch(self, done: threading.Event) -> None:
        """End the sandbox as soon as the submission is cancelled, also in the middle of a call."""
        while not done.wait(WATCH_SECONDS):
            if self.cancelled() and self._runner is not None:
                self._runner.abort()

    def _judge_all(self, bench: Bench, runner: Runner) -> Iterator[Event]:
        """Visible cases, probes if one failed, hidden cases, probes if only those failed."""
        suite = bench.answers.suite
        larger = suite.gpu_cases if self.lane is Lane.GPU else ()
        ordered = sorted((*suite.cases, *larger), key=lambda case: not case.visible)
        if self.visible_only:
            ordered = [case for case in ordered if case.visible]
        here = [case for case in ordered if computes(self.lane, case.dtype)]
        self._skipped = skipped(self.lane, ordered)
        beyond = 0 if self.visible_only else len(suite.around(())) + self._mutes + (self._gauge is not None)
        self._expected = len(here) + beyond
        yield Started(cases=self._expected)
        yield from self._judge_some(bench, [case for case in here if case.visible], runner)
        self._console = runner.console()
        if worth_probing(self.judged):
            yield Diagnosing()
            self._probe(bench, runner)
        if not self.visible_only:
            self._compile()
            yield from self._judge_some(bench, [case for case in here if not case.visible], runner)
            yield from self._judge_some(bench, suite.around(self._blocks()), runner)
            yield from self._judge_on_device(bench, runner)
            self._close()
            yield from self._judge_kernels_alone(bench)
            yield from self._judge_compilation()
        if self._probed is None and worth_probing(self._of_the_suite):
            yield Diagnosing()
            self._probe(bench, self._fresh())
        self._explain()

    def _judge_some(self, bench: Bench, cases: Sequence[Case], runner: Runner) -> Iterator[CaseDone]:
        limits = self.drill.limits
        for case in cases:
            self._stop_if_cancelled()
            if self._over(runner):
                return
            left = limits.total_seconds - sum(one.run for one in self.judged)
            judged = judge_case(bench, case, runner, min(limits.call_seconds, max(left, 0.0)))
            yield self._done(judged)  # unless cancelled: then what came back says nothing

    def _judge_on_device(self, bench: Bench, runner: Runner) -> Iterator[CaseDone]:
        """What only a GPU is asked, once everything else is right: the speed, and where the result comes from."""
        if not all(one.accepted for one in self.judged):
            return
        timed = bench.answers.suite.timed
        if self._gauge is not None and timed is not None:
            with self.pool.quiet():
                timing = judge_speed(bench, timed, runner, self._gauge, self.drill.limits.call_seconds)
            self._time["speed"] = timing.judged.result.seconds
            self._speed = timing.speed
            yield self._done(timing.judged)
        if self._mutes and runner.usable and all(one.accepted for one in self.judged):
            yield self._done(judge_without_kernels(bench, runner))

    def _judge_kernels_alone(self, bench: Bench) -> Iterator[CaseDone]:
        """When all is right by what the learner's process says: the kernels once more, without that process."""
        if not self._complete or not self._replays:
            return
        self._compile()
        if self._compilation is not None:
            self._compilation.end()  # machine code is made beside the second run
        started = time.perf_counter()
        self._runner = self.pool.replayer()
        refuted = judge_kernels_alone(bench, self.source, self.judged, self._runner)
        self._close()
        self._time["alone"] += time.perf_counter() - started
        if refuted is not None:
            self._expected += 1
            yield self._done(refuted)

    def _compile(self) -> None:
        """Ask the compiler about what was launched, once the visible cases passed. It works beside the others."""
        if not all(one.accepted for one in self.judged) or not self._replays:
            return
        if not self.pool.compiles:
            self._said = Said(remarks=[Finding(line=None, text=messages.NO_TRITON)])
            return
        if self._compilation is None:
            self._compilation = Compilation(lambda: self.pool.compiler(compilable.LIMITS), self.source)
        self._compilation.add(self.judged[self._at_compiler :])
        self._at_compiler = len(self.judged)

    def _judge_compilation(self) -> Iterator[CaseDone]:
        """When all is right: what the compiler said, which it is waited for."""
        if self._compilation is None or not self._complete:
            return
        started = time.perf_counter()
        self._said = self._compilation.finish()
        self._time["compiler"] += time.perf_counter() - started
        if self._said.refusal is not None:
            self._expected += 1
            yield self._done(refuted(self._said.refusal, self.judged[0].case))

    @property
    def _complete(self) -> bool:
        return len(self.judged) == self._expected and all(one.accepted for one in self.judged)

    @property
    def _traced(self) -> bool:
        """Does this lane write launches down, and must this drill's results come from kernels?"""
        kernels = self.drill.rules.written_by_kernel and self.drill.framework == "triton"
        return kernels and counts_traffic(self.lane) and self.pool.writes_launches

    @property
    def _replays(self) -> bool:
        """Are launches run again before the submission is accepted?"""
        return self._traced and not self.visible_only

    def _done(self, judged: Judged) -> CaseDone:
        self._stop_if_cancelled()
        self.judged.append(judged)
        return CaseDone(number=len(self.judged), cases=self._expected, result=shown(self.judged)[-1])

    @property
    def _mutes(self) -> bool:
        """Is there a call with kernels switched off?"""
        return can_mute(self.lane) and self.drill.rules.written_by_kernel and self.drill.framework == "triton"

    def _over(self, runner: Runner) -> bool:
        """Nothing more can or need be run."""
        return bool(self.judged) and (not runner.usable or self.judged[-1].result.outcome in FATAL)

    @property
    def _of_the_suite(self) -> list[Judged]:
        """What can be diagnosed: not the timed call, nor the one without kernels, which have no shapes to vary."""
        return [one for one in self.judged if one.case.family not in ("speed", "provenance")]

    def _blocks(self) -> tuple[int, ...]:
        return tuple(sorted({block for one in self.judged for block in one.blocks}))

    def _stop_if_cancelled(self) -> None:
        if self.cancelled():
            raise Cancelled

    # Why it failed.

    def _probe(self, bench: Bench, runner: Runner | None) -> None:
        started = time.perf_counter()
        self._probed = probe(bench, self._of_the_suite, runner) if runner is not None else Probed()
        self._walk = self._walk or self._walked(bench)
        self._time["diagnose"] += time.perf_counter() - started
        self._stop_if_cancelled()

    def _walked(self, bench: Bench) -> Walk | None:
        """The failing probe, tile by tile. What goes wrong here leaves a verdict without it."""
        steps = load_steps(self.drill) if self._traced else None
        if steps is None or self._probed is None or self._probed.shown is None:
            return None
        with contextlib.suppress(Exception), self.pool.replayer() as watched:
            return walk_through(bench, self._probed.shown, self.source, steps, watched)
        return None

    def _explain(self) -> None:
        first = next((one for one in self._of_the_suite if not one.accepted), None)
        if first is not None and first.result.outcome in EXPLAINED:
            self._diagnosis, self.signature = explain_failure(
                self.drill, self.judged, self._probed or Probed(), self.source
            )
            self._diagnosis = msgspec.structs.replace(self._diagnosis, walk=self._walk)

    # The runner.

    def _prepare(self, answers: Answers) -> Gauge | None:
        """What the GPU can do, where this drill is timed; before the runner is taken, since it needs one too."""
        timed = answers.suite.timed
        if timed is None or self.visible_only or not times(self.lane):
            return None
        return prepare(self.pool, [timed])

    def _take(self) -> Runner:
        """A warm runner with the learner's file in it; a file that does not load leaves `_loading` filled."""
        self._stop_if_cancelled()
        started = time.perf_counter()
        if self._traced:
            self.pool.prepare_replays()
        runner = self.pool.take(runner_limits(self.drill))
        taken = time.perf_counter()
        self._time["pool"] += taken - started
        self._runner = runner
        loaded = runner.load(self._order())
        self._time["load"] += time.perf_counter() - taken
        self._stop_if_cancelled()
        if isinstance(loaded, Failure):
            self._fail_to_load(loaded)
        return runner

    def _order(self) -> Load:
        return Load(
            source=self.source,
            entries=[entry.name for entry in self.drill.entries],
            framework=self.drill.framework,
            device="cpu" if self.lane is Lane.CPU else "cuda:0",
        )

    def _fail_to_load(self, failure: Failure) -> None:
        outcome, words = explain(failure, self.drill, self.drill.limits.load_seconds)
        if failure.kind == "time_limit":
            words = messages.too_slow_to_load(self.drill.limits.load_seconds)
        if outcome is Outcome.GRADER_PROBLEM:
            self._loading_problem = f"loading: {failure.kind}: {failure.message}"
        self._loading = CaseResult(
            name=messages.LOADING, visible=True, outcome=outcome, detail=words, line=failure.line
        )
        self._console = self._runner.close() if self._runner else Console()

    def _close(self) -> None:
        if self._runner is not None:
            self._runner.close()
            self._runner = None

    def _fresh(self) -> Runner | None:
        """Another runner with the same file, for probes; ``None`` when there is none to be had soon."""
        try:
            self._runner = self.pool.take(runner_limits(self.drill), self.patience)
        except SandboxUnavailable:
            return None
        loaded = self._runner.load(self._order())
        return None if isinstance(loaded, Failure) else self._runner

    # The verdict.

    def _verdict(self) -> Verdict:
        results = tuple(one.result for one in self.judged)
        remarks = () if counts_traffic(self.lane) else uncounted(self.drill)
        if self._loading is not None:
            results = (self._loading, *results)
        outcome = decide(results, self._expected)
        cases = shown(self.judged, self._loading)
        return Verdict(
            outcome=outcome,
            sentence=messages.sentence(outcome, cases, self._expected, len(self._skipped), self.visible_only),
            drill=self.drill.id,
            lane=self.lane,
            cases=cases,
            expected_cases=self._expected,
            skipped=self._skipped,
            diagnosis=self._diagnosis,
            traffic=visible_traffic(self.judged),
            findings=merged(
                *(one.findings for one in self.judged if one.case.visible),
                findings(self.drill, self.source),
                self._said.remarks,
                remarks,
            ),
            compiled=tuple(self._said.compiled),
            console=self._console,
            timings=self._timings(),
            speed=self._speed if outcome is Outcome.ACCEPTED else None,
            problem=self._trouble if outcome is Outcome.GRADER_PROBLEM else "",
            visible_only=self.visible_only,
        )

    @property
    def _trouble(self) -> str:
        """Why there is a grader problem, for operators."""
        told = next((one.problem for one in self.judged if one.problem), self._loading_problem)
        return told or f"{len(self.judged)} of {self._expected} cases have a result"

    def _problem(self, text: str) -> Verdict:
        return Verdict(
            outcome=Outcome.GRADER_PROBLEM,
            sentence=messages.GRADER_PROBLEM,
            drill=self.drill.id,
            lane=self.lane,
            cases=shown(self.judged, self._loading),
            expected_cases=self._expected,
            timings=self._timings(),
            problem=messages.plain(text),
            visible_only=self.visible_only,
        )

    def _timings(self) -> Timings:
        compiling = sum(one.compile for one in self.judged)
        return Timings(
            **self._time,
            run=sum(one.run for one in self.judged) - compiling,
            compile=compiling,
            judge=sum(one.judge for one in self.judged),
            total=time.perf_counter() - self._started,
        )


def runner_limits(drill: Drill) -> Limits:
    """A drill's limits in the runner's terms."""
    limits = drill.limits
    return Limits(
        memory_bytes=limits.memory_mib << 20,
        load_seconds=limits.load_seconds,
        total_seconds=limits.load_seconds + limits.total_seconds,
        printed_bytes=limits.output_kib << 10,
    )
