"""Server-side apply: the merged object, who owns what of it afterwards, and the conflicts."""

from __future__ import annotations

import json
from typing import Any, Literal

from gitops_mc.sandbox.apiserver.answers import Cause, StatusError, bad_request
from gitops_mc.sandbox.apiserver.fieldsets import Node, difference, intersection, paths, union
from gitops_mc.sandbox.apiserver.identity import check_applied
from gitops_mc.sandbox.apiserver.last_applied import free_fields, kept_up
from gitops_mc.sandbox.apiserver.managed import (
    OWNABLE_METADATA,
    Actor,
    ManagerKey,
    Managers,
    Owned,
    after_create,
    ownable,
    reduced,
    stripped,
)
from gitops_mc.sandbox.apiserver.requests import Target
from gitops_mc.sandbox.apiserver.resources import Resource
from gitops_mc.sandbox.apiserver.schema import Schema
from gitops_mc.sandbox.apiserver.store import Stored
from gitops_mc.sandbox.apiserver.typed import MISSING, compare, field_set, merge, remove, with_named_members
from gitops_mc.sandbox.apiserver.typing_faults import faults

BEFORE_FIRST_APPLY = "before-first-apply"
"""Manager of what an object without any ownership holds when somebody applies to it."""


def ignored(resource: Resource, subresource: str) -> tuple[str, ...]:
    """The top-level fields that a write to this (sub)resource neither changes nor owns."""
    if subresource == "status":
        return ("f:spec",) if resource.built_in else ("f:spec", "f:metadata")
    return ("f:status",) if resource.has_status else ()


def applied(body: bytes, target: Target) -> dict[str, Any]:
    """The object in the body of an apply (JSON). What does not fit the schema is refused, not pruned: 500."""
    resource = target.resource
    try:
        obj = json.loads(body)
    except ValueError as error:
        raise bad_request(f"error decoding YAML: {error}") from error
    if not isinstance(obj, dict):
        raise bad_request("error decoding YAML: not an object")
    check_applied(obj, target)
    found = list(faults(obj, resource.schema))
    if found:
        metadata = obj.get("metadata")
        name = metadata.get("name", "") if isinstance(metadata, dict) else ""
        text = found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])
        raise StatusError(
            500,
            None,
            f"failed to create typed patch object ({target.namespace}/{name}; {resource.api_version}, "
            f"Kind={resource.kind}): {text}",
        )
    return obj


def after_first_apply(
    body: dict[str, Any], schema: Schema, actor: Actor, ignore: tuple[str, ...]
) -> Managers:
    """Ownership of an object that an apply creates."""
    mine = _without(stripped(field_set(ownable(body), schema)), ignore)
    return {actor.key("Apply"): Owned(mine, actor.time)} if mine else {}


def _without(fields: Node, ignore: tuple[str, ...]) -> Node:
    return {k: v for k, v in fields.items() if k not in ignore} if ignore else fields


def after_apply(
    live: Stored,
    body: dict[str, Any],
    schema: Schema,
    actor: Actor,
    ignore: tuple[str, ...],
    *,
    force: Literal["taken", "asked"],
) -> tuple[dict[str, Any], Managers]:
    """The merged object and its ownership. Raises the conflict, unless its fields are to be `taken`.

    Whoever applies what changes no value owns it without a time, or keeps the time of its last change.
    """
    managers, me, old = dict(live.owners), actor.key("Apply"), live.obj
    if not managers:
        before = Actor(BEFORE_FIRST_APPLY, actor.api_version, "", actor.time)
        everything = after_create(old, schema, {}, before)
        managers = {
            key: Owned(fields, owned.time)
            for key, owned in everything.items()
            if (fields := _without(owned.fields, ignore))
        }
    last = managers.get(me)
    mine = _without(stripped(field_set(ownable(body), schema)), ignore)
    managers[me] = Owned(mine, "" if last is None else last.time)
    current = ownable(old)
    merged = merge(current, ownable(body), schema)
    merged = {} if merged is MISSING else merged
    if last is not None:
        merged = _pruned(merged, managers, last.fields, schema)
    added, modified, removed = (_without(fields, ignore) for fields in compare(current, merged, schema))
    taken = union(modified, added)
    if force == "asked":
        _refuse_conflicts(managers, me, difference(taken, free_fields(old, schema, actor.manager)))
    result = reduced(managers, me, taken, removed)
    if not mine:
        result.pop(me, None)
    if me in result and (added or modified or removed):
        result[me] = Owned(mine, actor.time)
    return kept_up(old, _joined(old, merged), body, actor.manager), result


def _joined(live: dict[str, Any], merged: dict[str, Any]) -> dict[str, Any]:
    """The merged fields back in an object with the live one's identity. Empty metadata is dropped."""
    metadata = {k: v for k, v in live["metadata"].items() if k not in OWNABLE_METADATA}
    metadata |= {k: v for k, v in (merged.get("metadata") or {}).items() if v}
    rest = {k: v for k, v in merged.items() if k != "metadata"}
    return {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": metadata} | rest


def _pruned(merged: dict[str, Any], managers: Managers, last: Node, schema: Schema) -> dict[str, Any]:
    """Without what the applier applied last time, not this time, and nobody else owns."""
    pruned = remove(merged, with_named_members(last, schema), schema)
    everything = with_named_members(field_set(merged, schema), schema)
    owned: Node = {}
    for row in managers.values():
        owned = union(owned, row.fields)
    kept = union(with_named_members(field_set(pruned, schema), schema), with_named_members(owned, schema))
    pruned = remove(merged, difference(everything, kept), schema)
    left = with_named_members(field_set(pruned, schema), schema)
    dropped = intersection(difference(everything, left), with_named_members(last, schema))
    found: dict[str, Any] | None = remove(merged, dropped, schema)
    return found or {}


def _refuse_conflicts(managers: Managers, me: ManagerKey, taken: Node) -> None:
    found = [
        (key, path)
        for key in sorted(managers, key=ManagerKey.sort_key)
        if key != me
        for path in paths(intersection(managers[key].fields, taken))
    ]
    if not found:
        return
    causes = [Cause("FieldManagerConflict", path, f"conflict with {key}") for key, path in found]
    if len(found) == 1:
        text = f"Apply failed with 1 conflict: conflict with {found[0][0]}: {found[0][1]}"
    else:
        lines = []
        for key in dict.fromkeys(key for key, _ in found):
            lines += [f"conflicts with {key}:", *(f"- {path}" for other, path in found if other == key)]
        text = f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)
    raise StatusError(409, "Conflict", text, causes=causes)
