"""When a rollout by hand is over: at its outlook, or, where only some clusters may be written for, when they are."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TypeAlias

from gitops_mc.core.model import count
from gitops_mc.core.rollout.moves import (
    FINAL,
    ClusterView,
    Decision,
    Done,
    Halted,
    Hold,
    Standing,
    WaveState,
    WaveView,
    said,
)

Ending: TypeAlias = Done | Halted | Hold


def ending(decision: Decision, only: AbstractSet[str] | None) -> Ending | None:
    """How the rollout ends at this pass, or None while it goes on. `only`: the clusters that may be written for, None
    for all; the others neither move nor are waited for, but a wave that waits for one of them stays closed.
    """
    if isinstance(decision.outlook, Done | Halted | Hold):
        return decision.outlook
    if only is None or decision.moves:
        return None
    chosen = [c for c in decision.clusters if c.cluster in only]
    if all(c.standing in FINAL for c in chosen):
        passed = sum(1 for c in chosen if c.standing is Standing.PASSED)
        return Done(f"{passed} of {count(len(chosen), 'chosen cluster')} passed")
    waiting = [c for c in chosen if c.standing is Standing.READY]
    if len(waiting) < sum(1 for c in chosen if c.standing not in FINAL):
        return None
    return _shut_out(decision, waiting, only)


def _shut_out(decision: Decision, waiting: list[ClusterView], only: AbstractSet[str]) -> Hold | None:
    """The chosen clusters could start, and what keeps them from it is not chosen: nothing would ever happen."""
    first = next((w for w in decision.waves if w.state is not WaveState.DONE), None)
    if first is None or first.state is WaveState.SOAKING:
        return None
    others = _unfinished(decision, first, only)
    if not others:
        return None
    names = ", ".join(c.cluster for c in waiting)
    told = "; ".join(f"{c.cluster} {said(c.standing)}" for c in others[:3])
    return Hold(
        (
            f"{names}: could start, but wave {first.wave} is not done and its other clusters were not chosen: {told}",
        ),
        (
            f"gitops-mc apply --cluster {others[0].cluster}",
            "gitops-mc apply (without --cluster)",
            f"gitops-mc skip {others[0].cluster}",
        ),
    )


def _unfinished(decision: Decision, wave: WaveView, only: AbstractSet[str]) -> list[ClusterView]:
    """Clusters of the wave that were not chosen and keep it, or its places, from the chosen ones. While the facts about
    one are missing nobody can say.
    """
    others = [
        c
        for c in decision.clusters
        if c.wave == wave.wave and c.cluster not in only and c.standing not in FINAL
    ]
    if any(c.standing is Standing.NOT_KNOWN for c in others):
        return []
    chosen_inside = any(
        c.wave == wave.wave and c.cluster in only and c.standing not in FINAL for c in decision.clusters
    )
    return [c for c in others if c.begun] if chosen_inside else others
