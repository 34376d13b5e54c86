"""Right, wrong and cheating submissions in the GPU lane: what the grader says, against what it must say.

    python scripts/gpu/verdicts.py [--pools 6] [--out FILE.json] [attacks | tiled_softmax | fused_attention …]

Attacks are the files of tests/attacks/gpu (`expect:` in their docstrings); a drill's specimens are its starter, its
correct kernels (accepted, with a speed) and its mutants (refused). Several runners share the GPU here, so the times
in this table are not the figures: those come from latency.py. Exit status 1 when a verdict is not as expected.
"""

from __future__ import annotations

import argparse
import json
import re
import secrets
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from grader.drill import Drill, load_drills  # noqa: E402
from grader.gauge import prepare  # noqa: E402
from grader.grade import grade  # noqa: E402
from grader.pool import Pool  # noqa: E402
from grader.suite import load_answers  # noqa: E402
from grader.verdict import Decided, Lane, Verdict  # noqa: E402

ATTACKS = ROOT / "tests" / "attacks" / "gpu"
UNCOUNTED = ("stored_twice", "three_loads", "scores_in_memory")  # break a count that only the CPU lane takes
REFUSED = ("wrong_answer", "runtime_error", "rule_broken", "compile_error", "time_limit")


@dataclass(frozen=True)
class Specimen:
    """One file, and the outcomes that it may have. A correct kernel must get a speed too."""

    drill: Drill
    path: Path
    expect: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"


def specimens(drills: dict[str, Drill], chosen: list[str]) -> list[Specimen]:
    found: list[Specimen] = []
    for name in chosen:
        if name == "attacks":
            found += [
                Specimen(drills["tiled_softmax"], path, expected(path)) for path in sorted(ATTACKS.glob("*.py"))
            ]
            continue
        drill = drills[name]
        found += [Specimen(drill, path, ("accepted",)) for path in sorted((drill.folder / "correct").glob("*.py"))]
        for path in sorted((drill.folder / "mutants").glob("*.py")):
            found.append(Specimen(drill, path, (*REFUSED, *(("accepted",) if path.stem in UNCOUNTED else ()))))
        found.append(Specimen(drill, drill.folder / "starter.py", REFUSED))
    return found


def expected(path: Path) -> tuple[str, ...]:
    """The outcomes in an attack's docstring."""
    found = re.search(r"^expect: (.+)$", path.read_text(), re.MULTILINE)
    assert found is not None, path
    return tuple(found.group(1).split(" | "))


def verdict_of(specimen: Specimen, pool: Pool) -> Verdict:
    events = grade(specimen.drill, specimen.path.read_text(), Lane.GPU, pool=pool, seed=secrets.token_bytes(16))
    return next(event.verdict for event in events if isinstance(event, Decided))


def line(specimen: Specimen, verdict: Verdict) -> tuple[bool, str]:
    """Whether the verdict is as expected, and what the table says."""
    good = verdict.outcome in specimen.expect and (verdict.outcome != "accepted" or verdict.speed is not None)
    first = next((case for case in verdict.cases if case.outcome != "accepted"), None)
    speed = "" if verdict.speed is None else f"{verdict.speed.microseconds:8.1f} µs {verdict.speed.percent:5.1f} %"
    where = "" if first is None else f"{first.name}: {first.detail[:110]} {verdict.problem[:160]}"
    times = verdict.timings
    spent = f"total {times.total:5.2f} compile {times.compile:5.2f} run {times.run:5.2f} judge {times.judge:5.2f}"
    spent += f" speed {times.speed:5.2f}"
    mark = "ok" if good else "!!"
    return good, f"{mark} {specimen.label:34} {verdict.outcome:14} {spent} {speed} {where}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", default=["attacks", "tiled_softmax", "fused_attention"])
    parser.add_argument("--pools", type=int, default=6)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    drills = load_drills(ROOT / "drills")
    todo = specimens(drills, options.what)
    pools: Queue[Pool] = Queue()
    made = [Pool(Lane.GPU, 1) for _ in range(options.pools)]
    timed = [
        t for d in {s.drill.id: s.drill for s in todo}.values() if (t := load_answers(d).suite.timed) is not None
    ]
    for pool in made:  # one after the other, so that each is measured alone
        pool.ready(120)
        gauge = prepare(pool, timed)
        print(f"{gauge.gpu}: {gauge.bandwidth / 1e9:.0f} GB/s, {gauge.arithmetic / 1e12:.0f} TFLOP/s", flush=True)
        pools.put(pool)
    lock, failures, results = threading.Lock(), [0], []

    def work(specimen: Specimen) -> None:
        pool = pools.get()
        try:
            verdict = verdict_of(specimen, pool)
        finally:
            pools.put(pool)
        good, text = line(specimen, verdict)
        with lock:
            failures[0] += not good
            results.append({"specimen": specimen.label, "drill": specimen.drill.id, "good": good, "text": text})
            print(text, flush=True)

    began = time.monotonic()
    with ThreadPoolExecutor(options.pools) as threads:
        list(threads.map(work, todo))
    print(f"{len(todo) - failures[0]} of {len(todo)} as expected, {time.monotonic() - began:.0f} s")
    if options.out:
        options.out.write_text(json.dumps(results, indent=1))
    for pool in made:
        pool.close()
    return 1 if failures[0] else 0


if __name__ == "__main__":
    sys.exit(main())
