"""Nodes: Ready, labelled, and each in one pool."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.core.doctor.finding import Examined, Finding, failed, is_served, not_checked, ok, some
from gitops_mc.core.gates import nodes_in_pools, read_node
from gitops_mc.core.model import Unknown, labels_of

CONTROL_PLANE_LABEL = "node-role.kubernetes.io/control-plane"
WORKER_LABEL = "node-role.kubernetes.io/worker"


def nodes(x: Examined) -> Iterator[Finding]:
    fact = x.live.nodes
    if isinstance(fact, Unknown):
        for check in ("nodes ready", "nodes labelled", "immutable system"):
            yield not_checked(check, f"nodes were not read: {fact.reason}")
        return
    nodes = fact.value
    if not nodes:
        yield failed("nodes ready", "the cluster has no nodes", "kubectl get nodes")
        return
    unready = [name for name, node in nodes.items() if not read_node(node).ready]
    if unready:
        yield failed("nodes ready", f"not Ready: {some(unready)}", f"kubectl describe node {unready[0]}")
    else:
        yield ok("nodes ready", f"all {len(nodes)} are Ready")
    bare = [
        n for n, node in nodes.items() if not {CONTROL_PLANE_LABEL, WORKER_LABEL} & labels_of(node).keys()
    ]
    if bare:
        yield failed(
            "nodes labelled",
            f"neither control-plane nor worker: {some(bare)}; workers carry no role label by default",
            f"kubectl label node {' '.join(bare)} {WORKER_LABEL}=",
        )
    else:
        yield ok("nodes labelled", "each is a control-plane or a worker node")
    images = sorted(
        {str(((n.get("status") or {}).get("nodeInfo") or {}).get("osImage", "")) for n in nodes.values()}
    )
    told = f"no API says whether this is Immutable Infrastructure; the nodes run {', '.join(filter(None, images)) or 'what they do not say'}"
    yield not_checked("immutable system", told, "kubectl get nodes -o wide")


def membership(x: Examined) -> Iterator[Finding]:
    found = nodes_in_pools(x.live)
    if isinstance(found, Unknown):
        yield not_checked("nodes in pools", f"nodes or pools were not read: {found.reason}")
        return
    if not is_served(x.live):
        yield not_checked("nodes in pools", "there are no pools yet")
        return
    for node in found.contested:
        pools = found.pools[node]
        yield failed(
            "nodes in pools",
            f"node {node} is in {len(pools)} custom pools ({', '.join(pools)}): the operator skips it",
            f"kubectl get node {node} --show-labels",
        )
    if found.homeless:
        yield failed(
            "nodes in pools",
            f"in no pool, so never updated: {some(found.homeless)}",
            "kubectl get machineconfigpools -o custom-columns=NAME:.metadata.name,NODES:.spec.nodeSelector",
        )
    if found.complete:
        yield ok("nodes in pools", "every node is in exactly one pool")
