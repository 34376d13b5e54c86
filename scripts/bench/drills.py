"""Seconds that a drill's suite takes on the CPU, for each correct kernel, beside the limit of the publication gate.

The learner's code and the judge, from the verdict of `grade`; starting a runner is left out, since a pool has done
that before. One submission at a time. On a busy machine the judge's seconds of CPU say more than its clock.
`python scripts/bench/drills.py tiled_softmax` measures these drills only.
"""

import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from grader.check import SUITE_SECONDS, Pools  # noqa: E402
from grader.drill import Drill, load_drills  # noqa: E402
from grader.grade import grade  # noqa: E402
from grader.soundness import SEED  # noqa: E402
from grader.suite import load_answers  # noqa: E402
from grader.verdict import Decided, Lane, Outcome, Verdict  # noqa: E402


def verdicts(drill: Drill, pools: Pools) -> Iterator[tuple[str, Verdict, float]]:
    """Each correct file of a drill, what became of it, and the seconds of CPU that judging took."""
    for path in sorted((drill.folder / "correct").glob("*.py")):
        source = path.read_text(encoding="utf-8")
        pool = pools.of(drill.written_for(source))
        before = time.process_time()
        *_, last = grade(drill, source, Lane.CPU, pool=pool, seed=SEED)
        assert isinstance(last, Decided)
        yield path.stem, last.verdict, time.process_time() - before


def main(names: list[str]) -> int:
    """Print the table, in Markdown. 1 when a drill is above the limit or a correct kernel is refused."""
    chosen = [drill for drill in load_drills(ROOT / "drills").values() if not names or drill.id in names]
    print("| drill | cases | files | median s | slowest s | its code | judge | CPU of the judge |")
    print("|---|---|---|---|---|---|---|---|")
    worst = 0.0
    with Pools() as pools:
        for drill in chosen:
            graded = list(verdicts(drill, pools))
            found = {name: verdict for name, verdict, _ in graded}
            refused = [name for name, verdict in found.items() if verdict.outcome is not Outcome.ACCEPTED]
            if refused:
                print(f"{drill.id}: {', '.join(refused)} refused", file=sys.stderr)
                return 1
            seconds = {name: verdict.timings.run + verdict.timings.judge for name, verdict in found.items()}
            slow = max(seconds, key=lambda name: seconds[name])
            timings, suite = found[slow].timings, load_answers(drill).suite
            cases = len(suite.cases) + len(suite.around(()))
            median = statistics.median(seconds.values())
            worst = max(worst, median)
            print(
                f"| {drill.id} | {cases} | {len(found)} | {median:.2f} | {seconds[slow]:.2f} ({slow}) "
                f"| {timings.run:.2f} | {timings.judge:.2f} | {max(cpu for _, _, cpu in graded):.2f} |",
                flush=True,
            )
    print(f"\nslowest median {worst:.2f} s, {worst / SUITE_SECONDS:.2f} of the limit of {SUITE_SECONDS:g} s")
    return 1 if worst > SUITE_SECONDS else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
