"""A request as the server understands it: which resource, which object, which verb."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from gitops_mc.app.ports import JSON, Request
from gitops_mc.sandbox.apiserver.answers import StatusError, bad_request, method_not_allowed
from gitops_mc.sandbox.apiserver.list_options import is_on
from gitops_mc.sandbox.apiserver.resources import RESOURCES, Resource

ByPath: TypeAlias = Mapping[tuple[str, str], Resource]
"""Kinds by API version and plural."""
_BY_PATH: ByPath = {(r.api_version, r.plural): r for r in RESOURCES}
BY_ID: Mapping[str, Resource] = {r.id: r for r in RESOURCES}


@dataclass(frozen=True, slots=True)
class Target:
    """What a path names. `name` is `""` for a collection."""

    resource: Resource
    namespace: str
    name: str
    subresource: str

    @property
    def rule_name(self) -> str:
        """The resource as a rule of access names it."""
        plural = self.resource.plural
        return f"{plural}/{self.subresource}" if self.subresource else plural


_VERBS: Mapping[tuple[str, str], str] = {
    ("GET", "object"): "get",
    ("PUT", "object"): "update",
    ("PATCH", "object"): "patch",
    ("DELETE", "object"): "delete",
    ("GET", "collection"): "list",
    ("POST", "collection"): "create",
    ("DELETE", "collection"): "deletecollection",
}


@lru_cache(maxsize=8192)
def target_of(path: str) -> Target | None:
    """What a path names; None for one that no kind in here has."""
    return target_among(path, _BY_PATH)


def target_among(path: str, kinds: ByPath) -> Target | None:
    """What a path names among these kinds."""
    parts = [part for part in path.split("/") if part]
    if not path.startswith("/"):
        return None
    if len(parts) >= 3 and parts[0] == "api":
        api_version, rest = parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        api_version, rest = f"{parts[1]}/{parts[2]}", parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and (api_version, rest[2]) in kinds:
        namespace, rest = rest[1], rest[2:]
    resource = kinds.get((api_version, rest[0]))
    if resource is None or len(rest) > 3 or (namespace != "" and not resource.namespaced):
        return None
    name, subresource = (*rest[1:], "", "")[:2]
    if subresource and (subresource != "status" or not resource.has_status):
        return None
    if resource.namespaced and name and not namespace:
        return None
    return Target(resource, namespace, name, subresource)


def verb_of(method: str, target: Target, query: Mapping[str, str]) -> str:
    verb = _VERBS.get((method, "object" if target.name else "collection"))
    if verb is None and not target.resource.built_in and method in ("PUT", "PATCH"):
        raise bad_request("name must be provided")
    if verb is None or (verb == "create" and target.resource.namespaced and not target.namespace):
        raise method_not_allowed()
    if verb == "deletecollection" and not _may_be_emptied(target):
        raise method_not_allowed()
    if target.subresource and verb == "delete":
        raise method_not_allowed()
    return "watch" if verb == "list" and is_on(query, "watch") else verb


def _may_be_emptied(target: Target) -> bool:
    """Namespaces are deleted one by one, and what is in them one namespace at a time."""
    if target.resource.namespaced:
        return target.namespace != ""
    return target.resource.id != "namespaces"


def object_in(request: Request) -> dict[str, Any]:
    """The body as one JSON object. Raises 415 for another format."""
    if request.content_type != JSON and request.content_type.partition(";")[0].strip() != JSON:
        raise unsupported_media_type(JSON)
    found = decoded(request.body)
    if not isinstance(found, dict):
        raise bad_request("the request body is not an object")
    return found


def decoded(body: bytes) -> Any:
    try:
        return json.loads(body, parse_constant=_refuse)
    except ValueError as error:
        raise bad_request(f"the request body cannot be read as JSON: {error}") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number in JSON")


def unsupported_media_type(*accepted: str) -> StatusError:
    return StatusError(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}",
    )
