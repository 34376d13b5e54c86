"""The real compiler, without a GPU: it refuses and takes what we do, and says what a program costs."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import torch

from grader import wire
from grader.compilable import LIMITS
from grader.pool import Failure, Pool, Runner
from grader.specialise import constants_of, specialised
from tests.grader.interpreter.fuzzing import version
from tests.grader.interpreter.refusals import ACCEPTED, ONLY_COMPILER, REFUSED, TAKEN_SINCE
from tests.grader.interpreter.running import corpus, module, recorded

pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
HEAD = "import triton\nimport triton.language as tl\n"
TYPES: dict[str, str | wire.Kinds] = {"x": "*fp32", "n": "i32"}


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(framework="compiler") as pool:
        yield pool


@pytest.fixture
def compiler(pool: Pool) -> Iterator[Runner]:
    with pool.take(LIMITS) as runner:
        yield runner


def order(source: str, kernel: wire.Kernel, *targets: int, to_the_end: bool = False) -> wire.Compile:
    return wire.Compile(id=1, source=source, kernel=kernel, targets=[*(targets or (90,))], to_the_end=to_the_end)


def ask(
    compiler: Runner, source: str, kernel: wire.Kernel, *targets: int, to_the_end: bool = False
) -> list[wire.Built]:
    answer = compiler.compile(order(source, kernel, *targets, to_the_end=to_the_end), 60.0)
    assert not isinstance(answer, Failure), answer
    return answer.built


def kernel(body: str, head: str = HEAD) -> str:
    return f"{head}@triton.jit\ndef kernel(x, n, B: tl.constexpr = 8):\n{body}\n"


def named(name: str = "kernel") -> wire.Kernel:
    return wire.Kernel(name=name, signature=TYPES, constants={"B": 8})


def test_the_compiler_agrees_with_every_refusal_and_every_near_miss(compiler: Runner) -> None:
    taken = [version() >= TAKEN_SINCE.get(words, (99, 0)) for _, words, _ in REFUSED] + [True] * len(ACCEPTED)
    bodies = [body for body, _, _ in REFUSED] + list(ACCEPTED)
    source, lines = HEAD, []
    for number, body in enumerate(bodies):
        lines.append(source.count("\n"))
        source += f"@triton.jit\ndef kernel_{number}(x, n, B: tl.constexpr = 8):\n{body}\n"
    answers = [ask(compiler, source, named(f"kernel_{number}"))[0] for number in range(len(bodies))]
    assert [one.trouble for one in answers if one.trouble] == []
    odd = [
        (body, one.refused)
        for body, one, yes in zip(bodies, answers, taken, strict=True)
        if yes == bool(one.refused)
    ]
    assert odd == []
    ours = [start + line for start, (_, _, line) in zip(lines, REFUSED, strict=False)]
    theirs = [one.line for one in answers[: len(REFUSED)]]
    assert [place for place, line in enumerate(theirs) if line not in (ours[place], None)] == []
    without = sum(one.refused != "" and one.line is None for one in answers)
    assert without <= 1  # `a = b = 1` is refused without a line


def test_the_table_of_versions_names_refusals() -> None:
    assert set(TAKEN_SINCE) <= {words for _, words, _ in REFUSED}


@pytest.mark.parametrize(("body", "words", "line"), ONLY_COMPILER)
def test_what_only_the_compiler_refuses(compiler: Runner, body: str, words: str, line: int) -> None:
    module(kernel(body)).kernel[(1,)](torch.zeros(4096), 3, B=8)
    (built,) = ask(compiler, kernel(body), named())
    assert built.trouble == ""
    assert words in built.refused
    assert built.line == line + 2


def test_a_program_that_does_not_hold_together_is_refused_with_its_line(compiler: Runner) -> None:
    (built,) = ask(compiler, kernel("    i = tl.arange(0, B)\n    v = tl.load(x + i, mask=i, other=0.0)"), named())
    assert "must be 1-bit" in built.refused
    assert built.line == 6


def test_what_a_kernel_prints_while_it_is_compiled_is_no_figure(compiler: Runner) -> None:
    body = "    tl.static_print('Used 1 registers, 0 bytes spill stores')\n    tl.store(x, tl.load(x) * n)"
    (built,) = ask(compiler, kernel(body), named(), to_the_end=True)
    assert built.registers is not None and built.registers > 1
    assert compiler.close().text == ""


def test_what_a_launch_was_compiles_and_shows_its_cost(compiler: Runner) -> None:
    q = torch.randn(1, 64, 64)
    seen = recorded(
        corpus().attention, (1, 1), q, q, q, torch.zeros_like(q), 0.125, 4096, 64, 64, D=64, M=64, N=64, CAUSAL=True
    ).launches[0]
    place = wire.Pointer(memory="arg0", dtype="fp32", shape=(64,), strides=(1,), offset=0)
    arguments = {name: place if torch.is_tensor(value) else value for name, value in seen.arguments.items()}
    source = (Path(__file__).parent / "corpus.py").read_text()
    launch = wire.Launch(kernel="attention", grid=(1, 1), constants={}, num_warps=4, arguments=arguments)
    fixed = specialised(launch, constants_of(source)["attention"])
    assert fixed is not None
    assert fixed.signature == seen.signature
    assert set(fixed.divisible) == set(seen.signature) - {"scale"}
    for figures in ask(compiler, source, fixed, 80, 90, to_the_end=True):
        assert (figures.refused, figures.trouble) == ("", "")
        assert figures.registers is not None and 16 <= figures.registers <= 255
        assert figures.spilled_bytes is not None
        assert figures.shared_bytes is not None and figures.shared_bytes >= 64 * 64 * 4


def test_a_tuple_of_arguments_compiles_with_its_types(compiler: Runner) -> None:
    source = kernel(
        "    y, deep = n[0], n[2]\n    tl.static_assert(n[1] == 1)\n"
        "    tl.store(y + tl.arange(0, B), tl.load(x) * deep[0])"
    )
    place = wire.Pointer(memory="tmp0", dtype="fp16", shape=(64,), strides=(1,), offset=0)
    pair = wire.Several(items=[place, 1, wire.Several(items=[2.5])])
    x = msgspec.structs.replace(place, dtype="fp32")
    launch = wire.Launch(
        kernel="kernel", grid=(1,), constants={}, num_warps=4, arguments={"x": x, "n": pair, "B": 8}
    )
    fixed = specialised(launch, constants_of(source)["kernel"])
    assert fixed is not None
    (built,) = ask(compiler, source, fixed, to_the_end=True)
    assert (built.refused, built.trouble) == ("", "")
    (built,) = ask(compiler, source.replace("deep[0]", "deep[1]"), fixed)
    assert built.refused and built.line == 7


def test_host_code_does_not_run_and_what_it_would_have_made_is_missing(compiler: Runner) -> None:
    source = kernel("    tl.store(x, MADE)", HEAD + "MADE = tl.constexpr(open('/etc/passwd').fileno())\n")
    (built,) = ask(compiler, source, named())
    assert "MADE is not defined" in built.refused
    known = order(source, named())
    answer = compiler.compile(msgspec.structs.replace(known, globals={"MADE": 2.0}), 60.0)
    assert isinstance(answer, wire.Compiled) and not answer.built[0].refused


def test_an_error_in_a_device_function_points_at_its_line(compiler: Runner) -> None:
    head = HEAD + "@triton.jit\ndef half(v):\n    return v[0]\n\n"
    (built,) = ask(compiler, kernel("    tl.store(x, half(tl.load(x + tl.arange(0, B))))", head), named())
    assert built.refused
    assert built.line == 5


def test_an_error_in_the_library_points_at_the_call(compiler: Runner) -> None:
    (built,) = ask(
        compiler, kernel("    v = tl.load(x + tl.arange(0, B))\n    tl.store(x, tl.sum(v, axis=3))"), named()
    )
    assert built.refused
    assert built.line == 6


@pytest.mark.parametrize(
    "body",
    [
        "    tl.store(x, tl.core.inspect.os.getpid())",
        "    tl.store(x, triton.runtime.jit.os.getpid())",
        "    tl.store(x, getattr(tl.core, 'ins' + 'pect').os.getpid())",
        "    tl.store(x, getattr(tl.load, '__globals__')['inspect'].os.getpid())",
        "    tl.store(x, tl.load.__globals__['inspect'].os.getpid())",
        "    tl.store(x, ().__class__.__base__.__subclasses__().__len__())",
        "    tl.store(x, getattr((), '__class__').__base__)",
        "    tl.store(x, kernel.fn.__globals__['__builtins__'])",
        "    tl.store(x, tl.extra.libdevice.core.inspect.os.getpid())",
        "    tl.store(x, tl.extra.cuda.libdevice.core.inspect.os.getpid())",
        "    tl.store(x, eval('1'))",
        "    tl.store(x, open('/etc/passwd').fileno())",
        "    import os\n    tl.store(x, os.getpid())",
    ],
)
def test_a_kernel_does_not_reach_python(compiler: Runner, body: str) -> None:
    assert ask(compiler, kernel(body), named())[0].refused


def test_a_kernel_that_the_file_does_not_define_is_trouble(compiler: Runner) -> None:
    (built,) = ask(compiler, "import no_such_module", named())
    assert built.refused == ""
    assert "does not define" in built.trouble


def test_what_one_target_lacks_is_refused_for_that_target_alone(compiler: Runner) -> None:
    source = kernel("    tl.store(x, tl.load(x).to(tl.float8e4nv).to(tl.float32))")
    old, new = ask(compiler, source, named(), 80, 90)
    assert "fp8e4nv" in old.refused
    assert not new.refused


def test_a_process_for_compiling_runs_no_file(compiler: Runner) -> None:
    answer = compiler.load(wire.Load(source="print(1)", entries=[]))
    assert isinstance(answer, Failure)
