"""When a step of a given length may begin, asked for millions of times: the calendar of the change windows, as numbers."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Final

from gitops_mc.core.rollout.windows import Rule, calendar_of, with_time_to_begin

_SPANS: Final = 600
"""Spans of allowed time that are looked at; what fits none of them has no time."""


@dataclass(frozen=True, slots=True)
class Starts:
    """Seconds from now between which a step may begin, in order."""

    opens: tuple[float, ...]
    closes: tuple[float, ...]
    """The last moment at which it may; infinite: no end in sight."""
    worth: tuple[float, ...]
    """Those of `opens` that are waited for: they leave time to begin in."""

    def after(self, at: float) -> float:
        """The first moment from `at` on at which it may begin; infinite: none."""
        place = bisect_right(self.opens, at) - 1
        if place >= 0 and at <= self.closes[place]:
            return at
        place = bisect_right(self.worth, at)
        return self.worth[place] if place < len(self.worth) else inf


def starts_of(rules: tuple[Rule, ...], length: timedelta, now: datetime) -> Starts | None:
    """The same answers as `opening` gives at each of these moments. None: it may begin at any time."""
    if not rules:
        return None
    calendar = calendar_of(rules, now.astimezone(UTC).date())
    current = calendar.at(now)
    coming = (*(() if current is None else (current,)), *calendar.after(now))[:_SPANS]
    fitting = [s for s in coming if calendar.fits(s, s.begin, length)]
    long_enough = with_time_to_begin(length)
    return Starts(
        opens=tuple((s.begin - now).total_seconds() for s in fitting),
        closes=tuple(inf if calendar.endless(s) else (s.end - length - now).total_seconds() for s in fitting),
        worth=tuple(
            (s.begin - now).total_seconds() for s in fitting if calendar.fits(s, s.begin, long_enough)
        ),
    )
