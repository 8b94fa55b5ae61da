"""One cluster on one pass: where it stands, what it would do next, and whether the newest content may take over.

Pure. The fleet (`gitops_mc.core.rollout.fleet`) decides who may go on; here is only what a cluster could do.
"""

from __future__ import annotations

from dataclasses import replace

from gitops_mc.core.diff import Delete
from gitops_mc.core.gates import Counting
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import DesiredCluster, Outage, Severity, Unknown
from gitops_mc.core.plan import ClusterPlan
from gitops_mc.core.raw import section
from gitops_mc.core.rollout.admission import admission
from gitops_mc.core.rollout.case import Assessment, Case, circumstances
from gitops_mc.core.rollout.gating import learnt_order
from gitops_mc.core.rollout.left_open import left_open, told
from gitops_mc.core.rollout.memory import ClusterMemory
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.next_step import REFUSED, Act, Await, marked_pools
from gitops_mc.core.rollout.progress import progress
from gitops_mc.core.rollout.rollback import named_content, without_modules
from gitops_mc.core.rollout.transitions import prune_settings, without_drift


def assess(case: Case) -> Assessment:
    """Look at one cluster. While it waits for nothing but its change window, its clocks do not run."""
    if case.windows and case.memory.started is not None and not case.memory.out:
        still = _look_at(replace(case, counting=Counting.STOPPED))
        if still.window is not None:
            return still
    return _look_at(case)


def _look_at(case: Case) -> Assessment:
    memory = _dark_clock(case)
    early = _early(case, memory)
    if early is not None:
        return early
    return _keeping_its_place(case, _look_into(case, memory))


def _keeping_its_place(case: Case, a: Assessment) -> Assessment:
    """Work of ours that nobody remembers takes a place like any other."""
    pools = left_open(replace(case, memory=a.memory))
    return replace(a, left_open=pools, reason=f"{a.reason}; {told(pools)}") if pools else a


def _look_into(case: Case, memory: ClusterMemory) -> Assessment:
    memory = learnt_order(case.live, memory, case.policy.gates)
    started = _started(case, memory)
    current = progress(replace(case, memory=memory), started) if started is not None else None
    if current is not None:
        memory = current.memory
    if case.newest.blocked:  # what cannot be read is no part of the content, which may be what has passed
        problems = _problems(case.newest)
        if current is not None and current.in_rollout:
            return replace(current, reason=f"{current.reason}; newer content has problems: {problems}")
        if current is not None and current.desired.content == case.newest.content:
            return replace(current, standing=Standing.PROBLEMS, reason=problems, next=None)
        return Assessment(case.name, Standing.PROBLEMS, problems, memory, case.newest)
    if started is not None and started.content == case.newest.content and not memory.rolled_back:
        assert current is not None
        return _again(replace(case, memory=memory), current)
    arriving = admission(replace(case, memory=memory), current)
    if current is not None and current.in_rollout and current.standing is not Standing.SKIPPED:
        return _at_border(_on_its_way_back(replace(current, admission=arriving)))
    gates = arriving.gates
    memory = memory if gates is None else gates.memory
    return Assessment(
        case.name,
        arriving.standing,
        arriving.reason,
        memory,
        case.newest,
        plan=arriving.plan,
        gates=gates,
        admission=arriving,
    )


def _on_its_way_back(a: Assessment) -> Assessment:
    rollback = a.memory.rollback
    if rollback is None or not a.memory.rolled_back or a.standing is Standing.FAILED:
        return a
    told = f"on its way back to content {named_content(rollback.to, rollback.to_commit)}: {a.reason}"
    return replace(a, reason=told)


def _at_border(a: Assessment) -> Assessment:
    """A cluster that would begin a step of a content that is superseded, or cannot pass with it because of somebody's hand,
    and could start the newest: it is settled, and waits for its wave like one that has not started.
    """
    assert a.admission is not None
    begins = isinstance(a.next, Act) and a.next.begins
    undone = isinstance(a.next, Await) and a.next.step == REFUSED and not a.closed
    if a.standing is not Standing.IN_FLIGHT or a.admission.standing is not Standing.READY:
        return a
    if not begins and not undone:
        return a
    return replace(
        a, standing=Standing.READY, reason="at the border of a step: newer content takes over with its wave"
    )


def _again(case: Case, current: Assessment) -> Assessment:
    """A cluster that has passed starts once more where other prune settings let something go that has left Git, where a
    human has said that Git's side wins over a hand that has changed something since, and where a step of ours stands open
    that the memory, older than the cluster, knows nothing of.
    """
    if current.standing is not Standing.PASSED or current.plan is None or current.plan.not_read:
        return current
    won = _won(case, current.plan)
    if not won and not _lets_go(case, current.plan) and not marked_pools(case.live):
        memory = replace(current.memory, passed_prune=prune_settings(case.prune))
        return replace(current, memory=without_drift(memory))
    if won and current.closed:
        told = "Git's side is to win, once what the hand has set off is over: "
        return replace(current, standing=Standing.NOT_KNOWN, reason=told + current.reason)
    arriving = admission(case, current)
    return replace(current, standing=arriving.standing, reason=arriving.reason, admission=arriving)


def _won(case: Case, plan: ClusterPlan) -> bool:
    """Whether something is written, or refused, because Git's side is to win."""
    wins = circumstances(case, case.memory).git_wins
    return any(each.key in wins for each in (*plan.writes, *plan.refusals))


def _lets_go(case: Case, plan: ClusterPlan) -> bool:
    before = case.memory.passed_prune
    changed = before not in {"", prune_settings(case.prune)}
    return changed and any(isinstance(w, Delete) for w in plan.writes)


def _dark_clock(case: Case) -> ClusterMemory:
    """Since when the cluster does not answer. While the whole fleet has a fault, no cluster is counted for it."""
    memory = case.memory
    if _barred(case):
        return memory
    if case.live.dark is None:
        return memory if memory.dark_since is None else replace(memory, dark_since=None)
    if memory.dark_since is None or case.dark is Counting.STOPPED:
        return replace(memory, dark_since=case.now)
    return memory


def _barred(case: Case) -> bool:
    return case.live.dark is not None and case.live.dark.kind is Outage.BARRED


def _early(case: Case, memory: ClusterMemory) -> Assessment | None:
    """Standings for which no plan is needed, or none can be made."""

    def told(standing: Standing, reason: str) -> Assessment:
        return Assessment(case.name, standing, reason, memory, case.newest)

    live = case.live
    passed = memory.out and memory.started == case.newest.content
    if memory.skipped == case.newest.content:
        return told(Standing.SKIPPED, "skipped by a human for this content")
    if not isinstance(live.inventory, Unknown) and not live.inventory.value:
        return told(
            Standing.UNREGISTERED,
            f"clusters/{case.name} has no cluster of that name on global (kubectl get clusters.platform.tkestack.io)",
        )
    if live.dark is not None and _barred(case):
        return replace(told(Standing.BLOCKED, live.dark.reason), lift=live.dark.lift)
    if live.dark is not None:
        since = memory.dark_since or case.now
        what = f"does not answer since {since.isoformat(timespec='seconds')}: {live.dark.reason}"
        if case.now - since >= case.policy.gates.unreachable_after:
            return told(Standing.UNREACHABLE, what)
        if passed:
            return told(Standing.PASSED, what)
        return told(Standing.NOT_KNOWN, what)
    if isinstance(live.inventory, Unknown):
        return told(Standing.NOT_KNOWN, f"the inventory of clusters was not read: {live.inventory.reason}")
    registered = next(iter(live.inventory.value.values()))
    phase = str(section(registered, "status").get("phase", ""))
    if phase != "Running" and not memory.begun:
        return told(
            Standing.BLOCKED, f"the platform says phase {phase or 'unknown'} of {case.name}, not Running"
        )
    if missing := _not_read(live):
        return told(Standing.NOT_KNOWN, missing)
    return None


def _not_read(live: LiveCluster) -> str:
    facts = {"whether machine configuration is served": live.machine_apis, "modules": live.modules}
    if not isinstance(live.machine_apis, Unknown) and live.machine_apis.value.served:
        facts |= {
            "machine configs": live.configs,
            "pools": live.pools,
            "the disruption policy": live.policies,
        }
    unknown = [f"{what}: {fact.reason}" for what, fact in facts.items() if isinstance(fact, Unknown)]
    return f"not read yet: {'; '.join(unknown)}" if unknown else ""


def _started(case: Case, memory: ClusterMemory) -> DesiredCluster | None:
    """The desired state of the content that was started; None when there is none, or when it cannot be had any more."""
    found = None if memory.started is None else case.contents.get(memory.started)
    return without_modules(found) if found is not None and memory.rolled_back else found


def _problems(desired: DesiredCluster) -> str:
    errors = [p for p in desired.problems if p.severity is Severity.ERROR]
    first = f"{errors[0].place}: {errors[0].message}" if errors else ""
    return first + (f" (and {len(errors) - 1} more)" if len(errors) > 1 else "")
