"""The table that a reviewer reads first: wave by wave, which clusters, how much, and what becomes of their nodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import timedelta

from gitops_mc.core.disruption import Disruption
from gitops_mc.core.forecast.model import ClusterForecast
from gitops_mc.core.model import count
from gitops_mc.core.preview.changed import ChangeOf, ClusterChange, PullChanges
from gitops_mc.core.preview.effects import rebooting_anyway
from gitops_mc.core.preview.model import LivePreview, Preview
from gitops_mc.core.render.plan_words import duration
from gitops_mc.core.render.preview.document import Basis, Block, Paragraph, Section, Table, Words, words
from gitops_mc.core.render.preview.groups import names_told, sorted_by
from gitops_mc.core.render.preview.live import headline_since
from gitops_mc.core.render.preview.times import starts_told, takes_told
from gitops_mc.core.rollout.preview import ClusterPreview

_SHARE = 0.25
_LEFT = "left as they are: nothing of it is changed any more"


def overview(preview: Preview) -> Section:
    """One row for the clusters of a wave of which the same is to be said."""
    live = preview.live if isinstance(preview.live, LivePreview) else None
    clusters = preview.changes.clusters
    blocks: list[Block] = []
    if clusters:
        blocks.append(_table(clusters, live) if live is not None else _table_of_git(clusters))
    blocks.append(Paragraph(words(_rest(preview.changes))))
    if live is not None and (anyway := rebooting_anyway(live.already)):
        told = f"Without this pull request {count(anyway, 'node')} would reboot already: see (b)."
        blocks.append(Paragraph(words(told)))
    basis = Basis.GIT if live is None else Basis.MERGED
    return Section("Waves and clusters", basis, tuple(blocks), _SHARE)


def actions_told(disruption: Disruption) -> str:
    """`reboot, drain`; each action once."""
    return ", ".join(str(action) for action in dict.fromkeys(disruption.actions)) or "nothing"


def _rest(changes: PullChanges) -> str:
    stay = changes.untouched
    if not changes.clusters:
        return f"No cluster is touched; {count(stay, 'cluster')} {'stays as it is' if stay == 1 else 'stay as they are'}."
    if not stay:
        return "Every cluster of the fleet is touched."
    return f"{count(stay, 'other cluster')} {'is' if stay == 1 else 'are'} not touched."


def _table_of_git(clusters: Sequence[ClusterChange]) -> Table:
    rows = sorted_by((c.name, (_wave(c), _objects(c), _nodes_of_git(c))) for c in clusters)
    return Table(
        ("wave", "clusters", "objects", "each node"),
        tuple((words(w), words(names_told(names)), words(o), words(n)) for (w, o, n), names in rows),
        "row",
    )


def _table(clusters: Sequence[ClusterChange], live: LivePreview) -> Table:
    outcome = {c.name: c for c in live.outcome.clusters}
    forecast = {c.name: c for c in live.forecast.clusters} if live.forecast is not None else {}
    rows = sorted_by(
        (
            c.name,
            (_wave(c), _objects(c), _class(c, outcome.get(c.name), live), _alike(c.name, outcome, forecast)),
        )
        for c in clusters
    )
    return Table(
        ("wave", "clusters", "objects", "nodes", *(("starts",) if forecast else ()), "takes"),
        tuple(
            (
                words(wave),
                words(names_told(names)),
                words(objects),
                words(told or _nodes([outcome[name] for name in names])),
                *_when(told, names, outcome, forecast),
            )
            for (wave, objects, told, _), names in rows
        ),
        "row",
    )


def _alike(
    name: str, outcome: Mapping[str, ClusterPreview], forecast: Mapping[str, ClusterForecast]
) -> Hashable:
    """What clusters in one row have in common besides: what kind of things happen there, and whether that has a time."""
    found, times = outcome.get(name), forecast.get(name)
    return (
        found is not None
        and (bool(found.rebooting), bool(found.draining), bool(found.impacts), found.untimed),
        times is not None and (times.no_time, times.after),
    )


def _when(
    told: str,
    names: Sequence[str],
    outcome: Mapping[str, ClusterPreview],
    forecast: Mapping[str, ClusterForecast],
) -> tuple[Words, ...]:
    """By the forecast, else by the settings; of those of which something else is told already, that nobody knows."""
    if told:
        return (words("not known"), *((words(""),) if forecast else ()))
    if not forecast:
        return (words(_takes([outcome[name] for name in names if name in outcome])),)
    found = [forecast[name] for name in names if name in forecast]
    return (words(starts_told(found) if found else ""), words(takes_told(found)))


def _wave(cluster: ClusterChange) -> str:
    if not cluster.wave:
        return "no wave takes it"
    return f"{cluster.wave} (before: {cluster.moved_from})" if cluster.moved_from else cluster.wave


def _objects(cluster: ClusterChange) -> str:
    """`2 added, 1 changed`."""
    kinds = [change.change for change in cluster.objects]
    told = [f"{kinds.count(kind)} {kind.value}" for kind in ChangeOf if kind in kinds]
    if cluster.membership is not ChangeOf.CHANGED:
        told.insert(0, f"cluster {cluster.membership.value}")
    return ", ".join(told) or "none"


def _nodes_of_git(cluster: ClusterChange) -> str:
    if cluster.blocked:
        return f"blocked: {count(len(cluster.blocked), 'error')}, nothing of it is carried out"
    if cluster.refused:
        return f"refused: {'; '.join(cluster.refused)}"
    disturbed = [p for p in cluster.pools if p.disruption.causes]
    if disturbed:
        return "; ".join(f"{pool.pool}: {actions_told(pool.disruption)}" for pool in disturbed)
    if cluster.membership is ChangeOf.REMOVED:
        return _LEFT
    if cluster.unselected:
        return "not known: no pool in Git takes what changes"
    return "no change"


def _class(cluster: ClusterChange, found: ClusterPreview | None, live: LivePreview) -> str:
    """What is said in place of numbers, where these are not all there is to say; empty: the numbers are."""
    if found is None:
        if cluster.membership is ChangeOf.REMOVED:
            return _LEFT
        return "unknown: it is not among the clusters that were read"
    if found.unknown or found.desired.blocked or found.refused or found.plan is None:
        return headline_since(found, live)
    return found.plan.unforeseen


def _nodes(clusters: Sequence[ClusterPreview]) -> str:
    """Of all of them together."""
    total = sum(n.count for c in clusters for impact in c.impacts for n in impact.nodes)
    rebooting, draining = sum(c.rebooting for c in clusters), sum(c.draining for c in clusters)
    return ", ".join(_counted(rebooting, draining, total - rebooting - draining)) or "none is touched"


def _counted(rebooting: int, draining: int, quiet: int) -> Iterator[str]:
    if rebooting:
        yield f"{rebooting} {'reboots' if rebooting == 1 else 'reboot'}"
    if draining:
        yield f"{draining} drained"
    if quiet:
        yield f"{quiet} changed without a drain"


def _takes(clusters: Sequence[ClusterPreview]) -> str:
    """How long one of them takes, from the settings of fleet.yaml."""
    found = sorted(c.estimate for c in clusters)
    modules = max((len(c.untimed) for c in clusters), default=0)
    limit = max((c.module_limit for c in clusters if c.untimed), default=timedelta(0))
    told = []
    if found and found[-1]:
        least, most = duration(found[0]), duration(found[-1])
        told.append(f"about {most}" if least == most else f"about {least} to {most}")
    if modules:
        told.append(f"at most {duration(limit * modules)} for {count(modules, 'module')}")
    return ", ".join(told)
