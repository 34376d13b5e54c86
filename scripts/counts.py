"""What the grader withstands, counted in one run: `make counts`.

Attacks are files that try to be accepted without a right kernel of their own; their verdict must be the one that
each names. Hostile programs must end in time and leave nothing behind. Mutants must be refused, correct kernels
accepted.
"""

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.check import Checked, check  # noqa: E402

SUITES = {
    "attacks": (("test_verdicts", "test_meets_its_verdict"), ("test_served", "test_meets_its_verdict")),
    "hostile programs": (("test_programs", "test_ends_as_expected_and_leaves_nothing"),),
}
GOOD = {"attacks": "verdict unchanged", "hostile programs": "contained"}


def tried() -> dict[str, Counter[str]]:
    """Of each kind: how many passed, failed, were skipped. Runs the tests."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "junit.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "tests/attacks", f"--junitxml={report}"]
        subprocess.run(command, cwd=ROOT, check=False, stdout=sys.stderr)
        cases = list(ElementTree.parse(report).iter("testcase"))
    found: dict[str, Counter[str]] = {kind: Counter() for kind in SUITES}
    for case in cases:
        where = case.get("classname", "").rsplit(".", 1)[-1], case.get("name", "").split("[")[0]
        for kind, tests in SUITES.items():
            if where in tests:
                found[kind][result(case)] += 1
    return found


def result(case: ElementTree.Element) -> str:
    if case.find("skipped") is not None:
        return "skipped"
    return "failed" if case.find("failure") is not None or case.find("error") is not None else "passed"


def main() -> int:
    """Print the counts; 1 unless nothing was skipped, nothing failed and nothing is alive."""
    counted = tried()
    drills: list[Checked] = []

    def keep(checked: Sequence[Checked]) -> None:
        drills.extend(checked)

    problems = check(ROOT / "drills", say=lambda line: print(line, file=sys.stderr), report=keep)
    good = not problems
    for kind, results in counted.items():
        total = results.total()
        good = good and total > 0 and results["passed"] == total
        print(f"{kind}: {total} tried, {results['passed']} {GOOD[kind]}, {results['skipped']} skipped")
    mutants = sum(len(one.of("mutant")) for one in drills)
    killed = sum(one.killed for one in drills)
    correct = sum(len(one.of("correct")) for one in drills)
    passed = sum(one.passed for one in drills)
    print(f"mutants: {mutants} tried, {killed} killed, {mutants - killed} alive")
    print(f"correct kernels: {correct} tried, {passed} passed")
    return 0 if good and killed == mutants > 0 and passed == correct > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
