"""Verdicts of drills whose result no reference can equal, and of one that may call a served function."""

from __future__ import annotations

from grader.verdict import (
    Calls,
    CaseResult,
    Diagnosis,
    Lane,
    Mark,
    Mismatch,
    Outcome,
    Report,
    Timings,
    Verdict,
    Where,
)

TIMINGS = Timings(pool=0.004, load=0.021, run=0.062, judge=0.533, total=0.63)


def hidden(count: int, outcome: Outcome = Outcome.ACCEPTED) -> tuple[CaseResult, ...]:
    return tuple(CaseResult(name=f"hidden {n + 1}", visible=False, outcome=outcome) for n in range(count))


def suite_report(alive: tuple[int, ...], alarms: tuple[int, ...], words: str, cost: int, score: int) -> Report:
    return Report(
        words=words,
        marks=(
            *(
                Mark(
                    group="Faulty kernels",
                    name=f"F{n}",
                    ok=n not in alive,
                    words="passes every case" if n in alive else f"caught by case {n % 3}: 17 × 33, rising, 1e-05",
                )
                for n in range(1, 26)
            ),
            *(
                Mark(
                    group="Correct kernels",
                    name=f"C{n}",
                    ok=n not in alarms,
                    words="refused by case 2: 16 × 129, negative, 1e-09" if n in alarms else "passes every case",
                )
                for n in range(1, 6)
            ),
        ),
        figures=(
            ("faulty kernels caught", f"{25 - len(alive)} of 25"),
            ("correct kernels passed", f"{5 - len(alarms)} of 5"),
            ("cost", f"{cost} of 200 tile steps"),
            ("score", f"{score} of 100"),
        ),
    )


def checked(drill: str, report: Report, outcome: Outcome, hidden_cases: int = 0, question: str = "") -> Verdict:
    first = CaseResult(
        name="on public data",
        visible=True,
        outcome=outcome,
        data="your cases on data that never changes",
        error=0.0 if outcome is Outcome.ACCEPTED else None,
        detail="" if outcome is Outcome.ACCEPTED else report.words,
        report=report,
    )
    return Verdict(
        outcome=outcome,
        sentence=report.words,
        drill=drill,
        lane=Lane.CPU,
        cases=(first, *hidden(hidden_cases, outcome)),
        expected_cases=1 + hidden_cases,
        diagnosis=Diagnosis(question=question) if question else None,
        timings=TIMINGS,
    )


WEAK_SUITE = checked(
    "tile_crossing_suite",
    suite_report(
        (11, 12, 13, 19),
        (2,),
        "Your suite lets 4 of 25 faulty kernels pass, and it refuses 1 of 5 correct ones.",
        43,
        0,
    ),
    Outcome.WRONG_ANSWER,
    4,
    "Your case 16 × 129, negative, 1e-09 refuses a kernel that is right. What does float32 round off at this size?",
)
GOOD_SUITE = checked(
    "tile_crossing_suite",
    suite_report(
        (),
        (),
        "Accepted, 42 of 100: all faulty kernels caught, no correct one refused, 33 tile steps. The least cost "
        "known is 14.",
        33,
        42,
    ),
    Outcome.ACCEPTED,
    4,
)
PARTS = ("mechanism", "quantity", "decision")
KEYS = ("memoryTraffic", "tiling", "numericalStability", "failureMode")


def outline(words: str, *lacking: tuple[str, str, str]) -> Report:
    faults = {(key, name): words for key, name, words in lacking}
    whole = {key for key, name, _ in lacking if name not in PARTS}
    marks = [Mark(group=key, name=name, ok=False, words=words) for key, name, words in lacking if key in whole]
    marks += [
        Mark(group=key, name=part, ok=(key, part) not in faults, words=faults.get((key, part), ""))
        for key in KEYS
        if key not in whole
        for part in PARTS
    ]
    marks.sort(key=lambda mark: KEYS.index(mark.group))
    return Report(words=words, marks=tuple(marks), by_person=not lacking)


QUANTITY = "How much? Give a number or a formula: bytes, lengths, how often, how precise."
WEAK_OUTLINE = checked(
    "design_flash_attention",
    outline(
        "Not yet for a person to score: something is missing in memoryTraffic and failureMode.",
        ("memoryTraffic", "quantity", QUANTITY),
        ("failureMode", "keywords", "It is a list of keywords. Say in sentences what is done with them."),
    ),
    Outcome.WRONG_ANSWER,
    question=QUANTITY,
)
GOOD_OUTLINE = checked(
    "design_flash_attention",
    outline(
        "The automatic part has passed: every value names a mechanism, a quantity and a decision. A person scores "
        "the outline with the rubric."
    ),
    Outcome.ACCEPTED,
)


def diagnosed(name: str, outcome: Outcome, used: int, detail: str = "") -> CaseResult:
    log = tuple(f"q 1×1, k {128 * n + 1}×1, v {128 * n + 1}×1" for n in range(1, min(used, 12) + 1))
    wrong = Mismatch(
        output="name",
        first=Where(index=()),
        expected="'phantom_tail'",
        actual="'missing_rescale'",
        wrong=1,
        total=1,
        nan=0,
        inf=0,
    )
    return CaseResult(
        name=name,
        visible=True,
        outcome=outcome,
        data=name,
        error=0.0 if outcome is Outcome.ACCEPTED else None,
        mismatch=wrong if outcome is Outcome.WRONG_ANSWER else None,
        detail=detail,
        calls=Calls(name="kernel", used=used, allowed=12, log=log),
    )


TOO_MANY = (
    "kernel was called more than 12 times. Every call counts, also one that it refuses; which of yours told you "
    "nothing that you did not know before?"
)
DIAGNOSIS = Verdict(
    outcome=Outcome.WRONG_ANSWER,
    sentence="Wrong answer in the case “a phantom tail, tiles of 32”; 2 of 16 cases passed.",
    drill="name_the_drift",
    lane=Lane.CPU,
    cases=(
        diagnosed("a healthy kernel, tiles of 32, weights in fp16", Outcome.ACCEPTED, 9),
        diagnosed("no rescale of the accumulator, tiles of 16", Outcome.ACCEPTED, 4),
        diagnosed("a phantom tail, tiles of 32", Outcome.WRONG_ANSWER, 5, "The name is not what it should be."),
        diagnosed("state in fp16, tiles of 64", Outcome.RULE_BROKEN, 15, TOO_MANY),
        *hidden(12, Outcome.WRONG_ANSWER),
    ),
    expected_cases=16,
    diagnosis=Diagnosis(
        question="Two of the faults show in this run. What would you change in it so that only one can?"
    ),
    timings=TIMINGS,
)
