"""What becomes of the compiler's answers: a refusal by the language is an outcome, everything else a remark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader import compilable, messages, wire
from grader.compilable import Compilation, Said, refuted
from grader.drill import load_drills
from grader.grade import Grading
from grader.judge import Judged
from grader.kit import Ask, Case
from grader.pool import Failure, FailureKind, Pool, SandboxUnavailable
from grader.results import shown
from grader.verdict import CaseResult, Console, Decided, Lane, Outcome, Verdict, decode_verdict, encode

SOURCE = "@triton.jit\ndef kernel(x, n, BLOCK: tl.constexpr):\n    pass\n\n@triton.jit\ndef other(x):\n    pass\n"
FIGURES = {"registers": 40, "spilled_bytes": 0, "shared_bytes": 1024}
DRILLS = Path(__file__).parents[2] / "drills"


class Compiler:
    """Answers with `answer(order, target)`, and keeps what it was asked."""

    def __init__(self, **answers: Any) -> None:
        self.orders: list[wire.Compile] = []
        self.closed = False
        self._answers = answers

    def compile(self, order: wire.Compile, seconds: float) -> wire.Compiled | Failure:
        self.orders.append(order)
        if "failure" in self._answers:
            return Failure(self._answers["failure"], "why")
        built = [wire.Built(target=t, **self._answers.get(f"sm_{t}", FIGURES)) for t in order.targets]
        return wire.Compiled(id=order.id, built=built)

    def abort(self) -> None: ...

    def close(self) -> Console:
        self.closed = True
        return Console()


def pointer(offset: int = 0) -> wire.Pointer:
    return wire.Pointer(memory="arg0", dtype="fp32", shape=(4,), strides=(1,), offset=offset)


def launch(kernel: str = "kernel", warps: int = 4, **arguments: Any) -> wire.Launch:
    given: dict[str, wire.Traced] = {"x": pointer()}
    if kernel == "kernel":
        given |= {"n": 100, "BLOCK": 64} | arguments
    return wire.Launch(kernel=kernel, grid=(1,), constants={}, num_warps=warps, arguments=given)


def judged(
    *launches: wire.Launch, visible: bool = True, constants: dict[str, int | float | bool | str] | None = None
) -> Judged:
    result = CaseResult(name="a case", visible=visible, outcome=Outcome.ACCEPTED, error=0.1)
    said = wire.Returned(
        id=0, value=None, launches=list(launches), launch_count=len(launches), globals=constants or {}
    )
    case = Case("a case", "family", dims={}, visible=visible)
    return Judged(case=case, result=result, calls=((Ask("entry", (), ()), said),))


def said(compiler: Compiler, *cases: Judged) -> Said:
    compilation = Compilation(lambda: compiler, SOURCE)
    compilation.add(cases)
    found = compilation.finish()
    compilation.close()
    assert compiler.closed
    return found


def test_launches_that_are_one_to_the_language_are_asked_once_and_measured_once() -> None:
    compiler = Compiler()
    cases = [judged(launch(n=n)) for n in (100, 112, 333, 333)] + [judged(launch(n=1)), judged(launch("other"))]
    found = said(compiler, *cases)
    assert [order.to_the_end for order in compiler.orders] == [False, False, False, True, True]
    assert [(one.kernel, one.target, one.constants) for one in found.compiled] == [
        ("kernel", "sm_80", "BLOCK = 64"),
        ("kernel", "sm_90", "BLOCK = 64"),
        ("other", "sm_80", ""),
        ("other", "sm_90", ""),
    ]
    assert found.compiled[0].registers == 40
    assert (found.refusal, found.remarks) == (None, [])


def test_a_refusal_is_shown_with_its_line_if_a_visible_case_launched_it() -> None:
    no = {"refused": "v is not defined", "line": 3}
    found = said(Compiler(sm_80=no, sm_90=no), judged(launch()))
    assert found.refusal is not None
    result = refuted(found.refusal, judged().case).result
    assert (result.outcome, result.visible, result.line) == (Outcome.COMPILE_ERROR, True, 3)
    assert "v is not defined" in result.detail


def test_a_refusal_in_a_hidden_case_says_nothing_of_it() -> None:
    no = {"refused": "static assertion failed: 12345", "line": 3}
    found = said(Compiler(sm_80=no, sm_90=no), judged(launch(), visible=False))
    assert found.refusal is not None
    (result,) = shown([refuted(found.refusal, judged().case)])
    assert result == CaseResult(name=messages.hidden_name(1), visible=False, outcome=Outcome.COMPILE_ERROR)


@pytest.mark.parametrize("lacking", ["sm_80", "sm_90"])
def test_what_one_target_lacks_is_a_remark(lacking: str) -> None:
    found = said(Compiler(**{lacking: {"refused": "type fp8e4nv not supported"}}), judged(launch()))
    assert found.refusal is None
    assert [one.target for one in found.compiled] == sorted({"sm_80", "sm_90"} - {lacking})
    assert ["fp8e4nv" in remark.text for remark in found.remarks] == [True]


def test_trouble_of_the_assembler_is_a_remark() -> None:
    found = said(Compiler(sm_90={"trouble": "PTXASError: no such register"}), judged(launch()))
    assert found.refusal is None
    assert any("PTXASError" in remark.text for remark in found.remarks)


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [(FailureKind.TIME_LIMIT, Outcome.TIME_LIMIT), (FailureKind.OUT_OF_MEMORY, Outcome.OUT_OF_MEMORY)],
)
def test_a_kernel_that_takes_the_compiler_without_end_is_not_accepted(kind: FailureKind, outcome: Outcome) -> None:
    found = said(Compiler(failure=kind), judged(launch()))
    assert found.refusal is not None and found.refusal.outcome is outcome
    assert "so on no GPU would it come to run" in found.refusal.words


@pytest.mark.parametrize("kind", [FailureKind.DIED, FailureKind.MALFORMED, FailureKind.REFUSED])
def test_a_compiler_that_does_not_answer_is_a_remark(kind: FailureKind) -> None:
    found = said(Compiler(failure=kind), judged(launch()))
    assert (found.refusal, found.compiled) == (None, [])
    assert any("not" in remark.text for remark in found.remarks)


def test_no_compiler_is_a_remark() -> None:
    def take() -> Compiler:
        raise SandboxUnavailable("there is none", "Install it.")

    compilation = Compilation(take, SOURCE)
    compilation.add([judged(launch())])
    found = compilation.finish()
    assert [remark.text for remark in found.remarks] == [messages.NO_COMPILER]
    assert "there is none" in found.problem


@pytest.mark.parametrize("figure", [-1, 1 << 40])
def test_a_figure_beyond_reason_is_not_shown(figure: int) -> None:
    found = said(Compiler(sm_80=FIGURES | {"registers": figure}), judged(launch()))
    assert [one.registers for one in found.compiled] == [None, 40]


def test_text_of_the_compiler_is_cleaned_and_lines_outside_the_file_are_none() -> None:
    no = {"refused": "a\x1b[31m\u202e" + "b" * 5000, "line": 10**9}
    found = said(Compiler(sm_80=no, sm_90=no), judged(launch()))
    assert found.refusal is not None and found.refusal.line is None
    assert "\x1b" not in found.refusal.words and "\u202e" not in found.refusal.words
    assert len(found.refusal.words) < 1000


@pytest.mark.parametrize(
    "odd",
    [
        launch(x=wire.Unnamed(type_name="spam")),
        launch(x=wire.Several(items=[pointer(), wire.Unnamed(type_name="spam")])),
        launch(BLOCK=wire.Several(items=[pointer()])),
        launch(x=wire.Pointer(memory="m", dtype="no type", shape=(), strides=(), offset=0)),
        wire.Launch(kernel="kernel", grid=(1,), constants={}, num_warps=4),
    ],
)
def test_a_launch_that_cannot_be_told_is_a_remark(odd: wire.Launch) -> None:
    compiler = Compiler()
    found = said(compiler, judged(odd))
    assert compiler.orders == []
    assert len(found.remarks) == 1


def test_odd_figures_do_not_keep_the_language_from_looking() -> None:
    compiler = Compiler()
    odd = [launch(warps=3), msgspec.structs.replace(launch(BLOCK=32), num_stages=10**6)]
    said(compiler, *map(judged, odd))
    assert [
        (o.kernel.constants["BLOCK"], o.kernel.num_warps, o.kernel.num_stages) for o in compiler.orders[:2]
    ] == [
        (64, 4, 3),
        (32, 4, 3),
    ]


def test_a_tuple_is_told_with_its_constants() -> None:
    compiler = Compiler()
    pair = wire.Several(items=[pointer(), 1, wire.Several(items=[2.0, "a"])])
    said(compiler, judged(launch(n=pair, BLOCK=wire.Several(items=[1, 2]))))
    kernel = compiler.orders[0].kernel
    assert kernel.signature["n"] == wire.Kinds(
        items=["*fp32", "constexpr", wire.Kinds(items=["fp32", "constexpr"])]
    )
    assert kernel.constants == {"n": pair, "BLOCK": wire.Several(items=[1, 2])}


def test_constants_of_the_file_that_change_from_call_to_call_are_asked_about_each_time() -> None:
    compiler = Compiler()
    cases = [judged(launch(), constants={"FLAG": flag}) for flag in (0, 0, 1)]
    said(compiler, *cases)
    assert [order.globals for order in compiler.orders if not order.to_the_end] == [{"FLAG": 0}, {"FLAG": 1}]


def test_endless_choices_of_constants_are_cut() -> None:
    compiler = Compiler()
    found = said(compiler, *(judged(launch(BLOCK=n)) for n in range(500)))
    assert len(compiler.orders) == compilable.MOST + 1  # and one for what it costs
    assert any("more than" in remark.text for remark in found.remarks)


def test_many_launches_of_one_kernel_hide_no_other() -> None:
    compiler = Compiler()
    many = [judged(launch(BLOCK=n)) for n in range(500)]
    said(compiler, *many, judged(msgspec.structs.replace(launch(), kernel="other")))
    assert "other" in {order.kernel.name for order in compiler.orders}


def test_verdicts_stored_before_can_still_be_read() -> None:
    now = Verdict(outcome=Outcome.ACCEPTED, sentence="Accepted.", drill="d", lane=Lane.CPU)
    old = msgspec.json.decode(encode(now))
    del old["compiled"]
    assert decode_verdict(msgspec.json.encode(old | {"schema": 1})).compiled == ()


@pytest.mark.sandbox
def test_a_path_that_no_case_takes_does_not_compile_and_is_refused_with_its_line() -> None:
    drill = load_drills(DRILLS)["tiled_softmax"]
    source = (drill.folder / "correct" / "online.py").read_text()
    first = "    row = tl.program_id(0)\n"
    longer = source.replace(
        first, first + "    if cols > 1000000:\n        row = tl.sum(tl.arange(0, cols), axis=0)\n"
    )
    line = longer[: longer.index("tl.arange(0, cols)")].count("\n") + 1
    with Pool(Lane.CPU, 1) as pool:
        decided = list(Grading(drill, longer, Lane.CPU, pool, b"secret").events())[-1]
    assert isinstance(decided, Decided)
    verdict = decided.verdict
    assert verdict.outcome is Outcome.COMPILE_ERROR, verdict
    refused = verdict.cases[-1]
    assert (refused.name, refused.visible, refused.line) == (messages.COMPILED, True, line)
    assert "tl.constexpr" in refused.detail
    assert verdict.sentence.endswith("cases passed, but Triton's compiler refuses a kernel of yours.")


@pytest.mark.sandbox
def test_without_triton_the_verdict_says_that_no_compiler_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pool, "compiles", False)
    drill = load_drills(DRILLS)["tiled_softmax"]
    source = (drill.folder / "correct" / "online.py").read_text()
    with Pool(Lane.CPU, 1) as pool:
        decided = list(Grading(drill, source, Lane.CPU, pool, b"secret").events())[-1]
    assert isinstance(decided, Decided)
    verdict = decided.verdict
    assert (verdict.outcome, verdict.compiled) == (Outcome.ACCEPTED, ())
    assert messages.NO_TRITON in [finding.text for finding in verdict.findings]
    assert verdict.timings.alone > 0 and verdict.timings.compiler == verdict.timings.diagnose == 0
