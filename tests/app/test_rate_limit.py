"""A token bucket: so many at once, and then one every so many seconds, whatever the clock does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_mc.app.rate_limit import Bucket, Granted, Rate, Refused, take

RATE = Rate(burst=3, seconds_each=10.0)


def passed(times: list[float], rate: Rate = RATE) -> list[bool]:
    """Which of those who come at these times may pass."""
    bucket, found = Bucket.full(rate, times[0]), []
    for now in times:
        taken = take(bucket, rate, now)
        bucket = taken.bucket
        found.append(isinstance(taken, Granted))
    return found


def test_a_burst_passes_and_then_one_at_a_time() -> None:
    assert passed([0, 0, 0, 0, 9, 10, 11, 20]) == [True, True, True, False, False, True, False, True]


def test_a_long_silence_saves_up_no_more_than_a_burst() -> None:
    assert passed([0, *[10_000.0] * 5]) == [True, True, True, True, False, False]


def test_whoever_is_refused_is_told_when_the_next_one_may() -> None:
    refused = take(Bucket(0.25, 100.0), RATE, 100.0)
    assert isinstance(refused, Refused)
    assert refused.wait == 7.5
    assert isinstance(take(refused.bucket, RATE, 107.5), Granted)


def test_a_clock_that_runs_back_gives_nothing_and_takes_nothing() -> None:
    assert passed([100, 100, 100, 0, 100, 109, 110]) == [True, True, True, False, False, False, True]


@given(
    st.lists(st.floats(0, 1000), min_size=1, max_size=60).map(sorted), st.integers(1, 5), st.floats(0.5, 50)
)
def test_in_any_span_no_more_pass_than_the_rate_says(times: list[float], burst: int, each: float) -> None:
    granted = [t for t, ok in zip(times, passed(times, Rate(burst, each)), strict=True) if ok]
    for i, begin in enumerate(granted):
        for n, end in enumerate(granted[i:], start=1):
            assert n <= burst + (end - begin) / each + 1e-6


@pytest.mark.parametrize(("burst", "each"), [(0, 1.0), (1, 0.0), (1, -1.0)])
def test_a_rate_that_lets_nothing_or_everything_pass_cannot_be_made(burst: int, each: float) -> None:
    with pytest.raises(ValueError, match="nothing could ever pass"):
        Rate(burst, each)
