"""What the nodes of a cluster say of a change that drains some of them, without a look at what runs there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from gitops_mc.core.gates import nodes_in_pools, read_node
from gitops_mc.core.gates.membership import selector_text
from gitops_mc.core.live import LiveCluster, Objects
from gitops_mc.core.model import JsonObject, Unknown, labels_of, metadata, name_of, named
from gitops_mc.core.model import count as counted
from gitops_mc.core.plan import PoolImpact
from gitops_mc.core.pools import MASTER_POOL, node_selector
from gitops_mc.core.preview.hindrances import NodeNote

_ZONE: Final = "topology.kubernetes.io/zone"
_CONTROL_PLANE: Final = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


@dataclass(frozen=True, slots=True)
class PoolDrain:
    """The nodes of one pool that are drained, a reboot included, in the order in which the operator takes them."""

    pool: str
    nodes: tuple[str, ...]
    at_once: int
    """maxUnavailable."""
    rebooting: frozenset[str]


@dataclass(frozen=True, slots=True)
class Drained:
    """Which nodes of a cluster are drained, pool by pool."""

    pools: tuple[PoolDrain, ...]
    nameless: int = 0
    """Nodes that are drained too, and of which only the number is known."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """All of them: pools one after the other, although they roll side by side."""
        return tuple(node for pool in self.pools for node in pool.nodes)

    @property
    def any(self) -> bool:
        return bool(self.nodes or self.nameless)


def drained(impacts: Iterable[PoolImpact], live: LiveCluster) -> Drained:
    """What a plan's impacts come to."""
    nodes: Objects = {} if isinstance(live.nodes, Unknown) else live.nodes.value
    found, nameless = [], 0
    for impact in impacts:
        hit = [n for n in impact.nodes if n.disruption.drain]
        names = {name for n in hit for name in n.nodes}
        nameless += sum(n.count - len(n.nodes) for n in hit)
        if names:
            found.append(
                PoolDrain(
                    pool=impact.pool,
                    nodes=update_order({name: nodes.get(name, {}) for name in names}),
                    at_once=impact.max_unavailable,
                    rebooting=frozenset(name for n in hit if n.disruption.reboot for name in n.nodes),
                )
            )
    return Drained(tuple(found), nameless)


def update_order(nodes: Mapping[str, JsonObject]) -> tuple[str, ...]:
    """Names in the order in which the operator updates them: by zone, in a zone oldest first (OpenShift's operator, which puts
    nodes without a zone last).
    """

    def key(name: str) -> tuple[bool, str, str, str]:
        zone = labels_of(nodes[name]).get(_ZONE)
        return zone is None, zone or "", str(metadata(nodes[name]).get("creationTimestamp", "")), name

    return tuple(sorted(nodes, key=key))


def node_notes(found: Drained, live: LiveCluster) -> tuple[NodeNote, ...]:
    """What is to be known of nodes, the control plane first. Empty where nodes were not read: `drained` then says how many."""
    if isinstance(live.nodes, Unknown):
        return ()
    nodes = live.nodes.value
    return (
        *_control_plane(found, nodes),
        *_stuck(found, live, nodes),
        *_order(found, nodes),
        *_outside(live),
    )


def is_control_plane(node: JsonObject) -> bool:
    return any(label in labels_of(node) for label in _CONTROL_PLANE)


def _control_plane(found: Drained, nodes: Objects) -> Iterator[NodeNote]:
    for pool in found.pools:
        hit = tuple(n for n in pool.nodes if pool.pool == MASTER_POOL or is_control_plane(nodes.get(n, {})))
        if not hit:
            continue
        rebooted = [n for n in hit if n in pool.rebooting]
        what = f"of the control plane, {pool.at_once} at a time"
        if rebooted:
            what += (
                f": {counted(len(rebooted), 'reboots', 'reboot')}, and while one does, "
                "the cluster may answer nobody for minutes"
            )
        yield NodeNote(hit, what)


def _stuck(found: Drained, live: LiveCluster, nodes: Objects) -> Iterator[NodeNote]:
    """Nodes that the operator does not move to a newer config, and that use up maxUnavailable all the same."""
    membership = nodes_in_pools(live)
    for pool in found.pools:
        members = () if isinstance(membership, Unknown) else membership.members(pool.pool)
        known = dict.fromkeys((*pool.nodes, *members))
        away = tuple(n for n in known if n in nodes and not _movable(nodes[n]))
        if not away:
            continue
        told = f"{', '.join(dict.fromkeys(_why(nodes[n]) for n in away))}: not moved to a newer config before that ends"
        if len(away) >= pool.at_once:
            told += (
                f", and they use up maxUnavailable {pool.at_once}: no other node of pool {pool.pool} is begun"
            )
        else:
            told += f", and they count against maxUnavailable {pool.at_once} of pool {pool.pool}"
        yield NodeNote(away, f"{told}; see kubectl describe node {away[0]}")


def _movable(node: JsonObject) -> bool:
    state = read_node(node)
    return state.ready and not state.cordoned


def _why(node: JsonObject) -> str:
    state = read_node(node)
    told = [word for word, holds in (("NotReady", not state.ready), ("cordoned", state.cordoned)) if holds]
    return " and ".join(told)


def _order(found: Drained, nodes: Objects) -> Iterator[NodeNote]:
    for pool in found.pools:
        able = [n for n in pool.nodes if n not in nodes or _movable(nodes[n])]
        if len(able) > 1:
            yield NodeNote(
                (able[0], able[-1]),
                f"first and last of {len(able)} in pool {pool.pool}, {pool.at_once} at a time, by zone and age",
            )


def _outside(live: LiveCluster) -> Iterator[NodeNote]:
    membership = nodes_in_pools(live)
    if isinstance(membership, Unknown) or isinstance(live.pools, Unknown):
        return
    if homeless := membership.homeless:
        wanted = [
            f"{selector_text(node_selector(pool))} ({name_of(pool)})" for pool in live.pools.value.values()
        ]
        yield NodeNote(
            homeless, f"in no pool: the operator leaves them as they are; pools select {'; '.join(wanted)}"
        )
    by_pools: dict[tuple[str, ...], list[str]] = {}
    for node in membership.contested:
        by_pools.setdefault(membership.pools[node], []).append(node)
    for pools, names in by_pools.items():
        told = f"in {named('pool', pools)} at once: the operator skips them with an error; take one of the labels away"
        yield NodeNote(tuple(names), told)
