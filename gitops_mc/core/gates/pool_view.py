"""Everything the pool gate looks at, gathered once from one observation."""

from __future__ import annotations

from dataclasses import dataclass

from gitops_mc.core.gates.agreement import Comparison
from gitops_mc.core.gates.membership import Membership, nodes_in_pools
from gitops_mc.core.gates.nodes import NodeState, read_node
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import JsonObject, Unknown, digest_of, name_of
from gitops_mc.core.pools import machine_count, max_unavailable, rendered_name, status_name
from gitops_mc.core.raw import count, section


@dataclass(frozen=True, slots=True)
class PoolView:
    """One live pool, its rendered config compared, and its nodes where they were read."""

    live: LiveCluster
    name: str
    body: JsonObject
    comparison: Comparison
    membership: Membership | None
    """None: the nodes were not read."""
    members: tuple[NodeState, ...]
    excused: frozenset[str]
    """Members that a human excused."""

    @property
    def spec(self) -> JsonObject:
        return section(self.body, "spec")

    @property
    def status(self) -> JsonObject:
        return section(self.body, "status")

    @property
    def machines(self) -> int | None:
        return machine_count(self.body)

    @property
    def counted(self) -> tuple[NodeState, ...]:
        """Members that are not excused."""
        return tuple(node for node in self.members if node.name not in self.excused)


def view_pool(
    live: LiveCluster,
    pool: JsonObject,
    comparison: Comparison,
    excused: frozenset[str] = frozenset(),
) -> PoolView:
    """Gather one live pool; `comparison` is what `compare_pool` found, or that it was not asked."""
    membership = nodes_in_pools(live)
    if isinstance(membership, Unknown) or isinstance(live.nodes, Unknown):
        return PoolView(live, name_of(pool), pool, comparison, None, (), frozenset())
    members = membership.members(name_of(pool))
    return PoolView(
        live=live,
        name=name_of(pool),
        body=pool,
        comparison=comparison,
        membership=membership,
        members=tuple(read_node(live.nodes.value[node]) for node in members),
        excused=excused & frozenset(members),
    )


def capacity_left(view: PoolView) -> int:
    """How many nodes may still become unavailable, never below 0. Nodes count as unavailable for whatever reason."""
    if view.membership is not None:
        machines = len(view.members)
        unavailable = sum(not node.available for node in view.members)
    else:
        machines = view.machines or 0
        unavailable = count(view.status, "unavailableMachineCount") or 0
    return max(0, max_unavailable(view.body, machines) - unavailable)


NODES_NOT_READ = "-"


def progress_of(view: PoolView) -> str:
    """A fingerprint of how far the pool is, `<pool>/<nodes>`: any node that changes state changes it.

    The second half is `-` where the nodes were not read; see `progressed`.
    """
    status = view.status
    pool = digest_of(
        [
            rendered_name(view.body),
            status_name(view.body),
            status.get("observedGeneration"),
            *(status.get(key) for key in sorted(status) if key.endswith("achineCount")),
        ]
    )[:16]
    if view.membership is None:
        return f"{pool}/{NODES_NOT_READ}"
    nodes = digest_of([[n.name, n.current, n.desired, n.state, n.ready, n.cordoned] for n in view.members])[
        :16
    ]
    return f"{pool}/{nodes}"
