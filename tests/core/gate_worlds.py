"""Clusters for gate tests: from the vectors, and built in few words. And every way to spoil one fact of an object."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gitops_mc.core.ignition import MergeOrder, effective_spec, merge
from gitops_mc.core.live import LiveCluster, MachineApis, objects, unread
from gitops_mc.core.model import JsonObject, Known, matches_selector, name_of
from tests.core.machine_configs import file, machine_config

NOW = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
SINCE = "2026-11-30T07:42:00Z"
PREFIX = "machineconfiguration.alauda.io"
WORKER_LABEL = "node-role.kubernetes.io/worker"
MASTER_LABEL = "node-role.kubernetes.io/control-plane"

VECTORS: list[JsonObject] = json.loads(
    (Path(__file__).parent.parent / "data" / "gate-worlds.json").read_text()
)


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def conditions(**statuses: bool | str) -> list[JsonObject]:
    return [
        {"type": kind, "status": str(status), "lastTransitionTime": SINCE, "reason": "", "message": ""}
        for kind, status in statuses.items()
    ]


def pool(
    name: str = "worker",
    *,
    roles: Iterable[str] = ("worker",),
    label: str = WORKER_LABEL,
    rendered: str = "rendered-1",
    done: str | None = None,
    machines: int = 3,
    paused: bool = False,
    annotations: Mapping[str, str] | None = None,
    generation: int = 4,
    spec: JsonObject | None = None,
    status: JsonObject | None = None,
    found: list[JsonObject] | None = None,
) -> JsonObject:
    """A pool that is settled on `rendered`, unless told otherwise. `done`: status.configuration.name."""
    role = {"key": f"{PREFIX}/role", "operator": "In", "values": list(roles)}
    return {
        "metadata": {"name": name, "generation": generation, "annotations": dict(annotations or {})},
        "spec": {
            "machineConfigSelector": {"matchExpressions": [role]},
            "nodeSelector": {"matchLabels": {label: ""}},
            "paused": paused,
            "configuration": {"name": rendered, "source": []},
            **(spec or {}),
        },
        "status": {
            "observedGeneration": generation,
            "configuration": {"name": rendered if done is None else done, "source": []},
            "machineCount": machines,
            "updatedMachineCount": machines,
            "readyMachineCount": machines,
            "unavailableMachineCount": 0,
            "degradedMachineCount": 0,
            "conditions": conditions(Updated=True, Updating=False) if found is None else found,
            **(status or {}),
        },
    }


def node(
    name: str,
    current: str = "rendered-1",
    desired: str = "rendered-1",
    state: str = "Done",
    *,
    labels: Iterable[str] = (WORKER_LABEL,),
    ready: bool | str = True,
    cordoned: bool = False,
    reason: str = "",
) -> JsonObject:
    told = {"currentConfig": current, "desiredConfig": desired, "state": state, "reason": reason}
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": SINCE}
    return {
        "metadata": {
            "name": name,
            "labels": dict.fromkeys(labels, ""),
            "annotations": {f"{PREFIX}/{key}": value for key, value in told.items() if value},
        },
        "spec": {"unschedulable": True, "taints": [taint]} if cordoned else {},
        "status": {"conditions": conditions(Ready=ready)},
    }


def known(*items: JsonObject) -> Any:
    return Known(objects({name_of(item): item for item in items}), NOW)


def with_fact(live: LiveCluster, fact: str, value: Any) -> LiveCluster:
    changes: dict[str, Any] = {fact: value}
    return replace(live, **changes)


def rendered_of(name: str, *configs: JsonObject) -> JsonObject:
    """What the operator makes of configs."""
    return {"metadata": {"name": name}, "spec": effective_spec(merge(configs, MergeOrder.ALPHABETICAL))}


CHRONY = machine_config("50-worker-chrony", files=[file("/etc/chrony.conf", "data:,v1")])
BASE = machine_config("00-worker")


def cluster(
    pools: Iterable[JsonObject],
    *,
    configs: Iterable[JsonObject] = (BASE, CHRONY),
    rendered: Iterable[JsonObject] | None = None,
    nodes: Iterable[JsonObject] | None = None,
) -> LiveCluster:
    """A cluster of which the machine kinds were read; without `rendered` the pools have rendered what is live."""
    pools, configs = list(pools), list(configs)
    if rendered is None:
        rendered = [_render(body, configs) for body in pools]
    live = replace(
        unread("edge-01", NOW),
        machine_apis=Known(MachineApis(served=True), NOW),
        pools=known(*pools),
        configs=known(*configs),
        rendered=known(*rendered),
    )
    return live if nodes is None else replace(live, nodes=known(*nodes))


def _render(body: JsonObject, configs: list[JsonObject]) -> JsonObject:
    selector = body["spec"]["machineConfigSelector"]
    chosen = [c for c in configs if matches_selector(selector, c["metadata"]["labels"])]
    return rendered_of(body["spec"]["configuration"]["name"], *chosen)


# ------------------------------------------------------------------------------------------------------ the vectors


def from_vector(vector: JsonObject) -> LiveCluster:
    """One world of the vectors as a cluster. Every node is in exactly one pool."""
    told = vector["pool"]
    body = pool(
        told["name"],
        roles=told["selectsRoles"],
        rendered=told["spec.configuration"]["name"],
        done=told["status.configuration.name"],
        machines=told["machineCount"],
        paused=told["paused"],
        generation=told["generation"],
        status={
            "observedGeneration": told["observedGeneration"],
            "updatedMachineCount": told["updated"],
            "readyMachineCount": told["ready"],
            "unavailableMachineCount": told["unavailable"],
            "degradedMachineCount": told["degraded"],
        },
        found=conditions(**told["conditions"]),
    )
    master = pool("master", roles=["master"], label=MASTER_LABEL, rendered="rendered-m", machines=1)
    rendered = [] if vector["rendered"] is None else [_config(vector["rendered"])]
    return cluster(
        [body, master],
        configs=[_config(config) for config in vector["liveConfigs"]],
        rendered=rendered,
        nodes=[node("m1", "rendered-m", "rendered-m", labels=[MASTER_LABEL])]
        if told["machineCount"] == 0
        else None,
    )


def _config(told: JsonObject) -> JsonObject:
    files = [
        file(path, f"data:,{entry['src']}", **{k: v for k, v in entry.items() if k != "src"})
        for path, entry in told["files"].items()
    ]
    return machine_config(
        told["name"],
        told.get("role", ""),
        files=files,
        units=[{"name": name, **unit} for name, unit in told["units"].items()],
        ssh_keys={"boot": told["bootSshKeys"]} if told["bootSshKeys"] else None,
        kernel_arguments=told["kernelArguments"],
    )


# ------------------------------------------------------------------------------------------------- spoiling facts


def spoiled(obj: JsonObject, ignoring: Iterable[str] = ()) -> Iterator[tuple[str, JsonObject]]:
    """Every copy of an object in which one leaf is removed or another one, with what was done, by path.

    `ignoring` are dotted paths (list items by number) that do not matter, with everything below them.
    """
    ignored = tuple(ignoring)
    for path in _leaves(obj, ()):
        dotted = ".".join(map(str, path))
        if any(dotted == i or dotted.startswith(f"{i}.") for i in ignored):
            continue
        for how in ("removed", "falsified"):
            if f"{how} {dotted}" in ignored:
                continue
            changed = copy.deepcopy(obj)
            inner: Any = changed
            for key in path[:-1]:
                inner = inner[key]
            if how == "removed":
                del inner[path[-1]]
            else:
                inner[path[-1]] = _other(inner[path[-1]])
            yield f"{how} {dotted}", changed


def _leaves(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _leaves(inner, (*path, position))
    else:
        yield path


def _other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value - 1
        case "True" | "False":
            return "Unknown"
        case _:
            return f"{value}x"
