"""Clusters to which the same happens are told of once: a change of a shared set touches five hundred of them alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Generic, TypeVar

from gitops_mc.core.model import CLUSTER_LABEL, Kind, Manifest, Place, ResourceKey, count
from gitops_mc.core.preview.changed import (
    ClusterChange,
    ModuleChange,
    ObjectChange,
    Origin,
    PoolChange,
    PoolEntry,
    WithoutEffect,
)

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
_FOLDER = "clusters"
_ANY = "*"
_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)")
_SHORTEST_RUN = 3
_MOST_RUNS = 6


@dataclass(frozen=True, slots=True)
class Shared(Generic[T]):
    """Something that is the same for some clusters but for their names."""

    one: T
    """As it is for the first of them: the places in it are that one's."""
    clusters: tuple[str, ...]

    def told(self) -> str:
        return names_told(self.clusters)


def objects_of(clusters: Iterable[ClusterChange]) -> tuple[Shared[ObjectChange], ...]:
    """Objects that change alike, each once."""
    return _gathered(
        (
            (cluster.name, change, _object(change, cluster.name))
            for cluster in clusters
            for change in cluster.objects
        ),
        lambda o: (o.key.kind, o.key.name, o.change, o.kept),
    )


def pools_of(clusters: Iterable[ClusterChange]) -> tuple[Shared[PoolChange], ...]:
    """Pools that change alike, each once."""
    return _gathered(
        ((cluster.name, pool, _pool(pool, cluster.name)) for cluster in clusters for pool in cluster.pools),
        lambda p: (p.pool, len(p.entries), p.disruption.actions),
    )


def unselected_of(clusters: Iterable[ClusterChange]) -> tuple[Shared[WithoutEffect], ...]:
    """Configs that no pool takes, each once."""
    return _gathered(
        ((c.name, found, _without_effect(found, c.name)) for c in clusters for found in c.unselected),
        lambda w: w.config.config,
    )


def modules_of(clusters: Iterable[ClusterChange]) -> tuple[Shared[ModuleChange], ...]:
    """Modules that change alike, each once."""
    return _gathered(
        (
            (cluster.name, module, replace(module, place=_anywhere(module.place, cluster.name)))
            for cluster in clusters
            for module in cluster.modules
        ),
        lambda m: (m.module, m.before, m.after),
    )


def sorted_by(items: Iterable[tuple[T, K]]) -> tuple[tuple[K, tuple[T, ...]], ...]:
    """Names, or whatever else, by what is said of them, in the order in which it is said first."""
    found: dict[K, list[T]] = {}
    for name, key in items:
        found.setdefault(key, []).append(name)
    return tuple((key, tuple(names)) for key, names in found.items())


def _gathered(items: Iterable[tuple[str, T, T]], hint: Callable[[T], Hashable]) -> tuple[Shared[T], ...]:
    """Items are a cluster's name, the thing, and the same without the cluster's name in it; what is alike has one hint."""
    buckets: dict[Hashable, list[tuple[T, T, list[str]]]] = {}
    found: list[tuple[T, list[str]]] = []
    for name, own, nameless in items:
        bucket = buckets.setdefault(hint(nameless), [])
        names = next((names for other, _, names in bucket if other == nameless), None)
        if names is None:
            names = []
            bucket.append((nameless, own, names))
            found.append((own, names))
        names.append(name)
    return tuple(Shared(own, tuple(names)) for own, names in found)


def names_told(names: Sequence[str], noun: str = "cluster") -> str:
    """`edge-01, edge-02`, `edge-001 … edge-500 (500 clusters)`: what is numbered on is told by its ends."""
    runs = _runs(names)
    shown = [told for run in runs[:_MOST_RUNS] for told in _run_told(run)]
    hidden = sum(len(run) for run in runs[_MOST_RUNS:])
    if hidden:
        return f"{', '.join(shown)} and {count(hidden, 'more', 'more')} ({count(len(names), noun)})"
    return f"{', '.join(shown)} ({count(len(names), noun)})" if len(names) > _MOST_RUNS else ", ".join(shown)


def _run_told(run: Sequence[str]) -> Sequence[str]:
    return run if len(run) < _SHORTEST_RUN else (f"{run[0]} … {run[-1]}",)


def _runs(names: Sequence[str]) -> list[list[str]]:
    """Names that are numbered on without a gap stand together; two of them are two."""
    found = [[name] for name in names[:1]]
    for before, name in pairwise(names):
        if _next(before, name):
            found[-1].append(name)
        else:
            found.append([name])
    return [part for run in found for part in ([run] if len(run) >= _SHORTEST_RUN else [[n] for n in run])]


def _next(before: str, name: str) -> bool:
    left, right = _NUMBERED.fullmatch(before), _NUMBERED.fullmatch(name)
    if left is None or right is None or len(left[2]) > 9 or len(right[2]) > 9:  # no number of a cluster
        return False
    ends = (left[1], left[3]) == (right[1], right[3])
    same_width = len(left[2]) == len(right[2]) or not right[2].startswith("0")
    return ends and same_width and int(right[2]) == int(left[2]) + 1


def _object(change: ObjectChange, cluster: str) -> ObjectChange:
    return replace(
        change,
        key=ResourceKey("", change.key.kind, change.key.name),
        before=_manifest(change.before, cluster),
        after=_manifest(change.after, cluster),
    )


def _manifest(manifest: Manifest | None, cluster: str) -> Manifest | None:
    if manifest is None:
        return None
    body = manifest.body
    if manifest.key.kind is Kind.MODULE_INFO:
        meta = {**(body.get("metadata") or {}), "name": _ANY}
        meta["labels"] = {**(meta.get("labels") or {}), CLUSTER_LABEL: _ANY}
        body = {**body, "metadata": meta}
    key = ResourceKey("", manifest.key.kind, manifest.key.name)
    return Manifest(key, body, _anywhere(manifest.place, cluster) or manifest.place, manifest.shared_set)


def _pool(pool: PoolChange, cluster: str) -> PoolChange:
    return replace(
        pool,
        entries=tuple(_entry(entry, cluster) for entry in pool.entries),
        configs=_origins(pool.configs, cluster),
        without_effect=tuple(_without_effect(w, cluster) for w in pool.without_effect),
        inert=tuple(replace(i, place=_anywhere(i.place, cluster)) for i in pool.inert),
    )


def _without_effect(found: WithoutEffect, cluster: str) -> WithoutEffect:
    return replace(found, config=_origin(found.config, cluster))


def _entry(entry: PoolEntry, cluster: str) -> PoolEntry:
    return replace(
        entry,
        decides=_origin(entry.decides, cluster),
        others=_origins(entry.others, cluster),
        overridden=_origins(entry.overridden, cluster),
    )


def _origins(origins: tuple[Origin, ...], cluster: str) -> tuple[Origin, ...]:
    return tuple(_origin(origin, cluster) for origin in origins)


def _origin(origin: Origin, cluster: str) -> Origin:
    return Origin(origin.config, _anywhere(origin.place, cluster))


def _anywhere(place: Place | None, cluster: str) -> Place | None:
    """The same place in the folder of whichever cluster."""
    own = f"{_FOLDER}/{cluster}/"
    if place is None or not place.file.startswith(own):
        return place
    return replace(place, file=f"{_FOLDER}/{_ANY}/{place.file.removeprefix(own)}")
