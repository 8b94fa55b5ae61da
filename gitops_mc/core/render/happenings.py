"""What happened between two passes: what was told so far, a pass -> what there is to tell, and what is told now.

Pure. Nothing is told twice while it stands, and what is not known this time is neither an end nor a beginning. The first pass
of a process tells what stands and wants a human; what went well before it began is no news.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import assert_never

from gitops_mc.core.model import count
from gitops_mc.core.plan import title_of
from gitops_mc.core.render.happening import Happening, Reason, Weight
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import (
    ClusterView,
    Decision,
    Done,
    Halted,
    Hold,
    Outlook,
    Standing,
    Wait,
    WaveState,
    WaveView,
    said,
    said_of_wave,
)

_LISTED = 5
"""How many names a text gives before it only counts."""

_STANDINGS = {
    Standing.PASSED: Reason.CLUSTER_PASSED,
    Standing.IN_FLIGHT: Reason.CLUSTER_STARTED,
    Standing.FAILED: Reason.CLUSTER_FAILED,
    Standing.BLOCKED: Reason.CLUSTER_BLOCKED,
    Standing.UNPUBLISHED: Reason.VERSION_NOT_PUBLISHED,
    Standing.PROBLEMS: Reason.CLUSTER_PROBLEMS,
    Standing.UNREACHABLE: Reason.CLUSTER_UNREACHABLE,
    Standing.UNREGISTERED: Reason.CLUSTER_UNREGISTERED,
    Standing.SKIPPED: Reason.CLUSTER_SKIPPED,
    Standing.APPROVAL: Reason.CLUSTER_NEEDS_APPROVAL,
    Standing.HELD: Reason.CLUSTER_HELD,
    Standing.READY: Reason.CLUSTER_READY,
    Standing.GONE: Reason.CLUSTER_GONE,
}
"""All but NOT_KNOWN, which says nothing."""
_WAVES = {
    WaveState.OPEN: Reason.WAVE_OPENED,
    WaveState.SOAKING: Reason.WAVE_SOAKING,
    WaveState.DONE: Reason.WAVE_DONE,
    WaveState.NEEDS_APPROVAL: Reason.WAVE_NEEDS_APPROVAL,
}
"""All but CLOSED: that a wave waits for the one before it is no news."""


@dataclass(frozen=True, slots=True)
class ToldCluster:
    """What was told last of a cluster."""

    standing: Standing | None = None
    step: str = ""
    hands: bool = False
    window: bool = False
    rolled_back: bool = False
    drift: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Told:
    """What was told of a fleet so far; kept by the caller between two passes, for as long as the process lives."""

    clusters: Mapping[str, ToldCluster] = field(default_factory=lambda: MappingProxyType({}))
    waves: Mapping[str, WaveState] = field(default_factory=lambda: MappingProxyType({}))
    halted: bool = False
    fault: bool = False
    outlook: Reason | None = None


def happenings(
    told: Told | None, decision: Decision, memory: FleetMemory, fault: str
) -> tuple[Told, tuple[Happening, ...]]:
    """What to tell of a pass. `told`: None on the first pass of a process. `fault`: the fleet's, or empty."""
    before = told or Told()
    clusters = {c.cluster: _told_of(before.clusters.get(c.cluster), c, memory) for c in decision.clusters}
    now = Told(
        clusters=MappingProxyType(clusters),
        waves=before.waves if fault else MappingProxyType({w.wave: w.state for w in decision.waves}),
        halted=memory.halt is not None,
        fault=bool(fault),
        outlook=_outlook_reason(decision.outlook),
    )
    found = (
        *_faults(before, now, fault),
        *_halts(before, now, memory),
        *(
            h
            for c in decision.clusters
            for h in _cluster(before.clusters.get(c.cluster), clusters[c.cluster], c)
        ),
        *(h for w in decision.waves for h in _wave(before, w, now.fault)),
        *_ends(before, decision.outlook),
    )
    if told is None:
        found = tuple(h for h in found if h.reason.weight is Weight.WARNING or h.reason in _NEW_AT_ONCE)
    return now, found


_NEW_AT_ONCE = (Reason.CLUSTER_STARTED, Reason.WAVE_OPENED)
"""Told on a first pass too: a rollout that begins with the process would have no beginning."""


# ------------------------------------------------------------------------------------------------------------ clusters


def _told_of(before: ToldCluster | None, view: ClusterView, memory: FleetMemory) -> ToldCluster:
    known = before or ToldCluster()
    if view.standing is Standing.NOT_KNOWN:
        return known
    drift = known.drift if view.plan is None else frozenset(str(d.key) for d in view.plan.drifts)
    return ToldCluster(
        standing=view.standing,
        step=view.step or known.step,
        hands=bool(view.hands),
        window=view.window is not None,
        rolled_back=memory.cluster(view.cluster).rollback is not None,
        drift=drift,
    )


def _cluster(before: ToldCluster | None, now: ToldCluster, view: ClusterView) -> Iterator[Happening]:
    known = before or ToldCluster()
    if now.standing is not known.standing and now.standing is not None and _is_news(known, now.standing):
        yield _of(_STANDINGS[now.standing], view, _standing_text(view))
    elif now.standing is Standing.IN_FLIGHT and now.step != known.step:
        yield _of(Reason.STEP_STARTED, view, f"{title_of(view.step) or view.step}: {view.reason}")
    if now.rolled_back and not known.rolled_back:
        yield _of(Reason.ROLLED_BACK, view, f"back to what it passed: {view.reason}")
    if now.hands and not known.hands:
        yield _of(Reason.NEEDS_HANDS, view, view.hands)
    if now.window and not known.window:
        yield _of(Reason.WINDOW_AWAITED, view, view.reason)
    if now.drift - known.drift:
        told = f"{count(len(now.drift), 'object')} not as written, and left alone: {_some(sorted(now.drift))}"
        yield _of(Reason.DRIFT_FOUND, view, told)
    elif known.drift and not now.drift:
        yield _of(Reason.DRIFT_GONE, view, "everything is as Git says again")


def _is_news(known: ToldCluster, standing: Standing) -> bool:
    """That a cluster could start is news only after something that was in its way."""
    if standing is not Standing.READY:
        return True
    return known.standing is not None and known.standing not in {Standing.PASSED, Standing.IN_FLIGHT}


def _standing_text(view: ClusterView) -> str:
    title = title_of(view.step)
    step = f", at {title}" if title else ""
    reason = "" if view.reason in {"", view.standing.value} else f": {view.reason}"
    return f"{view.cluster} {said(view.standing)}{step}{reason}"


def _of(reason: Reason, view: ClusterView, text: str) -> Happening:
    return Happening(reason, text, view.cluster, view.wave, view.step)


# --------------------------------------------------------------------------------------------------------------- fleet


def _wave(before: Told, view: WaveView, fault: bool) -> Iterator[Happening]:  # noqa: FBT001 - a fact, not a way to act
    reason = _WAVES.get(view.state)
    if reason is None or fault or before.waves.get(view.wave) is view.state or not view.members:
        return
    passed = f": {view.reason}" if view.reason else ""
    yield Happening(reason, f"{said_of_wave(view.wave, view.state)}{passed}", wave=view.wave)


def _halts(before: Told, now: Told, memory: FleetMemory) -> Iterator[Happening]:
    if memory.halt is not None and not before.halted:
        yield Happening(Reason.HALTED, f"no new write anywhere: {memory.halt.reason}")
    if before.halted and not now.halted:
        yield Happening(Reason.HALT_LIFTED, "the halt is lifted; clusters may be written to again")


def _faults(before: Told, now: Told, fault: str) -> Iterator[Happening]:
    if now.fault and not before.fault:
        yield Happening(Reason.FAULT, fault)
    if before.fault and not now.fault:
        yield Happening(Reason.FAULT_OVER, "the clusters can be read again")


def _outlook_reason(outlook: Outlook) -> Reason | None:
    """A halt has a reason of its own, and says that it stays."""
    match outlook:
        case Done():
            return Reason.ROLLOUT_DONE
        case Hold():
            return Reason.ROLLOUT_HELD
        case Wait() | Halted():
            return None
        case _:
            assert_never(outlook)


def _ends(before: Told, outlook: Outlook) -> Iterator[Happening]:
    reason = _outlook_reason(outlook)
    if reason is None or reason is before.outlook:
        return
    match outlook:
        case Done():
            yield Happening(reason, outlook.reason)
        case Hold():
            acts = f"; what helps: {_some(outlook.acts)}" if outlook.acts else ""
            yield Happening(reason, f"{_some(outlook.reasons)}{acts}")
        case Wait() | Halted():
            return
        case _:
            assert_never(outlook)


def _some(names: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{'; '.join(names[:_LISTED])}{more}"
