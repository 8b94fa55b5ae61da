"""How a fleet stands at this moment: what a rollout would decide if it looked now. Nothing is written or remembered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gitops_mc.app.observe import Interest, NodeReading
from gitops_mc.app.use_cases.planning import Session
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.rollout.fleet import UNWATCHED, next_moves
from gitops_mc.core.rollout.inputs import Acts, Fleet, Observed
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import Decision

LOOKING = Acts(only=frozenset())
"""Nobody may be written for: a cluster that could start is shown as such, not as started."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One look: the memory it started from, what was read, and what would be decided."""

    at: datetime
    memory: FleetMemory
    fleet: Fleet
    """With the earlier contents that could be had."""
    live: Mapping[str, LiveCluster]
    decision: Decision


def stand(session: Session, fleet: Fleet) -> Standing:
    """Look at every cluster, nodes included. Where no rollout has looked lately, a pool that is settled now counts as
    settled: a single look cannot see whether it stays so, and says nothing about it.
    """
    memory = session.executor.memory()
    live = session.executor.observe(fleet, Interest(nodes=NodeReading.ALWAYS, releases=True), memory)
    now = session.clock.now()
    known = session.executor.with_past(fleet, memory)
    decision, _ = next_moves(as_seen_once(known, memory, now), memory, Observed(live), now, LOOKING)
    return Standing(now, memory, known, live, decision)


def as_seen_once(fleet: Fleet, memory: FleetMemory, now: datetime) -> Fleet:
    """The fleet with gates that open at one look, unless a rollout has looked lately and knows better."""
    if memory.clock is not None and now - memory.clock <= UNWATCHED:
        return fleet
    gates = fleet.policy.gates
    pool = replace(gates.pool, settle=timedelta(0))
    return replace(fleet, policy=replace(fleet.policy, gates=replace(gates, pool=pool)))
