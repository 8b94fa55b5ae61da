"""create, update, patch and apply: from a request to an object that `persist.finish` can check and keep."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gitops_mc.app.ports import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, Response
from gitops_mc.sandbox.apiserver import applying, deletion, field_validation, managed
from gitops_mc.sandbox.apiserver.answers import (
    MOST_BYTES,
    Cause,
    StatusError,
    bad_request,
    details_of,
    invalid,
    too_large,
)
from gitops_mc.sandbox.apiserver.field_validation import (
    check_directive,
    check_new,
    note_dropped,
    warning_header,
    with_warnings,
)
from gitops_mc.sandbox.apiserver.identity import check_names, check_patched, check_sent
from gitops_mc.sandbox.apiserver.list_options import is_on
from gitops_mc.sandbox.apiserver.objects import active, changed_object, new_object, suffix
from gitops_mc.sandbox.apiserver.patches import json_patch, merge_patch
from gitops_mc.sandbox.apiserver.persist import finish, refuse_invalid
from gitops_mc.sandbox.apiserver.reads import not_found
from gitops_mc.sandbox.apiserver.requests import BY_ID, decoded, object_in, unsupported_media_type
from gitops_mc.sandbox.apiserver.schema import Schema, prune
from gitops_mc.sandbox.apiserver.secrets import with_data
from gitops_mc.sandbox.apiserver.store import Stored, WriteVerb
from gitops_mc.sandbox.apiserver.strategic import STRATEGIC_PATCH, strategic_patch
from gitops_mc.sandbox.apiserver.writing import Writing, check_version, conflict, invalid_object

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    rf"'{_NAME.pattern}')"
)


def handle(writing: Writing, verb: str) -> Response:
    """Answer a write. Raises StatusError for what is refused."""
    dry = writing.query.get("dryRun")
    if dry not in (None, "", "All"):
        detail = f'Unsupported value: "{dry}": supported values: "All"'
        cause = Cause("FieldValueNotSupported", "dryRun", detail)
        raise invalid(f"{verb.capitalize()}Options", "meta.k8s.io", "", [(cause, f"dryRun: {detail}")])
    if len(writing.request.body) > MOST_BYTES:
        raise too_large()
    check_directive(writing.query.get("fieldValidation", ""), verb)
    try:
        return with_warnings(_HANDLERS[verb](writing), writing.warnings)
    except StatusError as error:
        if writing.warnings:
            error.headers["warning"] = warning_header(writing.warnings)
        raise


def _create(writing: Writing) -> Response:
    body = object_in(writing.request)
    check_sent(body, writing.target)
    check_new(writing, body)
    metadata = body.get("metadata") or {}
    name = metadata.get("name") or ""
    if metadata.get("resourceVersion"):
        raise bad_request("resourceVersion should not be set on objects to be created")
    if not name and metadata.get("generateName"):
        name = metadata["generateName"] + suffix(f"{writing.cluster}/{writing.store.version}")
    if not name:
        detail = "Required value: name or generateName is required"
        raise invalid_object(writing.resource, "", [Cause("FieldValueRequired", "metadata.name", detail)])
    named = replace(writing, target=replace(writing.target, name=name))
    obj = _checked_new(named, body)
    if named.live() is not None:
        refuse_invalid(named, None, obj)  # what is wrong comes before what is in the way
        raise _already_exists(named)
    owners = managed.after_create(obj, writing.resource.schema, managed.read(obj), writing.actor())
    return finish(named, None, active(writing.resource, obj), owners, "create")


def _already_exists(writing: Writing) -> StatusError:
    resource, name, live = writing.resource, writing.target.name, _existing(writing)
    leaving = "object is being deleted: " if live.obj["metadata"].get("deletionTimestamp") else ""
    return StatusError(
        409,
        "AlreadyExists",
        f'{leaving}{resource.id} "{name}" already exists',
        details=details_of(name, resource.group, resource.plural),
    )


def _checked_new(writing: Writing, body: dict[str, Any]) -> dict[str, Any]:
    """The new object, if its namespace is there and its name is one."""
    name, namespace = writing.target.name, writing.target.namespace
    if namespace and writing.store.table(BY_ID["namespaces"]).get(("", namespace)) is None:
        raise not_found(BY_ID["namespaces"], namespace)
    if not _NAME.fullmatch(name) or len(name) > 253:
        detail = f'Invalid value: "{name}": {_NAME_RULE}'
        raise invalid_object(writing.resource, name, [Cause("FieldValueInvalid", "metadata.name", detail)])
    return new_object(writing, _pruned(writing, body))


def _pruned(writing: Writing, body: dict[str, Any]) -> dict[str, Any]:
    """Without what the kind does not have, and with a warning of it; a Secret as it is kept."""
    found: dict[str, Any] = prune(body, writing.resource.schema)
    if found is not body:
        note_dropped(writing, body)
    return with_data(writing.resource, found)


def _existing(writing: Writing) -> Stored:
    live = writing.live()
    if live is None:
        raise not_found(writing.resource, writing.target.name)
    return live


def _update(writing: Writing) -> Response:
    body = object_in(writing.request)
    check_sent(body, writing.target)
    live = _existing(writing)
    resource, sent, mine = writing.resource, body.get("metadata") or {}, live.obj["metadata"]
    if sent.get("uid") not in (None, "", mine["uid"]):
        raise conflict(resource, writing.target.name, _invalid_storage(writing, sent["uid"], mine["uid"]))
    if not sent.get("resourceVersion") and not resource.unconditional_update:
        detail = "Invalid value: 0: must be specified for an update"
        cause = Cause("FieldValueInvalid", "metadata.resourceVersion", detail)
        text = f"metadata.resourceVersion: {detail}"
        raise invalid(resource.plural, resource.group, writing.target.name, [(cause, text)])
    check_new(writing, body)
    return _put_over(writing, live, body, "update")


def _invalid_storage(writing: Writing, sent: str, mine: str) -> str:
    """How a real server words an update of an object that is no longer the one that was read."""
    resource, target = writing.resource, writing.target
    key = "/".join(
        filter(None, ("/registry", resource.group, resource.plural, target.namespace, target.name))
    )
    return (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition "
        f"failed: UID in precondition: {sent}, UID in object meta: {mine}"
    )


def _put_over(writing: Writing, live: Stored, body: dict[str, Any], verb: WriteVerb) -> Response:
    """A whole new object in the place of `live`, by update or patch."""
    schema, old = writing.resource.schema, live.obj
    check_version(writing, live, body.get("metadata") or {})
    obj = changed_object(writing, old, _pruned(writing, body))
    sent = managed.sent(body, old, live.owners, writing.target.subresource)
    owners = managed.after_update(old, obj, schema, sent, writing.actor())
    return finish(writing, live, obj, owners, verb)


def _patch(writing: Writing) -> Response:
    content_type = writing.request.content_type.partition(";")[0].strip()
    if content_type == APPLY_PATCH:
        return _apply(writing)
    if content_type not in _PATCHES or (content_type == STRATEGIC_PATCH and not writing.resource.built_in):
        known = [p for p in (*_PATCHES, APPLY_PATCH) if p != STRATEGIC_PATCH or writing.resource.built_in]
        raise unsupported_media_type(*known)
    patch = decoded(writing.request.body)
    live = _existing(writing)
    body = _PATCHES[content_type](live.obj, patch, writing.resource.schema)
    if not isinstance(body, dict):
        raise bad_request("the patched document is not an object")
    if any(body.get(member) is not live.obj[member] for member in _IDENTITY):
        check_patched(body, writing.target)
    field_validation.check_patched(writing, body)
    return _put_over(writing, live, body, "patch")


_IDENTITY = ("apiVersion", "kind", "metadata")
"""What a patch that touches none of it need not be checked for again."""

_PATCHES: Mapping[str, Callable[[Any, Any, Schema], Any]] = {
    JSON_PATCH: lambda target, patch, _: json_patch(target, patch),
    MERGE_PATCH: lambda target, patch, _: merge_patch(target, patch),
    STRATEGIC_PATCH: strategic_patch,
}


def _apply(writing: Writing) -> Response:
    """A uid in the body keeps an apply from creating; a resourceVersion does not (apiserver's patch.go)."""
    if not writing.query.get("fieldManager"):
        detail = "Required value: is required for apply patch"
        cause = Cause("FieldValueRequired", "fieldManager", detail)
        raise invalid("PatchOptions", "meta.k8s.io", "", [(cause, f"fieldManager: {detail}")])
    resource, live = writing.resource, writing.live()
    if live is None and writing.target.subresource:
        raise not_found(resource, writing.target.name)
    body = applying.applied(writing.request.body, writing.target)
    check_names(body, writing.target)
    metadata = body.get("metadata") or {}
    if metadata.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    if live is None:
        return _create_by_apply(writing, body)
    merged, owners = applying.after_apply(
        live,
        body,
        resource.schema,
        writing.actor(),
        applying.ignored(resource, writing.target.subresource),
        force="taken" if is_on(writing.query, "force") else "asked",
    )
    check_version(writing, live, metadata)
    obj = changed_object(writing, live.obj, with_data(resource, merged))
    return finish(writing, live, obj, owners, "apply")


def _create_by_apply(writing: Writing, body: dict[str, Any]) -> Response:
    resource, name = writing.resource, writing.target.name
    if uid := (body.get("metadata") or {}).get("uid"):
        detail = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(resource, name, detail)
    obj = _checked_new(writing, body)
    ignored = applying.ignored(resource, "")
    owners = applying.after_first_apply(body, resource.schema, writing.actor(), ignored)
    return finish(writing, None, active(resource, obj), owners, "apply")


_HANDLERS: Mapping[str, Callable[[Writing], Response]] = {
    "create": _create,
    "update": _update,
    "patch": _patch,
    "delete": deletion.delete,
    "deletecollection": deletion.delete_collection,
}
