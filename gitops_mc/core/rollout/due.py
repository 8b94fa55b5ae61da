"""What has been asked of a cluster already: the time of a gate counts only for that."""

from __future__ import annotations

from gitops_mc.core.gates import live_modules
from gitops_mc.core.gates.disruption_policy import policy_entries
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import POLICY_NAME, DesiredCluster, JsonObject, Kind, Manifest, Unknown
from gitops_mc.core.rollout.memory import ClusterMemory
from gitops_mc.core.versions import newer


def wanted_policy(desired: DesiredCluster) -> JsonObject:
    found = next(iter(desired.of_kind(Kind.MACHINE_CONFIGURATION)), None)
    wanted: JsonObject = (
        {} if found is None else (found.body.get("spec") or {}).get("nodeDisruptionPolicy") or {}
    )
    return wanted


def wanted_version(manifest: Manifest) -> str:
    return str((manifest.body.get("spec") or {}).get("version", ""))


def asks_for(live: LiveCluster, module: str, version: str) -> bool:
    """Whether the live ModuleInfo already says the wanted version, or a newer one: its publication is no question then."""
    found = live_modules(live, module)
    if len(found) != 1:
        return False
    live_version = str((found[0].get("spec") or {}).get("version", ""))
    return live_version == version or newer(live_version, version) is True


def installed(live: LiveCluster, module: str) -> bool:
    """Whether the live ModuleInfo says that the version it asks for is the one that is there, all up or not."""
    found = live_modules(live, module)
    if len(found) != 1:
        return False
    asked, there = ((found[0].get(part) or {}).get("version") for part in ("spec", "status"))
    return bool(asked) and asked == there


def pool_is_due(live: LiveCluster, memory: ClusterMemory, pool: str) -> bool:
    """Whether time counts for a pool: one that is only going to be written cannot be late."""
    if isinstance(live.pools, Unknown) or pool in live.pools.value:
        return True
    return any(e.kind is Kind.MACHINE_CONFIG_POOL and e.name == pool for e in memory.inventory)


def module_is_due(live: LiveCluster, memory: ClusterMemory, manifest: Manifest) -> bool:
    """Whether time counts for a module: it has been asked for, or stood there once and is gone."""
    name = manifest.key.name
    if asks_for(live, name, wanted_version(manifest)):
        return True
    known = any(e.kind is Kind.MODULE_INFO and e.name == name for e in memory.inventory)
    return known and not live_modules(live, name)


def policy_is_asked_for(live: LiveCluster, wanted: JsonObject) -> bool:
    """Whether the live spec has what Git wants of it: before it is written it cannot show in status."""
    if isinstance(live.policies, Unknown):
        return True
    spec = (live.policies.value.get(POLICY_NAME) or {}).get("spec") or {}
    return policy_entries(wanted).items() <= policy_entries(spec.get("nodeDisruptionPolicy") or {}).items()
