"""Why nodes are disturbed, what a pool really gets, what nobody takes up, and what going back would cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitops_mc.core.model import Place, count
from gitops_mc.core.plan import PoolImpact
from gitops_mc.core.preview.model import LivePreview, Origin, PoolChange, PoolEntry, Preview, WithoutEffect
from gitops_mc.core.render.preview.document import (
    Basis,
    Block,
    Bullets,
    Code,
    Fold,
    Listing,
    Paragraph,
    Section,
    Strong,
    Table,
    Words,
    words,
)
from gitops_mc.core.render.preview.groups import Shared, pools_of, unselected_of
from gitops_mc.core.render.preview.overview import actions_told

_WHY, _EFFECTIVE, _BACK = 0.2, 0.1, 0.05


def why(preview: Preview) -> Section:
    """Per pool: what decides, by which rule, and where that is written."""
    blocks: list[Block] = []
    for pool in pools_of(preview.changes.clusters):
        if not pool.one.disruption.causes:
            continue
        new = f", a new pool whose nodes come from {pool.one.comes_from}" if pool.one.comes_from else ""
        told = f" of {pool.told()}{new}: each node: {actions_told(pool.one.disruption)}"
        blocks.append(Paragraph(words(Strong(f"pool {pool.one.pool}"), told + _numbers(preview, pool))))
        blocks.append(Bullets(tuple(_reason(e) for e in _deciding(pool.one)), "reason"))
    return Section("Why", Basis.GIT, tuple(blocks), _WHY)


def effective(preview: Preview) -> Section:
    """What the merge of a pool's configs yields, entry by entry, and what comes to nothing."""
    pools = pools_of(preview.changes.clusters)
    blocks = (
        *(_effective(pool) for pool in pools if pool.one.entries or pool.one.without_effect),
        *_unselected(preview),
        *(block for pool in pools for block in _inert(pool)),
    )
    return Section("What each pool gets", Basis.GIT, blocks, _EFFECTIVE)


def going_back(preview: Preview) -> Section:
    """What a revert of the pull request would do to nodes that have it."""
    rows = tuple(
        (
            words(pool.told()),
            words(pool.one.pool),
            words(actions_told(pool.one.revert)),
            words(_because(pool.one)),
        )
        for pool in pools_of(preview.changes.clusters)
        if pool.one.revert.causes
    )
    table = Table(("clusters", "pool", "each node", "because of"), rows, "pool")
    return Section("Going back", Basis.GIT, (table,) if rows else (), _BACK)


def place_told(place: Place | None) -> str | Code:
    return Code(str(place)) if place is not None and place.file else "not in Git any more"


def _because(pool: PoolChange) -> str:
    causes = [c for c in pool.revert.causes if set(c.actions) & set(pool.revert.actions)]
    first = str(causes[0]) if causes else ""
    return f"{first}; and {len(causes) - 1} more" if len(causes) > 1 else first


def _deciding(pool: PoolChange) -> tuple[PoolEntry, ...]:
    """The entries that ask for what happens; all of them where none is told apart."""
    actions = set(pool.disruption.actions)
    return tuple(e for e in pool.entries if set(e.actions) & actions) or pool.entries


def _reason(entry: PoolEntry) -> Words:
    rule = f": {entry.rule}" if entry.rule else ""
    return words(
        Code(str(entry.change.entry)),
        f" {entry.change.change.value}{rule}; from ",
        Code(entry.decides.config),
        ", ",
        place_told(entry.decides.place),
    )


def _numbers(preview: Preview, pool: Shared[PoolChange]) -> str:
    """How many nodes that is, the first and the last of them, where the clusters were read."""
    if not isinstance(preview.live, LivePreview):
        return ""
    found = _impacts(preview.live, pool)
    nodes = [name for impact in found.values() for n in impact.nodes for name in n.nodes]
    total = sum(n.count for impact in found.values() for n in impact.nodes)
    if not total:
        return "; on the clusters no node of it was found"
    at_once = sorted({impact.max_unavailable for impact in found.values()})
    pace = f"{at_once[0]}" if len(at_once) == 1 else f"{at_once[0]} to {at_once[-1]}"
    ends = f" ({nodes[0]} … {nodes[-1]})" if len(nodes) > 1 else f" ({nodes[0]})" if nodes else ""
    return f"; on the clusters {count(total, 'node')}{ends}, {pace} at a time"


def _impacts(live: LivePreview, pool: Shared[PoolChange]) -> Mapping[str, PoolImpact]:
    names = frozenset(pool.clusters)
    return {
        cluster.name: impact
        for cluster in live.outcome.clusters
        if cluster.name in names
        for impact in cluster.impacts
        if impact.pool == pool.one.pool
    }


def _effective(pool: Shared[PoolChange]) -> Fold:
    one = pool.one
    blocks: list[Block] = []
    if one.entries:
        heads = ("entry", "", "comes from", "nothing left of", "on each node")
        blocks.append(Table(heads, tuple(_row(entry) for entry in one.entries), "row"))
    if one.order_matters:
        told = "The result depends on the merge order of the cluster's operator: rename configs so that every order agrees."
        blocks.append(Paragraph(words(Strong(told))))
    if one.without_effect:
        blocks.append(Bullets(tuple(_without_effect(w) for w in one.without_effect), "config"))
    if one.configs:
        merged = tuple(words(Code(o.config), " ", place_told(o.place)) for o in one.configs)
        blocks.append(
            Paragraph(words(f"Merged, in this order, the later one wins: {count(len(merged), 'config')}."))
        )
        blocks.append(Bullets(merged, "config"))
    changed = count(len(one.entries), "entry changes", "entries change")
    return Fold(
        f"pool {one.pool} of {pool.told()}: {changed}, {count(len(one.configs), 'config')}",
        tuple(blocks),
        "pool",
    )


def _without_effect(found: WithoutEffect) -> Words:
    config = found.config
    return words(
        Code(config.config), " (", place_told(config.place), f") changes nothing here: {found.reason}"
    )


def _unselected(preview: Preview) -> tuple[Block, ...]:
    """Configs that no pool takes, whatever is in them."""
    items = tuple(
        words(
            Strong("no pool takes"),
            " ",
            Code(w.one.config.config),
            " ",
            place_told(w.one.config.place),
            f" of {w.told()}: {w.one.reason}",
        )
        for w in unselected_of(preview.changes.clusters)
    )
    return (Bullets(items, "config"),) if items else ()


def _row(entry: PoolEntry) -> tuple[Words, ...]:
    return (
        words(Code(str(entry.change.entry))),
        words(entry.change.change.value),
        _origins((entry.decides, *entry.others)),
        _origins(entry.overridden),
        words(", ".join(str(a) for a in entry.actions), f" ({entry.rule})" if entry.rule else ""),
    )


def _origins(origins: tuple[Origin, ...]) -> Words:
    found: list[str | Code | Strong] = []
    for origin in origins:
        found += [", " if found else "", Code(origin.config), " ", place_told(origin.place)]
    return words(*found)


def _inert(pool: Shared[PoolChange]) -> Iterator[Block]:
    """What is written to the node and taken up by nothing, with what would make it effective."""
    for inert in pool.one.inert:
        yield Paragraph(
            words(
                Strong("No effect before a restart"),
                ": ",
                Code(str(inert.entry)),
                f" in pool {pool.one.pool} of {pool.told()}, ",
                place_told(inert.place),
                f": {inert.reason}. In the MachineConfiguration this would make it effective:",
            )
        )
        yield Listing("yaml", tuple(inert.paste.rstrip("\n").split("\n")))
