"""A platform's catalog, one cluster's modules, and what Git wants of them, in few words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gitops_mc.core.live import LiveCluster, objects, unread
from gitops_mc.core.model import (
    DesiredCluster,
    JsonObject,
    Kind,
    Known,
    Manifest,
    Place,
    ResourceKey,
    content_of,
    name_of,
)
from gitops_mc.core.preview.hindrances import UpgradePath
from gitops_mc.core.preview.upgrades import upgrade_paths
from tests.core.gate_worlds import NOW, known

EDGE = "edge-01"


def published(
    version: str, supported: str = "", *, module: str = "logs", ready: bool = True, **spec: Any
) -> JsonObject:
    """A ModuleConfig that can be reached from `supported`."""
    told = {"supportedUpgradeVersions": supported} if supported else {}
    return {
        "metadata": {"name": f"{module}-{version}", "labels": {"cpaas.io/module-name": module}},
        "spec": {"name": module, "version": version, **told, **spec},
        "status": {"readyForDeploy": ready},
    }


def running(
    version: str,
    *,
    module: str = "logs",
    asked: str = "",
    labels: Mapping[str, str] | None = None,
    **status: Any,
) -> JsonObject:
    """A ModuleInfo at a version."""
    marks = {"cpaas.io/module-name": module, "cpaas.io/cluster-name": EDGE, **(labels or {})}
    return {
        "metadata": {"name": f"{EDGE}-{module}", "labels": marks},
        "spec": {"version": asked or version},
        "status": {"version": version, "phase": "Running", **status},
    }


def wanting(annotations: Mapping[str, str] | None = None, **versions: str) -> DesiredCluster:
    """What Git wants, by module (`_` stands for `-`)."""
    manifests = []
    for name, version in sorted(versions.items()):
        module = name.replace("_", "-")
        body = {
            "metadata": {"annotations": dict(annotations or {})},
            "spec": {"version": version},
        }
        place = Place(f"clusters/{EDGE}/{module}.yaml", 1, 1)
        manifests.append(Manifest(ResourceKey(EDGE, Kind.MODULE_INFO, module), body, place))
    return DesiredCluster(EDGE, tuple(manifests), content_of(tuple(manifests)))


def platform(infos: Iterable[JsonObject], configs: Iterable[JsonObject]) -> LiveCluster:
    """A cluster that is registered as a plain one; every module that is published has its plugin."""
    configs = tuple(configs)
    found = {f"ModuleConfig/{name_of(c)}": c for c in configs}
    found |= {f"ModulePlugin/{c['spec']['name']}": {"metadata": {"name": c["spec"]["name"]}} for c in configs}
    inventory = {"metadata": {"name": EDGE, "labels": {"cpaas.io/os-linux": "true"}}}
    return replace(
        unread(EDGE, NOW),
        modules=known(*infos),
        catalog=Known(objects(found), NOW),
        inventory=known(inventory),
    )


def way(
    live: str, wanted: str, *configs: JsonObject, info: Mapping[str, Any] | None = None, **more: Any
) -> UpgradePath:
    """Of module `logs`, from the version that runs (empty: none does) to the one that Git wants."""
    infos = [running(live, **(info or {}))] if live else []
    (found,) = upgrade_paths(wanting(logs=wanted, **more), platform(infos, configs))
    return found
