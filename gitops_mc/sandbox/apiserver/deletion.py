"""Deletion: at once, or when the last finalizer has gone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gitops_mc.app.ports import Response
from gitops_mc.sandbox.apiserver import reads
from gitops_mc.sandbox.apiserver.answers import JSON_HEADERS, StatusError, details_of, ok
from gitops_mc.sandbox.apiserver.persist import persist, remove
from gitops_mc.sandbox.apiserver.requests import object_in
from gitops_mc.sandbox.apiserver.store import Stored
from gitops_mc.sandbox.apiserver.writing import Writing

_PRECONDITIONS = (
    ("uid", "UID", "deleted and then recreated"),
    ("resourceVersion", "ResourceVersion", "modified"),
)


def delete(writing: Writing) -> Response:
    live = writing.live()
    if live is None:
        raise reads.not_found(writing.resource, writing.target.name)
    writing, options = _with_options(writing)
    _check_preconditions(writing, live, options.get("preconditions") or {})
    return _delete_one(writing, live)


def _with_options(writing: Writing) -> tuple[Writing, dict[str, Any]]:
    """Options in the body take the place of those in the query, all of them: `?dryRun=All` with a body that does not say
    so deletes (measured on a real kube-apiserver 1.36).
    """
    if not writing.request.body:
        return writing, {}
    options = object_in(writing.request)
    query = {key: value for key, value in writing.query.items() if key != "dryRun"}
    if options.get("dryRun"):
        query["dryRun"] = "All"
    return replace(writing, query=query), options


def _check_preconditions(writing: Writing, live: Stored, wanted: dict[str, Any]) -> None:
    resource, name, metadata = writing.resource, writing.target.name, live.obj["metadata"]
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    for key, label, what in _PRECONDITIONS:
        if wanted.get(key) and wanted[key] != metadata[key]:
            raise StatusError(
                409,
                "Conflict",
                f'Operation cannot be fulfilled on {kind} "{name}": the {label} in the precondition ({wanted[key]}) '
                f"does not match the {label} in record ({metadata[key]}). The object might have been {what}",
                details=details_of(name, resource.group, resource.kind),
            )


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
        return Response(200, persist(writing, live, obj, live.owners, "delete").body(), JSON_HEADERS)
    if not writing.dry:
        remove(writing, live, live.obj, "delete")
    details = details_of(writing.target.name, resource.group, resource.plural, uid=metadata["uid"])
    return ok({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})


def delete_collection(writing: Writing) -> Response:
    """Everything the selectors choose; answered with the list of what was there."""
    writing, _ = _with_options(writing)
    answer = reads.list_objects(
        writing.store, writing.target, writing.request, writing.query, lambda: writing.now
    )
    for (namespace, name), live in list(reads.selected(writing.store, writing.target, writing.query)):
        _delete_one(replace(writing, target=replace(writing.target, namespace=namespace, name=name)), live)
    return answer
