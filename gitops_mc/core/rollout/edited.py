"""Configs of ours that somebody has edited since: what they say now is his, and so is what it breaks."""

from __future__ import annotations

from gitops_mc.core.diff.drifting import is_edited
from gitops_mc.core.gates.attribution import degraded_conditions
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Kind, ResourceKey, Unknown
from gitops_mc.core.plan import drift_id
from gitops_mc.core.rollout.memory import ClusterMemory


def edited_configs(live: LiveCluster, memory: ClusterMemory) -> frozenset[str]:
    """Names of the MachineConfigs that we wrote and that do not say what we wrote any more, but for those where a human
    has said that Git's side wins. Asked for attribution only: empty while no pool is degraded.
    """
    if isinstance(live.pools, Unknown) or isinstance(live.configs, Unknown):
        return frozenset()
    if not any(degraded_conditions(pool) for pool in live.pools.value.values()):
        return frozenset()
    written = memory.written(live.name)
    keys = {name: ResourceKey(live.name, Kind.MACHINE_CONFIG, name) for name in live.configs.value}
    return frozenset(
        name
        for name, body in live.configs.value.items()
        if drift_id(keys[name]) not in memory.accepted
        and is_edited(keys[name], body, written.get(keys[name]))
    )
