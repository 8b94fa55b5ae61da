"""When a cluster has failed, with what, and what does not count as a failure of a repair."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from datetime import timedelta

from gitops_mc.core.gates.attribution import RENDER_DEGRADED
from gitops_mc.core.gates.readings import Attribution, PoolReading, Unsettled
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import DesiredCluster, Failed, NotKnown, Unknown, Verdict
from gitops_mc.core.plan import title_of
from gitops_mc.core.policy import FleetPolicy, Sensitive
from gitops_mc.core.redact import Redactor
from gitops_mc.core.rollout.case import Case, WriteFault
from gitops_mc.core.rollout.gating import GateBook
from gitops_mc.core.rollout.memory import Failure, FailureCause
from gitops_mc.core.rollout.next_step import marked_pools
from gitops_mc.core.rollout.repairs import repair_not_reached, subject_digest

REPAIR_GRACE = timedelta(minutes=5)
"""How long RenderDegraded may still stand after a repair: the operator renders late, and the old message stays."""


def failure_of(
    case: Case,
    desired: DesiredCluster,
    gates: GateBook,
    managed: tuple[str, ...],
    unwritten: AbstractSet[str] = frozenset(),
) -> Failure | None:
    """What has failed with the content that was started. `unwritten`: pools that a repair has still to be written to; what
    is Degraded there says nothing about it, until it stalls.
    """
    memory = case.memory
    failed: dict[str, Verdict] = {}
    for pool, verdict in gates.not_open(managed):
        reached = pool not in unwritten and _counts(case, gates.readings[pool], pool)
        if isinstance(verdict, Failed) and (reached or _stalled(case, gates, pool)):
            failed[f"pool:{pool}"] = verdict
    failed |= _stuck_bracket(case)
    failed |= {f"module:{m}": v for m, v in gates.modules.items() if isinstance(v, Failed)}
    failed |= {
        n: v for n, v in (("policy", gates.policy), ("components", gates.components)) if isinstance(v, Failed)
    }
    if not failed or memory.started is None:
        return None
    reason = "; ".join(v.reason for v in failed.values())
    kept = memory.failure is None or memory.repairing
    pools = [s.removeprefix("pool:") for s in failed if s.startswith("pool:")]
    cause = cause_of(gates, pools) if pools else FailureCause.MODULE
    return Failure(
        content=desired.content,
        cause=cause,
        reason=without_secrets(case.policy, case.live, desired, reason) if kept else reason,
        at=case.now,
        subjects={s: subject_digest(desired, case.live, s) for s in failed},
    )


def cause_of(gates: GateBook, pools: Iterable[str]) -> FailureCause:
    """Whose trouble it is that these pools fail: the content's, unless all that is known of all of them says otherwise."""
    readings = [gates.readings.get(pool) for pool in pools]
    foreign = all(
        isinstance(r, Unsettled)
        and r.terminal is not None
        and r.terminal.attribution in {Attribution.DRIFT, Attribution.FOREIGN}
        for r in readings
    )
    return FailureCause.FOREIGN if foreign else FailureCause.CONFIG


def _stuck_bracket(case: Case) -> dict[str, Verdict]:
    """Pools that a step of ours keeps paused for longer than a stall: nothing that only time does will close it."""
    step = case.memory.step
    if step is None or case.now - step.at < case.policy.gates.pool.stall:
        return {}
    since = step.at.isoformat(timespec="seconds")
    told = (
        f"the step for {title_of(step.step)} stands open since {since} and keeps pool {{}} of {case.name} paused: what the pool has rendered is "
        "not what was written, or a write is refused; see kubectl -n cpaas-system logs deployment/machine-config-controller"
    )
    return {f"pool:{pool}": Failed(told.format(pool)) for pool in marked_pools(case.live)}


def _counts(case: Case, reading: PoolReading, pool: str) -> bool:
    """Whether Degraded is a failure of the content that was started: not what a repair has not reached yet, and not a
    node that drifted or that somebody else's config broke; those are named and waited for, until they stall.
    """
    terminal = reading.terminal if isinstance(reading, Unsettled) else None
    foreign = terminal is not None and terminal.attribution in {Attribution.DRIFT, Attribution.FOREIGN}
    return not foreign and not _still_repairing(case, pool, reading)


def _stalled(case: Case, gates: GateBook, pool: str) -> bool:
    clocks = gates.memory.pool_clocks.get(pool)
    since = None if clocks is None else clocks.progress_at
    return since is not None and case.now - since >= case.policy.gates.pool.stall


def _still_repairing(case: Case, pool: str, reading: PoolReading) -> bool:
    """Degraded by what failed before, not yet by what repairs it."""
    memory = case.memory
    if not memory.mends(pool):
        return False
    rendering = (
        isinstance(reading, Unsettled)
        and reading.terminal is not None
        and RENDER_DEGRADED in reading.terminal.conditions
    )
    if rendering:
        return memory.admitted_at is not None and case.now - memory.admitted_at < REPAIR_GRACE
    return repair_not_reached(case.live, pool, reading)


def any_failed(gates: GateBook) -> bool:
    verdicts = (*gates.pools.values(), *gates.modules.values(), gates.policy, gates.components)
    return any(isinstance(v, Failed | NotKnown) for v in verdicts)


def without_secrets(policy: FleetPolicy, live: LiveCluster, desired: DesiredCluster, text: str) -> str:
    """A text of a server or an operator, which may repeat what it was sent, as the memory may keep it."""
    if policy.sensitive == Sensitive():
        return text
    facts = (live.configs, live.rendered, live.modules)
    standing = [body for fact in facts if not isinstance(fact, Unknown) for body in fact.value.values()]
    return Redactor.of(policy.sensitive, [*(m.body for m in desired.manifests), *standing]).redact(text)


def refused_write(case: Case, desired: DesiredCluster, fault: WriteFault) -> Failure:
    subject = f"object:{fault.key.kind.value}/{fault.key.name}"
    told = f"{fault.key.kind.value} {fault.key.name} was refused: {fault.reason}"
    return Failure(
        content=desired.content,
        cause=FailureCause.REFUSED,
        reason=without_secrets(case.policy, case.live, desired, told),
        at=fault.at,
        subjects={subject: subject_digest(desired, case.live, subject)},
    )
