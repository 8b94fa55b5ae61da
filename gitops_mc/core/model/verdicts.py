"""What a gate says, always with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Open:
    """The gate is open."""

    reason: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not yet; `reason` names what it waits for. `accept` is the id under which a human may accept it, or empty."""

    reason: str
    accept: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """It will not open by itself; `reason` names cluster, pool, node, condition, since when, and what to do."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotKnown:
    """A fact is missing, so there is no verdict. Opens nothing, deletes nothing, fails nothing."""

    reason: str


Verdict: TypeAlias = Open | Waiting | Failed | NotKnown
