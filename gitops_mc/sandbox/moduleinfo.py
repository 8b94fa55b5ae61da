"""What the platform makes of a ModuleInfo and of published versions. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from gitops_mc.core.model import (
    CLUSTER_LABEL,
    MODULE_GROUP_VERSION,
    MODULE_LABEL,
    MODULE_TYPE_LABEL,
    JsonObject,
    annotations_of,
    digest_of,
    labels_of,
    metadata,
    name_of,
    uid_of,
)

ReleaseState: TypeAlias = Literal["progressing", "ready"]

FINALIZER = "moduleinfo"
LIFECYCLE_LABEL = "cpaas.io/lifecycle-type"
_IDENTITY_LABELS = (CLUSTER_LABEL, MODULE_LABEL, MODULE_TYPE_LABEL)


@dataclass(frozen=True, slots=True)
class Publication:
    """One version of a module, as an upload brings it."""

    module: str
    version: str
    lifecycle: Literal["Core", "Aligned", "Agnostic"] = "Agnostic"
    dependencies: tuple[str, ...] = ()
    """Names of modules that must be there."""
    spec: JsonObject = field(default_factory=dict)
    """More fields of the ModuleConfig's spec: affinity, supportedUpgradeVersions, config."""

    @property
    def config_name(self) -> str:
        return f"{self.module}-{self.version}"


def plugin_body(publication: Publication) -> JsonObject:
    """The ModulePlugin."""
    spec = {k: v for k, v in _spec(publication).items() if k != "version"}
    return _object("ModulePlugin", publication.module, publication, spec)


def config_body(publication: Publication) -> JsonObject:
    """The ModuleConfig."""
    return _object("ModuleConfig", publication.config_name, publication, _spec(publication))


def _spec(publication: Publication) -> JsonObject:
    module = publication.module
    return {
        "name": module,
        "version": publication.version,
        "deleteable": True,
        "logo": "",
        "description": {"en": module, "zh": module},
        "dependencies": [{"moduleName": d} for d in publication.dependencies],
        "appReleases": [
            {
                "name": module,
                "chartVersions": [
                    {"name": f"acp/{module}", "releaseName": module, "version": publication.version}
                ],
            }
        ],
        **publication.spec,
    }


def _object(kind: str, name: str, publication: Publication, spec: JsonObject) -> JsonObject:
    labels = {MODULE_LABEL: publication.module, LIFECYCLE_LABEL: publication.lifecycle}
    return {
        "apiVersion": MODULE_GROUP_VERSION,
        "kind": kind,
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
    }


def cluster_of(info: JsonObject) -> str:
    """The target cluster: by label, else by the owner."""
    label = labels_of(info).get(CLUSTER_LABEL)
    owners = metadata(info).get("ownerReferences") or ()
    return label or next((str(o["name"]) for o in owners if o.get("kind") == "Cluster"), "")


def final_name(info: JsonObject) -> str:
    """`<cluster>-<32 hex>`: recomputed for seven published samples as sha256 of cluster, module and display name."""
    cluster, module = cluster_of(info), labels_of(info)[MODULE_LABEL]
    display = annotations_of(info).get("cpaas.io/display-name", module)
    digest = hashlib.sha256(f"{cluster}:{module}:{display}".encode()).hexdigest()
    return f"{cluster}-{digest[:32]}"


def defects(info: JsonObject, clusters: set[str]) -> str:
    """Why an installation must fail, or `""`."""
    for label in (MODULE_LABEL, MODULE_TYPE_LABEL):
        if not labels_of(info).get(label):
            return f"label {label} is missing"
    if cluster_of(info) not in clusters:
        return f"cluster {cluster_of(info)!r} is not known"
    return ""


def adopted_body(
    info: JsonObject, owner: JsonObject, defaults: JsonObject, *, keep: tuple[str, ...] | None
) -> JsonObject:
    """The object as the platform keeps it. `keep`: the foreign labels and annotations that survive; None for all."""
    labels, notes = dict(labels_of(info)), dict(annotations_of(info))
    if keep is not None:
        labels = {k: v for k, v in labels.items() if k in keep or k in _IDENTITY_LABELS}
        notes = {k: v for k, v in notes.items() if k in keep}
    module, cluster = labels[MODULE_LABEL], cluster_of(info)
    config = {**defaults, **(info["spec"].get("config") or {})}
    meta: JsonObject = {
        "name": final_name(info),
        "labels": {**labels, CLUSTER_LABEL: cluster, "cpaas.io/product": "Platform-Center"},
        "annotations": {
            **notes,
            "cpaas.io/display-name": notes.get("cpaas.io/display-name", module),
            "cpaas.io/module-name": f'{{"en": "{module}", "zh": "{module}"}}',
            "cpaas.io/product": "Platform-Center",
        },
        "finalizers": [FINALIZER],
        "ownerReferences": [
            {
                "apiVersion": "platform.tkestack.io/v1",
                "kind": "Cluster",
                "name": name_of(owner),
                "uid": uid_of(owner),
            }
        ],
    }
    if name_of(info) == meta["name"] and keep is None:
        meta["resourceVersion"] = metadata(info)["resourceVersion"]
    return {
        "apiVersion": MODULE_GROUP_VERSION,
        "kind": "ModuleInfo",
        "metadata": meta,
        "spec": {**info["spec"], "config": config},
    }


def spec_hash(info: JsonObject) -> str:
    """The platform's own hash of a spec; only that it moves with the spec is promised."""
    return digest_of(info.get("spec") or {})


def app_release(module: str, version: str, state: ReleaseState, at: str) -> JsonObject:
    """The AppRelease of a module on its cluster; its conditions say why a module is not ready."""
    ready = state == "ready"
    told = "all resources are ready" if ready else "waiting for resources to become ready"
    health = {"type": "Health", "status": "True" if ready else "False", "message": told}
    sync = {"type": "Sync", "status": "True", "message": f"chart {version} is applied"}
    return {
        "apiVersion": "operator.alauda.io/v1alpha1",
        "kind": "AppRelease",
        "metadata": {"name": module, "namespace": "cpaas-system"},
        "spec": {"source": {"charts": [{"name": f"acp/{module}", "targetRevision": version}]}},
        "status": {"conditions": [{**c, "lastTransitionTime": at} for c in (sync, health)]},
    }


def release(module: str, version: str, state: ReleaseState) -> JsonObject:
    """An entry of status.appReleases."""
    ready = state == "ready"
    return {
        "name": module,
        "namespace": "cpaas-system",
        "ready": ready,
        "synced": ready,
        "failed": False,
        "message": "" if ready else "waiting for resources to become ready",
        "chartVersions": [{"name": f"acp/{module}", "releaseName": module, "version": version}],
    }


def available_versions(module: str, current: str, configs: Iterable[JsonObject]) -> list[JsonObject]:
    """Published versions of a module above the current one, for status.availableVersions."""
    versions = (
        str(c["spec"].get("version"))
        for c in configs
        if labels_of(c).get(MODULE_LABEL) == module and (c.get("status") or {}).get("readyForDeploy")
    )
    above = sorted({v for v in versions if version_key(v) > version_key(current)}, key=version_key)
    return [{"version": v, "description": "", "riskLevel": "Low"} for v in above]


def version_key(version: str) -> tuple[tuple[int, int | str], ...]:
    """Orders `v4.2.10` after `v4.2.9`; numbers before words."""
    parts = re.findall(r"\d+|[A-Za-z]+", version.removeprefix("v"))
    return tuple((0, int(p)) if p.isdigit() else (1, p) for p in parts)
