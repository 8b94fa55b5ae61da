"""Cron expressions of five fields, as in crontab(5): minute, hour, day of month, month, day of week."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from gitops_mc.core.numbers import whole_number

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LONGEST_DAY: Final = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}


class CronError(ValueError):
    """Not a cron expression; the message says which field and why."""


@dataclass(frozen=True, slots=True)
class Cron:
    """The values at which each field matches. `weekdays`: 0 is Sunday. Where both day fields are restricted (do not
    begin with `*`) a day matches when either does; else both must, which is what cron does.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()


_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 7, _WEEKDAYS),
)
_PART: Final = re.compile(r"(?:(\*)|(\w+)(?:-(\w+))?)(?:/([0-9]{1,4}))?")


def parse_cron(text: str) -> Cron:
    """Raises CronError, also for an expression that matches no day of any year (30 February)."""
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise CronError(
            f"a cron expression has 5 fields (minute hour day-of-month month day-of-week), this has {len(parts)}"
        )
    minutes, hours, days, months, weekdays = (
        _values(part, field) for part, field in zip(parts, _FIELDS, strict=True)
    )
    either = not parts[2].startswith("*") and not parts[4].startswith("*")
    if not either and not any(min(days) <= _LONGEST_DAY.get(month, 31) for month in months):
        raise CronError(f"no month of {parts[3]} has a day {min(days)}")
    return Cron(minutes, hours, days, months, frozenset(day % 7 for day in weekdays), either)


def _values(text: str, field: _Field) -> frozenset[int]:
    values: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise CronError(f"the field {field.name} has {part!r}, which is no number, range or step")
        star, first, last, step = match.groups()
        low = field.low if star else _number(first, field)
        high = _number(last, field) if last is not None else field.high if star or step else low
        if low > high:
            raise CronError(f"the field {field.name} has the range {part!r}, which ends before it begins")
        if step is not None and int(step) == 0:
            raise CronError(f"the field {field.name} has a step of 0")
        values.update(range(low, high + 1, int(step or 1)))
    return frozenset(values)


def _number(text: str, field: _Field) -> int:
    if text.lower() in field.names:
        return field.names.index(text.lower()) + field.low
    number = whole_number(text)
    if number is None or not field.low <= number <= field.high:
        raise CronError(f"the field {field.name} has {text!r}; it goes from {field.low} to {field.high}")
    return number
