"""What one pass came to, how often there is one, and when its memory has to be saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gitops_mc.app.act import Written
from gitops_mc.app.ports import MemoryStore
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.memory import FleetMemory, to_json, without_clocks
from gitops_mc.core.rollout.moves import Decision

CLOCKS_SAVED_EVERY = timedelta(seconds=10)
"""What a crash may take from the clocks; everything else is saved at once."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often to look. All passes stand on one grid, so that a slow cluster shifts no other's times."""

    every: timedelta = timedelta(seconds=2)
    quiet_every: timedelta = timedelta(seconds=30)
    """How often clusters are read where nothing is awaited."""
    probe_every: timedelta = timedelta(seconds=15)
    """How often a cluster is asked that did not answer the last time."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one pass came to; for progress."""

    at: datetime
    decision: Decision
    memory: FleetMemory
    written: tuple[Written, ...]
    troubles: tuple[str, ...]
    """Writes that did not go through this time."""
    fleet: Fleet
    """What Git said, with the earlier contents that could be had."""
    live: Mapping[str, LiveCluster] = field(default_factory=dict)
    """What the decision was made from, by cluster."""


@dataclass(slots=True)
class Keeper:
    """Saves a memory where it has changed; clocks that merely move on are saved now and then."""

    store: MemoryStore
    memory: FleetMemory
    at: datetime
    _saved: FleetMemory = field(init=False)

    def __post_init__(self) -> None:
        self._saved = self.memory

    def keep(self, look: Look) -> None:
        """Durable when it returns, where moves depend on it."""
        self.memory = look.memory
        if matters(self._saved, look, look.at - self.at):
            self.store.save(to_json(look.memory))
            self._saved, self.at = look.memory, look.at


def matters(saved: FleetMemory, look: Look, since: timedelta) -> bool:
    """Whether the memory of a look has to be saved, `since` the last time that it was."""
    if look.memory == saved:
        return False
    due = since >= CLOCKS_SAVED_EVERY
    return bool(look.decision.moves) or due or without_clocks(look.memory) != without_clocks(saved)
