"""The interpreter's corpus on a GPU: the same kernels compiled, results compared within the rounding model.

Then what a GPU does where the interpreter reports a finding or differs from Triton's own interpreter. Prints one
line a case; exit status 1 when a result lies outside its model. Without a GPU it says so and ends well.
"""

import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from grader import interpreter  # noqa: E402

CORPUS = ROOT / "tests" / "grader" / "interpreter" / "corpus.py"
F32 = 2.0**-23
TF32 = 2.0**-10
BF16 = 2.0**-7

# What a GPU may do differently, by case: error allowed relative to the largest output, and why.
MODEL: dict[str, tuple[float, str]] = {
    "vector add": (0.0, "one addition, rounded the same way"),
    "row softmax": (64 * F32, "exp of the hardware, sums in another order"),
    "layer norm": (64 * F32, "sums in another order"),
    "matmul float32": (4 * TF32, "operands rounded to tf32, sums in another order"),
    "matmul bfloat16": (BF16, "bf16 result, sums in another order"),
    "matmul float16": (2.0**-10, "fp16 result, sums in another order"),
    "attention full": (8 * TF32, "tf32 operands, exp of the hardware"),
    "attention causal": (8 * TF32, "tf32 operands, exp of the hardware"),
    "split-KV decode": (16 * TF32, "tf32 operands, exp of the hardware"),
    "histogram": (0.0, "integers"),
    "ticket": (64 * F32, "sums in another order"),
    "spin lock": (64 * F32, "sums in another order"),
    "collatz": (0.0, "integers"),
    "linear recurrence": (256 * F32, "scanned as a tree"),
    "row extremes": (0.0, "no arithmetic"),
    "dropout": (4 * F32, "the same random bits, one division"),
}

PROBES = """import triton
import triton.language as tl


@triton.jit
def rounds_to_bf16(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i).to(tl.bfloat16).to(tl.float32))


@triton.jit
def saturates_to_e4m3(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i).to(tl.float8e4nv).to(tl.float32))


@triton.jit
def saturates_to_e5m2(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i).to(tl.float8e5).to(tl.float32))


@triton.jit
def maximum_with_nan(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(out + i, tl.maximum(v / v - 1.0 + v * 0.0, 1.0))


@triton.jit
def integer_wraps(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, ((i + 1000) * 3000000).to(tl.float32))


@triton.jit
def divides_towards_zero(x, out, B: tl.constexpr):
    i = tl.arange(0, B) - 8
    tl.store(out + i + 8, (i // 3 * 100 + i % 3).to(tl.float32))


@triton.jit
def bf16_product(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i).to(tl.bfloat16)
    tl.store(out + i, (v * v).to(tl.float32))  # v * v + v would be fused on the GPU: one rounding, not two


@triton.jit
def umulhi_of_negatives(x, out, B: tl.constexpr):
    i = tl.arange(0, B) - 8
    tl.store(out + i + 8, tl.umulhi(i, i * 0 + 12).to(tl.float32))
"""
HAZARDS = """import triton
import triton.language as tl


@triton.jit
def write_write(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i) * 0.0 + tl.program_id(0))


@triton.jit
def lost_update(x, out, B: tl.constexpr):
    tl.store(out, tl.load(out) + 1.0)


@triton.jit
def undefined_lane(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < B // 2)
    tl.store(out + i, v)
"""


def load(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def both(path: Path) -> tuple[ModuleType, ModuleType]:
    """A file with the real triton, and with the stand-in."""
    real = load(path, path.stem + "_gpu")
    with interpreter.installed():
        return real, load(path, path.stem + "_ours")


def on_gpu(kernel: Any, grid: Any, arguments: list[Any], constants: dict[str, Any]) -> list[Any]:
    given = [a.cuda() if isinstance(a, torch.Tensor) else a for a in arguments]
    kernel[grid](*given, **constants)
    torch.cuda.synchronize()
    return [a.cpu() if isinstance(a, torch.Tensor) else a for a in given]


def on_cpu(kernel: Any, grid: Any, arguments: list[Any], constants: dict[str, Any]) -> list[Any]:
    given = [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]
    kernel[grid](*given, **constants)
    return given


def corpus() -> int:
    """Every case of the benchmark whose model is known; the number outside it."""
    bench = load(ROOT / "scripts" / "bench" / "interpreter.py", "bench_of_interpreter")
    os.environ.pop("TRITON_INTERPRET", None)  # which that file is about, and this one is not
    real, ours = both(CORPUS)
    interpreter.configure(options=interpreter.Options(undefined="zero", tf32=True, dot_minimum=False))
    failures = 0
    for case in bench.cases():
        key = next((key for key in MODEL if all(word in case.name for word in key.split())), None)
        if key is None or "8000" in case.name.replace("64×8000", ""):
            continue
        allowed, because = MODEL[key]
        expected = on_cpu(getattr(ours, case.kernel), case.grid, case.arguments, case.constants)
        try:
            actual = on_gpu(getattr(real, case.kernel), case.grid, case.arguments, case.constants)
        except Exception as error:
            print(f"{case.name:34} does not run on the GPU: {str(error).strip().splitlines()[-1][:90]}")
            continue
        worst = 0.0
        for place in case.outputs:
            scale = expected[place].double().abs().max().item() or 1.0
            worst = max(worst, (actual[place].double() - expected[place].double()).abs().max().item() / scale)
        fine = worst <= allowed
        failures += not fine
        print(f"{case.name:34}{worst:10.2e} ≤ {allowed:8.2e} {'yes' if fine else 'NO'}  ({because})")
    return failures


def probes(folder: Path) -> int:
    """Semantics where Triton's interpreter is not what the hardware does: ours has to be."""
    path = folder / "probes.py"
    path.write_text(PROBES)
    real, ours = both(path)
    x = torch.tensor(
        [1.00390625, 1.01171875, 0.1, -3.14159, 300.0, 500.0, 1e6, -1e6, 447.0, 0.0, 57344.0, 6e4, -0.5]
    )
    x = torch.cat([x, torch.tensor([2.0**-9, 2.0**-10, float("nan")])])
    failures = 0
    for name in [line[4 : line.index("(")] for line in PROBES.splitlines() if line.startswith("def ")]:
        arguments = [x, torch.zeros(16)]
        expected = on_cpu(getattr(ours, name), (1,), arguments, {"B": 16})[1]
        actual = on_gpu(getattr(real, name), (1,), arguments, {"B": 16})[1]
        same = torch.equal(expected.nan_to_num(7e9), actual.nan_to_num(7e9))
        failures += not same
        print(f"{name:34}{'same bits' if same else f'DIFFERS: GPU {actual.tolist()} ours {expected.tolist()}'}")
    return failures


def hazards(folder: Path) -> int:
    """What a finding warns of, seen: each line says what the GPU made of it."""
    path = folder / "hazards.py"
    path.write_text(HAZARDS)
    real, ours = both(path)
    seen: dict[str, Callable[[list[Any]], str]] = {
        "write_write": lambda out: f"winners over 64 elements: {sorted(set(out[1].tolist()))[:8]} of 512 programs",
        "lost_update": lambda out: f"512 programs added 1, the result is {out[1][0].item():.0f}",
        "undefined_lane": lambda out: f"lanes that were masked off hold {sorted(set(out[1][32:].tolist()))[:4]}",
    }
    for name, words in seen.items():
        arguments = [torch.arange(1.0, 65.0), torch.zeros(64)]
        record = interpreter.Recorder()
        interpreter.configure(recorder=record)
        on_cpu(getattr(ours, name), (512,), arguments, {"B": 64})
        interpreter.configure()
        found = ", ".join(sorted({finding.kind for finding in record.findings.values()}))
        print(f"{name:34}{words(on_gpu(getattr(real, name), (512,), arguments, {'B': 64}))}; finding: {found}")
    return 0


def main() -> int:
    if not torch.cuda.is_available():
        print("no GPU here: nothing compared")
        return 0
    import triton

    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        return min(1, corpus() + probes(Path(folder)) + hazards(Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
