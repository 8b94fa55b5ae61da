"""What an abort does to the pools of a cluster, and what its end does.

Nothing is written after an abort but the pause. A bracket that is open stays as it is, its pools paused and marked: no node
has started on what is written of the step, and on half of it none may. To close it would start them, to complete it would
be a write that the abort forbids. On resume the step goes on from there.
"""

from __future__ import annotations

from gitops_mc.core.gates import Settled, read_pool
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import JsonObject, Kind, Unknown
from gitops_mc.core.policy import Gates
from gitops_mc.core.rollout.abort_marks import abort_mark_of, resuming, stopped_pools, stopping
from gitops_mc.core.rollout.brackets import is_paused, mark_of
from gitops_mc.core.rollout.case import Assessment
from gitops_mc.core.rollout.gating import order_of, our_configs
from gitops_mc.core.rollout.inputs import Abort
from gitops_mc.core.rollout.memory import ClusterMemory
from gitops_mc.core.rollout.moves import Pause, Unpause
from gitops_mc.core.rollout.progress import REPAIRING

ABORT_STEP = "abort"
"""The step of the moves that pause because of an abort, and of those that end it."""


def stops(cluster: str, live: LiveCluster, memory: ClusterMemory, gates: Gates, abort: Abort) -> Pause | None:
    """Pause the pools that we are rolling: touched by writes of ours that have not passed, and not settled. One that is
    paused already, by whomever, or that somebody has let run again in spite of an abort, is left as it is.
    """
    if abort.let_finish or not memory.begun or live.dark is not None or isinstance(live.pools, Unknown):
        return None
    ours = {*memory.touched, *(() if memory.step is None else memory.step.pools)}
    patches = tuple(
        stopping(pool, abort, memory.started)
        for name, pool in live.pools.value.items()
        if name in ours and _runs(pool) and not _is_settled(name, live, memory, gates)
    )
    return Pause(cluster, ABORT_STEP, patches) if patches else None


def _runs(pool: JsonObject) -> bool:
    return not is_paused(pool) and mark_of(pool) is None and abort_mark_of(pool) is None


def _is_settled(pool: str, live: LiveCluster, memory: ClusterMemory, gates: Gates) -> bool:
    order, ours = order_of(memory), our_configs(memory)
    reading = read_pool(live, pool, order=order, policy=gates.pool, excused=frozenset(), ours=ours)
    return isinstance(reading, Settled)


def resumes(a: Assessment, live: LiveCluster) -> Unpause | None:
    """Let the pools run again that an abort has paused, but for those in the middle of a step, and those that newer content
    has still to be written to: their nodes go to that one at once. A cluster without memory is met for the first time.
    """
    if a.memory.started is None or live.dark is not None:
        return None
    manifests = {m.key.name: m.body for m in a.desired.of_kind(Kind.MACHINE_CONFIG_POOL)}
    patches = []
    for name, pool in stopped_pools(live).items():
        mark = abort_mark_of(pool)
        if mark is not None and mark_of(pool) is None and name not in awaiting_newer(a):
            patches.append(resuming(pool, mark, manifests.get(name)))
    return Unpause(a.name, ABORT_STEP, tuple(patches)) if patches else None


def awaiting_newer(a: Assessment) -> frozenset[str]:
    """Pools that an abort had stopped when newer content took over, and that it has not been written to yet."""
    steps = () if a.plan is None else a.plan.steps
    outstanding = {pool for step in steps if step.kind in REPAIRING for pool in step.pools}
    return frozenset(a.memory.overtaken) & outstanding
