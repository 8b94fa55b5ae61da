"""Change windows and freezes: whether a step of a given length may begin now, until when, or when next.

Pure, and nothing of it is remembered: it is worked out anew on every pass from fleet.yaml and the time.

A window begins at each local time that its cron expression names, and lasts so much *elapsed* time. Where the clocks are
put forward, a time that does not come is read with the offset before the gap, as in RFC 5545 (02:30 becomes 03:30). Where
they are put back, a time that comes twice begins an allow window the first time only, and a freeze both times: of two
readings the one that lets less happen. Windows hold from their beginning to just before their end. Allow windows add up,
those that touch are one; a freeze wins over them. Where no allow window concerns a cluster, every time is allowed but for
the freezes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from itertools import islice, pairwise
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from gitops_mc.core.cron import Cron, parse_cron
from gitops_mc.core.policy import Window, WindowKind
from gitops_mc.core.remembered import Remembered

HORIZON: Final = timedelta(days=8 * 366)
"""How far ahead an opening is looked for: a 29 February comes within eight years."""
MOST_TIMES: Final = 5_000
"""Of one window, how many times it opens are looked at; one that opens often is looked at less far ahead."""
TO_BEGIN: Final = timedelta(minutes=5)
"""How much longer than a step a window that comes has to be (of a short step: as long again), for it begins with a look after
the window has opened. Without that, a window just as long as a step would be waited for night after night.
"""
_DAY: Final = timedelta(days=1)
_MINUTE: Final = timedelta(minutes=1)
_MINUTES: Final = 24 * 60


class Shut(StrEnum):
    """Why a step may not begin now."""

    LATER = "later"
    """It may at `opens_at`."""
    NEVER = "never"
    """It fits no window that comes."""
    NOT_KNOWN = "not known"
    """How long it takes is not known, and the window has an end."""


@dataclass(frozen=True, slots=True)
class WindowOpen:
    """A step of the asked length may begin. `until`: when the window closes; None: no end in sight."""

    until: datetime | None


@dataclass(frozen=True, slots=True)
class WindowClosed:
    """It may not begin now. `reason` gives times in the zone of the window they come from."""

    reason: str
    shut: Shut
    opens_at: datetime | None
    """The next moment at which it may; None where there is none."""

    def told(self, now: datetime) -> str:
        """The reason, with how long that is from now."""
        return self.reason + (f" (in {told_span(self.opens_at - now)})" if self.opens_at is not None else "")


Opening: TypeAlias = WindowOpen | WindowClosed


@dataclass(frozen=True, slots=True)
class Rule:
    """A window without whom it concerns."""

    kind: WindowKind
    cron: str
    duration: timedelta
    zone: str


@dataclass(frozen=True, slots=True)
class Span:
    """From `begin` to just before `end`, both in UTC, with the time zones in which people are told of them."""

    begin: datetime
    end: datetime
    begin_zone: str = "UTC"
    end_zone: str = "UTC"

    @property
    def length(self) -> timedelta:
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Calendar:
    """What some windows come to, from a day on: spans in order, that neither overlap nor touch."""

    allowed: tuple[Span, ...]
    frozen: tuple[Span, ...]
    known_until: datetime
    """Nothing is known after it; an allowed span that ends here has no end in sight."""

    def at(self, now: datetime) -> Span | None:
        """The allowed span that `now` lies in."""
        return _covering(self.allowed, now)

    def after(self, now: datetime) -> tuple[Span, ...]:
        """The allowed spans that begin later."""
        return self.allowed[bisect_right(self.allowed, now, key=lambda s: s.begin) :]

    def endless(self, span: Span) -> bool:
        return span.end >= self.known_until

    def fits(self, span: Span, begin: datetime, length: timedelta) -> bool:
        """Whether what begins in a span, and takes so long, ends before the span does, or just as it does."""
        return self.endless(span) or begin + length <= span.end


def concerning(windows: Iterable[Window], cluster: str, labels: Mapping[str, str]) -> tuple[Rule, ...]:
    """The windows that concern a cluster."""
    return tuple(
        Rule(w.kind, w.cron, w.duration, w.time_zone) for w in windows if w.clusters.matches(cluster, labels)
    )


def opening(rules: tuple[Rule, ...], length: timedelta, now: datetime) -> Opening:
    """Whether what takes about `length` may begin at `now`. Asks for nothing but its arguments."""
    if not rules:
        return WindowOpen(None)
    calendar = calendar_of(rules, now.astimezone(UTC).date())
    span = calendar.at(now)
    if span is not None and calendar.fits(span, now, length):
        return WindowOpen(None if calendar.endless(span) else span.end)
    coming = calendar.after(now)
    found = next((s for s in coming if calendar.fits(s, s.begin, with_time_to_begin(length))), None)
    if found is None:
        return WindowClosed(_never(coming, length, calendar.known_until - now), Shut.NEVER, None)
    return WindowClosed(_later(calendar, found, length, now), Shut.LATER, found.begin)


def _later(calendar: Calendar, found: Span, length: timedelta, now: datetime) -> str:
    opens, takes = told_at(found.begin, found.begin_zone), f"this takes about {told_span(length)}"
    span, freeze = calendar.at(now), _covering(calendar.frozen, now)
    if span is not None:
        return f"the window closes at {told_at(span.end, span.end_zone)}, and {takes}: it waits until {opens}"
    if freeze is not None and freeze.end == found.begin:
        return f"frozen until {opens}"
    if freeze is not None:
        return f"frozen until {told_at(freeze.end, freeze.end_zone)}, and the next window that is long enough opens {opens}"
    if found != calendar.after(now)[0]:
        return f"window closed until {opens}, when one opens that is long enough: {takes}"
    return f"window closed until {opens}"


def _never(coming: Sequence[Span], length: timedelta, ahead: timedelta) -> str:
    if not coming:
        return f"no window opens in the next {ahead.days} days"
    longest = max(s.length for s in coming)
    begin = told_span(with_time_to_begin(length) - length)
    takes = f"this takes about {told_span(length)}, with {begin} to begin in"
    return f"{takes}, and the longest window lasts {told_span(longest)}: it fits none"


def with_time_to_begin(length: timedelta) -> timedelta:
    """How long a window that comes has to be for a step."""
    return length + min(length, TO_BEGIN)


def told_at(at: datetime, zone: str) -> str:
    """`2026-12-01 22:00 Asia/Shanghai`."""
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M} {zone}"


def told_span(span: timedelta) -> str:
    """`2d 4h`, `1h 20m`, `40m`, `30s`."""
    seconds = int(span.total_seconds())
    parts = [
        f"{n}{unit}"
        for n, unit in (
            (seconds // 86400, "d"),
            (seconds % 86400 // 3600, "h"),
            (seconds % 3600 // 60, "m"),
            (seconds % 60, "s"),
        )
        if n
    ]
    return " ".join(parts[:2]) or "0s"


# -------------------------------------------------------------------------------------------------------- calendars

_CALENDARS: Remembered[Calendar] = Remembered(room=256)


def calendar_of(rules: tuple[Rule, ...], day: date) -> Calendar:
    """What the windows come to from the beginning of a day in UTC on. Made once a day for the same windows."""
    return _CALENDARS.get((), (rules, day), lambda: _calendar(rules, datetime.combine(day, time(), UTC)))


def _calendar(rules: tuple[Rule, ...], since: datetime) -> Calendar:
    known_until = since + HORIZON
    spans: dict[WindowKind, list[Span]] = {kind: [] for kind in WindowKind}
    for rule in rules:
        found = list(islice(_times(rule, since), MOST_TIMES))
        if len(found) == MOST_TIMES:
            known_until = min(known_until, found[-1].begin - _DAY)
        spans[rule.kind] += found
    frozen = _merged(spans[WindowKind.FREEZE])
    restricted = any(rule.kind is WindowKind.ALLOW for rule in rules)
    allowed = _merged(spans[WindowKind.ALLOW]) if restricted else (Span(since, known_until),)
    ends = (replace(s, end=min(s.end, known_until)) for s in _without(allowed, frozen))
    return Calendar(tuple(s for s in ends if max(s.begin, since) < s.end), frozen, known_until)


def _times(rule: Rule, since: datetime) -> Iterator[Span]:
    """Every time a window holds after `since`, by its local day; times that follow each other without a gap are one."""
    cron, zone = parse_cron(rule.cron), ZoneInfo(rule.zone)
    runs = _runs(cron, rule.duration)
    first = (since - rule.duration).date() - _DAY
    for number in range((HORIZON + rule.duration).days + 3):
        day = first + number * _DAY
        if not _matches(cron, day):
            continue
        steady = _offset(day, zone) == _offset(day + _DAY, zone)
        for run in runs if steady else _runs(cron, timedelta(0)):
            for begin, end in _instants(run, day, zone, rule):
                if end > since:
                    yield Span(begin, end, rule.zone, rule.zone)


def _runs(cron: Cron, duration: timedelta) -> tuple[tuple[int, int], ...]:
    """The times of a day, in minutes after midnight: first and last of each run in which every one begins before, or just
    as, the one before it ends.
    """
    minutes = sorted(hour * 60 + minute for hour in cron.hours for minute in cron.minutes)
    breaks = [i for i, (a, b) in enumerate(pairwise(minutes), 1) if (b - a) * _MINUTE > duration]
    return tuple(
        (minutes[a], minutes[b - 1]) for a, b in zip([0, *breaks], [*breaks, len(minutes)], strict=True)
    )


def _instants(
    run: tuple[int, int], day: date, zone: ZoneInfo, rule: Rule
) -> Iterator[tuple[datetime, datetime]]:
    first, last = (
        datetime.combine(day, time(minute // 60, minute % 60), zone).astimezone(UTC) for minute in run
    )
    yield first, last + rule.duration
    if rule.kind is WindowKind.FREEZE and run[0] == run[1]:
        local = datetime.combine(day, time(run[0] // 60, run[0] % 60, fold=1), zone)
        again = local.astimezone(UTC)
        if again > first:  # it comes twice; where it comes not at all, this is earlier
            yield again, again + rule.duration


def _matches(cron: Cron, day: date) -> bool:
    if day.month not in cron.months:
        return False
    in_month, in_week = day.day in cron.days, day.isoweekday() % 7 in cron.weekdays
    return in_month or in_week if cron.either_day else in_month and in_week


def _offset(day: date, zone: ZoneInfo) -> timedelta | None:
    return datetime.combine(day, time(), zone).utcoffset()


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same time in spans that neither overlap nor touch, in order."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda s: s.begin):
        if not found or span.begin > found[-1].end:
            found.append(span)
        elif span.end > found[-1].end:
            found[-1] = replace(found[-1], end=span.end, end_zone=span.end_zone)
    return tuple(found)


def _without(spans: Sequence[Span], holes: Sequence[Span]) -> Iterator[Span]:
    """What of `spans` lies in none of `holes`; both in order."""
    position = 0
    for span in spans:
        left = span
        while position < len(holes) and holes[position].end <= left.begin:
            position += 1
        for hole in holes[position:]:
            if hole.begin >= left.end:
                break
            if hole.begin > left.begin:
                yield replace(left, end=hole.begin, end_zone=hole.begin_zone)
            left = replace(left, begin=min(hole.end, left.end), begin_zone=hole.end_zone)
        if left.begin < left.end:
            yield left


def _covering(spans: Sequence[Span], now: datetime) -> Span | None:
    position = bisect_right(spans, now, key=lambda s: s.begin)
    if position == 0 or spans[position - 1].end <= now:
        return None
    return spans[position - 1]
