"""A machine whose clock was set back: what is remembered lies in the future, and would hold up everything until then."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import datetime
from typing import Any, TypeVar

from gitops_mc.core.rollout.memory import ClusterMemory, FleetMemory, Rollback

Clocks = TypeVar("Clocks", bound=Any)


def not_in_the_future(memory: FleetMemory, now: datetime) -> FleetMemory:
    """The memory with every beginning that lies after `now` at `now`: it is waited for once more, never skipped, and what
    came before something else still does not come after it. What humans set (the end of an excuse) and their log stay. Work
    that is timed is timed no more: nobody knows how long it has taken.
    """
    clusters = {name: _of_cluster(m, now) for name, m in memory.clusters.items()}
    if memory.clock is not None and memory.clock > now:
        clusters = {name: replace(m, rolls={}) for name, m in clusters.items()}
    waves = {name: _no_later(w, now) for name, w in memory.waves.items()}
    halt = None if memory.halt is None else _no_later(memory.halt, now)
    return _no_later(replace(memory, clusters=clusters, waves=waves, halt=halt), now)


def _of_cluster(m: ClusterMemory, now: datetime) -> ClusterMemory:
    return replace(
        _no_later(m, now),
        failure=None if m.failure is None else _no_later(m.failure, now),
        rollback=None if m.rollback is None else _of_rollback(m.rollback, now),
        step=None if m.step is None else _no_later(m.step, now),
        pool_clocks={pool: _no_later(c, now) for pool, c in m.pool_clocks.items()},
        module_clocks={module: _no_later(c, now) for module, c in m.module_clocks.items()},
        gate_since={gate: min(at, now) for gate, at in m.gate_since.items()},
    )


def _of_rollback(rollback: Rollback, now: datetime) -> Rollback:
    return replace(_no_later(rollback, now), failed=_no_later(rollback.failed, now))


def _no_later(value: Clocks, now: datetime) -> Clocks:
    """The dataclass with those of its own times that lie after `now` at `now`."""
    times = {f.name: getattr(value, f.name) for f in fields(value)}
    late = {name: now for name, at in times.items() if isinstance(at, datetime) and at > now}
    return replace(value, **late) if late else value
