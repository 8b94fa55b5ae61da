"""What really happened on nodes, as the fleet's own log has it: the witness beside the engine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Deed(StrEnum):
    """What is told of a node."""

    REBOOTED = "rebooted"
    ACTED = "acted"
    DEGRADED = "degraded"


@dataclass(frozen=True, slots=True)
class NodeNote:
    """One thing that happened on one node."""

    at: datetime
    cluster: str
    node: str
    deed: Deed
    action: str
    """What ran, as the node-disruption policy spells it (`Restart chronyd.service`); the reason of a degraded node."""
    why: str = ""
    """Every changed entry with what it asked for, as the node found it."""
