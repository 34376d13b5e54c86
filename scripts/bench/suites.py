"""Whole suites of the Triton drills in the batched interpreter, beside Triton's own as the named peer.

One correct kernel of each drill plays every case in both, case by case, so that a busy machine slows both alike.
Seconds are those of the calls, with the recorder's checks; neither interpreter pays here for what the publication
path adds (the replay of launches, the real compiler). Triton's has LIMIT_SECONDS (default 120) for each drill: when
they are over, the ratio is "> n", its seconds so far by ours for the whole suite.

Triton's interpreter computes bf16 wrongly; what it is refused for is counted and still timed. A case that the
batched interpreter is refused for ends the benchmark with status 1.
`python scripts/bench/suites.py tiled_softmax` measures these drills only.
"""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from grader.drill import Drill, load_drills  # noqa: E402
from grader.failure import Failure  # noqa: E402
from grader.grade import runner_limits  # noqa: E402
from grader.judge import Bench, Judged, judge_case  # noqa: E402
from grader.kit import Case  # noqa: E402
from grader.pool import Pool  # noqa: E402
from grader.runner import Runner  # noqa: E402
from grader.soundness import SEED  # noqa: E402
from grader.suite import load_answers  # noqa: E402
from grader.verdict import Lane  # noqa: E402
from grader.wire import Load  # noqa: E402

LIMIT_SECONDS = float(os.environ.get("LIMIT_SECONDS", "120"))
OURS_SECONDS = 120.0  # more than any suite needs
KERNELS = {
    "tiled_softmax": "online",
    "drifting_attention": "maximum_first",
    "fused_attention": "second_version",
    "packed_gqa_decode": "packed_rows",
}


@dataclass
class Suite:
    """What one drill has taken so far."""

    cases: int = 0
    played: int = 0  # by Triton's interpreter, to the end
    refused: int = 0  # of these
    ours: float = 0.0
    ours_of_played: float = 0.0
    stock: float = 0.0
    ended: str = "time_limit"  # how Triton's ended, if early

    def ours_did(self, judged: Judged) -> None:
        self.cases += 1
        self.ours += judged.run

    def stock_did(self, judged: Judged, ours: Judged) -> None:
        self.stock += judged.run
        if judged.runner_lost:
            self.ended = judged.result.outcome.value
            return
        self.played += 1
        self.refused += not judged.accepted
        self.ours_of_played += ours.run

    def row(self, drill: str) -> str:
        whole = self.played == self.cases
        ratio = f"{'' if whole else '> '}{self.stock / self.ours:.0f}"
        same = f"{self.stock / self.ours_of_played:.0f} on {self.played}" if self.played and not whole else ""
        took = f"{self.stock:.1f}{'' if whole else f', then {self.ended}'}"
        return f"| {drill} | {self.cases} | {self.ours:.2f} | {took} | {ratio} | {same} | {self.refused} |"


def measure(drill: Drill, ours: Runner, stock: Runner) -> Suite:
    """Every case in both, until Triton's interpreter has had its time; then in ours alone."""
    suite = Suite()
    bench = Bench(drill, load_answers(drill), Lane.CPU, SEED)
    blocks: set[int] = set()

    def play(case: Case) -> None:
        mine = judge_case(bench, case, ours, OURS_SECONDS)
        if not mine.accepted:
            raise SystemExit(f"{drill.id}: {case.name} is refused: {mine.result.detail or mine.problem}")
        blocks.update(mine.blocks)
        suite.ours_did(mine)
        left = LIMIT_SECONDS - suite.stock
        if left > 0 and stock.usable:
            suite.stock_did(judge_case(bench, case, stock, left), mine)

    for case in bench.answers.suite.cases:
        play(case)
    for case in bench.answers.suite.around(tuple(sorted(blocks))):
        play(case)
    return suite


def loaded(pool: Pool, drill: Drill, source: str, seconds: float) -> Runner:
    """A runner with the file in it, and that long to live."""
    runner = pool.take(replace(runner_limits(drill), total_seconds=drill.limits.load_seconds + seconds))
    order = Load(source=source, entries=[entry.name for entry in drill.entries], framework=drill.framework)
    answer = runner.load(order)
    if isinstance(answer, Failure):
        raise SystemExit(f"{drill.id} does not load: {answer.message}")
    return runner


def main(names: list[str]) -> int:
    """Print the table, in Markdown."""
    drills = load_drills(ROOT / "drills")
    kernels = {name: kernel for name, kernel in KERNELS.items() if not names or name in names}
    print("| drill | cases | ours s | Triton's s | ratio | of the cases it finished | it is refused |")
    print("|---|---|---|---|---|---|---|")
    with Pool(Lane.CPU, 1) as batched, Pool(Lane.CPU, 1, stock=True) as triton:
        for name, kernel in kernels.items():
            source = (drills[name].folder / "correct" / f"{kernel}.py").read_text(encoding="utf-8")
            drill = drills[name].written_for(source)
            with (
                loaded(batched, drill, source, OURS_SECONDS) as ours,
                loaded(triton, drill, source, LIMIT_SECONDS) as stock,
                batched.quiet(),
                triton.quiet(),
            ):
                print(measure(drill, ours, stock).row(name), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
