"""Groups of pools: what must be written in one step, so that no node rolls twice or starts on half of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gitops_mc.core.diff import Change, Create, Delete
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Kind, Unknown
from gitops_mc.core.plan.world import World
from gitops_mc.core.policy import PoolClass
from gitops_mc.core.pools import node_selector, pool_class


@dataclass(frozen=True, slots=True)
class Group:
    """Pools that are written together, and the changes that touch them, in the order in which they are made."""

    pools: tuple[str, ...]
    changes: tuple[Change, ...]


def groups(
    changes: Sequence[Change], before: World, after: World, live: LiveCluster, order: Sequence[PoolClass]
) -> tuple[Group, ...]:
    """Changes of pools and configs, joined where a changed config or a moved node joins pools.

    Selection counts both by the live and by the desired labels and selectors. Groups stand in the order of their first
    pool in `order`; configs that no pool selects come first, alone.
    """
    touched = {id(change): _touched(change, before, after) for change in changes}
    moves = _moved_nodes(changes, before, after, live)
    sets = _joined([*touched.values(), *moves])
    found: dict[tuple[str, ...], list[Change]] = {}
    for change in changes:
        pools = touched[id(change)]
        home = next((joined for joined in sets if joined & pools), frozenset())
        found.setdefault(_by_class(home, order), []).append(change)
    ordered = sorted(found.items(), key=lambda item: [_rank(p, order) for p in item[0][:1]])
    return tuple(Group(pools, tuple(sorted(made, key=_write_order))) for pools, made in ordered)


def _touched(change: Change, before: World, after: World) -> frozenset[str]:
    if change.key.kind is Kind.MACHINE_CONFIG_POOL:
        return frozenset({change.key.name})
    name = change.name if isinstance(change, Delete) else change.key.name
    crossed = World(after.configs, before.pools).selecting(name) | World(
        before.configs, after.pools
    ).selecting(name)
    return before.selecting(name) | after.selecting(name) | crossed


def _moved_nodes(
    changes: Sequence[Change], before: World, after: World, live: LiveCluster
) -> Iterable[frozenset[str]]:
    reselected = frozenset(
        c.key.name
        for c in changes
        if c.key.kind is Kind.MACHINE_CONFIG_POOL
        and node_selector(before.pools.get(c.key.name, {})) != node_selector(after.pools.get(c.key.name, {}))
    )
    if not reselected:
        return
    if isinstance(
        live.nodes, Unknown
    ):  # whose nodes move is not known, so all that may give or take them go together
        yield reselected | frozenset(before.pools)
        return
    for node in live.nodes.value.values():
        here, there = frozenset(before.pools_of(node)), frozenset(after.pools_of(node))
        if here != there:
            yield here | there


def _joined(sets: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    joined: list[frozenset[str]] = []
    for new in sets:
        if not new:
            continue
        apart = [s for s in joined if not s & new]
        joined = [*apart, new.union(*(s for s in joined if s & new))]
    return joined


def _rank(pool: str, order: Sequence[PoolClass]) -> tuple[int, str]:
    return (order.index(pool_class(pool)), pool)


def _by_class(pools: frozenset[str], order: Sequence[PoolClass]) -> tuple[str, ...]:
    return tuple(sorted(pools, key=lambda pool: _rank(pool, order)))


_WRITE_RANK: Mapping[tuple[Kind, str], int] = {
    (Kind.MACHINE_CONFIG, "write"): 0,
    (Kind.MACHINE_CONFIG_POOL, "write"): 1,
    (Kind.MACHINE_CONFIG_POOL, "create"): 2,  # a new pool comes after its configs: it renders at once
    (Kind.MACHINE_CONFIG, "delete"): 3,
}


def _write_order(change: Change) -> tuple[int, str]:
    match change:
        case Delete():
            deed = "delete"
        case Create() if change.key.kind is Kind.MACHINE_CONFIG_POOL:
            deed = "create"
        case _:
            deed = "write"
    return (_WRITE_RANK.get((change.key.kind, deed), 4), change.key.name)
