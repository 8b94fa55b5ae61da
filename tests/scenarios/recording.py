"""What is noted while a simulation is played: looks at clusters, and the writes that were decided on them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gitops_mc.sandbox.apiserver import AcceptedWrite


@dataclass(frozen=True, slots=True)
class Read:
    """A look at a cluster's pools; `seq`: the last write its server had accepted by then."""

    at: datetime
    seq: int
    answered: bool


@dataclass(frozen=True, slots=True)
class OurWrite:
    """A write of ours that a server accepted, and what it was decided on."""

    cluster: str
    """The cluster it is for: a ModuleInfo stands on global and is for another."""
    server: str
    write: AcceptedWrite
    read: int
    """Index of the last look at that cluster before it."""
    look: int
    """Index of the pass that decided it."""
    stray: bool = False
    """It came in with a later one: a process that was dead by then had sent it, so the pass is not the one that decided it."""
