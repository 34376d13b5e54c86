"""Submit → verdict in the GPU lane with a warm pool; the judge's clock against CUDA events and Triton's do_bench.

    python scripts/gpu/latency.py [--repeats 8] [DRILL …]

Submissions go straight to the grader, one after the other, each when the pool is warm again. The other clocks run
afterwards in a process of their own, which imports the same files and needs PyTorch and a GPU.
"""

from __future__ import annotations

import argparse
import json
import secrets
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from grader import gpus  # noqa: E402
from grader.drill import Drill, load_drills  # noqa: E402
from grader.gauge import prepare  # noqa: E402
from grader.grade import grade  # noqa: E402
from grader.pool import Pool  # noqa: E402
from grader.suite import load_answers  # noqa: E402
from grader.verdict import Decided, Lane, Verdict  # noqa: E402

WARM = 2


def warm_verdict(drill: Drill, path: Path, pool: Pool) -> tuple[float, Verdict]:
    """Seconds from submission to verdict, and the verdict."""
    while pool.warm < WARM:
        time.sleep(0.02)
    began = time.perf_counter()
    events = grade(drill, path.read_text(), Lane.GPU, pool=pool, seed=secrets.token_bytes(16))
    verdict = next(event.verdict for event in events if isinstance(event, Decided))
    return time.perf_counter() - began, verdict


def report(drill: Drill, pool: Pool, repeats: int) -> dict[str, float]:
    """Print the latencies and speeds of the drill's correct kernels; the judge's microseconds of each."""
    took: list[float] = []
    judged: dict[str, float] = {}
    paths = sorted((drill.folder / "correct").glob("*.py"))
    for number in range(max(repeats, len(paths))):
        path = paths[number % len(paths)]
        seconds, verdict = warm_verdict(drill, path, pool)
        took.append(seconds)
        times, speed = verdict.timings, verdict.speed
        figure = "no speed: " + verdict.sentence
        if speed is not None:
            judged.setdefault(path.name, speed.microseconds)
            figure = (
                f"{speed.microseconds:.1f} µs [{speed.low:.1f}, {speed.high:.1f}], "
                f"{speed.percent:.1f} % of the {speed.bound} floor {speed.floor:.1f} µs"
            )
        spent = f"load {times.load:.2f}, compile {times.compile:.2f}, run {times.run:.2f}, judge {times.judge:.2f}"
        spent += f", speed {times.speed:.2f}"
        print(
            f"  {path.stem:20} {seconds:5.2f} s ({spent}) {verdict.outcome} {figure} {verdict.problem}", flush=True
        )
    ordered = sorted(took)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    p50 = statistics.median(took)
    print(f"{drill.id}: submit to verdict p50 {p50:.2f} s, p95 {p95:.2f} s, {len(took)} submissions")
    return judged


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("drills", nargs="*", default=["tiled_softmax", "fused_attention"])
    parser.add_argument("--repeats", type=int, default=8)
    options = parser.parse_args()
    drills = load_drills(ROOT / "drills")
    judged: dict[str, dict[str, float]] = {}
    with Pool(Lane.GPU, WARM) as pool:
        pool.ready(120)
        timed = [t for name in options.drills if (t := load_answers(drills[name]).suite.timed) is not None]
        gauge = prepare(pool, timed)
        print(f"{gauge.gpu}, driver {gpus.driver_version()}, {time.strftime('%Y-%m-%d')}")
        print(
            f"copy {gauge.bandwidth / 1e9:.0f} GB/s, bf16 product {gauge.arithmetic / 1e12:.0f} TFLOP/s", flush=True
        )
        for name in options.drills:
            judged[name] = report(drills[name], pool, options.repeats)
    for name, figures in judged.items():
        print(f"{name}: the judge's clock against others", flush=True)
        command = [sys.executable, str(Path(__file__).with_name("clocks.py")), name, json.dumps(figures)]
        subprocess.run(command, check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
