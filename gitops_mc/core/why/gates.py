"""The links below the step: gates that are not open, their pools, who paused them, and the nodes that hold them up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from gitops_mc.core.gates import (
    Paused,
    PoolNotKnown,
    PoolReading,
    Settled,
    Unsettled,
    nodes_in_pools,
    paused_by,
    read_pool,
)
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import JsonObject, Open, Unknown, metadata
from gitops_mc.core.policy import PoolGatePolicy
from gitops_mc.core.rollout.abort_marks import AbortMark, abort_mark_of
from gitops_mc.core.rollout.acts import findings
from gitops_mc.core.rollout.brackets import mark_of
from gitops_mc.core.rollout.gating import order_of, our_configs
from gitops_mc.core.rollout.memory import ClusterMemory
from gitops_mc.core.rollout.moves import GateView
from gitops_mc.core.why.link import Link, Question, Subject

_POOL = "pool "
_PAUSED_FIELD = "f:paused"
_SHOWN = 5


def gates(q: Question) -> Iterator[Link]:
    """Every gate that is not open, and below a pool's what stands in its way."""
    for gate in q.view.gates:
        pool = gate.subject.removeprefix(_POOL)
        is_pool = pool != gate.subject
        if q.pool and (not is_pool or pool != q.pool):
            continue
        if isinstance(gate.verdict, Open):
            if q.pool:
                yield Link(Subject.POOL, f"{pool} is open: {gate.verdict.reason}")
            continue
        if is_pool:
            yield from _pool(q, gate, pool)
        else:
            yield Link(Subject.GATE, f"{gate.subject}: {gate.verdict.reason}", blocks=True)


def _pool(q: Question, gate: GateView, pool: str) -> Iterator[Link]:
    live = q.cluster
    body = None if isinstance(live.pools, Unknown) else live.pools.value.get(pool)
    shown = (f"kubectl describe machineconfigpool {pool}",)
    yield Link(Subject.POOL, f"{pool}: {gate.verdict.reason}", blocks=True, commands=shown)
    if body is not None:
        yield from _paused(pool, body)
    for accept in findings(q.memory).get(q.name, ()):
        if accept in gate.verdict.reason:
            told = "if that difference is meant, it can be accepted"
            yield Link(Subject.POOL, told, commands=(f"gitops-mc accept {accept} --cluster {q.name}",))
    yield from _nodes(_reading(q, pool))


def _reading(q: Question, pool: str) -> PoolReading:
    m = q.remembered
    return read_pool(
        q.cluster,
        pool,
        order=order_of(m),
        policy=q.fleet.policy.gates.pool,
        excused=frozenset(e.node for e in m.excused),
        ours=our_configs(m),
    )


def pools_now(live: LiveCluster, memory: ClusterMemory, pool: str = "") -> Iterator[Link]:
    """How the pools of a cluster stand at this moment, or the one that is named, with what somebody knows who has no repository:
    `operatorFiles` of fleet.yaml are not known, and may explain a mismatch.
    """
    if isinstance(live.pools, Unknown):
        yield Link(Subject.POOL, f"the pools were not read: {live.pools.reason}")
        return
    excused = frozenset(e.node for e in memory.excused)
    for name in (pool,) if pool else tuple(live.pools.value):
        reading = read_pool(
            live,
            name,
            order=order_of(memory),
            policy=PoolGatePolicy(),
            excused=excused,
            ours=our_configs(memory),
        )
        shown = (f"kubectl describe machineconfigpool {name}",)
        match reading:
            case Settled():
                yield Link(Subject.POOL, f"{name} is settled: {reading.reason}")
            case Unsettled():
                yield Link(Subject.POOL, f"{name}: {reading.reason}", blocks=True, commands=shown)
            case PoolNotKnown():
                yield Link(Subject.POOL, f"{name}: {reading.reason}", commands=shown)
            case _:
                assert_never(reading)
        yield from _paused(name, live.pools.value[name])
        yield from _nodes(reading)


def _paused(pool: str, body: JsonObject) -> Iterator[Link]:
    match paused_by(body):
        case Paused.BY_US:
            mark = mark_of(body)
            step = mark.step if mark is not None else "a step"
            told = f"{pool} is paused by gitops-mc for {step or 'a step'}, until all its writes are made"
            yield Link(Subject.POOL, told, blocks=True, commands=("gitops-mc apply",))
        case Paused.BY_ABORT:
            stopped = abort_mark_of(body)
            by = f" by {stopped.by}" if stopped is not None and stopped.by else ""
            told = f"{pool} is paused because the rollout was aborted{by}{_because(stopped)}; it runs again on resume"
            yield Link(Subject.POOL, told, blocks=True)
        case Paused.BY_ANOTHER:
            told = f"{pool} is paused{_pauser(body)}; gitops-mc never unpauses what another has paused"
            unpause = (
                f'kubectl patch machineconfigpool {pool} --type merge -p \'{{"spec":{{"paused":false}}}}\''
            )
            yield Link(Subject.POOL, told, blocks=True, commands=(unpause,))
        case Paused.NO:
            return


def _because(mark: AbortMark | None) -> str:
    return f" ({mark.why})" if mark is not None and mark.why else ""


def _pauser(body: JsonObject) -> str:
    """Who owns `spec.paused`, as the API server keeps it."""
    owners = [
        f"{entry.get('manager', 'somebody')} at {entry.get('time', 'a time nobody knows')}"
        for entry in metadata(body).get("managedFields") or ()
        if _PAUSED_FIELD in ((entry.get("fieldsV1") or {}).get("f:spec") or {})
    ]
    return f" by {', '.join(owners)}" if owners else ""


def _nodes(reading: PoolReading) -> Iterator[Link]:
    """Nodes that go no further by themselves, with what to type."""
    if not isinstance(reading, Unsettled):
        return
    told = set()
    for trouble in (*reading.needs_hands, *reading.draining):
        told.add(trouble.node)
        yield Link(Subject.NODE, str(trouble), blocks=True, commands=trouble.commands)
    for fault in () if reading.terminal is None else reading.terminal.nodes:
        if fault.node not in told:
            entries = f" in {', '.join(fault.entries[:_SHOWN])}" if fault.entries else ""
            yield Link(
                Subject.NODE,
                f"node {fault.node} is Degraded: {fault.reason} (trouble of {fault.attribution.value}{entries})",
                blocks=True,
                commands=(f"kubectl describe node {fault.node}",),
            )


def homeless(q: Question) -> Iterator[Link]:
    """Nodes that no pool has, or that two have: what is written reaches none of them."""
    found = nodes_in_pools(q.cluster)
    if isinstance(found, Unknown) or isinstance(q.cluster.pools, Unknown) or not q.cluster.pools.value:
        return
    if found.homeless:
        names = ", ".join(found.homeless[:_SHOWN])
        more = f" and {len(found.homeless) - _SHOWN} more" if len(found.homeless) > _SHOWN else ""
        yield Link(
            Subject.NODE,
            f"in no pool, so nothing that is written reaches them: {names}{more}",
            commands=(
                "kubectl get machineconfigpools -o custom-columns=NAME:.metadata.name,NODES:.spec.nodeSelector",
                f"kubectl label node {found.homeless[0]} node-role.kubernetes.io/worker=",
            ),
        )
    for node in found.contested:
        pools = ", ".join(found.pools[node])
        told = f"node {node} is in {len(found.pools[node])} custom pools ({pools}): the operator skips it"
        yield Link(Subject.NODE, told, commands=(f"kubectl get node {node} --show-labels",))
