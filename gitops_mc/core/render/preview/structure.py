"""A preview for programs. Of one version of the schema keys are only added to, never renamed; docs/previews-reading.md
names them all.

What is the same for many clusters stands there once, with their names.
"""

from __future__ import annotations

from typing import Any, Final

from gitops_mc.core.disruption import Disruption
from gitops_mc.core.model import JsonObject, Place
from gitops_mc.core.preview.changed import (
    ClusterChange,
    Inert,
    ModuleChange,
    ObjectChange,
    Origin,
    PoolChange,
    PoolEntry,
    PullChanges,
    WithoutEffect,
)
from gitops_mc.core.preview.model import Conflict, LivePreview, NoLive, Preview
from gitops_mc.core.redact import Redactor
from gitops_mc.core.render.diff_json import part_json
from gitops_mc.core.render.lines import visible
from gitops_mc.core.render.preview.groups import Shared, modules_of, objects_of, pools_of, unselected_of
from gitops_mc.core.render.preview.objects import parts_of
from gitops_mc.core.render.preview.structure_live import live_json
from gitops_mc.core.render.problems import problem_json

SCHEMA: Final = "gitops-mc.io/preview/v1"


def preview_json(preview: Preview, redactor: Redactor) -> JsonObject:
    """Redacted, and of letters alone that every encoding has."""
    shown: JsonObject = _spelled(redactor.redact_json(_preview(preview, redactor)))
    return shown


def _preview(preview: Preview, redactor: Redactor) -> JsonObject:
    revisions = preview.revisions
    return {
        "schema": SCHEMA,
        "fleet": preview.fleet or None,
        "verdict": {
            "state": preview.verdict.state.value,
            "line": preview.verdict.line,
            "reasons": list(preview.verdict.reasons),
        },
        "revisions": {
            "base": revisions.base,
            "head": revisions.head,
            "mergeBase": revisions.merge_base,
            "behind": revisions.behind,
        },
        "changes": _changes(preview.changes, redactor),
        "onlyMerged": [problem_json(problem) for problem in preview.only_merged],
        "live": live_json(preview.live) if isinstance(preview.live, LivePreview) else None,
        "notRead": _not_read(preview.live),
    }


def _not_read(live: LivePreview | NoLive | Conflict) -> JsonObject | None:
    match live:
        case LivePreview():
            return None
        case NoLive(reason, since):
            return {"reason": reason, "since": since and since.isoformat(timespec="seconds"), "conflicts": []}
        case Conflict(paths):
            return {"reason": "base and head cannot be merged", "since": None, "conflicts": list(paths)}


def _changes(changes: PullChanges, redactor: Redactor) -> JsonObject:
    clusters = changes.clusters
    return {
        "fleetBlocked": changes.fleet_blocked,
        "baseBlocked": changes.base_blocked,
        "untouched": changes.untouched,
        "clusters": [_cluster(cluster) for cluster in clusters],
        "objects": [_object(change, redactor) for change in objects_of(clusters)],
        "pools": [_pool(pool) for pool in pools_of(clusters)],
        "unselected": [_for(found, _without_effect(found.one)) for found in unselected_of(clusters)],
        "modules": [_for(module, _module(module.one)) for module in modules_of(clusters)],
        "settings": [
            {"path": s.path, "before": s.before or None, "after": s.after or None} for s in changes.settings
        ],
        "newProblems": [problem_json(problem) for problem in changes.new_problems],
        "oldProblems": [problem_json(problem) for problem in changes.old_problems],
        "solvedProblems": [problem_json(problem) for problem in changes.solved],
    }


def _cluster(cluster: ClusterChange) -> JsonObject:
    return {
        "cluster": cluster.name,
        "wave": cluster.wave or None,
        "movedFrom": cluster.moved_from,
        "membership": cluster.membership.value,
        "objects": len(cluster.objects),
        "refused": list(cluster.refused),
        "problems": [problem_json(problem) for problem in cluster.blocked],
    }


def _for(shared: Shared[Any], found: JsonObject) -> JsonObject:
    return {"clusters": list(shared.clusters), **found}


def _object(change: Shared[ObjectChange], redactor: Redactor) -> JsonObject:
    one = change.one
    manifest = one.after or one.before
    return {
        "clusters": list(change.clusters),
        "kind": one.key.kind.value,
        "name": one.key.name,
        "change": one.change.value,
        "staysBecause": one.kept or None,
        **_place(None if manifest is None else manifest.place),
        "parts": [part_json(part) for part in parts_of(one, redactor.sensitive)],
    }


def _pool(pool: Shared[PoolChange]) -> JsonObject:
    one = pool.one
    return {
        "clusters": list(pool.clusters),
        "pool": one.pool,
        "comesFrom": one.comes_from or None,
        "paused": one.paused,
        "node": _disruption(one.disruption),
        "goingBack": _disruption(one.revert),
        "entries": [_entry(entry) for entry in one.entries],
        "configs": [_origin(origin) for origin in one.configs],
        "withoutEffect": [_without_effect(found) for found in one.without_effect],
        "inert": [_inert(found) for found in one.inert],
        "orderMatters": one.order_matters,
    }


def _disruption(found: Disruption) -> JsonObject:
    return {
        "reboot": found.reboot,
        "drain": found.drain,
        "actions": [str(action) for action in found.actions],
        "causes": [
            {
                "entry": str(cause.entry),
                "change": cause.change.value,
                "rule": cause.rule,
                "actions": [str(action) for action in cause.actions],
            }
            for cause in found.causes
        ],
    }


def _entry(entry: PoolEntry) -> JsonObject:
    return {
        "entry": str(entry.change.entry),
        "change": entry.change.change.value,
        "rule": entry.rule or None,
        "actions": [str(action) for action in entry.actions],
        "decides": _origin(entry.decides),
        "others": [_origin(origin) for origin in entry.others],
        "overridden": [_origin(origin) for origin in entry.overridden],
    }


def _origin(origin: Origin) -> JsonObject:
    return {"config": origin.config, **_place(origin.place)}


def _without_effect(found: WithoutEffect) -> JsonObject:
    return {**_origin(found.config), "reason": found.reason}


def _inert(found: Inert) -> JsonObject:
    return {
        "entry": str(found.entry),
        **_place(found.place),
        "reason": found.reason,
        "policy": found.paste,
    }


def _module(module: ModuleChange) -> JsonObject:
    return {
        "module": module.module,
        "change": module.change.value,
        "before": module.before or None,
        "after": module.after or None,
        "configChanges": module.config,
        **_place(module.place),
    }


def _place(place: Place | None) -> JsonObject:
    """Both null: not in Git any more."""
    return {"file": place.file if place else None, "line": place.line if place else None}


def _spelled(value: Any) -> Any:
    match value:
        case str():
            return visible(value)
        case dict():
            return {key: _spelled(inner) for key, inner in value.items()}
        case list():
            return [_spelled(inner) for inner in value]
        case _:
            return value
