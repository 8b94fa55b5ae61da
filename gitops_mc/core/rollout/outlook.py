"""What is said at the end of a pass: done, wait, a human is needed, or halted; and the view of each cluster."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from gitops_mc.core.gates import Counting, Paused, PoolReading, Unsettled
from gitops_mc.core.model import Open, Waiting, count
from gitops_mc.core.plan import title_of
from gitops_mc.core.rollout.case import Assessment
from gitops_mc.core.rollout.failures import any_failed
from gitops_mc.core.rollout.hands import hands
from gitops_mc.core.rollout.inputs import Pass
from gitops_mc.core.rollout.memory import FailureCause, FleetMemory, Halt
from gitops_mc.core.rollout.moves import (
    FINAL,
    ClusterView,
    Done,
    Halted,
    Hold,
    Move,
    Outlook,
    Standing,
    Wait,
    WaveState,
    WaveView,
    said,
)
from gitops_mc.core.rollout.next_step import Act, Await
from gitops_mc.core.rollout.orders import fleet_order
from gitops_mc.core.rollout.windows import WindowClosed

_NAMED = 10
"""Clusters that are named where the same is said of many."""
_MOVING = (Standing.IN_FLIGHT, Standing.NOT_KNOWN, Standing.UNPUBLISHED)
_ACTS = {
    Standing.FAILED: "push newer content that changes what failed, or: gitops-mc release {0}, gitops-mc skip {0}",
    Standing.BLOCKED: "mend it, or: gitops-mc skip {0}",
    Standing.UNREACHABLE: "bring it back, or: gitops-mc skip {0}",
    Standing.PROBLEMS: "correct it in Git, or: gitops-mc skip {0}",
    Standing.GONE: "put clusters/{0} back into Git, or let its pools run by hand (kubectl edit machineconfigpool)",
    Standing.APPROVAL: "gitops-mc plan --cluster {0}, then: gitops-mc apply --approve {0}",
}


def view_of(a: Assessment, wave: str, busy: Collection[str], memory: FleetMemory) -> ClusterView:
    reason = f"{a.reason} (still being read)" if a.name in busy else a.reason
    arriving = a.admission
    if arriving is not None and a.in_rollout and a.standing is Standing.IN_FLIGHT:
        reason = f"{reason}; newer content: {arriving.reason}"
    elif arriving is not None and arriving.window is not None and a.standing is Standing.FAILED:
        reason = f"{reason}; newer content repairs it: {arriving.reason}"
    step = ""
    if isinstance(a.next, Act):
        step = a.next.step.id
    elif isinstance(a.next, Await):
        step = a.next.step
    return ClusterView(
        cluster=a.name,
        wave=wave,
        standing=a.standing,
        reason=reason,
        content=a.memory.started if a.in_rollout else a.desired.content,
        step=step,
        gates=() if a.gates is None else a.gates.views(),
        plan=a.plan,
        begun=a.memory.begun,
        recovering=_recovers(a) or _repair_comes(a),
        hands=hands(a, memory),
        window=_window(a),
        left_open=a.left_open,
    )


def _window(a: Assessment) -> WindowClosed | None:
    """What keeps it from what it would begin next, be that newer content or the next step of the one it has."""
    if a.admission is not None and a.admission.standing is not Standing.FAILED:
        return a.admission.window
    return a.window


def _recovers(a: Assessment) -> bool:
    failure = a.memory.failure
    if a.standing is not Standing.FAILED or failure is None or failure.cause is FailureCause.REFUSED:
        return False
    if a.order is not None and a.order.counting is Counting.STOPPED:
        return False
    if not a.in_rollout or a.gates is None or any_failed(a.gates):
        return False
    readings = a.gates.readings.values()
    return not any(isinstance(r, Unsettled) and r.paused is Paused.BY_US for r in readings)


def _repair_comes(a: Assessment) -> bool:
    """Whether nothing but time keeps newer content from repairing what has failed: gates that have to hold for a while, a
    version that is being published, a pool that rolls.
    """
    arriving = a.admission
    if a.standing is not Standing.FAILED or arriving is None or not arriving.repair:
        return False
    if a.order is not None and a.order.all_writes:
        return False
    if arriving.standing is Standing.IN_FLIGHT and arriving.gates is not None:
        gates = arriving.gates
        return any(_rolls(r) and isinstance(gates.pools.get(p), Waiting) for p, r in gates.readings.items())
    return arriving.standing in {Standing.NOT_KNOWN, Standing.UNPUBLISHED}


def _rolls(reading: PoolReading) -> bool:
    """Whether a pool moves by itself; it settles, or stalls, in a time that is known."""
    if not isinstance(reading, Unsettled) or reading.terminal is not None or reading.needs_hands:
        return False
    return reading.paused is Paused.NO


def _halt_reason(halt: Halt, memory: FleetMemory) -> str:
    back = [n for n in halt.clusters if memory.cluster(n).rolled_back and memory.cluster(n).failure is None]
    told = f"; {', '.join(back)} stands at what it passed before" if back else ""
    if any(memory.cluster(name).held for name in halt.clusters):
        return halt.reason + told
    names = ", ".join(halt.clusters)
    return (
        f"{names} failed and opened after all; the halt stays until somebody lifts it. It was: {halt.reason}"
    )


def gone_views(memory: FleetMemory, found: Collection[str]) -> tuple[ClusterView, ...]:
    """Clusters that are remembered and have no folder any more, those with nothing of ours left out."""
    views = []
    for name, m in sorted(memory.clusters.items()):
        if name in found or not (m.inventory or m.step):
            continue
        stays = f"{count(len(m.inventory), 'object')} of ours {'stays' if len(m.inventory) == 1 else 'stay'}"
        reason = f"its folder is gone from Git: nothing is changed there, and {stays}"
        if m.step is not None:
            reason += f"; the step for {title_of(m.step.step)} stands open, and may keep it paused by us"
        step = m.step.step if m.step is not None else ""
        views.append(ClusterView(name, "", Standing.GONE, reason, m.started, step, (), None, m.begun))
    return tuple(views)


def outlook(
    moves: Sequence[Move],
    clusters: Sequence[ClusterView],
    waves: Sequence[WaveView],
    memory: FleetMemory,
    on: Pass,
) -> Outlook:
    """What becomes of it: DONE and HALTED are ends; HOLD needs a human; WAIT needs only time."""
    if on.fault:
        return Wait(f"fleet fault: {on.fault}")
    if moves:
        return Wait("writing")
    order = fleet_order(on.acts)
    if order is not None and any(c.standing not in FINAL for c in clusters):
        begun = (f"{c.cluster} {said(c.standing)}" for c in clusters if c.begun and c.standing not in FINAL)
        return Hold((order.told, *begun), (order.lift,))  # why each stands so is told of the cluster
    if moving := [c for c in clusters if _moves_on(c)]:
        return Wait("; ".join(f"{c.cluster}: {c.reason}" for c in moving[:3]), _opens_at(moving))
    if memory.halt is not None:
        return Halted(_halt_reason(memory.halt, memory))
    shaky = _in_the_way(clusters, waves)
    soaking = [w for w in waves if w.state is WaveState.SOAKING]
    if soaking and not shaky:
        return Wait(f"wave {soaking[0].wave} is soaking: {soaking[0].reason}")
    opened = {n for w in waves if w.state is WaveState.OPEN for n in w.members}
    if nights := [c for c in clusters if c.standing is Standing.READY and c.window and c.cluster in opened]:
        return Wait("; ".join(f"{c.cluster}: {c.reason}" for c in nights[:3]), _opens_at(nights))
    rest = [
        c
        for c in clusters
        if c.standing not in FINAL or c.left_open or (c.standing is Standing.GONE and c.step)
    ]
    approvals = [w for w in waves if w.state is WaveState.NEEDS_APPROVAL]
    if not rest and not soaking:
        passed = sum(1 for c in clusters if c.standing is Standing.PASSED)
        there = sum(1 for c in clusters if c.standing is not Standing.GONE)
        return Done(f"{passed} of {count(there, 'cluster')} passed{_drifted(clusters)}")
    stuck = [*(c for c in rest if c.standing is not Standing.READY), *shaky]
    if not stuck and not approvals:
        closed = next((w for w in waves if w.state in {WaveState.CLOSED, WaveState.OPEN}), None)
        return Wait(closed.reason if closed is not None else "waiting for a place")
    acts = [
        *(f"gitops-mc apply --approve {w.wave}" for w in approvals),
        *(c.hands or _ACTS[c.standing].format(c.cluster) for c in stuck if c.hands or c.standing in _ACTS),
    ]
    reasons = (
        *(w.reason for w in approvals),
        *_alike(stuck),
    )
    return Hold(reasons, tuple(dict.fromkeys(acts)))


def _alike(stuck: Sequence[ClusterView]) -> tuple[str, ...]:
    """Why each of them stands: what is the same of many is said once."""
    names: dict[tuple[Standing, str], list[str]] = {}
    for c in stuck:
        names.setdefault((c.standing, c.reason), []).append(c.cluster)
    return tuple(
        f"{_names(who)}{'' if len(who) == 1 else ': each'} {said(standing)}: {reason}"
        for (standing, reason), who in names.items()
    )


def _all_open(c: ClusterView) -> bool:
    return bool(c.gates) and all(isinstance(gate.verdict, Open) for gate in c.gates)


def _names(clusters: Sequence[str]) -> str:
    rest = f" and {len(clusters) - _NAMED} more" if len(clusters) > _NAMED else ""
    return ", ".join(clusters[:_NAMED]) + rest


def _drifted(clusters: Sequence[ClusterView]) -> str:
    """Clusters that have passed and are not any more what they passed with: left alone, and never called as Git says."""
    names = [c.cluster for c in clusters if c.plan is not None and c.plan.drifts]
    if not names:
        return ""
    stand = "is" if len(names) == 1 else "are"
    return f"; {', '.join(names)} {stand} not as Git says any more and left alone (drift): gitops-mc plan shows what"


def _moves_on(c: ClusterView) -> bool:
    """Whether time alone may change something about it."""
    repaired = c.standing is Standing.FAILED and c.window is not None and c.window.opens_at is not None
    return (c.standing in _MOVING and not c.hands) or c.recovering or repaired


def _opens_at(waiting: Sequence[ClusterView]) -> datetime | None:
    """The first moment at which one of them may go on, where all of them wait for their windows."""
    times = [c.window.opens_at for c in waiting if c.window is not None and c.window.opens_at is not None]
    return min(times) if times and len(times) == len(waiting) else None


def _in_the_way(clusters: Sequence[ClusterView], waves: Sequence[WaveView]) -> list[ClusterView]:
    """Clusters that keep the first wave that is not done, or the one after it, from going on until somebody acts:
    passed ones that are not settled any more, or not as they passed, and those whose part of the repository cannot be read.
    """
    first = next((i for i, w in enumerate(waves) if w.state is not WaveState.DONE), None)
    if first is None:
        return []
    looked_at = waves[: first + 1] if waves[first].state is WaveState.SOAKING else waves[:first]
    before = {n for w in looked_at for n in w.members}
    shaky = [c for c in clusters if c.cluster in before and c.standing is Standing.PASSED and c.hands]
    here = [c for c in clusters if c.cluster in waves[first].members]
    starts = any(c.standing is Standing.READY for c in here)
    soaks = waves[first].state is WaveState.SOAKING
    broken = [
        c for c in here if c.standing is Standing.PROBLEMS and not starts and not (soaks and _all_open(c))
    ]
    return [*shaky, *broken]
