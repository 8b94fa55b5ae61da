"""create, update, patch, apply and delete: what every write goes through before it is persisted."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from gitops_mc.app.ports import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, Request, Response
from gitops_mc.sandbox.apiserver import managed
from gitops_mc.sandbox.apiserver.access import User
from gitops_mc.sandbox.apiserver.answers import (
    JSON_HEADERS,
    Cause,
    StatusError,
    bad_request,
    encode,
    invalid,
    ok,
)
from gitops_mc.sandbox.apiserver.patches import json_patch, merge_patch
from gitops_mc.sandbox.apiserver.reads import not_found
from gitops_mc.sandbox.apiserver.requests import (
    BY_ID,
    Target,
    check_identity,
    decoded,
    object_in,
    unsupported_media_type,
)
from gitops_mc.sandbox.apiserver.resources import Generation, Resource
from gitops_mc.sandbox.apiserver.schema import prune
from gitops_mc.sandbox.apiserver.store import AcceptedWrite, Event, EventType, Store, Stored
from gitops_mc.sandbox.apiserver.validation import problems

Verb = Literal["create", "update", "patch", "apply", "delete"]
_NAME = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
_SERVER_MADE = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
    "selfLink",
)


@dataclass(frozen=True, slots=True)
class Writing:
    """One write under way: who, when, what, and how."""

    store: Store
    cluster: str
    log: Callable[[AcceptedWrite], None]
    count: Callable[[], int]
    user: User
    now: datetime
    target: Target
    request: Request
    query: Mapping[str, str]

    @property
    def resource(self) -> Resource:
        return self.target.resource

    @property
    def dry(self) -> bool:
        return self.query.get("dryRun") == "All"

    @property
    def manager(self) -> str:
        return self.query.get("fieldManager") or self.user.name

    @property
    def stamp(self) -> str:
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def actor(self) -> managed.Actor:
        return managed.Actor(self.manager, self.resource.api_version, self.target.subresource, self.stamp)

    def live(self) -> Stored | None:
        return self.store.table(self.resource).get((self.target.namespace, self.target.name))


def handle(writing: Writing, verb: str) -> Response:
    if (dry := writing.query.get("dryRun")) not in (None, "", "All"):
        cause = Cause(
            "FieldValueNotSupported", "dryRun", f'Unsupported value: "{dry}": supported values: "All"'
        )
        raise invalid("CreateOptions", "meta.k8s.io", "", [(cause, f"dryRun: {cause.message}")])
    return _HANDLERS[verb](writing)


def _create(writing: Writing) -> Response:
    body = object_in(writing.request)
    check_identity(body, writing.target)
    metadata = body.get("metadata") or {}
    name = metadata.get("name") or ""
    if metadata.get("resourceVersion"):
        raise bad_request("resourceVersion should not be set on objects to be created")
    if not name and metadata.get("generateName"):
        name = metadata["generateName"] + _suffix(f"{writing.cluster}/{writing.count()}")
    if not name:
        cause = Cause(
            "FieldValueRequired", "metadata.name", "Required value: name or generateName is required"
        )
        raise _invalid(writing.resource, "", [cause])
    return _put_new(_named(writing, name), body, name, "create")


def _named(writing: Writing, name: str) -> Writing:
    return replace(writing, target=replace(writing.target, name=name))


def _suffix(seed: str) -> str:
    """Five letters as generateName adds them; here from a counter, not from chance."""
    alphabet = "bcdfghjklmnpqrstvwxz2456789"
    return "".join(alphabet[byte % len(alphabet)] for byte in hashlib.sha256(seed.encode()).digest()[:5])


def _put_new(
    writing: Writing, body: dict[str, Any], name: str, verb: Verb, *, fields: Any = None
) -> Response:
    resource = writing.resource
    _check_namespace(writing)
    if writing.live() is not None:
        raise StatusError(
            409,
            "AlreadyExists",
            f'{resource.id} "{name}" already exists',
            details={"name": name, "group": resource.group, "kind": resource.plural},
        )
    if not _NAME.match(name) or len(name) > 253:
        detail = (
            f'Invalid value: "{name}": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric '
            "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', "
            "regex used for validation is "
            r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        )
        raise _invalid(resource, name, [Cause("FieldValueInvalid", "metadata.name", detail)])
    obj = prune(body, resource.schema)
    if resource.has_status and not resource.built_in:
        obj = {key: value for key, value in obj.items() if key != "status"}
    metadata = {k: v for k, v in (obj.get("metadata") or {}).items() if k not in _SERVER_MADE}
    metadata["name"] = name
    if writing.target.namespace:
        metadata["namespace"] = writing.target.namespace
    metadata["uid"] = _uid(
        f"{writing.cluster}/{resource.id}/{writing.target.namespace}/{name}/{writing.count()}"
    )
    metadata["creationTimestamp"] = writing.stamp
    if resource.generation is not Generation.NEVER:
        metadata["generation"] = 1
    obj = _ordered(obj, metadata)
    if fields is None:
        fields = managed.after_create(obj, resource.schema, managed.read(obj), writing.actor())
    return _finish(writing, None, _with_fields(obj, fields), verb)


def _uid(seed: str) -> str:
    digest = hashlib.sha256(seed.encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"


def _ordered(obj: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    head = {"apiVersion": obj.get("apiVersion"), "kind": obj.get("kind"), "metadata": metadata}
    return head | {key: value for key, value in obj.items() if key not in head}


def _with_fields(obj: dict[str, Any], fields: managed.Managers) -> dict[str, Any]:
    metadata = {k: v for k, v in obj["metadata"].items() if k != "managedFields"}
    if written := managed.write(fields):
        metadata["managedFields"] = written
    return {**obj, "metadata": metadata}


def _check_namespace(writing: Writing) -> None:
    namespace = writing.target.namespace
    if namespace and writing.store.table(BY_ID["namespaces"]).get(("", namespace)) is None:
        raise not_found(BY_ID["namespaces"], namespace)


def _invalid(resource: Resource, name: str, causes: list[Cause]) -> StatusError:
    return invalid(resource.kind, resource.group, name, [(c, f"{c.field}: {c.message}") for c in causes])


def _update(writing: Writing) -> Response:
    body = object_in(writing.request)
    check_identity(body, writing.target)
    live = writing.live()
    if live is None:
        raise not_found(writing.resource, writing.target.name)
    return _put_over(writing, live, body, "update")


def conflict(resource: Resource, name: str, detail: str) -> StatusError:
    return StatusError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {resource.id} "{name}": {detail}',
        details={"name": name, "group": resource.group, "kind": resource.plural},
    )


_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def _put_over(writing: Writing, live: Stored, body: dict[str, Any], verb: Verb) -> Response:
    """A whole new object in the place of `live`, by update or patch."""
    resource, old = writing.resource, live.obj
    _check_preconditions(writing, live, body.get("metadata") or {})
    sent = managed.sent(body, live.obj, writing.target.subresource)
    obj = _as_persisted(writing, old, prune(body, resource.schema))
    fields = managed.after_update(old, obj, resource.schema, sent, writing.actor())
    return _finish(writing, live, _with_fields(obj, fields), verb)


def _check_preconditions(writing: Writing, live: Stored, metadata: dict[str, Any]) -> None:
    version, uid = metadata.get("resourceVersion"), metadata.get("uid")
    if uid and uid != live.obj["metadata"]["uid"]:
        detail = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {live.obj['metadata']['uid']}"
        raise conflict(writing.resource, writing.target.name, detail)
    if version and version != live.obj["metadata"]["resourceVersion"]:
        raise conflict(writing.resource, writing.target.name, _MODIFIED)


def _as_persisted(writing: Writing, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """What of `new` an update may change: all but status, or status alone; server-made metadata never."""
    resource, before = writing.resource, old["metadata"]
    if writing.target.subresource == "status":
        return _with_member(old, "status", new.get("status"))
    if resource.has_status:
        new = _with_member(new, "status", old.get("status"))
    metadata = {k: v for k, v in (new.get("metadata") or {}).items() if k not in _SERVER_MADE}
    metadata |= {key: before[key] for key in _SERVER_MADE if key in before}
    metadata["name"] = before["name"]
    if "namespace" in before:
        metadata["namespace"] = before["namespace"]
    if _generation_moves(resource, old, new):
        metadata["generation"] = before.get("generation", 0) + 1
    return _ordered(new, metadata)


def _with_member(obj: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {k: v for k, v in obj.items() if k != key}
    return {**obj, key: value}


def _generation_moves(resource: Resource, old: dict[str, Any], new: dict[str, Any]) -> bool:
    if resource.generation is Generation.NEVER:
        return False
    if resource.generation is Generation.SPEC:
        return bool(old.get("spec") != new.get("spec"))
    skipped = ("metadata", "status") if resource.has_status else ("metadata",)
    return {k: v for k, v in old.items() if k not in skipped} != {
        k: v for k, v in new.items() if k not in skipped
    }


def _patch(writing: Writing) -> Response:
    content_type = writing.request.content_type.partition(";")[0].strip()
    if content_type == APPLY_PATCH:
        return _apply(writing)
    live = writing.live()
    if content_type == MERGE_PATCH:
        patch = object_in(writing.request)
    elif content_type == JSON_PATCH:
        patch = decoded(writing.request.body)
    else:
        raise unsupported_media_type(content_type)
    if live is None:
        raise not_found(writing.resource, writing.target.name)
    body = (merge_patch if content_type == MERGE_PATCH else json_patch)(live.obj, patch)
    if not isinstance(body, dict):
        raise bad_request("the patched document is not an object")
    check_identity(body, writing.target)
    return _put_over(writing, live, body, "patch")


def _apply(writing: Writing) -> Response:
    if not writing.query.get("fieldManager"):
        cause = Cause("FieldValueRequired", "fieldManager", "Required value: is required for apply patch")
        raise invalid("PatchOptions", "meta.k8s.io", "", [(cause, f"fieldManager: {cause.message}")])
    resource, live = writing.resource, writing.live()
    body = managed.applied(writing.request.body, resource, writing.target.namespace)
    check_identity(body, writing.target)
    metadata = body.get("metadata") or {}
    if metadata.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    force = writing.query.get("force") in ("1", "true")
    if live is None:
        if metadata.get("uid"):
            raise conflict(
                resource,
                writing.target.name,
                f"Precondition failed: UID in precondition: {metadata['uid']}, UID in object meta: ",
            )
        if metadata.get("resourceVersion"):
            raise not_found(resource, writing.target.name)
        if writing.target.subresource:
            raise not_found(resource, writing.target.name)
        fields = managed.after_first_apply(
            body, resource.schema, writing.actor(), managed.ignored(resource, "")
        )
        return _put_new(writing, body, writing.target.name, "apply", fields=fields)
    _check_preconditions(writing, live, metadata)
    ignored = managed.ignored(resource, writing.target.subresource)
    merged, fields = managed.after_apply(
        live.obj, body, resource.schema, writing.actor(), ignored, force="taken" if force else "asked"
    )
    obj = _as_persisted(writing, live.obj, merged)
    return _finish(writing, live, _with_fields(obj, fields), "apply")


def _finish(writing: Writing, live: Stored | None, obj: dict[str, Any], verb: Verb) -> Response:
    """Validate, then persist unless it is a dry run or nothing has changed."""
    resource = writing.resource
    if causes := [*_finalizers_added(live, obj), *problems(obj, resource)]:
        raise _invalid(resource, writing.target.name, causes)
    code = 200 if live is not None else 201
    if live is not None and managed.same_but_times(live.obj, obj):
        return Response(code, live.body(), JSON_HEADERS)
    if writing.dry:
        return ok(obj, code)
    gone = bool(obj["metadata"].get("deletionTimestamp")) and not obj["metadata"].get("finalizers")
    if gone and live is not None:
        return Response(code, _remove(writing, live, obj, verb).body(), JSON_HEADERS)
    return Response(code, _persist(writing, live, obj, verb).body(), JSON_HEADERS)


def _finalizers_added(live: Stored | None, obj: dict[str, Any]) -> list[Cause]:
    if live is None or not live.obj["metadata"].get("deletionTimestamp"):
        return []
    had = set(live.obj["metadata"].get("finalizers") or ())
    added = sorted(set(obj["metadata"].get("finalizers") or ()) - had)
    if not added:
        return []
    detail = (
        "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers "
        f"[]string{{{', '.join(encode(a).decode() for a in added)}}}"
    )
    return [Cause("FieldValueForbidden", "metadata.finalizers", detail)]


def _persist(writing: Writing, live: Stored | None, obj: dict[str, Any], verb: Verb) -> Stored:
    version = writing.store.next_version()
    obj["metadata"]["resourceVersion"] = str(version)
    stored = Stored(obj, version)
    target = writing.target
    writing.store.table(target.resource).put((target.namespace, target.name), stored)
    _record(writing, "ADDED" if live is None else "MODIFIED", stored, live)
    _log(writing, verb, version, live, obj)
    return stored


def _remove(writing: Writing, live: Stored, last: dict[str, Any], verb: Verb) -> Stored:
    """Take the object out of the store. Its last state carries the resourceVersion of its end."""
    version = writing.store.next_version()
    stored = Stored({**last, "metadata": {**last["metadata"], "resourceVersion": str(version)}}, version)
    target = writing.target
    writing.store.table(target.resource).drop((target.namespace, target.name))
    _record(writing, "DELETED", stored, live)
    _log(writing, verb, version, live, None)
    return stored


def _record(writing: Writing, kind: EventType, stored: Stored, live: Stored | None) -> None:
    writing.store.record(Event(stored.version, writing.resource, kind, stored, live))


def _log(
    writing: Writing, verb: Verb, version: int, live: Stored | None, after: dict[str, Any] | None
) -> None:
    target = writing.target
    writing.log(
        AcceptedWrite(
            seq=0,
            time=writing.now,
            user=writing.user.name,
            manager=writing.manager,
            verb=verb,
            resource=target.resource.id,
            namespace=target.namespace,
            name=target.name,
            subresource=target.subresource,
            resource_version=str(version),
            before=None if live is None else live.obj,
            after=after,
        )
    )


def _delete(writing: Writing) -> Response:
    live = writing.live()
    if live is None:
        raise not_found(writing.resource, writing.target.name)
    options = object_in(writing.request) if writing.request.body else {}
    _check_delete_preconditions(writing, live, options.get("preconditions") or {})
    return _delete_one(writing, live)


def _check_delete_preconditions(writing: Writing, live: Stored, wanted: dict[str, Any]) -> None:
    metadata = live.obj["metadata"]
    for key, label in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if wanted.get(key) and wanted[key] != metadata[key]:
            detail = (
                f"the {label} in the precondition ({wanted[key]}) does not match the {label} in record "
                f"({metadata[key]}). The object might have been deleted and then recreated"
            )
            raise conflict(writing.resource, writing.target.name, detail)


def _delete_one(writing: Writing, live: Stored) -> Response:
    """At once, or, with finalizers, by a deletionTimestamp that waits for the last of them to go."""
    resource, metadata = writing.resource, live.obj["metadata"]
    if metadata.get("finalizers"):
        if metadata.get("deletionTimestamp"):
            return Response(200, live.body(), JSON_HEADERS)
        marked = {**metadata, "deletionTimestamp": writing.stamp, "deletionGracePeriodSeconds": 0}
        if "generation" in metadata:
            marked["generation"] = metadata["generation"] + 1
        obj = {**live.obj, "metadata": marked}
        if writing.dry:
            return ok(obj)
        return Response(200, _persist(writing, live, obj, "delete").body(), JSON_HEADERS)
    if not writing.dry:
        _remove(writing, live, live.obj, "delete")
    details = {
        "name": writing.target.name,
        "group": resource.group,
        "kind": resource.plural,
        "uid": metadata["uid"],
    }
    if not resource.group:
        del details["group"]
    return ok({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})


_HANDLERS: Mapping[str, Callable[[Writing], Response]] = {
    "create": _create,
    "update": _update,
    "patch": _patch,
    "delete": _delete,
}
