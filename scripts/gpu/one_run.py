"""Everything that is asked of a GPU, in one command of bounded length: a short table, and figures as JSON.

    python scripts/gpu/one_run.py [--out FOLDER] [--seconds 150] [--lane gpu] [--each 10]

Steps, each with a limit of its own so that a hang eats no other: the reference kernels beside PyTorch; submit →
verdict of right, wrong and cheating files with warm runners; the judge's clock beside CUDA events and do_bench;
submissions through server, database and worker. All runners are started at once before the first submission, and
none while one is judged. `--lane cpu` rehearses all of it that needs no GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import signal
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import cycle, islice, zip_longest
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT))

from grader import gauge as gauges  # noqa: E402
from grader import gpus  # noqa: E402
from grader.drill import Drill, load_drills  # noqa: E402
from grader.grade import grade  # noqa: E402
from grader.pool import Pool  # noqa: E402
from grader.suite import load_answers  # noqa: E402
from grader.verdict import Decided, Lane, Verdict  # noqa: E402

CHEATS = ("replay_by_pointer", "replay_by_fingerprint", "clocks_patched", "graph_replayed", "library_call")
WRONG = {
    "tiled_softmax": ("no_max_subtraction", "last_tile_dropped", "first_tile_only"),
    "fused_attention": ("no_rescale", "missing_fill", "phantom_zero"),
}
DRILLS = ("tiled_softmax", "fused_attention")


@dataclass(frozen=True)
class File:
    """A file to submit, and what it is."""

    drill: Drill
    kind: str  # right, wrong or cheating
    path: Path


def files(each: int) -> list[File]:
    """One of packed_gqa_decode, then the two timed drills in turn, so that a limit cuts both short alike."""
    drills = load_drills(ROOT / "drills")
    decode = drills["packed_gqa_decode"]
    attacks = ROOT / "tests" / "attacks" / "gpu"
    found = [[File(decode, "right", decode.folder / "correct" / "products_summed.py")]]
    for name in DRILLS:
        folder = drills[name].folder
        right = sorted((folder / "correct").glob("*.py"))
        wrong = [folder / "mutants" / f"{stem}.py" for stem in WRONG[name]]
        mine = [File(drills[name], "wrong", path) for path in wrong]
        found.append([*mine, *(File(drills[name], "right", path) for path in islice(cycle(right), each))])
    found.append([File(drills["tiled_softmax"], "cheating", attacks / f"{stem}.py") for stem in CHEATS])
    return [file for turn in zip_longest(*found) for file in turn if file is not None]


def submissions(lane: Lane, each: int, most: int | None, out: Path) -> None:
    """Every file to a runner of its own that was warm before; rows to `out` as they come."""
    todo = files(each)[:most]
    started = time.perf_counter()
    with ExitStack() as stack:
        pools = [stack.enter_context(Pool(lane, 1)) for _ in todo]
        first = pools[0]
        first.ready(60)
        if lane is Lane.GPU:
            drills = {file.drill.id: file.drill for file in todo}.values()
            timed = [t for drill in drills if (t := load_answers(drill).suite.timed) is not None]
            told = gauges.prepare(first, timed)
            for pool in pools:  # one GPU: what was measured on it holds for all
                gauges._gauges[pool] = told
            print(f"{told.gpu}, driver {gpus.driver_version()}: copy {told.bandwidth / 1e9:.0f} GB/s, bf16 product "
                  f"{told.arithmetic / 1e12:.0f} TFLOP/s")  # fmt: skip
        for pool in pools:
            pool.ready(60)
            stack.enter_context(pool.quiet())
        print(f"{len(pools)} runners warm after {time.perf_counter() - started:.1f} s", flush=True)
        rows: list[dict[str, Any]] = []
        for file, pool in zip(todo, pools, strict=True):
            rows.append(row(file, *judged(file, lane, pool)))
            print("{kind:9}{drill:19}{file:24}{outcome:15}{seconds:6.2f} s  {told}".format(**rows[-1]), flush=True)
            out.write_text(json.dumps(rows, indent=1))


def judged(file: File, lane: Lane, pool: Pool) -> tuple[float, Verdict]:
    """Seconds from submission to verdict, and the verdict."""
    began = time.perf_counter()
    events = grade(file.drill, file.path.read_text(), lane, pool=pool, seed=secrets.token_bytes(16))
    verdict = next(event.verdict for event in events if isinstance(event, Decided))
    return time.perf_counter() - began, verdict


def row(file: File, seconds: float, verdict: Verdict) -> dict[str, Any]:
    times, speed = verdict.timings, verdict.speed
    failed = next((case for case in verdict.cases if case.outcome != "accepted"), None)
    told = f"compile {times.compile:.2f} run {times.run:.2f} judge {times.judge:.2f} speed {times.speed:.2f}"
    if speed is not None:
        told += f"  {speed.microseconds:.1f} µs, {speed.percent:.1f} % of the floor"
    if failed is not None:
        told += f"  {failed.name}: {failed.detail[:70]} {verdict.problem[:120]}"
    return {
        "drill": file.drill.id,
        "kind": file.kind,
        "file": file.path.stem,
        "outcome": verdict.outcome.value,
        "seconds": round(seconds, 3),
        "compile": times.compile,
        "microseconds": None if speed is None else speed.microseconds,
        "told": told,
    }


def summary(out: Path) -> None:
    """What came of the submissions, also of a step that was stopped."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in json.loads(out.read_text()) if out.exists() else []:
        found.setdefault((one["drill"], one["kind"]), []).append(one)
    for (drill, kind), rows in found.items():
        took = [one["seconds"] for one in rows]
        accepted = sum(one["outcome"] == "accepted" for one in rows)
        print(
            f"{drill:19}{kind:9}{len(rows):3} submitted, {accepted:2} accepted, "
            f"p50 {statistics.median(took):.2f} s, "
            f"worst {max(took):.2f} s, of these compiling p50 {statistics.median(r['compile'] for r in rows):.2f} s"
        )


def clocks(name: str, out: Path) -> list[str]:
    """The command that times the right files of a drill by other clocks, beside what the judge found."""
    rows = json.loads(out.read_text()) if out.exists() else []
    found = {f"{r['file']}.py": r["microseconds"] for r in rows
             if r["drill"] == name and r["kind"] == "right" and r["microseconds"]}  # fmt: skip
    return [sys.executable, str(HERE.with_name("clocks.py")), name, json.dumps(found)]


def step(name: str, command: list[str], seconds: float, out: Path, **environment: str) -> None:
    """Run one step; what it prints goes to the table and to a file."""
    print(f"── {name}, at most {seconds:.0f} s", flush=True)
    if seconds < 5:
        print("no time left")
        return
    log = out / f"{name}.txt"
    with log.open("w") as file:
        process = subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, stdout=file,
                                   stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
        try:
            status = f"ended with status {process.wait(seconds)}"
        except subprocess.TimeoutExpired:
            status = "stopped at its limit"
        with contextlib.suppress(ProcessLookupError):  # servers and workers that it started go with it
            os.killpg(process.pid, signal.SIGKILL)
    lines = [*log.read_text().splitlines(), *([] if status.endswith(" 0") else [status])]
    print("\n".join(line[:150] for line in lines[-45:]), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "var/gpu")))
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--most", type=int, help="of the files, for a rehearsal")
    parser.add_argument("--lane", default="gpu", choices=["gpu", "cpu"])
    parser.add_argument("--submissions", action="store_true", help="only these, in this process")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = options.out / "submissions.json"
    if options.submissions:
        submissions(Lane(options.lane), options.each, options.most, rows)
        return 0
    end = time.monotonic() + options.seconds

    def left(most: float) -> float:
        return min(most, end - time.monotonic())

    bench = ROOT / "scripts" / "bench"
    kernels = [sys.executable, str(bench / "kernels.py"), *(["--check"] if options.lane == "cpu" else [])]
    step("kernels", kernels, left(30), options.out)
    again = [sys.executable, str(HERE), "--submissions", "--lane", options.lane, "--each", str(options.each)]
    again += ["--most", str(options.most)] if options.most else []
    step("submissions", [*again, "--out", str(options.out)], left(0.5 * options.seconds), options.out)
    summary(rows)
    if options.lane == "gpu":
        for name in DRILLS:
            step(f"clocks_{name}", clocks(name, rows), left(12), options.out)
    step(
        "worker",
        [sys.executable, str(bench / "verdict.py")],
        left(40),
        options.out,
        LANE=options.lane,
        SUBMISSIONS="2",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
