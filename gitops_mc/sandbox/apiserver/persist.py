"""The end of every write: validation, and what is persisted of it."""

from __future__ import annotations

from typing import Any

from gitops_mc.app.ports import Response
from gitops_mc.sandbox.apiserver import definitions
from gitops_mc.sandbox.apiserver.answers import JSON_HEADERS, Cause, encode, ok
from gitops_mc.sandbox.apiserver.definitions import DEFINITIONS
from gitops_mc.sandbox.apiserver.managed import Managers, same_but_times
from gitops_mc.sandbox.apiserver.objects import with_owners
from gitops_mc.sandbox.apiserver.store import AcceptedWrite, Event, EventType, Stored, WriteVerb
from gitops_mc.sandbox.apiserver.validation import label_problems, problems
from gitops_mc.sandbox.apiserver.writing import Writing, invalid_object


def finish(
    writing: Writing, live: Stored | None, obj: dict[str, Any], owners: Managers, verb: WriteVerb
) -> Response:
    """Validate the object with its new owners, then persist it, unless it is a dry run or nothing has changed."""
    obj = with_owners(obj, owners)
    if writing.resource.id == DEFINITIONS:
        obj = definitions.served(obj, writing.stamp)
    refuse_invalid(writing, live, obj)
    code = 200 if live is not None else 201
    if live is not None and same_but_times(live.obj, obj):
        return Response(code, live.body(), JSON_HEADERS)
    if writing.dry:
        return ok(obj, code)
    gone = bool(obj["metadata"].get("deletionTimestamp")) and not obj["metadata"].get("finalizers")
    if gone and live is not None:
        return Response(code, remove(writing, live, obj, verb).body(), JSON_HEADERS)
    return Response(code, persist(writing, live, obj, owners, verb).body(), JSON_HEADERS)


def refuse_invalid(writing: Writing, live: Stored | None, obj: dict[str, Any]) -> None:
    """Raises 422 with everything that is wrong with the object."""
    resource, old = writing.resource, live.obj if live is not None else None
    labels = obj["metadata"].get("labels") or {}
    if causes := [*label_problems(labels), *_finalizers_added(live, obj), *problems(obj, old, resource)]:
        raise invalid_object(resource, writing.target.name, causes)


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


def persist(
    writing: Writing, live: Stored | None, obj: dict[str, Any], owners: Managers, verb: WriteVerb
) -> Stored:
    """Put the object, whose metadata must be its own, in the place of `live`."""
    version = writing.store.next_version()
    obj["metadata"]["resourceVersion"] = str(version)
    stored = Stored(obj, version, owners)
    target = writing.target
    writing.store.table(target.resource).put((target.namespace, target.name), stored)
    _record(writing, "ADDED" if live is None else "MODIFIED", stored, live)
    _log(writing, verb, version, live, obj)
    return stored


def remove(writing: Writing, live: Stored, last: dict[str, Any], verb: WriteVerb) -> Stored:
    """Take the object out of the store. Its last state carries the resourceVersion of its end."""
    version = writing.store.next_version()
    ended = {**last, "metadata": {**last["metadata"], "resourceVersion": str(version)}}
    stored = Stored(ended, version, live.owners)
    target = writing.target
    writing.store.table(target.resource).drop((target.namespace, target.name))
    _record(writing, "DELETED", stored, live)
    _log(writing, verb, version, live, None)
    return stored


def _record(writing: Writing, kind: EventType, stored: Stored, live: Stored | None) -> None:
    writing.store.record(Event(stored.version, writing.resource, kind, stored, live))


def _log(
    writing: Writing, verb: WriteVerb, version: int, live: Stored | None, after: dict[str, Any] | None
) -> None:
    target = writing.target
    writing.log.append(
        AcceptedWrite(
            seq=len(writing.log) + 1,
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
