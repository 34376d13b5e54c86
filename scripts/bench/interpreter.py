"""The batched interpreter against Triton's own (TRITON_INTERPRET=1): both in this run, one thread, full evidence.

For each case: seconds of Triton's interpreter, milliseconds of ours, the ratio and what it has to be, and whether
every output has the same bits. CPU time of this process, so that a busy machine does not move the ratios.
Exit status 1 when a ratio is missed or an output differs.
"""

import importlib.util
import os
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from grader import interpreter  # noqa: E402

CORPUS = ROOT / "tests" / "grader" / "interpreter" / "corpus.py"
REPEATS = 5


@dataclass(frozen=True)
class Case:
    """`outputs` are places among the arguments; `floor` is the least ratio, `most` the most seconds of ours."""

    name: str
    kernel: str
    grid: tuple[int, ...]
    arguments: list[Any]
    constants: dict[str, Any]
    outputs: tuple[int, ...]
    floor: float | None = None
    most: float | None = None
    bits: bool = True  # False where Triton's interpreter is wrong


def cases() -> Iterator[Case]:
    torch.manual_seed(0)
    normal, zeros = torch.randn, torch.zeros
    n = 100_003
    yield Case("vector add, 100k", "vector_add", (98,), [normal(n), normal(n), zeros(n), n], {"BLOCK": 1024}, (2,))
    x = normal(64, 8000)
    softmax = [x, zeros(64, 8000), 8000, 8000]
    yield Case("row softmax 64×8000, block 128", "row_softmax", (64,), softmax, {"BLOCK": 128}, (1,), 150)
    norm = [normal(256, 1000), zeros(256, 1000), normal(1000), normal(1000), 1000, 1000, 1e-5]
    yield Case("layer norm 256×1000", "layer_norm", (256,), norm, {"BLOCK": 256}, (1,), 150)
    tiles = {"M": 32, "N": 32, "K": 32, "GROUP": 4}
    for size, dtype, floor in (
        (256, torch.float32, 100), (256, torch.float16, None), (256, torch.bfloat16, None),
        (250, torch.float32, None),
    ):  # fmt: skip
        a, b = normal(size, size).to(dtype), normal(size, size).to(dtype)
        given = [a, b, zeros(size, size, dtype=dtype), size, size, size, size, 1, size, 1, size, 1]
        name = f"matmul {size}³ {str(dtype)[6:]}"
        yield Case(name, "matmul", (64,), given, tiles, (2,), floor, bits=dtype is not torch.bfloat16)
    for length, heads, causal, floor, most in (
        (512, 4, False, None, None), (512, 4, True, None, None),
        (2048, 2, False, 90, None), (2048, 2, True, 50, None),
        (8000, 1, False, None, 1.0), (8000, 1, True, None, 1.0),
    ):  # fmt: skip
        q, k, v = (normal(heads, length, 64) for _ in range(3))
        given = [q, k, v, zeros(heads, length, 64), 0.125, length * 64, 64, length]
        grid, shape = ((length + 63) // 64, heads), {"D": 64, "M": 64, "N": 64, "CAUSAL": causal}
        name = f"attention S={length} {'causal' if causal else 'full'}"
        yield Case(name, "attention", grid, given, shape, (3,), floor, most)
    q, k, v = normal(32, 64), normal(8, 4000, 64), normal(8, 4000, 64)
    left = [zeros(8, 8, 4), zeros(8, 8, 4), zeros(8, 8, 4, 64)]
    given = [q, k, v, *left, 0.125, 4000, 4000 * 64, 64, 512]
    yield Case("split-KV decode", "decode_split", (8, 8), given, {"G": 4, "D": 64, "N": 64}, (3, 4, 5), 100)
    values = torch.randint(0, 100, (50_000,), dtype=torch.int32)
    yield Case(
        "histogram", "histogram", (49,), [values, zeros(100, dtype=torch.int32), 50_000], {"BLOCK": 1024}, (1,)
    )
    x = normal(50_000)
    given = [x, zeros(64), zeros(1, dtype=torch.int32), zeros(1), 50_000]
    yield Case("ticket", "ticket_sum", (49,), given, {"PROGRAMS": 64, "BLOCK": 1024}, (1, 3))
    given = [x, zeros(1, dtype=torch.int32), zeros(1), 50_000]
    yield Case("spin lock", "locked_sum", (49,), given, {"BLOCK": 1024}, (2,))
    numbers = torch.arange(1, 301, dtype=torch.int32)
    yield Case("collatz, 300 programs", "collatz", (300,), [numbers, zeros(300, dtype=torch.int32)], {}, (1,))
    a, b = normal(200, 256), normal(256, 200)
    for kernel in ("block_pointer_matmul", "descriptor_matmul"):
        given = [a, b, zeros(200, 200), 200, 200, 256]
        yield Case(kernel.replace("_", " "), kernel, (7, 7), given, {"M": 32, "N": 32, "K": 32}, (2,))
    a, b = normal(8, 16, 4).abs(), normal(8, 16, 4)
    given = [a, b, zeros(8, 16, 4), zeros(8, 16, 4)]
    yield Case("linear recurrence", "linear_recurrence", (8,), given, {"T": 16, "D": 4}, (2, 3))
    given = [normal(16, 64), zeros(16), zeros(16, dtype=torch.int32)]
    yield Case("row extremes", "row_extremes", (16,), given, {"N": 64}, (1, 2))
    given = [normal(10_000), zeros(10_000), 10_000, 0.3, 7]
    yield Case("dropout", "dropout", (10,), given, {"BLOCK": 1024}, (1,))
    yield Case("one program", "nothing", (1,), [zeros(1)], {}, (0,), 3)


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, CORPUS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(kernel: Any, case: Case) -> tuple[float, list[Any]]:
    """CPU seconds of one launch on fresh arguments, and the arguments afterwards."""
    given = [a.clone() if isinstance(a, torch.Tensor) else a for a in case.arguments]
    began = time.process_time()
    kernel[case.grid](*given, **case.constants)
    return time.process_time() - began, given


def main(chosen: list[str]) -> int:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    stock = load("corpus_stock")
    with interpreter.installed():
        ours = load("corpus_ours")
    interpreter.configure(options=interpreter.Options(undefined="zero", dot_minimum=False))
    failures = 0
    print(f"{'case':34}{'triton s':>10}{'ours ms':>10}{'ratio':>8}{'floor':>7}  bits")
    for case in cases():
        if chosen and not any(word in case.name for word in chosen):
            continue
        repeats = 1 if "attention" in case.name or "collatz" in case.name else 2  # the first one warms up
        slow, expected = min((run(getattr(stock, case.kernel), case) for _ in range(repeats)), key=lambda t: t[0])
        fast, actual = min((run(getattr(ours, case.kernel), case) for _ in range(REPEATS)), key=lambda t: t[0])
        same = all(torch.equal(expected[place], actual[place]) for place in case.outputs)
        missed = bool(case.floor and not slow / fast >= case.floor) or bool(case.most and not fast <= case.most)
        failures += missed or (case.bits and not same)
        verdict = "equal" if same else "differ" if case.bits else "triton's interpreter is wrong in bf16"
        floor = f"{case.floor or '':>7}" if not case.most else f"{'<' + str(case.most) + ' s':>7}"
        print(
            f"{case.name:34}{slow:10.3f}{fast * 1e3:10.2f}{slow / fast:8.1f}{floor}  {verdict}{'  MISSED' * missed}"
        )
    return min(1, failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
