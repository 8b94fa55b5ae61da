"""Gates that open once something is there: modules, policy, components. Reading apart from time here too."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias, assert_never

from gitops_mc.core.model import Failed, NotKnown, Open, Verdict, Waiting


@dataclass(frozen=True, slots=True)
class GateReady:
    """All of it is true now."""

    reason: str


@dataclass(frozen=True, slots=True)
class GateUnready:
    """Something of it is not true yet; `blockers` name it one by one."""

    reason: str
    blockers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GateHopeless:
    """Waiting cannot help: the platform would refuse it."""

    reason: str


@dataclass(frozen=True, slots=True)
class GateNotKnown:
    """A fact is missing."""

    reason: str


GateReading: TypeAlias = GateReady | GateUnready | GateHopeless | GateNotKnown


def judge_gate(reading: GateReading, since: datetime, timeout: timedelta, now: datetime) -> Verdict:
    """The verdict on a gate that has been waited for since `since`. Not knowing never fails it, however long."""
    match reading:
        case GateReady():
            return Open(reading.reason)
        case GateUnready() if now - since >= timeout:
            return Failed(
                f"{reading.reason}; waited since {since.isoformat(timespec='seconds')}, limit {timeout}"
            )
        case GateUnready():
            return Waiting(reading.reason)
        case GateHopeless():
            return Failed(reading.reason)
        case GateNotKnown():
            return NotKnown(reading.reason)
        case _:
            assert_never(reading)


def gate_reading(what: str, blockers: tuple[str, ...], lacking: tuple[str, ...], see: str) -> GateReading:
    """Ready without blockers and with all facts; what blocks is said before what is not known."""
    if blockers:
        return GateUnready(f"{what}: {'; '.join((*blockers, *lacking))}; see {see}", blockers)
    if lacking:
        return GateNotKnown(f"{what}: {'; '.join(lacking)}")
    return GateReady(what)
