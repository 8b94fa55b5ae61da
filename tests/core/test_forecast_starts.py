"""When a step may begin, as numbers: the same answers as the engine's own, at any moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.forecast.starts import starts_of
from gitops_mc.core.policy import WindowKind
from gitops_mc.core.rollout.windows import Rule, Shut, WindowClosed, WindowOpen, opening

NOW = datetime(2026, 1, 5, 8, 17, 30, tzinfo=UTC)
NIGHTS = Rule(WindowKind.ALLOW, "0 22 * * *", timedelta(hours=4), "UTC")

RULES = st.lists(
    st.builds(
        Rule,
        st.sampled_from(WindowKind),
        st.sampled_from(["0 22 * * *", "30 1-23/3 * * *", "0 9 * * 1-5", "*/20 * * * *", "0 0 15 * *"]),
        st.sampled_from([20, 60, 240, 3 * 24 * 60]).map(lambda m: timedelta(minutes=m)),
        st.sampled_from(["UTC", "Asia/Shanghai", "Europe/Berlin"]),
    ),
    min_size=1,
    max_size=3,
).map(tuple)
LENGTHS = st.sampled_from([0, 1, 4, 19, 30, 61, 200]).map(lambda m: timedelta(minutes=m))


@settings(max_examples=20, derandomize=True, deadline=None)
@given(RULES, LENGTHS, st.integers(0, 6 * 24 * 3600))
def test_it_says_what_the_engine_would_say_then(
    rules: tuple[Rule, ...], length: timedelta, later: int
) -> None:
    starts = starts_of(rules, length, NOW)
    assert starts is not None
    found = starts.after(later)
    match opening(rules, length, NOW + timedelta(seconds=later)):
        case WindowOpen():
            assert found == later
        case WindowClosed(shut=Shut.LATER, opens_at=opens) if opens is not None:
            assert found == (opens - NOW).total_seconds()
        case WindowClosed():
            assert found == inf


def test_without_windows_it_may_begin_at_any_time() -> None:
    assert starts_of((), timedelta(hours=1), NOW) is None


def test_what_fits_no_window_never_begins() -> None:
    starts = starts_of((NIGHTS,), timedelta(hours=5), NOW)
    assert starts is not None
    assert starts.after(0) == inf
