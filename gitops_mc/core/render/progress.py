"""A rollout as it goes: a snapshot of every pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Failed, NotKnown, Open, Unknown, Verdict, Waiting
from gitops_mc.core.plan import StepKind
from gitops_mc.core.render.lines import Tone
from gitops_mc.core.rollout.moves import ClusterView, Decision, GateView, Standing, WaveState, WaveView

_POOL = "pool "
_COUNTS = {
    "nodes": "machineCount",
    "updated": "updatedMachineCount",
    "ready": "readyMachineCount",
    "unavailable": "unavailableMachineCount",
    "degraded": "degradedMachineCount",
}
STANDING_TONES = {
    Standing.PASSED: Tone.GOOD,
    Standing.FAILED: Tone.BAD,
    Standing.BLOCKED: Tone.BAD,
    Standing.PROBLEMS: Tone.BAD,
    Standing.UNREACHABLE: Tone.BAD,
    Standing.UNPUBLISHED: Tone.WARN,
    Standing.APPROVAL: Tone.WARN,
    Standing.SKIPPED: Tone.WARN,
    Standing.HELD: Tone.WARN,
}
WAVE_TONES = {WaveState.DONE: Tone.GOOD, WaveState.NEEDS_APPROVAL: Tone.WARN, WaveState.CLOSED: Tone.DIM}
NO_NEWS = (Standing.NOT_KNOWN, Standing.READY)
"""Standings that are not worth a line when a cluster is seen for the first time."""


@dataclass(frozen=True, slots=True)
class PoolProgress:
    """How far one pool is. Counts as the operator tells them; None: not said, or not read."""

    gate: GateView
    counts: Mapping[str, int | None]

    @property
    def name(self) -> str:
        return self.gate.subject.removeprefix(_POOL)

    @property
    def quiet(self) -> bool:
        """Whether every node is done, as far as the operator's counts say."""
        c = self.counts
        return (
            c["nodes"] is not None
            and c["nodes"] == c["updated"]
            and not c["unavailable"]
            and not c["degraded"]
        )

    def words(self) -> str:
        nodes, updated = self.counts["nodes"], self.counts["updated"]
        told = [f"{_or(updated)} of {_or(nodes)} nodes updated"]
        told += [f"{n} {what}" for what in ("unavailable", "degraded") if (n := self.counts[what])]
        return ", ".join(told)


@dataclass(frozen=True, slots=True)
class ClusterProgress:
    view: ClusterView
    pools: tuple[PoolProgress, ...]
    gates: tuple[GateView, ...]
    """Those that are no pool's."""

    @property
    def busy(self) -> bool:
        """Whether its gates are worth looking at: nodes may be moving because of us."""
        return self.view.standing in {Standing.IN_FLIGHT, Standing.FAILED}


@dataclass(frozen=True, slots=True)
class Progress:
    """One pass, as it is shown."""

    at: datetime
    waves: tuple[WaveView, ...]
    clusters: tuple[ClusterProgress, ...]

    def of_wave(self, wave: WaveView) -> tuple[ClusterProgress, ...]:
        members = frozenset(wave.members)
        return tuple(c for c in self.clusters if c.view.cluster in members)

    def passed(self, wave: WaveView) -> int:
        return sum(1 for c in self.of_wave(wave) if c.view.standing is Standing.PASSED)


def progress_of(at: datetime, decision: Decision, live: Mapping[str, LiveCluster]) -> Progress:
    """What a pass has come to."""
    return Progress(
        at, decision.waves, tuple(_cluster(view, live.get(view.cluster)) for view in decision.clusters)
    )


def _cluster(view: ClusterView, live: LiveCluster | None) -> ClusterProgress:
    pools = tuple(
        PoolProgress(g, _counts(live, g.subject.removeprefix(_POOL))) for g in view.gates if _is_pool(g)
    )
    return ClusterProgress(view, pools, tuple(g for g in view.gates if not _is_pool(g)))


def _is_pool(gate: GateView) -> bool:
    return gate.subject.startswith(_POOL)


def _counts(live: LiveCluster | None, pool: str) -> Mapping[str, int | None]:
    if live is None or isinstance(live.pools, Unknown):
        return dict.fromkeys(_COUNTS)
    status = (live.pools.value.get(pool) or {}).get("status") or {}
    found = {name: status.get(key) for name, key in _COUNTS.items()}
    return {name: value if isinstance(value, int) else None for name, value in found.items()}


def pools_of_step(step: str) -> tuple[str, ...]:
    """The pools that the id of a step names (`pools:infra,worker`)."""
    kind, _, names = step.partition(":")
    return tuple(names.split(",")) if kind == StepKind.POOLS.value else ()


def state_of(verdict: Verdict) -> str:
    """A verdict in one word: open, waiting, failed, unknown."""
    match verdict:
        case Open():
            return "open"
        case Waiting():
            return "waiting"
        case Failed():
            return "failed"
        case NotKnown():
            return "unknown"
        case _:
            assert_never(verdict)


def gate_tone(verdict: Verdict) -> Tone:
    """How a verdict is shown."""
    return {"open": Tone.GOOD, "failed": Tone.BAD}.get(state_of(verdict), Tone.PLAIN)


def _or(count: int | None) -> str:
    return "?" if count is None else str(count)
