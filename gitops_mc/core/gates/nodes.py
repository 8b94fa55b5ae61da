"""What the operator and the kubelet say about one node, and what holds it up.

Annotations `currentConfig`, `desiredConfig`, `state` (Done, Working, Degraded) and `reason` under the operator's own
prefix are inferred from OpenShift's operator; a node without them has not been taken over by the operator yet.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitops_mc.core.gates.readings import NodeTrouble
from gitops_mc.core.model import JsonObject, annotations_of, name_of
from gitops_mc.core.raw import condition, items, section, text

NODE_PREFIX = "machineconfiguration.alauda.io"
CURRENT_CONFIG = f"{NODE_PREFIX}/currentConfig"
DESIRED_CONFIG = f"{NODE_PREFIX}/desiredConfig"
NODE_STATE = f"{NODE_PREFIX}/state"
NODE_REASON = f"{NODE_PREFIX}/reason"
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"

DONE = "Done"
WORKING = "Working"
DEGRADED = "Degraded"


@dataclass(frozen=True, slots=True)
class NodeState:
    """One node as a pool gate sees it. Empty texts: not said."""

    name: str
    current: str
    desired: str
    state: str
    reason: str
    ready: bool
    ready_since: str
    """Since when the Ready condition is what it is."""
    cordoned: bool
    cordoned_since: str

    @property
    def available(self) -> bool:
        """Whether the operator leaves this node out of maxUnavailable: up, and done or Degraded.

        A Degraded one may be retargeted, so it uses nothing up (OpenShift's operator of today).
        """
        done = self.current == self.desired and self.state == DONE
        return self.ready and not self.cordoned and (done or self.state == DEGRADED)

    def settled_on(self, config: str) -> bool:
        """Whether this node is done with `config` and takes workloads."""
        return (
            bool(config)
            and self.current == self.desired == config
            and self.state == DONE
            and self.ready
            and not self.cordoned
        )

    def queued_for(self, config: str) -> bool:
        """Whether this node is well, and the operator has yet to move it to `config`."""
        return self.current != config and self.settled_on(self.current)


def read_node(node: JsonObject) -> NodeState:
    annotations = annotations_of(node)
    ready = condition(node, "Ready")
    taint = next((t for t in items(node, "spec", "taints") if t.get("key") == _UNSCHEDULABLE), {})
    return NodeState(
        name=name_of(node),
        current=annotations.get(CURRENT_CONFIG, ""),
        desired=annotations.get(DESIRED_CONFIG, ""),
        state=annotations.get(NODE_STATE, ""),
        reason=annotations.get(NODE_REASON, ""),
        ready=ready is not None and ready.holds,
        ready_since=ready.since if ready is not None else "",
        cordoned=section(node, "spec").get("unschedulable") is True,
        cordoned_since=text(taint, "timeAdded"),
    )


def unfinished(node: NodeState, config: str) -> str:
    """Why a node is not done with `config`, or empty."""
    if node.settled_on(config):
        return ""
    parts = []
    if node.state == DEGRADED:
        parts.append(f"Degraded ({node.reason})" if node.reason else "Degraded")
    if not node.ready:
        parts.append("NotReady" + _since(node.ready_since))
    if node.cordoned:
        parts.append("cordoned" + _since(node.cordoned_since))
    if not node.desired:
        parts.append("without desiredConfig: the operator has not taken it over")
    elif node.desired != config:
        parts.append(f"desired {node.desired}, the pool is at {config or 'nothing'}")
    if node.current != node.desired:
        parts.append(f"on {node.current or 'nothing'}, on its way to {node.desired}")
    if node.state not in (DONE, DEGRADED):
        parts.append(f"state {node.state or 'not said'}")
    return f"node {node.name}: " + ", ".join(parts)


def draining(node: NodeState) -> NodeTrouble | None:
    """A node in the middle of a drain, with where to look if it does not end."""
    if not (node.cordoned and node.ready and node.state == WORKING and node.current != node.desired):
        return None
    return NodeTrouble(
        node.name,
        "is being drained; a PodDisruptionBudget may hold that up",
        (
            f"kubectl get pods -A --field-selector spec.nodeName={node.name}",
            "kubectl get poddisruptionbudgets -A",
        ),
        node.cordoned_since,
    )


def trouble(node: NodeState, config: str) -> NodeTrouble | None:
    """Why a node goes no further by itself, or None.

    A node that is being worked on is left out: it is cordoned and away for good reason, until it is Degraded.
    """
    retarget = f", and is not moved to {config} like that" if config and node.desired != config else ""
    if node.state == DEGRADED:
        told = f" ({node.reason})" if node.reason else ""
        uncordon = (f"kubectl uncordon {node.name}",) if node.cordoned else ()
        return NodeTrouble(
            node.name,
            f"is Degraded{told}{retarget}",
            (
                f"kubectl get node {node.name} -o jsonpath='{{.metadata.annotations}}'",
                f"kubectl -n cpaas-system get pods -o wide --field-selector spec.nodeName={node.name}",
                *uncordon,
            ),
        )
    if node.state == WORKING:
        return None
    if not node.ready:
        return NodeTrouble(
            node.name, f"is NotReady{retarget}", (f"kubectl describe node {node.name}",), node.ready_since
        )
    if node.cordoned:
        return NodeTrouble(
            node.name, f"is cordoned{retarget}", (f"kubectl uncordon {node.name}",), node.cordoned_since
        )
    return None


def _since(when: str) -> str:
    return f" since {when}" if when else ""
