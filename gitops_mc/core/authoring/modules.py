"""What of a live ModuleInfo somebody set: its version, and what of its configuration is not a published default."""

from __future__ import annotations

from typing import Final

from gitops_mc.core.authoring.picking import LeftOut, Picked, may_be_taken
from gitops_mc.core.diff.paths import same
from gitops_mc.core.live import Fact
from gitops_mc.core.model import (
    CLUSTER_LABEL,
    MODULE_LABEL,
    MODULE_TYPE_LABEL,
    PRUNE_ANNOTATION,
    JsonObject,
    Known,
    ResourceKey,
    annotations_of,
    being_deleted,
    labels_of,
    metadata,
    name_of,
)
from gitops_mc.core.modules import is_core
from gitops_mc.core.raw import section, text

_CREATED_BY: Final = ("create-by", "cpaas.io/create-by")
_TRANSFORMER: Final = "cluster-transformer"


def chosen_module(
    key: ResourceKey, instances: tuple[JsonObject, ...], catalog: Fact, fleet: str
) -> Picked | LeftOut:
    """`instances` are all live ModuleInfos of this module and cluster, at least one."""
    standing = [one for one in instances if not being_deleted(one)]
    if len(standing) > 1:
        names = ", ".join(sorted(name_of(one) for one in standing))
        return LeftOut(key, f"it stands there {len(standing)} times ({names}); delete all but one")
    live = standing[0] if standing else instances[0]
    if found := _kept_by_the_platform(key, live, catalog) or may_be_taken(key, _unowned(live), fleet):
        return found
    version = text(section(live, "spec"), "version")
    if not version:
        return LeftOut(key, "it has no version")
    config, defaults = section(live, "spec", "config"), _published(key.name, version, catalog)
    chosen = without_defaults(config, defaults)
    spec: JsonObject = {"version": version, "config": chosen}
    if overrides := section(live, "spec", "valuesOverride"):
        spec["valuesOverride"] = overrides
    notes: tuple[str, ...] = ()
    if config and not defaults:
        notes = (
            "its whole configuration was taken: nobody says which values of it are the platform's defaults",
        )
    return Picked(key, _manifest(key, live, spec), live, partial=chosen != config, notes=notes)


def _manifest(key: ResourceKey, live: JsonObject, spec: JsonObject) -> JsonObject:
    labels = {
        CLUSTER_LABEL: key.cluster,
        MODULE_LABEL: key.name,
        MODULE_TYPE_LABEL: labels_of(live).get(MODULE_TYPE_LABEL) or "plugin",
    }
    meta: JsonObject = {"name": f"{key.cluster}-temporary-name", "labels": labels}
    if prune := annotations_of(live).get(PRUNE_ANNOTATION):
        meta["annotations"] = {PRUNE_ANNOTATION: prune}
    return {"apiVersion": key.kind.api_version, "kind": key.kind.value, "metadata": meta, "spec": spec}


def without_defaults(value: JsonObject, defaults: JsonObject) -> JsonObject:
    """The fields, and fields of fields, that are not as the defaults have them."""
    found: JsonObject = {}
    for field, inner in value.items():
        default = defaults.get(field)
        if field in defaults and same(inner, default):
            continue
        both = isinstance(inner, dict) and bool(inner) and isinstance(default, dict)
        found[field] = without_defaults(inner, section(default)) if both else inner
    return found


def _published(module: str, version: str, catalog: Fact) -> JsonObject:
    """spec.config of the ModuleConfig that this version was installed from: the defaults."""
    for name, body in catalog.value.items() if isinstance(catalog, Known) else ():
        if not name.startswith("ModuleConfig/") or text(section(body, "spec"), "version") != version:
            continue
        if module in (labels_of(body).get(MODULE_LABEL), text(section(body, "spec"), "name")):
            return section(body, "spec", "config")
    return {}


def _kept_by_the_platform(key: ResourceKey, live: JsonObject, catalog: Fact) -> LeftOut | None:
    marks = {**annotations_of(live), **labels_of(live)}
    if any(marks.get(mark) == _TRANSFORMER for mark in _CREATED_BY):
        return LeftOut(key, f"the platform makes it from a ClusterPluginInstance on {key.cluster}")
    plugin = catalog.value.get(f"ModulePlugin/{key.name}", {}) if isinstance(catalog, Known) else {}
    if is_core(live, plugin):
        return LeftOut(key, "it follows the version of the cluster itself (life cycle Core)")
    return None


def _unowned(live: JsonObject) -> JsonObject:
    """Every ModuleInfo is owned by its Cluster, which says nothing about who governs it."""
    meta = {name: value for name, value in metadata(live).items() if name != "ownerReferences"}
    return {**live, "metadata": meta}
