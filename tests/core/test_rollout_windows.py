"""Whether a step may begin in its window: tables of times, zones and clock changes, and a walk from minute to minute."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.policy import ClusterSelector, Window, WindowKind
from gitops_mc.core.rollout.windows import (
    MOST_TIMES,
    TO_BEGIN,
    Opening,
    Rule,
    Shut,
    WindowClosed,
    WindowOpen,
    calendar_of,
    concerning,
    opening,
    told_span,
)

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def allow(cron: str, lasts: timedelta, zone: str = "UTC") -> Rule:
    return Rule(WindowKind.ALLOW, cron, lasts, zone)


def freeze(cron: str, lasts: timedelta, zone: str = "UTC") -> Rule:
    return Rule(WindowKind.FREEZE, cron, lasts, zone)


def at(text: str, zone: str = "UTC") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


def asked(rules: tuple[Rule, ...], now: datetime, length: timedelta = timedelta(0)) -> Opening:
    return opening(rules, length, now)


def until(*rules: Rule, now: datetime, length: timedelta = timedelta(0)) -> datetime | None:
    found = asked(rules, now, length)
    assert isinstance(found, WindowOpen), found
    return found.until


def opens(*rules: Rule, now: datetime, length: timedelta = timedelta(0)) -> datetime | None:
    found = asked(rules, now, length)
    assert isinstance(found, WindowClosed), found
    return found.opens_at


def reason(*rules: Rule, now: datetime, length: timedelta = timedelta(0)) -> str:
    found = asked(rules, now, length)
    assert isinstance(found, WindowClosed), found
    return found.reason


NIGHT = allow("0 22 * * *", 8 * HOUR, "Asia/Shanghai")
YEAR_END = freeze("0 0 24 12 *", timedelta(days=10), "Asia/Shanghai")


# ------------------------------------------------------------------------------------------------------------- edges


def test_without_windows_every_time_is_open_without_an_end() -> None:
    assert asked((), at("2026-06-01 12:00")) == WindowOpen(None)


@pytest.mark.parametrize(
    ("now", "answer"),
    [
        ("2026-06-01 21:59:59", WindowClosed),
        ("2026-06-01 22:00", WindowOpen),
        ("2026-06-02 05:59:59", WindowOpen),
        ("2026-06-02 06:00", WindowClosed),
    ],
)
def test_a_window_holds_from_its_beginning_to_just_before_its_end(now: str, answer: type) -> None:
    assert isinstance(asked((NIGHT,), at(now, "Asia/Shanghai")), answer)


@pytest.mark.parametrize(
    ("length", "answer"),
    [
        (2 * HOUR, WindowOpen),
        (2 * HOUR + timedelta(seconds=1), WindowClosed),
        (timedelta(0), WindowOpen),
    ],
)
def test_a_step_begins_only_if_it_ends_before_the_window_does_or_with_it(
    length: timedelta, answer: type
) -> None:
    assert isinstance(asked((NIGHT,), at("2026-06-02 04:00", "Asia/Shanghai"), length), answer)


def test_a_step_that_does_not_fit_any_more_waits_for_the_next_night_and_says_both_times() -> None:
    now = at("2026-06-02 04:00", "Asia/Shanghai")
    assert opens(NIGHT, now=now, length=3 * HOUR) == at("2026-06-02 22:00", "Asia/Shanghai")
    assert reason(NIGHT, now=now, length=3 * HOUR) == (
        "the window closes at 2026-06-02 06:00 Asia/Shanghai, and this takes about 3h: "
        "it waits until 2026-06-02 22:00 Asia/Shanghai"
    )


def test_a_closed_window_says_when_the_next_one_opens() -> None:
    now = at("2026-06-02 18:50", "Asia/Shanghai")
    assert reason(NIGHT, now=now) == "window closed until 2026-06-02 22:00 Asia/Shanghai"


def test_what_fits_no_window_says_how_long_it_takes_and_how_long_the_longest_window_is() -> None:
    found = asked((NIGHT,), at("2026-06-02 23:00", "Asia/Shanghai"), 9 * HOUR)
    told = "this takes about 9h, with 5m to begin in, and the longest window lasts 8h: it fits none"
    assert found == WindowClosed(told, Shut.NEVER, None)


def test_a_window_that_is_just_as_long_as_a_step_is_not_waited_for_night_after_night() -> None:
    night = at("2026-06-02 22:00", "Asia/Shanghai")
    assert isinstance(asked((NIGHT,), night, 8 * HOUR), WindowOpen)
    assert opens(NIGHT, now=night + timedelta(seconds=1), length=8 * HOUR) is None
    roomy = 8 * HOUR - TO_BEGIN
    assert isinstance(asked((NIGHT,), night + TO_BEGIN, roomy), WindowOpen)
    late = night + TO_BEGIN + timedelta(seconds=1)
    assert opens(NIGHT, now=late, length=roomy) == night + timedelta(days=1)
    assert opens(NIGHT, now=late, length=roomy + MINUTE) is None


def test_windows_that_touch_are_one_and_a_step_may_cross_the_seam() -> None:
    rules = (allow("0 22 * * *", 2 * HOUR), allow("0 0 * * *", 3 * HOUR, "UTC"))
    assert until(*rules, now=at("2026-06-01 23:00"), length=4 * HOUR) == at("2026-06-02 03:00")


def test_windows_that_do_not_touch_are_two() -> None:
    rules = (allow("0 20 * * *", HOUR), allow("1 21 * * *", 2 * HOUR))
    assert until(*rules, now=at("2026-06-01 20:30")) == at("2026-06-01 21:00")
    assert opens(*rules, now=at("2026-06-01 20:30"), length=HOUR) == at("2026-06-01 21:01")


def test_a_window_that_begins_every_minute_never_closes() -> None:
    assert until(allow("* * * * *", MINUTE), now=at("2026-06-01 20:30"), length=100 * HOUR) is None


def test_minutes_in_a_row_make_one_window_of_their_hours() -> None:
    habit = allow("* 1-3 * * *", MINUTE)
    assert until(habit, now=at("2026-06-01 01:00"), length=3 * HOUR) == at("2026-06-01 04:00")


# ----------------------------------------------------------------------------------------------------------- freezes


def test_a_freeze_wins_over_an_allow_window() -> None:
    now = at("2026-12-24 23:00", "Asia/Shanghai")
    assert opens(NIGHT, YEAR_END, now=now) == at("2027-01-03 00:00", "Asia/Shanghai")
    assert reason(NIGHT, YEAR_END, now=now) == "frozen until 2027-01-03 00:00 Asia/Shanghai"


def test_a_freeze_ends_a_window_that_is_open() -> None:
    now = at("2026-12-23 22:00", "Asia/Shanghai")
    assert until(NIGHT, YEAR_END, now=now) == at("2026-12-24 00:00", "Asia/Shanghai")
    assert opens(NIGHT, YEAR_END, now=now, length=3 * HOUR) == at("2027-01-03 00:00", "Asia/Shanghai")


def test_with_freezes_alone_every_other_time_is_open() -> None:
    assert until(YEAR_END, now=at("2026-06-01 12:00")) == at("2026-12-24 00:00", "Asia/Shanghai")
    assert opens(YEAR_END, now=at("2026-12-30 12:00")) == at("2027-01-03 00:00", "Asia/Shanghai")


def test_after_a_freeze_the_next_window_is_waited_for() -> None:
    rules = (allow("0 12 * * *", HOUR), freeze("0 0 1 6 *", timedelta(days=2)))
    assert opens(*rules, now=at("2026-06-01 12:30")) == at("2026-06-03 12:00")
    assert reason(*rules, now=at("2026-06-01 12:30")) == (
        "frozen until 2026-06-03 00:00 UTC, and the next window that is long enough opens 2026-06-03 12:00 UTC"
    )


def test_a_freeze_that_never_ends_leaves_no_window() -> None:
    rules = (NIGHT, freeze("0 0 * * *", timedelta(days=1)))
    found = asked(rules, at("2026-06-01 12:00"))
    assert isinstance(found, WindowClosed)
    assert found.opens_at is None
    assert found.reason.startswith("no window opens in the next ")


def test_a_freeze_that_touches_the_next_is_one() -> None:
    rules = (freeze("0 0 1 6 *", timedelta(days=1)), freeze("0 0 2 6 *", timedelta(days=1)))
    assert opens(*rules, now=at("2026-06-01 12:00")) == at("2026-06-03 00:00")


# ------------------------------------------------------------------------------------------------------------ clocks

BERLIN = "Europe/Berlin"  # 2026: forward on 29 March 02:00, back on 25 October 03:00
SANTIAGO = "America/Santiago"  # 2026: back on 4 April 24:00, forward on 5 September 24:00
LORD_HOWE = "Australia/Lord_Howe"  # 2026: back by half an hour on 5 April 02:00


@pytest.mark.parametrize(
    ("rule", "begin", "end"),
    [
        pytest.param(
            allow("30 2 * * *", HOUR, BERLIN), "2026-03-29 01:30", "2026-03-29 02:30", id="in the hour that is skipped"
        ),
        pytest.param(
            allow("0 2 * * *", HOUR, BERLIN), "2026-03-29 01:00", "2026-03-29 02:00", id="at the moment of the skip"
        ),
        pytest.param(
            allow("0 1 * * *", 2 * HOUR, BERLIN), "2026-03-29 00:00", "2026-03-29 02:00", id="across the skip"
        ),
        pytest.param(
            allow("30 2 * * *", HOUR, BERLIN), "2026-10-25 00:30", "2026-10-25 01:30", id="in the hour that comes twice"
        ),
        pytest.param(
            freeze("30 2 * * *", HOUR, BERLIN), "2026-10-25 00:30", "2026-10-25 02:30", id="a freeze begins twice"
        ),
        pytest.param(
            allow("0 22 * * *", 8 * HOUR, BERLIN), "2026-10-24 20:00", "2026-10-25 04:00", id="elapsed time, not the clock's"
        ),
        pytest.param(
            allow("15 0 * * *", HOUR, SANTIAGO), "2026-09-06 04:15", "2026-09-06 05:15", id="midnight itself is skipped"
        ),
        pytest.param(
            allow("30 23 * * *", HOUR, SANTIAGO), "2026-04-05 02:30", "2026-04-05 03:30", id="the hour before midnight comes twice"
        ),
        pytest.param(
            freeze("45 1 * * *", timedelta(minutes=20), LORD_HOWE),
            "2026-04-04 14:45",
            "2026-04-04 15:05",
            id="half an hour that comes twice, first",
        ),
        pytest.param(
            freeze("45 1 * * *", timedelta(minutes=20), LORD_HOWE),
            "2026-04-04 15:15",
            "2026-04-04 15:35",
            id="half an hour that comes twice, second",
        ),
    ],
)  # fmt: skip
def test_where_the_clocks_change_a_window_begins_and_ends_at(rule: Rule, begin: str, end: str) -> None:
    calendar = calendar_of((rule,), (at(begin) - timedelta(days=2)).date())
    spans = calendar.allowed if rule.kind is WindowKind.ALLOW else calendar.frozen
    assert (at(begin), at(end)) in [(s.begin, s.end) for s in spans]


@pytest.mark.parametrize(
    ("cron", "now", "next_one"),
    [
        ("0 0 29 2 *", "2026-03-01 00:00", "2028-02-29 00:00"),
        ("0 0 29 2 *", "2096-02-29 12:00", "2104-02-29 00:00"),
        ("0 0 31 * *", "2026-02-01 00:00", "2026-03-31 00:00"),
        ("0 0 13 * 5", "2026-06-01 00:00", "2026-06-05 00:00"),
        ("0 0 * * sun", "2026-06-01 00:00", "2026-06-07 00:00"),
        ("0 0 * * 7", "2026-06-01 00:00", "2026-06-07 00:00"),
        ("30 4 1 1 *", "2026-01-01 06:00", "2027-01-01 04:30"),
    ],
)
def test_the_next_time_of_a_cron_expression_is_found(cron: str, now: str, next_one: str) -> None:
    assert opens(allow(cron, HOUR), now=at(now)) == at(next_one)


def test_an_expression_whose_days_do_not_meet_within_the_horizon_never_opens() -> None:
    rule = allow("0 0 29 2 *", HOUR)
    covered = freeze("0 0 28 2 *", timedelta(days=3))
    found = asked((rule, covered), at("2026-03-04 00:00"))
    assert isinstance(found, WindowClosed)
    assert found.shut is Shut.NEVER


def test_windows_that_open_often_are_looked_at_less_far_ahead_and_still_tell_what_comes_next() -> None:
    rules = (allow("*/2 * * * *", MINUTE), freeze("0 0 1 6 *", timedelta(days=1)))
    calendar = calendar_of(rules, at("2026-05-31 12:00").date())
    assert len(calendar.allowed) <= MOST_TIMES
    assert opens(*rules, now=at("2026-06-01 12:00")) == at("2026-06-02 00:00")


def test_a_long_window_that_began_long_ago_still_holds() -> None:
    assert until(allow("0 0 1 1 *", timedelta(days=366)), now=at("2026-12-31 12:00")) is None


# ---------------------------------------------------------------------------------------------------------- clusters


def test_a_window_concerns_the_clusters_that_it_selects() -> None:
    windows = (
        Window(WindowKind.ALLOW, "0 22 * * *", HOUR, "UTC", ClusterSelector({"matchLabels": {"env": "prod"}})),
        Window(WindowKind.FREEZE, "0 0 24 12 *", HOUR, "UTC", ClusterSelector(names=("edge-*",))),
        Window(WindowKind.FREEZE, "0 0 1 1 *", HOUR, "UTC", ClusterSelector(excluded=("edge-1",))),
    )  # fmt: skip

    def crons(cluster: str, labels: dict[str, str]) -> list[str]:
        return [rule.cron for rule in concerning(windows, cluster, labels)]

    assert crons("edge-1", {"env": "prod"}) == ["0 22 * * *", "0 0 24 12 *"]
    assert crons("core", {"env": "test"}) == ["0 0 1 1 *"]
    assert crons("edge-2", {}) == ["0 0 24 12 *", "0 0 1 1 *"]


def test_spans_are_told_in_their_two_greatest_units() -> None:
    spans = [timedelta(days=2, hours=4, minutes=1), HOUR + 20 * MINUTE, 40 * MINUTE, timedelta(seconds=30)]
    assert [told_span(s) for s in (*spans, timedelta(0))] == ["2d 4h", "1h 20m", "40m", "30s", "0s"]


# ------------------------------------------------------------------------------------- a witness, minute by minute


@dataclass(frozen=True)
class Drawn:
    """A rule, with the sets its cron expression stands for."""

    rule: Rule
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int] | None
    weekdays: frozenset[int] | None

    def names(self, local: datetime) -> bool:
        if local.minute not in self.minutes or local.hour not in self.hours:
            return False
        week = None if self.weekdays is None else (local.weekday() + 1) % 7 in self.weekdays
        month = None if self.days is None else local.day in self.days
        if week is not None and month is not None:
            return week or month
        return week is not False and month is not False


CHANGES = (
    (BERLIN, "2026-03-29"),
    (BERLIN, "2026-10-25"),
    ("America/New_York", "2026-03-08"),
    ("America/New_York", "2026-11-01"),
    (SANTIAGO, "2026-04-05"),
    (SANTIAGO, "2026-09-06"),
    (LORD_HOWE, "2026-04-05"),
    (LORD_HOWE, "2026-10-04"),
    ("Africa/Cairo", "2026-04-24"),
    ("Asia/Shanghai", "2026-12-31"),
)
SPAN = 3 * 24 * 60
"""Minutes that are walked."""


def listed(values: frozenset[int] | None) -> str:
    return "*" if values is None else ",".join(map(str, sorted(values)))


@st.composite
def drawn_rules(draw: st.DrawFn, zone: str, day: int) -> Drawn:
    some = st.sampled_from([0, 1, 15, 29, 30, 45, 59])
    minutes = draw(st.one_of(st.just(frozenset(range(60))), st.frozensets(some, min_size=1, max_size=3)))
    hours = draw(st.one_of(st.just(frozenset(range(24))), st.frozensets(st.integers(0, 23), min_size=1, max_size=3),
                           st.frozensets(st.integers(0, 3), min_size=1)))  # fmt: skip
    days = draw(st.none() | st.frozensets(st.sampled_from([day, day % 28 + 1, 28, 1]), min_size=1))
    weekdays = draw(st.none() | st.frozensets(st.integers(0, 6), min_size=1))
    lasts = draw(st.sampled_from([1, 2, 30, 59, 60, 61, 90, 180, 600, 1440, 1500])) * MINUTE
    kind = draw(st.sampled_from(list(WindowKind)))
    where = draw(st.sampled_from([zone, zone, "UTC"]))
    cron = f"{listed(minutes)} {listed(hours)} {listed(days)} * {listed(weekdays)}"
    return Drawn(Rule(kind, cron, lasts, where), minutes, hours, days, weekdays)


def holds(one: Drawn, begin: datetime) -> bytearray:
    """Minute by minute from `begin` on, whether a window holds: its times found by walking the zone's clock."""
    zone = ZoneInfo(one.rule.zone)
    lasts = one.rule.duration // MINUTE
    held = bytearray(SPAN + lasts)
    before: datetime | None = None
    for n in range(-lasts, SPAN):
        now = (begin + n * MINUTE).astimezone(zone).replace(tzinfo=None)
        twice = bool((begin + n * MINUTE).astimezone(zone).fold)
        skipped = 0 if before is None else max(0, (now - before) // MINUTE - 1)
        starts = [n] if one.names(now) and not (twice and one.rule.kind is WindowKind.ALLOW) else []
        for lost in range(skipped):
            assert before is not None
            if one.names(before + (lost + 1) * MINUTE):
                starts.append(n + lost)
        for start in starts:
            for held_at in range(max(0, start), min(SPAN, start + lasts)):
                held[held_at] = 1
        before = now
    return held[:SPAN]


def walked(rules: list[Drawn], begin: datetime) -> list[bool]:
    allowed = [holds(r, begin) for r in rules if r.rule.kind is WindowKind.ALLOW]
    frozen = [holds(r, begin) for r in rules if r.rule.kind is WindowKind.FREEZE]
    return [
        (not allowed or any(a[n] for a in allowed)) and not any(f[n] for f in frozen) for n in range(SPAN)
    ]


def coming(free: list[bool], now: int, length: int) -> int | None:
    """The first minute after `now` at which a time begins that has room for it, and for beginning it."""
    needed = length + min(length, TO_BEGIN // MINUTE)
    begins = (m for m in range(now + 1, SPAN - needed) if free[m] and not free[m - 1])
    return next((m for m in begins if all(free[m : m + needed])), None)


@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_the_answer_is_what_a_walk_from_minute_to_minute_finds(data: st.DataObject) -> None:
    zone, day = data.draw(st.sampled_from(CHANGES))
    begin = at(day, zone) - timedelta(days=1)
    rules = data.draw(st.lists(drawn_rules(zone, int(day[-2:])), min_size=1, max_size=3))
    free = walked(rules, begin)
    asked_rules = tuple(r.rule for r in rules)
    for n in data.draw(st.lists(st.integers(0, SPAN - 1), min_size=20, max_size=20)):
        now = begin + n * MINUTE
        span = free[n:].index(False) if False in free[n:] else None
        found = opening(asked_rules, timedelta(0), now)
        assert isinstance(found, WindowOpen) is free[n], (now, found)
        if isinstance(found, WindowOpen) and span is not None:
            assert found.until == now + span * MINUTE
        length = data.draw(st.sampled_from([1, 10, 60, 61, 240, 1000]))
        fitting = n if all(free[n : n + length]) and n + length < SPAN else coming(free, n, length)
        found = opening(asked_rules, length * MINUTE, now)
        if fitting == n:
            assert isinstance(found, WindowOpen), (now, length)
        elif fitting is not None:
            assert isinstance(found, WindowClosed), (now, length)
            assert found.opens_at == begin + fitting * MINUTE, (now, length)
        elif isinstance(found, WindowOpen):
            assert all(free[n : n + length])
