"""When newer content may be written although pools are unsettled: fix-forward, and what repairs what."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_mc.core.gates import Attribution, Paused, PoolReading, Unsettled, read_node
from gitops_mc.core.gates.attribution import RENDER_DEGRADED
from gitops_mc.core.gates.nodes import DESIRED_CONFIG
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import (
    MACHINE_CONFIG_MODULE,
    DesiredCluster,
    JsonObject,
    Kind,
    Unknown,
    annotations_of,
    digest_of,
    labels_of,
    matches_selector,
)
from gitops_mc.core.pools import rendered_name
from gitops_mc.core.rollout.memory import ClusterMemory, Failure


def pool_subject(desired: DesiredCluster, live: LiveCluster, pool: str) -> str:
    """Digest of everything Git says that decides a pool's state: its configs, the policy, machine-config."""
    selectors = [
        (body.get("spec") or {}).get("machineConfigSelector")
        for body in (_live_pool(live, pool), _desired_pool(desired, pool))
        if body is not None
    ]
    configs = [
        [m.key.name, m.body]
        for m in desired.of_kind(Kind.MACHINE_CONFIG)
        if any(matches_selector(s, labels_of(m.body)) for s in selectors)
    ]
    policy = [m.body for m in desired.of_kind(Kind.MACHINE_CONFIGURATION)]
    module = [m.body for m in desired.of_kind(Kind.MODULE_INFO) if m.key.name == MACHINE_CONFIG_MODULE]
    return digest_of([configs, policy, module, _desired_pool(desired, pool)])


def subject_digest(desired: DesiredCluster, live: LiveCluster, subject: str) -> str:
    """Digest of what Git wants for a failure's subject (`pool:worker`, `module:logcenter`, `policy`, ...)."""
    kind, _, name = subject.partition(":")
    match kind:
        case "pool":
            return pool_subject(desired, live, name)
        case "module":
            return digest_of([m.body for m in desired.of_kind(Kind.MODULE_INFO) if m.key.name == name])
        case "object":
            return digest_of(
                [m.body for m in desired.manifests if f"{m.key.kind.value}/{m.key.name}" == name]
            )
        case _:
            kinds = (Kind.MACHINE_CONFIGURATION, Kind.MODULE_INFO)
            return digest_of([m.body for m in desired.manifests if m.key.kind in kinds])


def repairs(
    failure: Failure, desired: DesiredCluster, live: LiveCluster, failed: DesiredCluster | None = None
) -> bool:
    """Whether a newer content changes something of what failed; one that does not inherits the failure.

    `failed`: the content that failed, where it can be had. Then both are looked at as the cluster stands now: which configs
    a pool selects may have been taken back with the rest.
    """
    if desired.content == failure.content:
        return False
    then = (
        failure.subjects if failed is None else {s: subject_digest(failed, live, s) for s in failure.subjects}
    )
    return any(subject_digest(desired, live, s) != digest for s, digest in then.items())


def ours_to_repair(reading: PoolReading, memory: ClusterMemory) -> bool:
    """Whether a pool is unsettled because of content we wrote.

    While a write of ours to this cluster has not passed its gates, trouble that moves nodes between configs is ours,
    unless every degraded node says otherwise (drift on the node, or entries that are not ours).
    """
    if not memory.begun or not isinstance(reading, Unsettled):
        return False
    if reading.terminal is None:
        return True
    return reading.terminal.attribution in {Attribution.OURS, Attribution.NOT_KNOWN}


def repair_not_reached(live: LiveCluster, pool: str, reading: PoolReading) -> bool:
    """After a repair is written: Degraded still stands, but only on nodes that have not been moved to the newest
    rendered config, or are out of service on their way to it: the daemon calls a Degraded node Degraded until it is done
    (OpenShift machine-config-operator, MachineConfigDaemon), however long drain and reboot take. They are waited for,
    until they stall, and named where the operator cannot move them; they have not failed *it*.
    """
    if not isinstance(reading, Unsettled) or reading.terminal is None:
        return False
    if RENDER_DEGRADED in reading.terminal.conditions:
        return False
    body = _live_pool(live, pool)
    if body is None or isinstance(live.nodes, Unknown):
        return False
    newest = rendered_name(body)
    faults = [n.node for n in reading.terminal.nodes]
    nodes: Mapping[str, JsonObject] = live.nodes.value
    return bool(faults) and all(
        annotations_of(nodes[n]).get(DESIRED_CONFIG) != newest or _out_of_service(nodes[n])
        for n in faults
        if n in nodes
    )


def _out_of_service(node: JsonObject) -> bool:
    state = read_node(node)
    return state.cordoned or not state.ready


def _live_pool(live: LiveCluster, pool: str) -> JsonObject | None:
    return None if isinstance(live.pools, Unknown) else live.pools.value.get(pool)


def _desired_pool(desired: DesiredCluster, pool: str) -> JsonObject | None:
    return next((m.body for m in desired.of_kind(Kind.MACHINE_CONFIG_POOL) if m.key.name == pool), None)


def repairable(reading: PoolReading, memory: ClusterMemory) -> bool:
    """Whether newer content may be written although the pool is unsettled; never where another has paused it."""
    paused = isinstance(reading, Unsettled) and reading.paused is Paused.BY_ANOTHER
    return not paused and ours_to_repair(reading, memory)
