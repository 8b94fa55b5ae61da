"""The component gate: after an install or upgrade, the operator is up and has made its initial objects.

As the page on installing Machine Configuration verifies it (ACP docs): a controller and a daemon in `cpaas-system`,
pools `master` and `worker`, `00-master` and `00-worker`, MachineConfiguration `cluster`.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.core.gates.waiting import GateReading, gate_reading
from gitops_mc.core.live import Fact, LiveCluster
from gitops_mc.core.model import POLICY_NAME, JsonObject, Unknown
from gitops_mc.core.pools import BUILT_IN_POOLS
from gitops_mc.core.raw import count, lag, section

CONTROLLER = "Deployment/machine-config-controller"
DAEMON = "DaemonSet/machine-config-daemon"
COMPONENT_NAMESPACE = "cpaas-system"


def read_components(live: LiveCluster) -> GateReading:
    """Read the component gate of one cluster."""
    what = f"machine-config components of {live.name}"
    see = f"kubectl -n {COMPONENT_NAMESPACE} logs deployment/machine-config-controller on {live.name}"
    blockers: list[str] = []
    lacking: list[str] = []
    if isinstance(live.machine_apis, Unknown):
        lacking.append(f"whether the machine kinds are served was not read: {live.machine_apis.reason}")
    elif not live.machine_apis.value.served:
        blockers.append("the machine kinds are not served")
    if isinstance(live.components, Unknown):
        lacking.append(f"controller and daemon were not read: {live.components.reason}")
    else:
        for key, check in ((CONTROLLER, deployment_lacks), (DAEMON, daemon_set_lacks)):
            body = live.components.value.get(key)
            wrong = ["does not exist"] if body is None else [*check(body)]
            blockers += (f"{key} in {COMPONENT_NAMESPACE} {told}" for told in wrong)
    for kind, fact, names in _initial_objects(live):
        if isinstance(fact, Unknown):
            lacking.append(f"{kind} objects were not read: {fact.reason}")
        else:
            blockers += (f"{kind} {name} does not exist" for name in names if name not in fact.value)
    return gate_reading(what, tuple(blockers), tuple(lacking), see)


def _initial_objects(live: LiveCluster) -> tuple[tuple[str, Fact, tuple[str, ...]], ...]:
    return (
        ("MachineConfigPool", live.pools, BUILT_IN_POOLS),
        ("MachineConfig", live.configs, tuple(f"00-{pool}" for pool in BUILT_IN_POOLS)),
        ("MachineConfiguration", live.policies, (POLICY_NAME,)),
    )


def deployment_lacks(body: JsonObject) -> Iterator[str]:
    """Every replica, of the newest template. A count that is 0 is left out of the status by Kubernetes."""
    replicas = count(section(body, "spec"), "replicas")
    yield from _up(
        body, 1 if replicas is None else replicas, ("replicas", "updatedReplicas", "readyReplicas")
    )


def daemon_set_lacks(body: JsonObject) -> Iterator[str]:
    """What is not up of a DaemonSet: on every node it wants, of the newest template."""
    wanted = count(section(body, "status"), "desiredNumberScheduled") or 0
    yield from _up(body, wanted, ("updatedNumberScheduled", "numberReady"))


def _up(body: JsonObject, wanted: int, counts: tuple[str, ...]) -> Iterator[str]:
    if behind := lag(body):
        yield f"has a status older than its spec: {behind}"
    if wanted <= 0:
        yield "wants no pods at all"
    for key in counts:
        found = count(section(body, "status"), key) or 0
        if found != wanted:
            yield f"has {key} {found} of {wanted}"
