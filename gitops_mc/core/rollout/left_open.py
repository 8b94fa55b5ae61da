"""Work of ours that is not over although the memory says nothing of it: told by the live state alone.

Who is in flight is remembered. Where that is lost, or older than the clusters are, some of them still are, and others
started beside them would disrupt more at once than fleet.yaml allows.
"""

from __future__ import annotations

from gitops_mc.core.gates.agreement import compare_pool
from gitops_mc.core.gates.membership import selected_configs
from gitops_mc.core.model import FLEET_LABEL, JsonObject, Unknown, labels_of, name_of
from gitops_mc.core.pools import machine_count, rendered_name, status_name
from gitops_mc.core.raw import count, section
from gitops_mc.core.rollout.abort_marks import stopped_pools
from gitops_mc.core.rollout.case import Case
from gitops_mc.core.rollout.gating import order_of
from gitops_mc.core.rollout.next_step import marked_pools


def left_open(case: Case) -> tuple[str, ...]:
    """Pools of a cluster that the memory does not know to be in the rollout, where a step of ours stands open, or where
    nodes are still to get what we have written. The latter only where nothing at all is remembered: who has passed is not
    in flight again because somebody else rolls a pool.
    """
    live, memory = case.live, case.memory
    if isinstance(live.pools, Unknown) or (memory.started is not None and not memory.out):
        return ()
    found = {*marked_pools(live)}
    if memory.started is None and memory.passed is None:
        found |= {*stopped_pools(live)}
        found |= {name for name, pool in live.pools.value.items() if _on_its_way(case, pool)}
    return tuple(sorted(found))


def told(pools: tuple[str, ...]) -> str:
    """What is said of a cluster with such pools."""
    return f"it keeps its place, for what we wrote to pool {', '.join(pools)} is not over, though nothing is remembered of it"


def _on_its_way(case: Case, pool: JsonObject) -> bool:
    """Whether a pool with a config that carries our mark has not brought all of it to all its nodes."""
    ours = {name_of(c) for c in selected_configs(case.live, name_of(pool)) if FLEET_LABEL in labels_of(c)}
    if not ours:
        return False
    machines, updated = machine_count(pool), count(section(pool, "status"), "updatedMachineCount")
    if rendered_name(pool) != status_name(pool) or (machines or 0) > (updated or 0):
        return True
    files = case.policy.gates.pool.operator_files
    compared = compare_pool(case.live, pool, order_of(case.memory), files)
    return any(item.owner in ours for item in compared.mismatch)
