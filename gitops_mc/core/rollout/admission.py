"""Whether the newest content may start in a cluster now, and why not."""

from __future__ import annotations

from dataclasses import replace

from gitops_mc.core.diff import Delete, Touch
from gitops_mc.core.gates import Settled
from gitops_mc.core.gates.readings import Unsettled
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Content, Failed, Kind, NotKnown, Open, ResourceKey, Unknown, Verdict
from gitops_mc.core.plan import ClusterPlan, make_plan
from gitops_mc.core.rollout.abort_marks import stopped_pools
from gitops_mc.core.rollout.brackets import freed_by_git
from gitops_mc.core.rollout.case import Admission, Assessment, Case, circumstances, gates_of
from gitops_mc.core.rollout.gating import GateBook, managed_pools, module_of_clock
from gitops_mc.core.rollout.inventory import unsent
from gitops_mc.core.rollout.memory import ClusterMemory, Failure, FailureCause
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.next_step import Position, marked_pools, next_step
from gitops_mc.core.rollout.repairs import pool_subject, repairable, repairs, subject_digest
from gitops_mc.core.rollout.rollback import told_back
from gitops_mc.core.rollout.showing import not_as_shown
from gitops_mc.core.rollout.timing import in_window
from gitops_mc.core.rollout.transitions import admitted


def admission(case: Case, current: Assessment | None) -> Admission:
    """Whether the newest content could start now."""
    newest, memory = case.newest, case.memory
    plan = make_plan(newest, case.live, case.policy, circumstances(case, memory))
    rolled = () if memory.out and memory.failure is None else memory.touched
    managed = managed_pools(newest, case.live, rolled)
    gates = (
        gates_of(case, newest, managed)
        if current is None or current.gates is None
        else _joined(case, current, managed)
    )

    remembered = memory.started is not None and not memory.out
    orphaned = bool(marked_pools(case.live)) and (not remembered or (current is None and memory.begun))
    failed = _inherited(case)
    repair = bool(memory.held) and failed is None
    could = Admission(Standing.READY, "could start", plan, gates, repair=repair, ends_step=orphaned)
    if failed is not None:
        return replace(could, standing=Standing.FAILED, reason=_held(memory, newest.content, failed))
    if stopped := _stopped_by_plan(case, plan):
        return replace(could, standing=stopped[0], reason=stopped[1])
    if unpublished := sorted(gates.unpublished):
        return _unpublished(case, plan, gates, unpublished)
    if used_up := _used_up(plan, gates):
        return replace(could, standing=Standing.BLOCKED, reason=used_up)
    forward = _fix_forward(case, current, gates)
    exempt = forward | _freed_by_git(case)
    could = replace(could, overtakes=tuple(sorted(forward)))
    closed = [(p, v) for p, v in gates.not_open(_relevant(case, plan, managed)) if p not in exempt]
    shut = _not_settled(case, current, gates, closed) if closed else _sick_modules(case, plan, gates)
    if shut:
        return replace(could, standing=shut[0], reason=shut[1])
    position = Position(newest, case.live, plan, gates, managed, exempt)
    return in_window(case, replace(could, next=next_step(position)))


def _inherited(case: Case) -> Failure | None:
    """The failure that the newest content does not repair: it changes nothing of what failed, or has failed itself."""
    return next((f for f in case.memory.held if not _repaired(case, f)), None)


def _repaired(case: Case, failure: Failure) -> bool:
    return repairs(failure, case.newest, case.live, case.contents.get(failure.content))


def _held(memory: ClusterMemory, newest: Content, failed: Failure) -> str:
    if memory.rollback is not None and memory.rolled_back:
        return told_back(memory.rollback)
    if newest == failed.content:
        return f"held, it has failed here: {failed.reason}"
    return f"newer content does not change what failed, so it inherits the failure: {failed.reason}"


def _stopped_by_plan(case: Case, plan: ClusterPlan) -> tuple[Standing, str] | None:
    """What the plan itself lacks, refuses, or asks a human for."""
    if plan.not_read:
        return Standing.NOT_KNOWN, "; ".join(n.reason for n in plan.not_read)
    if plan.refusals:
        return Standing.BLOCKED, "refused: " + "; ".join(r.reason for r in plan.refusals)
    why = _first_contact(case, plan) or _not_as_shown(case)
    if why:
        look = f"look at it with gitops-mc plan --cluster {case.name}, then: gitops-mc apply --approve {case.name}"
        return Standing.APPROVAL, f"{why}; {look}"
    return None


def _first_contact(case: Case, plan: ClusterPlan) -> str:
    if not needs_approval(case, plan):
        return ""
    return f"first contact: the plan changes what somebody set ({_first_changes(case, plan)})"


def _not_as_shown(case: Case) -> str:
    """By the plan that the admitted content is carried out by: what had passed is proven no more then, and may be written again."""
    if not case.preview_required:
        return ""
    arriving = admitted(case.memory, case.newest, case.commit, case.now)
    more = beyond_preview(case, make_plan(case.newest, case.live, case.policy, circumstances(case, arriving)))
    return f"rollout.requirePreview: {more}" if more else ""


def _joined(case: Case, current: Assessment, managed: tuple[str, ...]) -> GateBook:
    """The gates of the newest content beside those already judged: pools are judged once a pass, modules by version."""
    assert current.gates is not None
    newest = gates_of(case, case.newest, managed)
    uploads = {k: c for k, c in newest.memory.module_clocks.items() if module_of_clock(k) != k}
    judged = {k: c for k, c in current.memory.module_clocks.items() if k in current.gates.modules}
    installed = {k: c for k, c in newest.memory.module_clocks.items() if module_of_clock(k) == k} | judged
    return replace(
        newest,
        pools={**newest.pools, **current.gates.pools},
        readings={**newest.readings, **current.gates.readings},
        memory=replace(current.memory, module_clocks=installed | uploads),
    )


def _freed_by_git(case: Case) -> frozenset[str]:
    """Pools that stand still only because their manifest paused them, and does so no more."""
    if isinstance(case.live.pools, Unknown):
        return frozenset()
    manifests = {m.key.name: m.body for m in case.newest.of_kind(Kind.MACHINE_CONFIG_POOL)}
    pools = case.live.pools.value
    return frozenset(n for n, pool in pools.items() if freed_by_git(pool, manifests.get(n)))


def _used_up(plan: ClusterPlan, gates: GateBook) -> str:
    """Excused nodes that are unavailable use up maxUnavailable: the operator would begin on no node."""
    touched = {p for step in plan.steps for p in step.pools}
    full = [
        r
        for p, r in gates.readings.items()
        if p in touched and isinstance(r, Settled) and r.excused and r.capacity_left == 0
    ]
    return "; ".join(
        f"refused: pool {r.pool}: the excused {', '.join(r.excused)} use up maxUnavailable, so no node would be updated; "
        "mend or remove them, or raise maxUnavailable"
        for r in full
    )


def _relevant(case: Case, plan: ClusterPlan, managed: tuple[str, ...]) -> tuple[str, ...]:
    existing = () if isinstance(case.live.pools, Unknown) else tuple(case.live.pools.value)
    touched = [p for step in plan.steps for p in step.pools]
    return tuple(p for p in dict.fromkeys([*managed, *touched]) if p in existing)


def needs_approval(case: Case, plan: ClusterPlan) -> bool:
    """First contact, and the plan changes, takes over or deletes a value somebody set. It lasts until a content has passed: what
    began with additions alone has approved nothing else. What the memory knows us to have written is nobody else's.
    """
    memory, newest = case.memory, case.newest.content
    if memory.passed is not None or newest in {memory.started, memory.approved} or case.name in case.approved:
        return False
    return bool(_foreign(case, plan)) or (memory.started is None and bool(_ours_paused(case.live)))


def beyond_preview(case: Case, plan: ClusterPlan) -> str:
    """What the newest content does to a cluster that no preview of it has shown, where fleet.yaml asks for one and no human has
    approved it as it is; empty: nothing. What it was started with is asked about no more, but for what other prune settings let go
    once it has passed.
    """
    memory, newest = case.memory, case.newest.content
    if not case.preview_required or newest == memory.approved or case.name in case.approved:
        return ""
    goes = memory.out and any(isinstance(write, Delete) for write in plan.writes)
    if newest == memory.started and not goes:
        return ""
    return not_as_shown(plan, memory.shown)


def _foreign(case: Case, plan: ClusterPlan) -> tuple[ResourceKey, ...]:
    """Objects that somebody set, we perhaps, before this memory began, and that the plan changes."""
    m = case.memory
    ours = {*m.written(case.name), *(each.key(case.name) for each in (*m.created, *m.changed))}
    return tuple(w.key for w in plan.writes if w.touch is Touch.CHANGES_EXISTING and w.key not in ours)


def _ours_paused(live: LiveCluster) -> tuple[str, ...]:
    return (*marked_pools(live), *stopped_pools(live))


def _first_changes(case: Case, plan: ClusterPlan) -> str:
    touched = [f"{key.kind.value} {key.name}" for key in _foreign(case, plan)]
    if case.memory.started is None:
        marked, stopped = marked_pools(case.live), stopped_pools(case.live)
        touched += [f"pool {p}, which a step of ours that was never closed has paused" for p in marked]
        touched += [f"pool {p}, which an abort has paused" for p in stopped]
    return ", ".join(touched[:3]) + (f" and {len(touched) - 3} more" if len(touched) > 3 else "")


def _unpublished(case: Case, plan: ClusterPlan, gates: GateBook, modules: list[str]) -> Admission:
    verdicts = {m: gates.modules[m] for m in modules}
    reason = "; ".join(v.reason for v in verdicts.values())
    failed = {f"module:{m}" for m, v in verdicts.items() if isinstance(v, Failed)}
    if not failed:
        unknown = any(isinstance(v, NotKnown) for v in verdicts.values())
        return Admission(Standing.NOT_KNOWN if unknown else Standing.UNPUBLISHED, reason, plan, gates)
    failure = Failure(
        content=case.newest.content,
        cause=FailureCause.MODULE,
        reason=reason,
        at=case.now,
        subjects={s: subject_digest(case.newest, case.live, s) for s in failed},
    )
    return Admission(Standing.FAILED, reason, plan, gates, failure=failure)


def _sick_modules(case: Case, plan: ClusterPlan, gates: GateBook) -> tuple[Standing, str] | None:
    """Managed modules that are not ready before anything was written, and that the plan does not change."""
    if case.memory.begun:
        return None
    sent = {w.key for w in plan.writes if w.key.kind is Kind.MODULE_INFO} - {*unsent(plan)}
    written = {key.name for key in sent}
    closed = {m: v for m, v in gates.modules.items() if m not in written and not isinstance(v, Open)}
    if not closed:
        return None
    reason = "; ".join(v.reason for v in closed.values())
    clocks = gates.memory.module_clocks
    if all(isinstance(v, NotKnown) or (m in clocks and clocks[m].ready_since) for m, v in closed.items()):
        return Standing.NOT_KNOWN, f"looking whether it stays ready: {reason}"
    return Standing.BLOCKED, f"sick before anything was written: {reason}"


def _fix_forward(case: Case, current: Assessment | None, gates: GateBook) -> frozenset[str]:
    """Pools whose closed gate lets the newest content through, because it changes what unsettled them.

    At once when they are degraded, stalled, held as failed, or stopped by an abort; while they roll healthily only if a human is impatient.
    """
    memory = case.memory
    marked = frozenset(marked_pools(case.live))  # a step of ours is open on them, known to the memory or not
    stopped = frozenset(stopped_pools(case.live))
    if not memory.begun:
        return marked | stopped
    started = None if current is None else current.desired
    held = memory.failure is not None
    exempt = set(marked)
    for pool, reading in gates.readings.items():
        if not repairable(reading, memory):
            continue
        assert isinstance(reading, Unsettled)
        changed = started is None or pool_subject(started, case.live, pool) != pool_subject(
            case.newest, case.live, pool
        )
        stuck = held or pool in stopped or reading.terminal is not None
        stuck = stuck or isinstance(gates.pools.get(pool), Failed)
        if changed and (stuck or case.hurried):
            exempt.add(pool)
    return frozenset(exempt)


def _not_settled(
    case: Case, current: Assessment | None, gates: GateBook, closed: list[tuple[str, Verdict]]
) -> tuple[Standing, str]:
    reason = "; ".join(v.reason for _, v in closed)
    if any(isinstance(v, NotKnown) for _, v in closed):
        return Standing.NOT_KNOWN, reason
    if all(isinstance(gates.readings.get(p), Settled) for p, _ in closed):
        return Standing.NOT_KNOWN, f"looking whether it stays settled: {reason}"
    if current is not None and current.in_rollout and case.memory.begun:
        return Standing.IN_FLIGHT, f"newer content takes over once what is rolling has settled: {reason}"
    return Standing.BLOCKED, f"sick before anything was written: {reason}"
