"""The parts of the machine-config plugin on a cluster: what the platform deploys, and what the operator creates."""

from __future__ import annotations

from datetime import datetime, timedelta

from gitops_mc.core.model import (
    MACHINE_GROUP_VERSION,
    ROLE_LABEL,
    JsonObject,
    annotations_of,
    metadata,
    name_of,
)
from gitops_mc.sandbox.client import ApiClient, Cache, Touch
from gitops_mc.sandbox.faults import FOREVER
from gitops_mc.sandbox.operator.merging import IGNITION_VERSION
from gitops_mc.sandbox.operator.policy import SHIPPED_SPEC
from gitops_mc.sandbox.operator.pools import is_ready

CONTROLLER = "machine-config-controller"
DAEMON = "machine-config-daemon"
NAMESPACE = "cpaas-system"
RENDER_ANNOTATION = "sandbox.gitops-mc.io/renders"
"""On the controller's Deployment: `<upgrades so far> [<path>]`, what this version puts into every rendered config."""

ROLE_SELECTORS = {
    "master": "node-role.kubernetes.io/control-plane",
    "worker": "node-role.kubernetes.io/worker",
}
_EMPTY_SECTIONS = ("config", "proxy", "security", "timeouts")


def own_spec(renders: str) -> JsonObject:
    """What a version of the operator adds: a file where it has a path, else sections of Ignition that are empty."""
    upgrades, _, path = renders.partition(" ")
    if path:
        file = {"path": path, "mode": 0o644, "contents": {"source": f"data:,upgrade%20{upgrades}"}}
        return {"config": {"storage": {"files": [file]}}}
    count = int(upgrades)
    return {"config": {"ignition": {s: {} for bit, s in enumerate(_EMPTY_SECTIONS) if count >> bit & 1}}}


def initial_objects() -> list[tuple[str, JsonObject]]:
    """Resource and body of what the operator creates at its first start (ACP docs)."""
    objects: list[tuple[str, JsonObject]] = [
        (
            "machineconfigurations",
            {
                "apiVersion": MACHINE_GROUP_VERSION,
                "kind": "MachineConfiguration",
                "metadata": {"name": "cluster"},
                "spec": SHIPPED_SPEC,
            },
        )
    ]
    for role, label in ROLE_SELECTORS.items():
        objects.append(("machineconfigs", _base_config(role)))
        objects.append(("machineconfigpools", _pool(role, label)))
    return objects


def _base_config(role: str) -> JsonObject:
    return {
        "apiVersion": MACHINE_GROUP_VERSION,
        "kind": "MachineConfig",
        "metadata": {"name": f"00-{role}", "labels": {ROLE_LABEL: role}},
        "spec": {"config": {"ignition": {"version": IGNITION_VERSION}}},
    }


def _pool(role: str, label: str) -> JsonObject:
    return {
        "apiVersion": MACHINE_GROUP_VERSION,
        "kind": "MachineConfigPool",
        "metadata": {"name": role},
        "spec": {
            "machineConfigSelector": {"matchLabels": {ROLE_LABEL: role}},
            "nodeSelector": {"matchLabels": {label: ""}},
            "maxUnavailable": 1,
            "paused": False,
        },
    }


def deploy(client: ApiClient, version: str) -> None:
    """Create the components in `cpaas-system`, or bring them to a version."""
    image = {"spec": {"template": {"spec": {"containers": [_container(version)]}}}}
    for resource, kind, name, extra in (
        ("deployments", "Deployment", CONTROLLER, {"replicas": 1}),
        ("daemonsets", "DaemonSet", DAEMON, {}),
    ):
        if client.get(resource, name) is not None:
            client.merge(resource, name, image)
            continue
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, **image["spec"]["template"]}
        spec = {**extra, "selector": {"matchLabels": labels}, "template": template}
        meta = {"name": name, "namespace": NAMESPACE}
        client.create(resource, {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec})


def undeploy(client: ApiClient) -> None:
    """Remove the components; pools and configs stay, as a chart leaves its custom resources."""
    client.delete("deployments", CONTROLLER)
    client.delete("daemonsets", DAEMON)


def render_anew(client: ApiClient, path: str) -> None:
    """Let this version put something else into every rendered config."""
    renders = annotations_of(client.get("deployments", CONTROLLER) or {}).get(RENDER_ANNOTATION, "0")
    count = int(renders.partition(" ")[0]) + 1
    note = {RENDER_ANNOTATION: f"{count} {path}".rstrip()}
    client.merge("deployments", CONTROLLER, {"metadata": {"annotations": note}})


def _container(version: str) -> JsonObject:
    return {"name": "machine-config", "image": f"registry.example/machine-config:{version}"}


class ComponentController:
    """The actor that reports on the components, as the cluster's own controllers do: `delay` after a change."""

    interests = frozenset({("deployments", "*"), ("daemonsets", "*"), ("nodes", "*")})

    def __init__(self, cluster: str, client: ApiClient, delay: timedelta = timedelta(seconds=5)) -> None:
        self.name = f"{cluster}/components"
        self._client = client
        self._delay = delay
        self._caches = {
            resource: Cache(client, resource) for resource in ("deployments", "daemonsets", "nodes")
        }
        self._seen: dict[tuple[str, int], datetime] = {}

    def notice(self, touch: Touch) -> None:
        self._caches[touch.resource].touch(touch.name)

    def step(self, now: datetime) -> datetime:
        nodes = self._caches["nodes"].objects()
        ready = sum(map(is_ready, nodes))
        due = FOREVER
        for resource, counts in (
            (
                "deployments",
                dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 1),
            ),
            (
                "daemonsets",
                {
                    "desiredNumberScheduled": len(nodes),
                    "currentNumberScheduled": len(nodes),
                    "updatedNumberScheduled": len(nodes),
                    "numberReady": ready,
                    "numberAvailable": ready,
                    "numberMisscheduled": 0,
                },
            ),
        ):
            for component in self._caches[resource].objects():
                due = min(due, self._report(resource, component, counts, now))
        return due

    def _report(
        self, resource: str, component: JsonObject, counts: dict[str, int], now: datetime
    ) -> datetime:
        generation = int(metadata(component).get("generation", 1))
        since = self._seen.setdefault((name_of(component), generation), now)
        if now < since + self._delay:
            return since + self._delay
        status = {"observedGeneration": generation, **counts}
        if {k: (component.get("status") or {}).get(k) for k in status} != status:
            self._caches[resource].keep(self._client.merge_status(resource, name_of(component), status))
        return FOREVER
