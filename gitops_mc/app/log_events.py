"""Every event of the log: one class a fact, its name the event's, its fields the event's fields.

An event that is not here cannot be logged, and a field that is not here neither: both are type errors. What happens to fleets
and clusters comes from `core/render/happening.py`, one event a reason; `Happened` carries it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import ClassVar, TypeAlias, get_args

from gitops_mc.core.render.happening import Happening, Weight


class Level(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    """Something is wrong, or needs a human."""
    ERROR = "error"
    """A bug, or the process cannot go on."""


Value: TypeAlias = str | int | float | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerStarted:
    """The process is up, and has begun to ask for the lease."""

    level: ClassVar[Level] = Level.INFO
    version: str
    identity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerStopped:
    """It ended on purpose."""

    level: ClassVar[Level] = Level.INFO
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTaken:
    """We lead from now on."""

    level: ClassVar[Level] = Level.INFO
    identity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseLost:
    """We lead no more."""

    level: ClassVar[Level] = Level.WARNING
    identity: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseWatched:
    """Another process leads."""

    level: ClassVar[Level] = Level.INFO
    identity: str
    leader: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTroubled:
    """Nobody can lead here as things stand: the namespace is not there, or a right is missing. Logged once a minute while it lasts;
    `times`: how often it was since.
    """

    level: ClassVar[Level] = Level.WARNING
    identity: str
    reason: str
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetForgotten:
    """A Fleet object is gone; nothing is changed on its clusters."""

    level: ClassVar[Level] = Level.INFO
    fleet: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PollDone:
    """The source was asked. `result`: good, refused, failed."""

    level: ClassVar[Level] = Level.DEBUG
    fleet: str
    revision: str
    result: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassDone:
    """One pass over a fleet was decided. `outlook`: wait, hold, halted, done; `reason`: what it waits for."""

    level: ClassVar[Level] = Level.DEBUG
    fleet: str
    revision: str
    outlook: str
    reason: str
    moves: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteAccepted:
    """A server accepted a write."""

    level: ClassVar[Level] = Level.INFO
    fleet: str
    cluster: str
    revision: str
    step: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTroubled:
    """A write did not go through this time, and is decided on anew; `reason` begins with the cluster. `times` as for fleet_troubled."""

    level: ClassVar[Level] = Level.WARNING
    fleet: str
    reason: str
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetTroubled:
    """A pass could not do something, which a later one does: the Fleet unread, its memory not kept, changed meanwhile.
    The same reason again is logged once a minute; `times`: how often it was since.
    """

    level: ClassVar[Level] = Level.WARNING
    fleet: str
    reason: str
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookAnswered:
    """Somebody called the webhook. `fleet` is empty where the secret was not known: any name would be the sender's. The same
    answer again is logged once a minute; `times`: how often it was since.
    """

    level: ClassVar[Level] = Level.INFO
    fleet: str
    answer: int
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsNotWritten:
    """Kubernetes Events could not be written; the rollout goes on without."""

    level: ClassVar[Level] = Level.WARNING
    reason: str
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationNotSent:
    """A destination of spec.notifications takes no message; it is tried again. Logged when the reason becomes another one."""

    level: ClassVar[Level] = Level.WARNING
    fleet: str
    destination: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryWarned:
    """A library that is used said something at level warning or above."""

    level: ClassVar[Level] = Level.WARNING
    library: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashed:
    """A bug: an exception that nobody expected. `where`: what was being done; `trace`: the places, innermost last."""

    level: ClassVar[Level] = Level.ERROR
    where: str
    error: str
    message: str
    trace: tuple[str, ...]


Fact: TypeAlias = (
    ControllerStarted
    | ControllerStopped
    | LeaseTaken
    | LeaseLost
    | LeaseWatched
    | LeaseTroubled
    | FleetForgotten
    | PollDone
    | PassDone
    | WriteAccepted
    | WriteTroubled
    | FleetTroubled
    | WebhookAnswered
    | EventsNotWritten
    | NotificationNotSent
    | LibraryWarned
    | Crashed
)


@dataclass(frozen=True, slots=True)
class Happened:
    """Something happened to a fleet or a cluster; empty fields are left out."""

    fleet: str
    happening: Happening


LogEvent: TypeAlias = Fact | Happened


_NAMES = {fact: re.sub(r"(?<!^)([A-Z])", r"_\1", fact.__name__).lower() for fact in get_args(Fact)}


def event_name(fact: type[Fact]) -> str:
    """`WriteAccepted` is `write_accepted` in the log."""
    return _NAMES[fact]


HAPPENING_FIELDS = ("fleet", "cluster", "wave", "step", "revision", "reason")
"""Of a happening; those that are empty are left out."""


def told(event: LogEvent) -> tuple[str, Level, dict[str, Value]]:
    """Name, level and fields of an event, not redacted yet."""
    if isinstance(event, Happened):
        it = event.happening
        level = Level.WARNING if it.reason.weight is Weight.WARNING else Level.INFO
        values = (event.fleet, it.cluster, it.wave, it.step, it.revision, it.text)
        return it.reason.event, level, {k: v for k, v in zip(HAPPENING_FIELDS, values, strict=True) if v}
    named = {f.name: getattr(event, f.name) for f in fields(event)}
    return event_name(type(event)), event.level, named
