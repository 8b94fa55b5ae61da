"""What a server says of itself: versions, groups and resources, in the legacy form and in the aggregated one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from gitops_mc.app.ports import Response
from gitops_mc.sandbox.apiserver.answers import encode, ok
from gitops_mc.sandbox.apiserver.negotiation import clauses, not_acceptable
from gitops_mc.sandbox.apiserver.resources import Resource, Scope

_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_STATUS_VERBS = ("get", "patch", "update")
_CORE = "v1"
_Which: TypeAlias = Literal["the core", "named groups"]

VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.0-embedded",
    "gitTreeState": "clean",
    "platform": "embedded",
}
_AGGREGATED = "APIGroupDiscoveryList.v2.apidiscovery.k8s.io"
_AGGREGATED_HEADERS = MappingProxyType(
    {"content-type": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
)


@dataclass(frozen=True, slots=True)
class Listed:
    """A resource as discovery lists it; subresources by name, with their verbs."""

    api_version: str
    plural: str
    singular: str
    kind: str
    scope: Scope
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]


def _review(api_version: str, kind: str) -> Listed:
    plural = f"{kind.lower()}s"
    return Listed(api_version, plural, kind.lower(), kind, Scope.CLUSTER, ("create",))


_REVIEWS = (
    _review("authentication.k8s.io/v1", "SelfSubjectReview"),
    _review("authorization.k8s.io/v1", "SelfSubjectAccessReview"),
    _review("authorization.k8s.io/v1", "SelfSubjectRulesReview"),
)


def _verbs(resource: Resource) -> tuple[str, ...]:
    if resource.id == "namespaces":
        return tuple(verb for verb in _VERBS if verb != "deletecollection")
    return _VERBS if resource.built_in else _CUSTOM_VERBS


def _listed(resource: Resource) -> Listed:
    return Listed(
        resource.api_version,
        resource.plural,
        resource.kind.lower(),
        resource.kind,
        resource.scope,
        _verbs(resource),
        resource.short_names,
        resource.categories,
        (("status", _STATUS_VERBS),) if resource.has_status else (),
    )


def _by_version(served: Sequence[Resource]) -> dict[str, list[Listed]]:
    """Group versions in the order of their names, the core's first; resources in that of their plurals."""
    found: dict[str, list[Listed]] = {}
    rows = [*_REVIEWS, *map(_listed, served)]
    for row in sorted(rows, key=lambda row: (row.group, row.version, row.plural)):
        found.setdefault(row.api_version, []).append(row)
    return found


# -------------------------------------------------------------------------------------------------------- legacy form


def resources(served: Sequence[Resource], api_version: str) -> dict[str, Any] | None:
    """The resources of one group version; None if none is served."""
    listed = _by_version(served).get(api_version)
    if listed is None:
        return None
    rows = [row for entry in listed for row in _rows(entry)]
    version = {} if api_version == _CORE else {"apiVersion": "v1"}
    return {"kind": "APIResourceList", **version, "groupVersion": api_version, "resources": rows}


def _rows(entry: Listed) -> list[dict[str, Any]]:
    row = _row(entry.plural, entry.singular, entry, entry.verbs)
    if entry.short_names:
        row["shortNames"] = list(entry.short_names)
    if entry.categories:
        row["categories"] = list(entry.categories)
    return [row, *(_row(f"{entry.plural}/{name}", "", entry, verbs) for name, verbs in entry.subresources)]


def _row(name: str, singular: str, entry: Listed, verbs: tuple[str, ...]) -> dict[str, Any]:
    return {
        "name": name,
        "singularName": singular,
        "namespaced": entry.scope is Scope.NAMESPACED,
        "kind": entry.kind,
        "verbs": list(verbs),
    }


def built_in_groups(served: Sequence[Resource]) -> frozenset[str]:
    """Groups that are the server's own, not those of custom resources."""
    return frozenset(row.group for row in _REVIEWS) | {r.group for r in served if r.built_in}


def group(served: Sequence[Resource], name: str) -> dict[str, Any] | None:
    """One group with its versions; None if it is not served."""
    found = _groups(served).get(name)
    return None if found is None else {"kind": "APIGroup", "apiVersion": "v1", **found}


def _groups(served: Sequence[Resource]) -> Mapping[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for api_version in _by_version(served):
        if api_version == _CORE:
            continue
        name, _, version = api_version.rpartition("/")
        row = {"groupVersion": api_version, "version": version}
        standing = found.setdefault(name, {"name": name, "versions": [], "preferredVersion": row})
        standing["versions"].append(row)
    return found


# ---------------------------------------------------------------------------------------------------- both, as asked


def core_versions(served: Sequence[Resource], accept: str) -> Response:
    """`/api`: the core's version, or, aggregated, all of its resources."""
    return _negotiated(accept, {"kind": "APIVersions", "versions": [_CORE]}, served, "the core")


def groups(served: Sequence[Resource], accept: str) -> Response:
    """`/apis`: all named groups, or, aggregated, all of their resources."""
    legacy = {"kind": "APIGroupList", "apiVersion": "v1", "groups": list(_groups(served).values())}
    return _negotiated(accept, legacy, served, "named groups")


def _negotiated(accept: str, legacy: dict[str, Any], served: Sequence[Resource], which: _Which) -> Response:
    for clause in clauses(accept):
        if clause.form == _AGGREGATED:
            return Response(200, encode(_aggregated(served, which)), _AGGREGATED_HEADERS)
        if not clause.form:
            return ok(legacy)
    raise not_acceptable()


def _aggregated(served: Sequence[Resource], which: _Which) -> dict[str, Any]:
    items: dict[str, dict[str, Any]] = {}
    for api_version, listed in _by_version(served).items():
        if (api_version == _CORE) is not (which == "the core"):
            continue
        name, _, version = api_version.rpartition("/")
        metadata = {"name": name} if name else {}
        item = items.setdefault(name, {"metadata": metadata, "versions": []})
        entries = [_entry(row) for row in listed]
        item["versions"].append({"version": version, "resources": entries, "freshness": "Current"})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": list(items.values()),
    }


def _entry(row: Listed) -> dict[str, Any]:
    kind = {"group": row.group, "version": row.version, "kind": row.kind}
    entry: dict[str, Any] = {
        "resource": row.plural,
        "responseKind": kind,
        "scope": row.scope.value,
        "singularResource": row.singular,
        "verbs": list(row.verbs),
    }
    if row.short_names:
        entry["shortNames"] = list(row.short_names)
    if row.categories:
        entry["categories"] = list(row.categories)
    if row.subresources:
        entry["subresources"] = [
            {"subresource": name, "responseKind": kind, "verbs": list(verbs)}
            for name, verbs in row.subresources
        ]
    return entry
