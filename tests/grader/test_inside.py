"""What happens to a learner's file inside a real runner: how errors read, how values travel, what is poisoned."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from grader import wire
from grader.pool import Failure, FailureKind, Limits, Pool, Runner

pytestmark = pytest.mark.sandbox
LIMITS = Limits(memory_bytes=512 << 20, files_bytes=8 << 20, processes=32, answer_bytes=1 << 20)
X = wire.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))


@pytest.fixture(scope="module")
def numpy_pool() -> Iterator[Pool]:
    with Pool(limits=LIMITS, framework="numpy") as pool:
        yield pool


@pytest.fixture(scope="module")
def torch_pool() -> Iterator[Pool]:
    with Pool(limits=LIMITS, framework="torch") as pool:
        yield pool


def load(runner: Runner, source: str, *entries: str, framework: str = "numpy") -> wire.Loaded | Failure:
    return runner.load(wire.Load(source=textwrap.dedent(source), entries=list(entries), framework=framework))


def call(runner: Runner, entry: str, *args: Any, return_args: list[int] | None = None) -> wire.Returned | Failure:
    return runner.call(wire.Call(id=1, entry=entry, args=list(args), return_args=return_args or []), 10)


def returned(answer: wire.Returned | Failure) -> Any:
    assert isinstance(answer, wire.Returned), answer
    return answer.value


@pytest.mark.parametrize(
    ("source", "kind", "line", "words"),
    [
        ("def f(x):\n    return (x\n", FailureKind.COMPILE_ERROR, 2, "SyntaxError"),
        ("def f(x):\n\treturn 1\n        return 2\n", FailureKind.COMPILE_ERROR, 3, "inconsistent"),
        ("x = 'a\0b'", FailureKind.COMPILE_ERROR, None, "null"),
        ("(" * 1000 + ")" * 1000, FailureKind.COMPILE_ERROR, None, ""),
        ("import torch_that_is_not_there\n", FailureKind.RAISED, 1, "ModuleNotFoundError"),
        ("def g(): 1 / 0\n\ng()\n", FailureKind.RAISED, 1, "ZeroDivisionError"),
        ("import sys\nsys.exit(3)\n", FailureKind.RAISED, 2, "asked Python to stop"),
        ("raise KeyboardInterrupt\n", FailureKind.RAISED, 1, "KeyboardInterrupt"),
        ("def soft_max(x): return x\n", FailureKind.MISSING_ENTRY, None, "`soft_max`"),
        ("f = 3\n", FailureKind.MISSING_ENTRY, None, "does not define `f`"),
        ("", FailureKind.MISSING_ENTRY, None, "no function"),
        ("import os\nos._exit(0)\n", FailureKind.DIED, None, "status 0"),
    ],
)
def test_files_that_do_not_load(
    numpy_pool: Pool, source: str, kind: FailureKind, line: int | None, words: str
) -> None:
    with numpy_pool.take() as runner:
        failure = runner.load(wire.Load(source=source, entries=["f"], framework="numpy"))
        assert isinstance(failure, Failure) and failure.kind is kind, failure
        assert words in failure.message
        if line is not None:
            assert failure.line == line
            assert f'File "submission.py", line {line}' in failure.traceback
        assert "/runner" not in failure.traceback and "inside.py" not in failure.traceback


def test_values_and_errors_in_numpy(numpy_pool: Pool) -> None:
    source = """
        import collections
        import decimal

        import numpy as np
        from drill_kit import cdiv, next_power_of_2

        class Sub(np.ndarray):
            pass

        def same(x): return x
        def pair(x): return x * 2, {"n": x.shape[0], "whole": (x == x).all().item()}
        def exact(x): return [True, 3, 2.5, "text", None, float("inf")]
        def others(x):
            return [1j, b"bytes", np.float32(3), x.view(Sub), collections.OrderedDict(), decimal.Decimal(1),
                    1 << 70, np.zeros(2, complex), {1: 2}, x.astype(">f4"), same]
        def helped(x): return [cdiv(65, 16), next_power_of_2(65)]
        def empty(x): return [np.empty((2,)), np.empty_like(x), np.empty(2, dtype=int)]
        def strided(x): return [x.T, x[:, ::-1], x[:, 1:2], x[:0]]
        def scribble(x, y):
            y[:] = 7
            x += 1
        def fails(x):
            return helper(x)
        def helper(x):
            raise ValueError("no " + "o" * 5000)
        def names(x): return np.array(["healthy", "spill"])[1]
        def text(x): return "\\ud800"
        def large(x): return np.zeros(1 << 20)
        def refuses(x, y):
            class NoRoom(ValueError): pass
            raise NoRoom
        def raises_badly(x):
            class Error(Exception):
                def __str__(self): raise RuntimeError
            raise Error
    """
    names = ["same", "pair", "exact", "others", "helped", "empty", "strided", "scribble", "fails", "text", "large"]
    names += ["raises_badly", "refuses", "names"]
    with numpy_pool.take() as runner:
        assert isinstance(load(runner, source, *names), wire.Loaded)
        assert returned(call(runner, "same", X)) == X
        double, facts = returned(call(runner, "pair", X))
        np.testing.assert_array_equal(wire.to_numpy(double), wire.to_numpy(X) * 2)
        assert facts == {"n": 2, "whole": True}
        value = returned(call(runner, "exact", X))
        assert value == [True, 3, 2.5, "text", None, float("inf")] and value[0] is True
        assert returned(call(runner, "names", X)) == "spill"
        complex_, bytes_, scalar, *rest = returned(call(runner, "others", X))
        assert (scalar.dtype, scalar.shape) == ("fp32", ())
        kinds = [other.type_name for other in (complex_, bytes_, *rest)]
        assert kinds == [
            *("complex", "bytes", "submission.Sub", "collections.OrderedDict", "decimal.Decimal"),
            *(
                "int of more than 64 bits",
                "numpy.ndarray of complex128",
                "dict",
                "numpy.ndarray of >f4",
                "function",
            ),
        ]
        assert returned(call(runner, "helped", X)) == [5, 128]
        a, b, c = (wire.to_numpy(part) for part in returned(call(runner, "empty", X)))
        assert np.isnan(a).all() and np.isnan(b).all() and (c == np.iinfo(np.int64).max).all()
        x = wire.to_numpy(X)
        parts = returned(call(runner, "strided", X))
        for got, expected in zip(parts, (x.T, x[:, ::-1], x[:, 1:2], x[:0]), strict=True):
            np.testing.assert_array_equal(wire.to_numpy(got), expected)
        _scribbled(runner)
        failure = call(runner, "fails", X)
        assert isinstance(failure, Failure) and failure.kind is FailureKind.RAISED
        assert failure.message.startswith("ValueError: no ooo") and len(failure.message) < 2100
        assert failure.traceback.count("submission.py") == 2 and "return helper(x)" in failure.traceback
        for entry, kind in {"text": "refused", "large": "refused", "raises_badly": "raised", "same": None}.items():
            answer = call(runner, entry, X)
            assert (answer.kind if isinstance(answer, Failure) else None) == kind
        refusal, sent = call(runner, "refuses", X, X), call(runner, "same", X)
        assert isinstance(refusal, Failure) and refusal.error[:3] == ("NoRoom", "ValueError", "Exception")
        assert isinstance(sent, wire.Returned) and refusal.args_digest == (sent.args_digest[0],) * 2


def _scribbled(runner: Runner) -> None:
    """Arguments come back with guard bands and all; digests tell what changed."""
    banded = wire.Array(
        dtype="fp32", shape=(2,), strides=(2,), offset=1, storage=np.arange(6, dtype="f4").tobytes()
    )
    before = call(runner, "same", X)
    answer = call(runner, "scribble", X, banded, return_args=[1])
    assert isinstance(before, wire.Returned) and isinstance(answer, wire.Returned)
    assert before.args_digest[0] != answer.args_digest[0]
    storage = np.frombuffer(answer.args[1].storage, dtype=np.float32)
    np.testing.assert_array_equal(storage, [0, 7, 2, 7, 4, 5])
    np.testing.assert_array_equal(wire.to_numpy(answer.args[1]), [7, 7])


def test_values_and_memory_in_torch(torch_pool: Pool) -> None:
    source = """
        import torch

        def kinds(x, y, z, w):
            return [str(t.dtype) for t in (x, y, z, w)] + [list(x.stride()), x.storage_offset()]
        def same(x): return x
        def views(x): return [x.t(), x[:, 1], x.expand(4, 2, 3)[1], x.unsqueeze(0)]
        def empty(x): return [torch.empty(3), torch.empty_like(x), torch.empty(2, dtype=torch.int32)]
        def others(x):
            return [torch.nn.Parameter(x), x.to_sparse(), x.to(torch.complex64), torch.Size([2]), torch.float32]
        def grad(x): return (x.requires_grad_() * 2).sum()
        def threads(x): return torch.get_num_threads()
        def square(x): return (torch.ones(2000, 2000) @ torch.ones(2000, 1)).sum().item()
        def bomb(x): return torch.ones(1 << 38)
    """
    with torch_pool.take() as runner:
        names = ("kinds", "same", "views", "empty", "others", "grad", "threads", "square", "bomb")
        assert isinstance(load(runner, source, *names, framework="torch"), wire.Loaded)
        bf16 = wire.from_numpy(np.array([0x3F80, 0x4000], dtype=np.uint16), "bf16")
        mask = wire.from_numpy(np.array([True, False]))
        strided = wire.Array(dtype="fp16", shape=(2, 2), strides=(1, 3), offset=2, storage=bytes(16))
        kinds = returned(call(runner, "kinds", strided, bf16, mask, wire.from_numpy(np.zeros((), np.int64))))
        assert kinds == ["torch.float16", "torch.bfloat16", "torch.bool", "torch.int64", [1, 3], 2]
        for value in (bf16, mask, X, wire.from_numpy(np.zeros((0, 3), np.float64))):
            back = returned(call(runner, "same", value))
            assert (back.dtype, back.shape, back.storage) == (value.dtype, value.shape, value.storage)
        x = wire.to_numpy(X)
        for got, expected in zip(returned(call(runner, "views", X)), (x.T, x[:, 1], x, x[None]), strict=True):
            np.testing.assert_array_equal(wire.to_numpy(got), expected)
        a, b, c = (wire.to_numpy(part) for part in returned(call(runner, "empty", X)))
        assert np.isnan(a).all() and np.isnan(b).all() and (c == np.iinfo(np.int32).max).all()
        kinds = [other.type_name for other in returned(call(runner, "others", X))[:3]]
        assert kinds == ["torch.nn.parameter.Parameter", "torch.Tensor", "torch.Tensor of torch.complex64"]
        assert wire.to_numpy(returned(call(runner, "grad", X))) == 30.0
        assert returned(call(runner, "threads", X)) == 1
        answer = call(runner, "square", X)
        assert isinstance(answer, wire.Returned)
        assert 15e6 < answer.peak_bytes < 40e6  # 2000 × 2000 fp32 is 16 MB
        again = [call(runner, "square", X) for _ in range(3)]  # freed memory must not hide it
        assert all(isinstance(one, wire.Returned) and one.peak_bytes > 15e6 for one in again)
        failure = call(runner, "bomb", X)
        assert isinstance(failure, Failure) and failure.kind is FailureKind.OUT_OF_MEMORY


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_arguments_lie_where_those_of_the_call_before_lay(framework: str, request: pytest.FixtureRequest) -> None:
    """So that a result that was kept for an address meets other numbers. Two of one call never share a place."""
    pool: Pool = request.getfixturevalue(f"{framework}_pool")
    address = "a.ctypes.data" if framework == "numpy" else "a.data_ptr()"
    source = f"def f(*given): return [{address} for a in given], [a.tolist() for a in given]"
    other = wire.from_numpy(np.full((2, 3), 7, np.float32))
    with pool.take() as runner:
        load(runner, source, "f", framework=framework)
        before, first = returned(call(runner, "f", X, X))
        after, second = returned(call(runner, "f", other, X))
    assert len(set(before)) == 2 and sorted(after) == sorted(before)
    assert first == [[[0, 1, 2], [3, 4, 5]]] * 2 and second == [[[7, 7, 7]] * 2, [[0, 1, 2], [3, 4, 5]]]


def test_refusals(numpy_pool: Pool) -> None:
    with numpy_pool.take() as runner:
        assert isinstance(load(runner, "def f(x): return x", "f"), wire.Loaded)
        answer = call(runner, "g", X)
        assert isinstance(answer, Failure) and answer.kind is FailureKind.REFUSED


def test_prints_are_kept_apart_from_answers(numpy_pool: Pool) -> None:
    with numpy_pool.take() as runner:
        source = "import sys\ndef f(x):\n  print('seen')\n  print('too', file=sys.stderr)"
        assert isinstance(load(runner, source, "f"), wire.Loaded)
        assert returned(call(runner, "f", X)) is None
        console = runner.close()
    assert "seen" in console.text and "too" in console.text and console.dropped == 0
