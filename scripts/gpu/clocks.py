"""The same calls by CUDA events and by `triton.testing.do_bench`, beside the judge's figures.

    python scripts/gpu/clocks.py DRILL '{"online.py": 137.0, …}'

For latency.py. Runs the drill's correct kernels unconfined: they are ours.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import torch
import triton

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from grader.drill import load_drills  # noqa: E402
from grader.kit import Fresh  # noqa: E402
from grader.suite import load_answers  # noqa: E402
from grader.tensors import TORCH_TYPES  # noqa: E402

CALLS = 40


def events(entry: Any, arguments: list[Any], scratch: Any) -> float:
    """Microseconds of one call: the median over calls with an event on each side, the cache emptied before each."""
    marks = []
    for _ in range(CALLS):
        for argument in arguments:
            if isinstance(argument, torch.Tensor):
                argument.copy_(argument.roll(1))
        scratch.zero_()
        before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        before.record()
        entry(*arguments)
        after.record()
        marks.append((before, after))
    torch.cuda.synchronize()
    return 1e3 * statistics.median(before.elapsed_time(after) for before, after in marks)


def main(name: str, judged: dict[str, float]) -> None:
    drill = load_drills(ROOT / "drills")[name]
    timed = load_answers(drill).suite.timed
    assert timed is not None
    arguments = [
        a.spread * torch.randn(a.shape, device="cuda").to(getattr(torch, TORCH_TYPES[a.dtype]))
        if isinstance(a, Fresh)
        else a
        for a in timed.args
    ]
    scratch = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    print(f"  {'kernel':20}{'judge':>10}{'events':>10}{'do_bench':>10}   judge/events  judge/do_bench   (µs)")
    for file, ours in judged.items():
        spec = importlib.util.spec_from_file_location(file[:-3], drill.folder / "correct" / file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        entry = getattr(module, timed.entry)
        entry(*arguments)
        torch.cuda.synchronize()
        by_events = events(entry, arguments, scratch)
        by_bench = 1e3 * triton.testing.do_bench(lambda: entry(*arguments), return_mode="median")  # noqa: B023
        print(
            f"  {file[:-3]:20}{ours:10.1f}{by_events:10.1f}{by_bench:10.1f}   {ours / by_events:12.3f}  "
            f"{ours / by_bench:14.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
