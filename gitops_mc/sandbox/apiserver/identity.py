"""Whether the body of a write is of the kind, version and name that its path says, and what is answered where it is not.

The words, and which of 400 and 422 it is, were measured on a real kube-apiserver 1.36: they differ by how the body comes
(sent whole, patched, applied) and between custom and built-in kinds.
"""

from __future__ import annotations

from typing import Any

from gitops_mc.sandbox.apiserver.answers import Cause, StatusError, bad_request, invalid
from gitops_mc.sandbox.apiserver.requests import Target
from gitops_mc.sandbox.apiserver.resources import Resource
from gitops_mc.sandbox.apiserver.schema import METADATA
from gitops_mc.sandbox.apiserver.typing_faults import UNDECLARED, faults


def check_sent(obj: dict[str, Any], target: Target) -> None:
    """A body of a create or an update."""
    resource = target.resource
    if resource.built_in:
        _check_built_in(obj, resource)
    else:
        _check_custom(obj, resource)
    check_names(obj, target)


def check_patched(obj: dict[str, Any], target: Target) -> None:
    """An object as a merge, JSON or strategic patch has left it."""
    resource = target.resource
    if resource.built_in:
        _check_built_in(obj, resource)
    elif obj.get("apiVersion") != resource.api_version:
        wrong = obj.get("apiVersion")
        detail = f'Invalid value: "{wrong}": must be {resource.api_version}'
        raise invalid(resource.kind, "", _name(obj), [_cause("apiVersion", detail)])
    elif obj.get("kind") != resource.kind:
        raise _another_kind(obj, resource)
    check_names(obj, target)


def check_applied(obj: dict[str, Any], target: Target) -> None:
    """A body of a server-side apply; its names are checked once it has been typed."""
    resource = target.resource
    if (obj.get("apiVersion"), obj.get("kind")) != (resource.api_version, resource.kind):
        api_version = str(obj.get("apiVersion") or "")
        qualified = api_version if "/" in api_version else f"/{api_version}"
        raise bad_request(f"invalid object type: {qualified}, Kind={obj.get('kind') or ''}")


def _check_custom(obj: dict[str, Any], resource: Resource) -> None:
    if not obj.get("kind"):
        raise bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): Object 'Kind' is missing"
        )
    if obj.get("apiVersion") != resource.api_version:
        raise bad_request(
            f"the API version in the data ({obj.get('apiVersion') or ''}) does not match the expected API version "
            f"({resource.api_version})"
        )
    if obj["kind"] != resource.kind:
        raise _another_kind(obj, resource)


def _check_built_in(obj: dict[str, Any], resource: Resource) -> None:
    """What is left out is taken from the path."""
    api_version, kind = obj.get("apiVersion") or resource.api_version, obj.get("kind") or resource.kind
    if (api_version, kind) != (resource.api_version, resource.kind):
        raise bad_request(
            f'{kind} in version "{api_version}" cannot be handled as a {resource.kind}: no kind "{kind}" is registered '
            f'for version "{api_version}"'
        )


def _another_kind(obj: dict[str, Any], resource: Resource) -> StatusError:
    kind = str(obj.get("kind"))
    detail = f'Invalid value: "{kind}": must be {resource.kind}'
    return invalid(kind, resource.group, _name(obj), [_cause("kind", detail)])


def _cause(field: str, detail: str) -> tuple[Cause, str]:
    return Cause("FieldValueInvalid", field, detail), f"{field}: {detail}"


def _name(obj: dict[str, Any]) -> str:
    metadata = obj.get("metadata")
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""


def check_names(obj: dict[str, Any], target: Target) -> None:
    """Metadata of the right types, and the name and namespace of the path."""
    resource, metadata = target.resource, obj.get("metadata", {})
    if not isinstance(metadata, dict):
        raise bad_request("metadata is not an object")
    _check_metadata(metadata, resource)
    name = metadata.get("name") or ""
    if target.name and not name:
        raise bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        )
    if target.name and name != target.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({target.name})"
        )
    namespace = metadata.get("namespace") or ""
    if namespace and namespace != target.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def _check_metadata(metadata: dict[str, Any], resource: Resource) -> None:
    """Types of the members of metadata; unknown ones are none of a server's business."""
    nulls = (
        f".{member}.{key}: expected string, got null"
        for member in ("labels", "annotations")
        if isinstance(metadata.get(member), dict)
        for key, value in metadata[member].items()
        if value is None
    )
    for fault in (*faults(metadata, METADATA), *nulls):
        if not fault.endswith(UNDECLARED):
            raise bad_request(
                f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: json: cannot '
                f"unmarshal into Go struct field ObjectMeta.metadata{fault}"
            )
