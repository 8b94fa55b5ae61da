"""Which nodes of the live clusters are disturbed, how, and how many of them at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitops_mc.core.model import count
from gitops_mc.core.plan import NodeImpact, PoolImpact
from gitops_mc.core.preview.model import LivePreview, Preview
from gitops_mc.core.render.preview.document import (
    Basis,
    Block,
    Paragraph,
    Section,
    Strong,
    Table,
    Words,
    words,
)
from gitops_mc.core.render.preview.groups import names_told, sorted_by
from gitops_mc.core.render.preview.overview import actions_told
from gitops_mc.core.rollout.preview import ClusterPreview

_SHARE = 0.1


def nodes(preview: Preview) -> Section:
    """A row for what nodes of a pool go through, in whichever of the clusters that are touched."""
    live = preview.live
    blocks: tuple[Block, ...] = ()
    if isinstance(live, LivePreview):
        names = frozenset(cluster.name for cluster in preview.changes.clusters)
        touched = [cluster for cluster in live.outcome.clusters if cluster.name in names]
        blocks = (*_table(touched), *_not_known(touched))
    return Section("Nodes", Basis.MERGED, blocks, _SHARE)


def _table(clusters: Sequence[ClusterPreview]) -> tuple[Block, ...]:
    found = sorted_by(
        ((cluster.name, impact, node), (impact.pool, actions_told(node.disruption)))
        for cluster in clusters
        for impact in cluster.impacts
        for node in impact.nodes
    )
    rows = tuple(_row(pool, actions, members) for (pool, actions), members in found)
    heads = ("pool", "clusters", "nodes", "first and last", "at a time", "each goes through")
    return (Table(heads, rows, "row"),) if rows else ()


def _row(pool: str, actions: str, members: Sequence[tuple[str, PoolImpact, NodeImpact]]) -> tuple[Words, ...]:
    names = [name for _, _, node in members for name in node.nodes]
    pace = sorted({impact.max_unavailable for _, impact, _ in members})
    return (
        words(pool),
        words(names_told(tuple(dict.fromkeys(cluster for cluster, _, _ in members)))),
        words(str(sum(node.count for _, _, node in members))),
        words(
            " … ".join(dict.fromkeys((names[0], names[-1]))) if names else "not known: nodes were not read"
        ),
        words(f"{pace[0]}" if len(pace) == 1 else f"{pace[0]} to {pace[-1]}"),
        words(actions),
    )


def _not_known(clusters: Sequence[ClusterPreview]) -> Iterator[Block]:
    lacking = tuple(c.name for c in clusters if c.plan is None or c.unknown or c.plan.unforeseen)
    if lacking:
        told = f" on {count(len(lacking), 'cluster')}: {names_told(lacking)}."
        yield Paragraph(words(Strong("Which nodes, is not known"), told))
