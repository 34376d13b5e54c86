"""When something comes back: pure checks of the scheduler's use, of days, and of drills."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from app.errors import Conflict
from app.review.present import interval
from app.review.schedule import (
    LEECH,
    Memory,
    Rating,
    day_bounds,
    day_of,
    from_attempts,
    graded,
    is_due,
    recall,
)

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
DAY = timedelta(days=1)


def after(*grades: tuple[float, Rating], retention: float = 0.9) -> Memory:
    """A memory after grades, each with the days since AT."""
    memory = Memory(due=AT)
    for days, rating in grades:
        memory = graded(memory, rating, AT + days * DAY, retention)
    return memory


def test_better_grades_come_back_later() -> None:
    dues = [after((0, rating)).due for rating in Rating]
    assert dues == sorted(dues)
    assert dues[0] == AT + timedelta(minutes=10)
    assert dues[2] >= AT + DAY


def test_wanting_to_remember_more_means_more_reviews() -> None:
    spans = [after((0, Rating.GOOD), (3, Rating.GOOD), retention=share).due for share in (0.8, 0.9, 0.97)]
    assert spans[0] > spans[1] > spans[2]


def test_the_same_grades_give_the_same_day() -> None:
    """The library spreads intervals at random unless told not to; a log could not be replayed then."""
    series = [(0, Rating.GOOD), (3, Rating.GOOD), (14, Rating.GOOD), (60, Rating.EASY)]
    assert len({after(*series) for _ in range(20)}) == 1


def test_no_review_before_the_last() -> None:
    memory = after((1, Rating.GOOD))
    with pytest.raises(Conflict):
        graded(memory, Rating.GOOD, AT, 0.9)
    assert graded(memory, Rating.GOOD, AT + DAY, 0.9).last_review == AT + DAY  # the same moment is none before


def test_a_moment_in_another_zone_is_taken_for_what_it_is() -> None:
    there = (AT + DAY).astimezone(BERLIN)
    assert graded(Memory(due=AT), Rating.GOOD, there, 0.9) == after((1, Rating.GOOD))


def test_recall_fades() -> None:
    memory = after((0, Rating.GOOD))
    chances = [recall(memory, AT + days * DAY) for days in (0, 1, 5, 50)]
    assert None not in chances
    assert chances == sorted(chances, reverse=True)  # type: ignore[type-var]
    assert chances[0] == 1.0
    assert recall(Memory(due=AT), AT) is None


def test_a_leech_was_known_and_forgotten_often() -> None:
    memory = after(*((day, Rating.AGAIN) for day in range(20)))
    assert memory.lapses == 0  # never known, so never forgotten
    memory, day = after((0, Rating.GOOD)), 1
    for _ in range(LEECH):
        assert not memory.leech
        memory = graded(memory, Rating.AGAIN, AT + day * DAY, 0.9)
        memory = graded(memory, Rating.GOOD, AT + day * DAY + timedelta(hours=1), 0.9)
        day += 3
    assert memory.lapses == LEECH
    assert memory.leech


@pytest.mark.parametrize(
    ("moment", "zone", "day"),
    [
        (datetime(2026, 3, 2, 23, 30, tzinfo=UTC), "UTC", date(2026, 3, 2)),
        (datetime(2026, 3, 2, 23, 30, tzinfo=UTC), "Europe/Berlin", date(2026, 3, 3)),
        (datetime(2026, 3, 2, 3, 0, tzinfo=UTC), "America/Los_Angeles", date(2026, 3, 1)),
        (datetime(2026, 3, 2, 11, 0, tzinfo=UTC), "Pacific/Kiritimati", date(2026, 3, 3)),
    ],
)
def test_a_day_is_the_learners(moment: datetime, zone: str, day: date) -> None:
    assert day_of(moment, ZoneInfo(zone)) == day


@pytest.mark.parametrize(
    ("day", "hours"), [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25), (date(2026, 5, 1), 24)]
)
def test_days_are_whole_when_clocks_change(day: date, hours: int) -> None:
    start, end = day_bounds(day, BERLIN)
    assert end - start == timedelta(hours=hours)
    assert day_of(start, BERLIN) == day == day_of(end - timedelta(microseconds=1), BERLIN)


def test_what_is_due_today_is_due_all_day() -> None:
    memory = after((0, Rating.GOOD))
    morning = day_bounds(day_of(memory.due, BERLIN), BERLIN)[0]
    assert is_due(memory, morning, BERLIN)
    assert not is_due(memory, morning - timedelta(seconds=1), BERLIN)
    forgotten = after((0, Rating.AGAIN))
    assert not is_due(forgotten, AT + timedelta(minutes=9), BERLIN)
    assert is_due(forgotten, AT + timedelta(minutes=10), BERLIN)


def tries(*attempts: tuple[float, bool]) -> list[tuple[datetime, bool]]:
    return [(AT + days * DAY, passed) for days, passed in attempts]


def test_a_drill_enters_with_its_first_failure() -> None:
    assert from_attempts([], 0.9) is None
    assert from_attempts(tries((0, True), (1, True)), 0.9) is None
    memory = from_attempts(tries((0, True), (2, False)), 0.9)
    assert memory is not None
    assert memory.last_review == AT + 2 * DAY
    assert memory.due >= AT + 3 * DAY  # tomorrow, not in ten minutes


def test_many_failures_in_an_hour_are_one() -> None:
    once = from_attempts(tries((0, False)), 0.9)
    often = from_attempts(tries(*((n / 100, False) for n in range(10))), 0.9)
    assert once == often
    again = from_attempts(tries((0, False), (1, False)), 0.9)
    assert again is not None and once is not None
    assert again.last_review != once.last_review


def test_passing_a_failed_drill_moves_it_away_step_by_step() -> None:
    passes = [0.1, 2.0, 9.0, 40.0]
    dues = []
    for count in range(1, len(passes) + 1):
        memory = from_attempts(tries((0, False), *((day, True) for day in passes[:count])), 0.9)
        assert memory is not None
        dues.append(memory.due - AT - passes[count - 1] * DAY)
    assert dues == sorted(dues)
    assert dues[-1] > 7 * DAY


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(minutes=10), "10 min"),
        (timedelta(0), "1 min"),
        (timedelta(hours=5), "5 h"),
        (timedelta(days=1), "1 day"),
        (timedelta(days=30), "30 days"),
        (timedelta(days=90), "3 months"),
        (timedelta(days=1000), "3 years"),
    ],
)
def test_intervals_as_people_say_them(span: timedelta, text: str) -> None:
    assert interval(span) == text
