"""Which facts the verdicts on some pools still lack, so that the shell fetches them and asks again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from gitops_mc.core.gates.agreement import Comparison, rendered_body
from gitops_mc.core.gates.attribution import degraded_conditions
from gitops_mc.core.gates.membership import nodes_in_pools
from gitops_mc.core.gates.nodes import DEGRADED, read_node
from gitops_mc.core.gates.pool_checks import MACHINES
from gitops_mc.core.gates.pool_view import view_pool
from gitops_mc.core.gates.readings import Agreement
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import JsonObject, Unknown
from gitops_mc.core.pools import rendered_name
from gitops_mc.core.remembered import Remembered


class NodeNeed(Enum):
    """Whether the nodes of the cluster are wanted: while a pool moves, has no nodes, or is degraded."""

    NOT_NEEDED = "not needed"
    LACKING = "lacking"
    """Wanted, and not read."""
    READ = "read"
    """Wanted, and read; they change, so read them again at the next look."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What is still lacking. `rendered` are names not read yet; one that is gone (404) will be named again: ask once."""

    rendered: frozenset[str] = frozenset()
    nodes: NodeNeed = NodeNeed.NOT_NEEDED

    @property
    def met(self) -> bool:
        """Whether nothing is lacking."""
        return not self.rendered and self.nodes is not NodeNeed.LACKING


def needs_for_pools(live: LiveCluster, pools: Iterable[str]) -> Needs:
    """What the verdicts on these pools lack. Nodes first, then rendered configs their states make necessary: ask again."""
    known, unknown = live.read()
    wanted = tuple(pools)
    return _NEEDS.get(known, (wanted, *unknown), lambda: _needs(live, wanted))


_NEEDS: Remembered[Needs] = Remembered(512)


def _needs(live: LiveCluster, pools: tuple[str, ...]) -> Needs:
    if isinstance(live.pools, Unknown):
        return Needs()
    rendered: set[str] = set()
    nodes = NodeNeed.NOT_NEEDED
    for name in pools:
        pool = live.pools.value.get(name)
        if pool is None:
            continue
        rendered.add(rendered_name(pool))
        if _moves(live, pool):
            nodes = NodeNeed.LACKING if isinstance(live.nodes, Unknown) else NodeNeed.READ
        if degraded_conditions(pool):
            rendered |= _between(live, name)
    return Needs(frozenset(n for n in rendered if n and rendered_body(live, n) is None), nodes)


def _moves(live: LiveCluster, pool: JsonObject) -> bool:
    """Whether the pool's own counts leave anything open that only its nodes can tell."""
    view = view_pool(live, pool, Comparison(Agreement.NOT_KNOWN, why="not asked"))
    return view.machines == 0 or any(True for check in MACHINES for _ in check(view))


def _between(live: LiveCluster, pool: str) -> set[str]:
    """Rendered configs that the degraded nodes of a pool are moving between, for attribution."""
    membership = nodes_in_pools(live)
    if isinstance(membership, Unknown) or isinstance(live.nodes, Unknown):
        return set()
    states = (read_node(live.nodes.value[node]) for node in membership.members(pool))
    return {name for s in states if s.state == DEGRADED for name in (s.current, s.desired)}
