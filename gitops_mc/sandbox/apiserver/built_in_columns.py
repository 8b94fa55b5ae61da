"""The columns of the built-in kinds, as kube-apiserver prints them (kubernetes/pkg/printers/internalversion).

Written after its `-o wide` output. A pod's status is worked out of its phase, its reason and its containers; init
containers and readiness gates, which no pod in here has, are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from gitops_mc.sandbox.apiserver.columns import AGE, NAME, Cell, Column, Obj, age

_WIDE = 1
_NONE = "<none>"


def _column(name: str, read: Callable[[Obj], Cell], priority: int = 0, type_: str = "string") -> Column:
    return Column(name, type_, lambda obj, _now: read(obj), name, priority)


def _at(path: str, missing: Cell = _NONE) -> Callable[[Obj], Cell]:
    """Reads a member; empty ones count as missing."""
    steps = path.split(".")

    def read(obj: Obj) -> Cell:
        value: Any = obj
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        return value if isinstance(value, str | int) and value != "" else missing

    return read


def _count(path: str) -> Callable[[Obj], Cell]:
    return _at(path, 0)


def _node_status(node: Obj) -> Cell:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((c.get("status") for c in conditions if c.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


_ROLE = "node-role.kubernetes.io/"


def _node_roles(node: Obj) -> Cell:
    labels = node["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE) and key != _ROLE}
    if named := labels.get("kubernetes.io/role"):
        roles.add(named)
    return ",".join(sorted(roles)) or _NONE


def _address(kind: str) -> Callable[[Obj], Cell]:
    def read(node: Obj) -> Cell:
        addresses = (node.get("status") or {}).get("addresses") or ()
        return next((a.get("address") for a in addresses if a.get("type") == kind), None) or _NONE

    return read


_UNKNOWN = "<unknown>"
_INFO = "status.nodeInfo"
_NODE = (
    NAME,
    _column("Status", _node_status),
    _column("Roles", _node_roles),
    AGE,
    _column("Version", _at(f"{_INFO}.kubeletVersion", "")),
    _column("Internal-IP", _address("InternalIP"), _WIDE),
    _column("External-IP", _address("ExternalIP"), _WIDE),
    _column("OS-Image", _at(f"{_INFO}.osImage", _UNKNOWN), _WIDE),
    _column("Kernel-Version", _at(f"{_INFO}.kernelVersion", _UNKNOWN), _WIDE),
    _column("Container-Runtime", _at(f"{_INFO}.containerRuntimeVersion", _UNKNOWN), _WIDE),
)


def _states(pod: Obj) -> list[Obj]:
    return list((pod.get("status") or {}).get("containerStatuses") or ())


def _pod_ready(pod: Obj) -> Cell:
    ready = sum(1 for state in _states(pod) if state.get("ready"))
    return f"{ready}/{len((pod.get('spec') or {}).get('containers') or ())}"


def _pod_status(pod: Obj) -> Cell:
    status = pod.get("status") or {}
    reason = status.get("reason") or status.get("phase") or ""
    for state in reversed(_states(pod)):
        now = state.get("state") or {}
        for how in ("waiting", "terminated"):
            reason = (now.get(how) or {}).get("reason") or reason
    if pod["metadata"].get("deletionTimestamp"):
        return "Unknown" if reason == "NodeLost" else "Terminating"
    return str(reason)


def _restarts(pod: Obj) -> Cell:
    return str(sum(int(state.get("restartCount", 0)) for state in _states(pod)))


_POD = (
    NAME,
    _column("Ready", _pod_ready),
    _column("Status", _pod_status),
    _column("Restarts", _restarts),
    AGE,
    _column("IP", _at("status.podIP"), _WIDE),
    _column("Node", _at("spec.nodeName"), _WIDE),
    _column("Nominated Node", _at("status.nominatedNodeName"), _WIDE),
    _column("Readiness Gates", lambda _: _NONE, _WIDE),
)


def _containers(member: str) -> Callable[[Obj], Cell]:
    def read(workload: Obj) -> Cell:
        spec = ((workload.get("spec") or {}).get("template") or {}).get("spec") or {}
        return ",".join(str(c.get(member, "")) for c in spec.get("containers") or ())

    return read


_REQUIREMENTS = {"Exists": "{key}", "DoesNotExist": "!{key}", "In": "{key} in ({values})"}


def _selector(workload: Obj) -> Cell:
    """A label selector in one line, as kubectl writes one."""
    selector = (workload.get("spec") or {}).get("selector") or {}
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for wanted in selector.get("matchExpressions") or ():
        form = _REQUIREMENTS.get(wanted.get("operator"), "{key} notin ({values})")
        parts.append(form.format(key=wanted.get("key"), values=",".join(wanted.get("values") or ())))
    return ",".join(parts) or _NONE


_TEMPLATE = (
    _column("Containers", _containers("name"), _WIDE),
    _column("Images", _containers("image"), _WIDE),
    _column("Selector", _selector, _WIDE),
)


def _deployment_ready(deployment: Obj) -> Cell:
    ready = (deployment.get("status") or {}).get("readyReplicas", 0)
    return f"{ready}/{(deployment.get('spec') or {}).get('replicas', 1)}"


_DEPLOYMENT = (
    NAME,
    _column("Ready", _deployment_ready),
    _column("Up-to-date", _count("status.updatedReplicas")),
    _column("Available", _count("status.availableReplicas")),
    AGE,
    *_TEMPLATE,
)


def _node_selector(daemon_set: Obj) -> Cell:
    template = (daemon_set.get("spec") or {}).get("template") or {}
    wanted = (template.get("spec") or {}).get("nodeSelector") or {}
    return ",".join(f"{key}={value}" for key, value in sorted(wanted.items())) or _NONE


_DAEMON_SET = (
    NAME,
    _column("Desired", _count("status.desiredNumberScheduled"), type_="integer"),
    _column("Current", _count("status.currentNumberScheduled"), type_="integer"),
    _column("Ready", _count("status.numberReady"), type_="integer"),
    _column("Up-to-date", _count("status.updatedNumberScheduled"), type_="integer"),
    _column("Available", _count("status.numberAvailable"), type_="integer"),
    _column("Node Selector", _node_selector),
    AGE,
    *_TEMPLATE,
)


def _first_seen(event: Obj) -> Any:
    return event.get("firstTimestamp") or event.get("eventTime")


def _last_seen(event: Obj, now: datetime) -> Cell:
    return age(event.get("lastTimestamp") or _first_seen(event), now)


def _about(event: Obj) -> Cell:
    about = event.get("involvedObject") or {}
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def _source(event: Obj) -> Cell:
    source = event.get("source") or {}
    named = (source.get("component") or event.get("reportingComponent"), source.get("host"))
    return ", ".join(part for part in named if part)


_EVENT = (
    Column("Last Seen", "string", _last_seen, "Last Seen"),
    _column("Type", _at("type", "")),
    _column("Reason", _at("reason", "")),
    _column("Object", _about),
    _column("Subobject", _at("involvedObject.fieldPath", ""), _WIDE),
    _column("Source", _source, _WIDE),
    _column("Message", lambda event: str(event.get("message", "")).strip()),
    Column("First Seen", "string", lambda event, now: age(_first_seen(event), now), "First Seen", _WIDE),
    _column("Count", _at("count", 1), _WIDE),
    Column("Name", "string", NAME.read, NAME.description, _WIDE, "name"),
)

_CONFIG_MAP = (
    NAME,
    _column("Data", lambda c: len(c.get("data") or ()) + len(c.get("binaryData") or ())),
    AGE,
)
_BUDGET = (
    NAME,
    _column("Min Available", _at("spec.minAvailable", "N/A")),
    _column("Max Unavailable", _at("spec.maxUnavailable", "N/A")),
    _column("Allowed Disruptions", _count("status.disruptionsAllowed"), type_="integer"),
    AGE,
)

BUILT_IN: Mapping[str, tuple[Column, ...]] = {
    "namespaces": (NAME, _column("Status", _at("status.phase", "")), AGE),
    "nodes": _NODE,
    "pods": _POD,
    "configmaps": _CONFIG_MAP,
    "events": _EVENT,
    "deployments.apps": _DEPLOYMENT,
    "daemonsets.apps": _DAEMON_SET,
    "poddisruptionbudgets.policy": _BUDGET,
    "customresourcedefinitions.apiextensions.k8s.io": (
        NAME,
        _column("Created At", lambda d: str(d["metadata"].get("creationTimestamp", "")), type_="date"),
    ),
    "leases.coordination.k8s.io": (NAME, _column("Holder", _at("spec.holderIdentity", "")), AGE),
}
"""By the id of the resource."""
