"""The sentences a learner reads: plain, without hidden numbers, and safe to show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import messages
from grader.verdict import CaseResult, Outcome


def result(outcome: Outcome, name: str = "one past a tile", visible: bool = True) -> CaseResult:
    return CaseResult(
        name=name, visible=visible, outcome=outcome, error=0.0 if outcome is Outcome.ACCEPTED else None
    )


PASSED = result(Outcome.ACCEPTED, "one tile")
FAILING = [o for o in Outcome if o not in (Outcome.ACCEPTED, Outcome.GRADER_PROBLEM)]


@pytest.mark.parametrize("outcome", FAILING)
def test_every_outcome_has_its_sentence(outcome: Outcome) -> None:
    visible = messages.sentence(outcome, [PASSED, result(outcome)], 9, 0)
    assert "“one past a tile”" in visible and "1 of 9 cases passed" in visible
    hidden = messages.sentence(outcome, [PASSED, result(outcome, "hidden 1", False)], 9, 0)
    assert "a hidden case" in hidden and "all visible ones among them" in hidden
    assert visible.split(" in ")[0] == hidden.split(" in ")[0]


@pytest.mark.parametrize("name", [messages.COMPILED, messages.AGAIN])
@pytest.mark.parametrize("outcome", [Outcome.COMPILE_ERROR, Outcome.TIME_LIMIT, Outcome.RULE_BROKEN])
def test_what_is_asked_afterwards_is_no_case(name: str, outcome: Outcome) -> None:
    text = messages.sentence(outcome, [PASSED, PASSED, result(outcome, name)], 3, 0)
    assert text.startswith("Not accepted: 2 cases passed, but ") and "of 3" not in text


def test_sentences_are_distinct() -> None:
    sentences = {messages.sentence(o, [result(o)], 2, 0) for o in FAILING}
    assert len(sentences) == len(FAILING)


@pytest.mark.parametrize("outcome", FAILING)
def test_a_file_that_does_not_load(outcome: Outcome) -> None:
    text = messages.sentence(outcome, [result(outcome, messages.LOADING)], 0, 0)
    assert text.endswith("so no case ran.")


def test_accepted_counts_what_passed_and_what_was_not_judged() -> None:
    results = [PASSED, result(Outcome.ACCEPTED, "hidden 1", False)]
    assert messages.sentence(Outcome.ACCEPTED, results, 2, 0) == (
        "Accepted: all 2 cases passed, 1 visible and 1 hidden."
    )
    assert "3 more cases can only run in another lane and were not judged" in messages.accepted(results, 3)
    assert "1 more case can only run in another lane and was not judged" in messages.accepted(results, 1)


def test_a_problem_of_ours_costs_nothing_and_says_so() -> None:
    text = messages.sentence(Outcome.GRADER_PROBLEM, [PASSED], 9, 0)
    assert "our side" in text and "No attempt is spent" in text


@pytest.mark.parametrize(
    "text", ["\x1b[31mred", "a\u202eb", "nul\x00", "half \ud800", "zero\u200bwidth", "\x07", "\u2066iso"]
)
def test_what_hides_or_reorders_text_is_replaced(text: str) -> None:
    shown = messages.plain(text)
    assert "\N{REPLACEMENT CHARACTER}" in shown
    shown.encode()


def test_lines_tabs_and_templates_stay_as_they_are() -> None:
    assert messages.plain("a\n\tb {{7*7}} %s <b>") == "a\n\tb {{7*7}} %s <b>"


@given(text=st.text(max_size=300), longest=st.integers(1, 200))
def test_plain_is_bounded_and_encodable(text: str, longest: int) -> None:
    shown = messages.plain(text, longest)
    shown.encode()
    assert len(shown) <= longest + 40


def test_every_question_is_one() -> None:
    questions = [*messages.QUESTIONS.values(), *messages.BY_KIND.values(), messages.UNLIKE_ANY]
    assert all(question.endswith("?") for question in questions)
    assert len(set(questions)) == len(questions)
