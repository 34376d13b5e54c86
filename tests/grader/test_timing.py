"""The statistics and the plan of timing, with clocks that are made up."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from grader.kit import Fresh, Output, Part, Placed, Timed, Tolerance, Values, encode, place, tolerance
from grader.timing import (
    LEAST_CALLS,
    LEAST_REPEATS,
    MOST_CALLS,
    PERIOD,
    SAMPLES,
    Clock,
    Interval,
    Stopped,
    contents,
    draw,
    interval,
    minus,
    plan,
    sent,
)
from tests.grader.synthetic import MadeUp

SHAPE = (6, 50)


def near(expected: Values, inputs: object) -> Tolerance:
    return tolerance(
        expected, relative=1e-5, absolute=0, dtype="fp32", because="a sum of few terms, rounded in fp32"
    )


def some_rows(rng: np.random.Generator) -> Part:
    start = int(rng.integers(0, SHAPE[0] - 1))
    piece = (slice(start, start + 2), slice(0, SHAPE[1]))
    return Part((piece, None), (piece,))


TIMED = Timed("f", (Fresh(SHAPE), 3), (Output("result", SHAPE, "fp32", near),), some_rows, "6 rows × 50 columns")


def clock(runner: MadeUp, timed: Timed = TIMED) -> Clock:
    rng = np.random.default_rng(1)
    return Clock(timed, draw(timed, rng), runner, rng)


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    source = random.Random(4)
    for count in (LEAST_REPEATS, 11, 15):
        held = 0
        for _ in range(2000):
            found = interval([source.expovariate(1.0) for _ in range(count)])  # skewed, as times are
            held += found.low <= math.log(2) <= found.high
        assert held / 2000 > 0.94


def test_the_interval_is_of_order_statistics() -> None:
    assert interval(list(range(15))) == Interval(7, 3, 11)  # 4th to 12th: 96.5 %
    assert interval([5, 1, 2, 3, 4, 7, 6]) == Interval(4, 1, 7)  # all of seven: 98.4 %


def test_one_outlier_moves_nothing() -> None:
    assert interval([*range(14), 1e9]) == interval([*range(14), 14])


@pytest.mark.parametrize("samples", [[], [1.0] * 6, [1.0] * 14 + [math.nan], [1.0] * 14 + [math.inf]])
def test_too_little_or_no_number_is_no_interval(samples: list[float]) -> None:
    with pytest.raises(ValueError):
        interval(samples)


def test_a_difference_is_as_unsure_as_both() -> None:
    assert minus(Interval(10, 9, 12), Interval(3, 2, 4)) == Interval(7, 5, 10)


def test_plans_fit_time_and_memory() -> None:
    quick, slow, large = plan(1e-6, 1 << 20, 64 << 30), plan(0.5, 1 << 20, 64 << 30), plan(1e-4, 1 << 30, 64 << 30)
    assert (quick.many, quick.few) == (MOST_CALLS, MOST_CALLS // 8)
    assert (slow.many, slow.few, slow.repeats) == (LEAST_CALLS, 1, LEAST_REPEATS)
    assert large.many == 16  # of 1 GiB each in a quarter of 64 GiB
    for chosen in (quick, slow, large):
        assert chosen.many > chosen.few >= 1 and chosen.repeats >= LEAST_REPEATS


def test_what_an_exchange_costs_falls_out() -> None:
    for exchange in (1e-4, 1e-2):
        runner = MadeUp(call=250e-6, dry_call=180e-6, exchange=exchange)
        timer = clock(runner)
        timer.stage("f", 5)
        chosen = plan(250e-6, 1, 1 << 30)
        taken = minus(timer.measure(chosen, 5), timer.measure(chosen, 5, dry=True))
        assert taken.middle == pytest.approx(70e-6, rel=1e-6)


def test_jitter_that_is_now_and_then_large_widens_the_interval_only() -> None:
    source = random.Random(5)
    jitter = (source.gauss(0, 20e-6) if n % 9 else 5e-3 for n in itertools.count())
    timer = clock(MadeUp(call=250e-6, jitter=jitter))
    timer.stage("f", 5)
    taken = timer.measure(plan(250e-6, 1, 1 << 30), 5)
    assert taken.low <= 250e-6 <= taken.high
    assert taken.middle == pytest.approx(250e-6, rel=0.02)


def test_no_two_calls_have_the_same_contents_and_nobody_knows_the_samples_before() -> None:
    runner = MadeUp(call=1e-4)
    timer = clock(runner)
    timer.stage("f", 5)
    batches = [timer.run(64, 5).order for _ in range(20)]
    shifts = [tuple(call) for batch in batches for call in batch.shifts]
    assert len(set(shifts)) > len(shifts) * 0.99
    assert all(0 <= shift < PERIOD for call in shifts for shift in call)
    assert len({tuple(batch.positions[0]) for batch in batches}) == 20
    assert all(len(batch.positions[0]) == SAMPLES for batch in batches)


def test_a_batch_over_its_time_ends_the_measurement() -> None:
    timer = clock(MadeUp(call=1.0))
    timer.stage("f", 5)
    with pytest.raises(Stopped, match="in time"):
        timer.run(8, 5)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_contents_of_a_piece_are_those_of_the_whole(dtype: str) -> None:
    fresh, shift = Fresh((3, 4, 5), dtype), PERIOD - 7  # wraps round
    period = encode(np.arange(PERIOD) % 97 / 8.0, dtype)
    whole = contents(fresh, period, shift, tuple(slice(0, n) for n in fresh.shape))
    flat = ((np.arange(60) + shift) % PERIOD) % 97 / 8.0
    np.testing.assert_array_equal(whole, flat.reshape(3, 4, 5))
    piece = (slice(1, 3), slice(2, 3), slice(0, 4))
    np.testing.assert_array_equal(contents(fresh, period, shift, piece), whole[piece])


def test_arguments_that_stay_travel_as_in_any_call() -> None:
    placed = place(np.arange(6.0).reshape(2, 3), "fp32", "padded")
    assert isinstance(placed, Placed)
    array = sent(placed)
    assert (array.shape, array.strides, array.offset) == (placed.shape, placed.strides, placed.offset)
    assert sent(3) == 3


def test_the_bytes_of_a_timed_call_are_each_counted_once() -> None:
    assert TIMED.nbytes == 2 * 6 * 50 * 4
