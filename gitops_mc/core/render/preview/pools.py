"""Why nodes are disturbed, what a pool really gets, what nobody takes up, and what going back would cost."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from gitops_mc.core.model import Place, count
from gitops_mc.core.preview.changed import Inert, Origin, PoolChange, PoolEntry, WithoutEffect
from gitops_mc.core.preview.model import Preview
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
from gitops_mc.core.render.preview.groups import Shared, names_told, pools_of, sorted_by, unselected_of
from gitops_mc.core.render.preview.overview import actions_told

K = TypeVar("K", bound=Hashable)
_WHY, _EFFECTIVE, _BACK = 0.2, 0.1, 0.05


def why(preview: Preview) -> Section:
    """Per pool: what decides, by which rule, and where that is written."""
    blocks: list[Block] = []
    for reason, clusters in _told_alike(preview, _why):
        new = f", a new pool whose nodes come from {reason.comes_from}" if reason.comes_from else ""
        told = f" of {names_told(clusters)}{new}: each node: {reason.actions}"
        blocks.append(Paragraph(words(Strong(f"pool {reason.pool}"), told)))
        if reason.paused:
            held = "Its manifest holds it: nothing of this reaches a node until "
            blocks.append(Paragraph(words(held, Code("paused"), " goes.")))
        blocks.append(Bullets(reason.causes, "reason"))
    if not blocks:
        blocks.append(Paragraph(words("No pool that Git knows gets anything else than before.")))
    return Section("Why", Basis.GIT, tuple(blocks), _WHY)


def effective(preview: Preview) -> Section:
    """What the merge of a pool's configs yields, entry by entry, and what comes to nothing."""
    pools = pools_of(preview.changes.clusters)
    blocks = (
        *(_effective(pool) for pool in pools if pool.one.entries or pool.one.without_effect),
        *_unselected(preview),
        *(block for inert, where in _inert_alike(preview) for block in _inert(inert, where)),
    )
    return Section("What each pool gets", Basis.GIT, blocks, _EFFECTIVE)


_GOING_BACK: Final = "By a rollback, or by a revert before all of it has passed. After that a revert takes away what was added only where prune is on."


def going_back(preview: Preview) -> Section:
    """What a revert of the pull request would do to nodes that have it."""
    rows = tuple(
        (words(names_told(clusters)), words(pool), words(actions), words(because))
        for (pool, actions, because), clusters in _told_alike(preview, _back)
    )
    table = Table(("clusters", "pool", "each node", "because of"), rows, "pool")
    return Section("Going back", Basis.GIT, (Paragraph(words(_GOING_BACK)), table) if rows else (), _BACK)


def place_told(place: Place | None) -> str | Code:
    return Code(str(place)) if place is not None and place.file else "not in Git any more"


@dataclass(frozen=True, slots=True)
class _Reason:
    """What is said of why a pool is disturbed; of more than one cluster the same, once."""

    pool: str
    comes_from: str
    actions: str
    paused: bool
    causes: tuple[Words, ...]


def _why(pool: PoolChange) -> _Reason | None:
    if not pool.disruption.causes:
        return None
    causes = tuple(_reason(entry) for entry in _deciding(pool))
    return _Reason(pool.pool, pool.comes_from, actions_told(pool.disruption), pool.paused, causes)


def _back(pool: PoolChange) -> tuple[str, str, str] | None:
    causes = [c for c in pool.revert.causes if set(c.actions) & set(pool.revert.actions)]
    if not causes:
        return None
    more = f"; and {len(causes) - 1} more" if len(causes) > 1 else ""
    return pool.pool, actions_told(pool.revert), f"{causes[0]}{more}"


def _told_alike(
    preview: Preview, say: Callable[[PoolChange], K | None]
) -> tuple[tuple[K, tuple[str, ...]], ...]:
    """What is to be said of pools, each thing once, with the clusters of which it is said, in their order."""
    order = {cluster.name: position for position, cluster in enumerate(preview.changes.clusters)}
    said = [
        (pool.clusters, told)
        for pool in pools_of(preview.changes.clusters)
        if (told := say(pool.one)) is not None
    ]
    found = sorted_by((name, told) for names, told in said for name in names)
    return tuple((told, tuple(sorted(dict.fromkeys(names), key=order.__getitem__))) for told, names in found)


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


def _inert_alike(preview: Preview) -> tuple[tuple[Inert, str], ...]:
    """Each with the pools in which it is so."""
    pools = pools_of(preview.changes.clusters)
    found = sorted_by((f"{p.one.pool} of {p.told()}", inert) for p in pools for inert in p.one.inert)
    return tuple((inert, "; ".join(where)) for inert, where in found)


def _inert(inert: Inert, where: str) -> Iterator[Block]:
    """What is written to the node and taken up by nothing, with what would make it effective."""
    yield Paragraph(
        words(
            Strong("No effect before a restart"),
            ": ",
            Code(str(inert.entry)),
            f" in pool {where}, ",
            place_told(inert.place),
            f": {inert.reason}. In the MachineConfiguration this would make it effective:",
        )
    )
    yield Listing("yaml", tuple(inert.paste.rstrip("\n").split("\n")))
