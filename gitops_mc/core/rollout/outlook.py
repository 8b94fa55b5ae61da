"""What is said at the end of a pass: done, wait, a human is needed, or halted; and the view of each cluster."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gitops_mc.core.rollout.case import Assessment
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import (
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
)
from gitops_mc.core.rollout.next_step import Act, Await

_FINAL = (Standing.PASSED, Standing.SKIPPED, Standing.UNREGISTERED, Standing.PROBLEMS)
_MOVING = (Standing.IN_FLIGHT, Standing.NOT_KNOWN, Standing.UNPUBLISHED)
_ACTS = {
    Standing.FAILED: "push newer content that changes what failed, or: gitops-mc release {0}, gitops-mc skip {0}",
    Standing.BLOCKED: "mend it, or: gitops-mc skip {0}",
    Standing.UNREACHABLE: "bring it back, or: gitops-mc skip {0}",
    Standing.APPROVAL: "gitops-mc plan --cluster {0}, then: gitops-mc apply --approve {0}",
}


def view_of(a: Assessment, wave: str, busy: Collection[str]) -> ClusterView:
    reason = f"{a.reason} (still being read)" if a.name in busy else a.reason
    arriving = a.admission
    if arriving is not None and a.in_rollout and a.standing is Standing.IN_FLIGHT:
        reason = f"{reason}; newer content: {arriving.reason}"
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
    )


def outlook(
    moves: Sequence[Move],
    clusters: Sequence[ClusterView],
    waves: Sequence[WaveView],
    memory: FleetMemory,
    fault: str,
) -> Outlook:
    """What becomes of it: DONE and HALTED are ends; HOLD needs a human; WAIT needs only time."""
    if fault:
        return Wait(f"fleet fault: {fault}")
    if moves:
        return Wait("writing")
    if moving := [c for c in clusters if c.standing in _MOVING]:
        return Wait("; ".join(f"{c.cluster}: {c.reason}" for c in moving[:3]))
    if memory.halt is not None:
        return Halted(memory.halt.reason)
    if soaking := [w for w in waves if w.state is WaveState.SOAKING]:
        return Wait(f"wave {soaking[0].wave}: {soaking[0].reason}")
    rest = [c for c in clusters if c.standing not in _FINAL]
    approvals = [w for w in waves if w.state is WaveState.NEEDS_APPROVAL]
    if not rest:
        passed = sum(1 for c in clusters if c.standing is Standing.PASSED)
        return Done(f"{passed} of {len(clusters)} cluster(s) passed")
    stuck = [c for c in rest if c.standing is not Standing.READY]
    if not stuck and not approvals:
        closed = next((w for w in waves if w.state in {WaveState.CLOSED, WaveState.OPEN}), None)
        return Wait(closed.reason if closed is not None else "waiting for a place")
    acts = [
        *(f"gitops-mc apply --approve {w.wave}" for w in approvals),
        *(_ACTS[c.standing].format(c.cluster) for c in stuck if c.standing in _ACTS),
    ]
    reasons = (
        *(w.reason for w in approvals),
        *(f"{c.cluster} is {c.standing.value}: {c.reason}" for c in stuck),
    )
    return Hold(reasons, tuple(dict.fromkeys(acts)))
