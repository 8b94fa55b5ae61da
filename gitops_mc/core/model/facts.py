"""Facts about live clusters: read, or not obtained. Not knowing is not absence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Known(Generic[T]):
    """A fact that was read, and when. `value` may well be "not there": a 404 is an answer."""

    value: T
    at: datetime


@dataclass(frozen=True, slots=True)
class Unknown:
    """A fact that was not obtained. Never to be read as absence."""

    reason: str
    since: datetime


class Outage(Enum):
    """What kind of not-knowing it is: decides who is counted for it."""

    UNREACHABLE = "unreachable"
    DENIED = "denied"
    """401 or 403."""
    OTHER = "other"
    BARRED = "barred"
    """Not ours to write for, whatever it answers: no sign of anything but that."""
