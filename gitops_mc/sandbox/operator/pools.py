"""Which node stands in which pool, which nodes may be moved next, and what a pool's status says. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from gitops_mc.core.model import JsonObject, annotations_of, labels_of, matches_selector, metadata, name_of

CURRENT = "machineconfiguration.alauda.io/currentConfig"
DESIRED = "machineconfiguration.alauda.io/desiredConfig"
STATE = "machineconfiguration.alauda.io/state"
REASON = "machineconfiguration.alauda.io/reason"
ZONE_LABEL = "topology.kubernetes.io/zone"
_NO_ZONE = "\uffff"
"""Behind every zone, as in the public operator."""

MASTER, WORKER = "master", "worker"


class NodeState(StrEnum):
    """What a node daemon says of itself."""

    DONE = "Done"
    WORKING = "Working"
    DEGRADED = "Degraded"


@dataclass(frozen=True, slots=True)
class NodeView:
    """What the operator reads of a node."""

    name: str
    labels: Mapping[str, str]
    current: str
    desired: str
    state: str
    reason: str
    ready: bool
    schedulable: bool
    age_key: tuple[str, str, str]
    """Orders nodes by zone, then oldest first."""

    @property
    def available(self) -> bool:
        return self.ready and self.schedulable

    @property
    def degraded(self) -> bool:
        return self.state == NodeState.DEGRADED

    @property
    def settled(self) -> bool:
        return self.current == self.desired and self.state == NodeState.DONE

    @property
    def failing(self) -> bool:
        """Degraded on the way to another config, and not for drift."""
        return self.degraded and self.current != self.desired

    @property
    def unavailable(self) -> bool:
        """Not Ready, cordoned, drifted, or on its way. One that is up and fails on its way is not: it may be retargeted."""
        return not self.available or not (self.settled or self.failing)

    def updated_to(self, target: str) -> bool:
        return self.settled and self.current == target


def is_ready(node: JsonObject) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def view(node: JsonObject) -> NodeView:
    notes, labels = annotations_of(node), labels_of(node)
    return NodeView(
        name=name_of(node),
        labels=labels,
        current=notes.get(CURRENT, ""),
        desired=notes.get(DESIRED, ""),
        state=notes.get(STATE, ""),
        reason=notes.get(REASON, ""),
        ready=is_ready(node),
        schedulable=not (node.get("spec") or {}).get("unschedulable", False),
        age_key=(
            labels.get(ZONE_LABEL, _NO_ZONE),
            str(metadata(node).get("creationTimestamp", "")),
            name_of(node),
        ),
    )


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which node stands where."""

    by_pool: Mapping[str, list[NodeView]]
    clashes: Mapping[str, tuple[str, ...]]
    """Nodes in more than one custom pool, with those pools: skipped with an error. Nodes in none are ignored."""


def assign(nodes: Iterable[NodeView], pools: Iterable[JsonObject]) -> Assignment:
    """Nodes by pool: master before custom before worker; a node in no pool, or in two custom ones, stands in none."""
    listed = list(pools)
    by_pool: dict[str, list[NodeView]] = {name_of(pool): [] for pool in listed}
    clashes: dict[str, tuple[str, ...]] = {}
    for node in nodes:
        matching = [
            name_of(p) for p in listed if matches_selector(p["spec"].get("nodeSelector"), node.labels)
        ]
        custom = tuple(name for name in matching if name not in {MASTER, WORKER})
        if len(custom) > 1:
            clashes[node.name] = custom
            continue
        home = next((name for name in (MASTER, *custom, WORKER) if name in matching), None)
        if home is not None:
            by_pool[home].append(node)
    return Assignment(by_pool, clashes)


def max_unavailable(pool: JsonObject, total: int) -> int:
    """How many nodes may be down: default 1, 0 means 1, a percentage rounds down and is at least 1."""
    value = pool["spec"].get("maxUnavailable", 1)
    if isinstance(value, str) and value.endswith("%"):
        return max(1, total * int(value[:-1]) // 100)
    return max(1, int(value))


def candidates(
    pool: JsonObject, nodes: Sequence[NodeView], retarget: frozenset[NodeState]
) -> tuple[NodeView, ...]:
    """The nodes that are moved to the pool's rendered config now: up, in a state that may be retargeted, within
    maxUnavailable, which every node that is down for any reason uses up; by zone and age.
    """
    target = (pool["spec"].get("configuration") or {}).get("name", "")
    if not target or pool["spec"].get("paused"):
        return ()
    failing = sum(n.desired == target and n.failing for n in nodes)
    capacity = max_unavailable(pool, len(nodes)) - sum(n.unavailable for n in nodes) - failing
    waiting = [n for n in nodes if n.desired != target and n.available and n.state in retarget]
    return tuple(sorted(waiting, key=lambda n: n.age_key)[: max(0, capacity)])


def status_of(pool: JsonObject, nodes: Sequence[NodeView], render_error: str, now: datetime) -> JsonObject:
    """The pool's status. `status.configuration` follows spec.configuration only when every node is done."""
    configuration = pool["spec"].get("configuration") or {}
    target = str(configuration.get("name", ""))
    previous = pool.get("status") or {}
    updated = [n for n in nodes if target and n.updated_to(target)]
    counts = {
        "machineCount": len(nodes),
        "updatedMachineCount": len(updated),
        "readyMachineCount": sum(n.available for n in updated),
        "unavailableMachineCount": sum(n.unavailable for n in nodes),
        "degradedMachineCount": sum(n.degraded for n in nodes),
    }
    done = bool(target) and counts["updatedMachineCount"] == counts["readyMachineCount"] == len(nodes)
    done = done and counts["unavailableMachineCount"] == 0
    settled = configuration if done else previous.get("configuration")
    return {
        "observedGeneration": metadata(pool).get("generation"),
        **({"configuration": settled} if settled else {}),
        **counts,
        "conditions": _conditions(
            _facts(pool, nodes, target, render_error, done), previous.get("conditions") or (), now
        ),
    }


def _facts(
    pool: JsonObject, nodes: Sequence[NodeView], target: str, render_error: str, done: object
) -> dict[str, tuple[bool, str]]:
    """Condition by condition: whether it is True, and its message."""
    paused = bool(pool["spec"].get("paused"))
    sick = "; ".join(f'Node {n.name} is reporting: "{n.reason}"' for n in nodes if n.degraded)
    moving = not done and not paused
    return {
        "Updated": (bool(done), f"All nodes are updated with {target}" if done else ""),
        "Updating": (
            moving,
            f"All nodes are updating to {target}" if moving else "Pool is paused" if paused else "",
        ),
        "NodeDegraded": (bool(sick), sick),
        "RenderDegraded": (bool(render_error), render_error),
        "Degraded": (bool(sick or render_error), "; ".join(t for t in (render_error, sick) if t)),
    }


def _conditions(
    facts: Mapping[str, tuple[bool, str]], previous: Iterable[Mapping[str, Any]], now: datetime
) -> list[JsonObject]:
    """Conditions with the time at which each last changed its status."""
    before = {c.get("type"): c for c in previous}
    listed = []
    for kind, (holds, message) in facts.items():
        status = "True" if holds else "False"
        old = before.get(kind) or {}
        moved = old.get("status") != status
        listed.append(
            {
                "type": kind,
                "status": status,
                "reason": kind if holds and kind.endswith("Degraded") else "",
                "message": message,
                "lastTransitionTime": stamp(now) if moved else old.get("lastTransitionTime"),
            }
        )
    return listed


def stamp(at: datetime) -> str:
    """A time as Kubernetes writes it, whole seconds in UTC."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
