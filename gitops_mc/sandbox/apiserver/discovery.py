"""What a server says of itself: versions, groups and resources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gitops_mc.sandbox.apiserver.resources import Resource, Scope

_READ = ["get", "list", "watch"]
_VERBS = ["create", "delete", *_READ, "patch", "update"]
_STATUS_VERBS = ["get", "patch", "update"]

VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.0-embedded",
    "platform": "embedded",
}


def core_versions() -> dict[str, Any]:
    return {"kind": "APIVersions", "versions": ["v1"]}


def groups(served: Sequence[Resource]) -> dict[str, Any]:
    names: dict[str, str] = {r.group: r.version for r in served if r.group}
    names["authorization.k8s.io"] = "v1"
    rows = []
    for name, version in sorted(names.items()):
        row = {"groupVersion": f"{name}/{version}", "version": version}
        rows.append({"name": name, "versions": [row], "preferredVersion": row})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": rows}


def resources(served: Sequence[Resource], api_version: str) -> dict[str, Any] | None:
    """The resources of one group version; None if none is served."""
    rows = [
        row
        for r in sorted(served, key=lambda r: r.plural)
        if r.api_version == api_version
        for row in _rows(r)
    ]
    if api_version == "authorization.k8s.io/v1":
        rows = [_row("selfsubjectaccessreviews", "SelfSubjectAccessReview", Scope.CLUSTER, ["create"])]
    if not rows:
        return None
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": rows}


def _rows(resource: Resource) -> list[dict[str, Any]]:
    row = _row(resource.plural, resource.kind, resource.scope, _VERBS)
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if not resource.has_status:
        return [row]
    return [row, _row(f"{resource.plural}/status", resource.kind, resource.scope, _STATUS_VERBS)]


def _row(name: str, kind: str, scope: Scope, verbs: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "singularName": "" if "/" in name else kind.lower(),
        "namespaced": scope is Scope.NAMESPACED,
        "kind": kind,
        "verbs": verbs,
    }
