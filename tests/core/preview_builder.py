"""Frozen previews in few words. What a change does to nodes is worked out by the product, what is live is said by the test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from gitops_mc.core.diff import Create, FieldChange, Touch, Update
from gitops_mc.core.disruption import Disruption, Policy, disruption_of, estimate, read_policy
from gitops_mc.core.ignition import (
    KERNEL_ARGUMENTS,
    Effective,
    EntryChange,
    EntryKind,
    MergeOrder,
    entries_changed,
    merge,
)
from gitops_mc.core.live import unread
from gitops_mc.core.model import (
    CLUSTER_LABEL,
    MODULE_LABEL,
    Commit,
    Content,
    DesiredCluster,
    JsonObject,
    Kind,
    Manifest,
    Place,
    ResourceKey,
    content_of,
)
from gitops_mc.core.plan import ClusterPlan, NodeImpact, PoolImpact, Step, StepKind
from gitops_mc.core.policy import ClusterSelector, Count, Wave
from gitops_mc.core.preview.changed import (
    ChangeOf,
    ClusterChange,
    ModuleChange,
    ObjectChange,
    Origin,
    PoolChange,
    PoolEntry,
)
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.preview import ClusterPreview, FleetPreview, WavePreview
from gitops_mc.core.rollout.waves import Line
from tests.core.machine_configs import file, machine_config

AT = datetime(2026, 3, 3, 10, 42, tzinfo=UTC)
NO_POLICY = Policy()
CHRONY_POLICY = read_policy(
    {
        "files": [
            {
                "path": "/etc/chrony.conf",
                "actions": [{"type": "Restart", "restart": {"serviceName": "chronyd.service"}}],
            }
        ]
    }
)
UNIT = "[Unit]\nDescription=Time\n\n[Service]\nExecStart=/usr/sbin/chronyd -n\n"


def text_file(path: str, text: str, **fields: Any) -> JsonObject:
    return file(path, "data:," + quote(text), mode=0o644, **fields)


def chrony(*servers: str, unit: str = "", name: str = "50-worker-chrony") -> JsonObject:
    lines = "".join(f"server {server} iburst\n" for server in servers)
    units = [{"name": "chronyd.service", "enabled": True, "contents": unit}] if unit else []
    return machine_config(
        name, files=[text_file("/etc/chrony.conf", f"{lines}driftfile /var/lib/chrony/drift\n")], units=units
    )


@dataclass(frozen=True)
class Written:
    """An object and where it stands."""

    body: JsonObject
    file: str
    line: int = 1


@dataclass(frozen=True)
class Side:
    """What one commit says of one cluster."""

    configs: tuple[Written, ...] = ()
    modules: tuple[Written, ...] = ()
    policy: Policy = NO_POLICY


@dataclass(frozen=True)
class Told:
    """What a cluster's change has besides what follows from the two sides."""

    wave: str = "canary"
    extra: Mapping[str, Any] = field(default_factory=dict)
    pool: Mapping[str, Any] = field(default_factory=dict)


def cluster_change(name: str, before: Side, after: Side, told: Told = Told()) -> ClusterChange:
    objects = (
        *_objects(name, Kind.MODULE_INFO, before.modules, after.modules),
        *_objects(name, Kind.MACHINE_CONFIG, before.configs, after.configs),
    )
    pool = _pool(before, after)
    return replace(
        ClusterChange(
            name,
            told.wave,
            ChangeOf.CHANGED,
            objects,
            (replace(pool, **told.pool),) if pool.entries or told.pool else (),
            tuple(_module(o) for o in objects if o.key.kind is Kind.MODULE_INFO),
        ),
        **told.extra,
    )


def module(name: str, version: str, cluster: str, config: JsonObject | None = None) -> JsonObject:
    return {
        "apiVersion": "cluster.alauda.io/v1alpha1",
        "kind": "ModuleInfo",
        "metadata": {"name": f"{cluster}-{name}", "labels": {CLUSTER_LABEL: cluster, MODULE_LABEL: name}},
        "spec": {"version": version, "config": config or {}},
    }


def _objects(
    cluster: str, kind: Kind, before: Sequence[Written], after: Sequence[Written]
) -> tuple[ObjectChange, ...]:
    old, new = ({_name(kind, w.body): _manifest(cluster, kind, w) for w in side} for side in (before, after))
    return tuple(
        ObjectChange(
            ResourceKey(cluster, kind, name), _change(name in old, name in new), old.get(name), new.get(name)
        )
        for name in sorted({*old, *new})
        if name not in old or name not in new or old[name].body != new[name].body
    )


def _change(before: object, after: object) -> ChangeOf:
    if before and after:
        return ChangeOf.CHANGED
    return ChangeOf.ADDED if after else ChangeOf.REMOVED


def _name(kind: Kind, body: JsonObject) -> str:
    found = body["metadata"]["labels"][MODULE_LABEL] if kind is Kind.MODULE_INFO else body["metadata"]["name"]
    return str(found)


def _manifest(cluster: str, kind: Kind, written: Written) -> Manifest:
    key = ResourceKey(cluster, kind, _name(kind, written.body))
    return Manifest(key, written.body, Place(written.file, written.line, 1))


def _pool(before: Side, after: Side, pool: str = "worker") -> PoolChange:
    then, now = _merged(before), _merged(after)
    disruption = disruption_of(then, now, after.policy)
    places = {w.body["metadata"]["name"]: Place(w.file, w.line, 1) for w in (*before.configs, *after.configs)}
    return PoolChange(
        pool,
        tuple(_entry(c, then, now, disruption, places) for c in entries_changed(then, now)),
        disruption,
        disruption_of(now, then, before.policy),
        tuple(_origin(w.body["metadata"]["name"], places) for w in after.configs),
    )


def _entry(
    change: EntryChange, then: Effective, now: Effective, disruption: Disruption, places: Mapping[str, Place]
) -> PoolEntry:
    cause = next((c for c in disruption.causes if c.entry.name == change.entry.name), None)
    if change.entry.kind is EntryKind.KERNEL_ARGUMENT:
        cause = next(c for c in disruption.causes if c.entry == KERNEL_ARGUMENTS)
        owner = next(a.owner for e in (now, then) for a in e.kernel_arguments if a.value == change.entry.name)
        return PoolEntry(change, _origin(owner, places), rule=cause.rule, actions=cause.actions)
    found = now.entries.get(change.entry) or then.entries[change.entry]
    return PoolEntry(
        change,
        _origin(found.owner, places),
        tuple(_origin(c, places) for c in found.contributors if c != found.owner),
        tuple(_origin(c, places) for c in found.overridden),
        cause.rule if cause else "",
        cause.actions if cause else (),
    )


def _origin(config: str, places: Mapping[str, Place]) -> Origin:
    return Origin(config, places.get(config))


def _merged(side: Side) -> Effective:
    return merge(tuple(w.body for w in side.configs), MergeOrder.ALPHABETICAL)


def _module(change: ObjectChange) -> ModuleChange:
    before, after = (None if m is None else m.body["spec"] for m in (change.before, change.after))
    manifest = change.after or change.before
    return ModuleChange(
        change.key.name,
        change.change,
        before["version"] if before else "",
        after["version"] if after else "",
        config=(before or {}).get("config") != (after or {}).get("config"),
        place=manifest.place if manifest else None,
    )


def live_cluster(change: ClusterChange, nodes: int = 3, **extra: Any) -> ClusterPreview:
    """What merging comes to on a cluster whose pools have so many nodes each."""
    impacts = tuple(_impact(change.name, pool, nodes) for pool in change.pools if pool.disruption.causes)
    writes = [_write(change.name, o) for o in change.objects if o.key.kind is Kind.MACHINE_CONFIG]
    upgrades = [o for o in change.objects if o.key.kind is Kind.MODULE_INFO]
    steps = (
        *(Step(StepKind.MODULE, o.key.name, (_write(change.name, o),)) for o in upgrades),
        *((Step(StepKind.POOLS, "worker", tuple(writes), ("worker",)),) if writes else ()),
    )
    manifests = tuple(o.after for o in change.objects if o.after is not None)
    return replace(
        no_change(change.name, change.wave, manifests),
        plan=ClusterPlan(change.name, content_of(manifests), steps, impacts),
        standing=Standing.READY,
        module_limit=timedelta(minutes=30),
        **extra,
    )


def no_change(name: str, wave: str, manifests: tuple[Manifest, ...] = (), **extra: Any) -> ClusterPreview:
    content = content_of(manifests)
    desired = DesiredCluster(name, manifests, content)
    plan = ClusterPlan(name, Content(content))
    return replace(ClusterPreview(desired, unread(name, AT), wave, Standing.PASSED, "", plan), **extra)


def _write(cluster: str, change: ObjectChange) -> Create | Update:
    manifest = change.after or change.before
    assert manifest is not None
    key = ResourceKey(cluster, change.key.kind, change.key.name)
    if change.before is None:
        return Create(key, manifest.body, "digest")
    fields = (FieldChange("spec.config", change.before.body["spec"], manifest.body["spec"]),)
    return Update(key, manifest.body, "digest", "uid-1", "7", fields, Touch.CHANGES_EXISTING)


def _impact(cluster: str, pool: PoolChange, nodes: int) -> PoolImpact:
    names = tuple(f"{cluster}-w{number}" for number in range(1, nodes + 1))
    took = estimate(nodes, 1, timedelta(minutes=20), pool.disruption)
    return PoolImpact(
        pool.pool,
        tuple(e.change for e in pool.entries),
        (NodeImpact(names, nodes, pool.disruption),),
        1,
        took,
    )


def fleet(commit: str, clusters: Iterable[ClusterPreview], at_once: int = 1) -> FleetPreview:
    """Waves in the order in which the clusters name them."""
    by_wave: dict[str, list[ClusterPreview]] = {}
    for cluster in clusters:
        by_wave.setdefault(cluster.wave, []).append(cluster)
    waves = tuple(
        WavePreview(
            Line(
                Wave(name, ClusterSelector(), timedelta(minutes=30), Count(at_once)),
                tuple(c.name for c in members),
            ),
            at_once,
            tuple(members),
            approve=False,
        )
        for name, members in by_wave.items()
        if name
    )
    return FleetPreview(Commit(commit), waves, tuple(by_wave.get("", ())))
