"""What a rollout has taught about how long things take: plain data, part of the memory of a cluster, and bounded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

KEPT_PACES = 16
"""Of each kind of work of a cluster, the last ones are kept."""


class Work(StrEnum):
    """What a pool's nodes go through, or that it is a module."""

    REBOOT = "reboot"
    """They are drained and reboot."""
    DRAIN = "drain"
    """They are drained, and do not reboot."""
    QUIET = "quiet"
    """Files are written and services touched."""
    MODULE = "module"
    """A module is installed or brought to a version."""


@dataclass(frozen=True, slots=True)
class Roll:
    """Work that is under way and is timed; forgotten, and not learnt from, as soon as anything but the work takes time."""

    work: Work
    nodes: int
    """That are to change; of a module 1."""
    at_once: int
    since: datetime | None = None
    """When nodes were let go: the write, or the end of its bracket. None: not yet."""
    moved: bool = False
    """A look has seen its pool unsettled since then. What was settled all the time may never have been written: whoever meant to
    has died before."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long work took that nothing has disturbed, from the write to the look at which all of it was settled first."""

    work: Work
    nodes: int
    at_once: int
    took: int
    """Seconds."""
    module: str = ""


def with_pace(paces: tuple[Pace, ...], pace: Pace) -> tuple[Pace, ...]:
    """The same with one more; of its kind (of a module: of that module) the last KEPT_PACES are kept."""
    alike = [p for p in paces if (p.work, p.module) == (pace.work, pace.module)]
    gone = alike[0] if len(alike) >= KEPT_PACES else None
    kept = list(paces)
    if gone is not None:
        kept.remove(gone)
    return (*_bounded(kept), pace)


MOST_PACES = 8 * KEPT_PACES
"""Of a cluster, whatever modules it has: no memory may outgrow its store."""


def _bounded(paces: Iterable[Pace]) -> tuple[Pace, ...]:
    return tuple(paces)[-(MOST_PACES - 1) :]
