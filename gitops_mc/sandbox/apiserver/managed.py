"""Field ownership: `metadata.managedFields` read and written, and what update and apply do with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from gitops_mc.sandbox.apiserver.answers import Cause, StatusError, bad_request
from gitops_mc.sandbox.apiserver.fieldsets import (
    Node,
    decode,
    difference,
    encode,
    intersection,
    paths,
    union,
)
from gitops_mc.sandbox.apiserver.resources import Resource
from gitops_mc.sandbox.apiserver.schema import Schema, undeclared
from gitops_mc.sandbox.apiserver.typed import (
    MISSING,
    compare,
    field_set,
    merge,
    remove,
    with_named_members,
)

Operation: TypeAlias = Literal["Apply", "Update"]


@dataclass(frozen=True, slots=True)
class ManagerKey:
    """Identity of a manager. One that applies keeps its identity over versions."""

    manager: str
    operation: Operation
    subresource: str
    api_version: str

    def sort_key(self) -> str:
        found = {"manager": self.manager, "operation": self.operation}
        if self.operation == "Update":
            found["apiVersion"] = self.api_version
        if self.subresource:
            found["subresource"] = self.subresource
        return json.dumps(found, separators=(",", ":"))

    def __str__(self) -> str:
        text = json.dumps(self.manager)
        if self.subresource:
            text += f" with subresource {json.dumps(self.subresource)}"
        return text if self.operation == "Apply" else f"{text} using {self.api_version}"


@dataclass(frozen=True, slots=True)
class Owned:
    fields: Node
    time: str


Managers: TypeAlias = Mapping[ManagerKey, Owned]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who writes, by which version and subresource, and when (RFC 3339)."""

    manager: str
    api_version: str
    subresource: str
    time: str

    def key(self, operation: Operation) -> ManagerKey:
        return ManagerKey(self.manager, operation, self.subresource, self.api_version)


BEFORE_FIRST_APPLY = "before-first-apply"
_OWNABLE_METADATA = ("labels", "annotations", "finalizers", "ownerReferences", "generateName")


def read(obj: dict[str, Any]) -> Managers:
    """Ownership as an object carries it. Raises nothing: what cannot be read is nobody's."""
    result: dict[ManagerKey, Owned] = {}
    for entry in (obj.get("metadata") or {}).get("managedFields") or ():
        fields = entry.get("fieldsV1") if isinstance(entry, dict) else None
        if not isinstance(fields, dict) or entry.get("operation") not in ("Apply", "Update"):
            continue
        key = ManagerKey(
            str(entry.get("manager", "")),
            entry["operation"],
            str(entry.get("subresource") or ""),
            str(entry.get("apiVersion", "")),
        )
        result[key] = Owned(decode(fields), str(entry.get("time", "")))
    return result


def write(managers: Managers) -> list[dict[str, Any]]:
    """As `metadata.managedFields`: who applies first, then by time and name."""
    ordered = sorted(
        managers.items(),
        key=lambda row: (
            row[0].operation,
            row[1].time,
            row[0].manager,
            row[0].api_version,
            row[0].subresource,
        ),
    )
    result = []
    for key, owned in ordered:
        entry: dict[str, Any] = {
            "manager": key.manager,
            "operation": key.operation,
            "apiVersion": key.api_version,
        }
        if owned.time:
            entry["time"] = owned.time
        entry |= {"fieldsType": "FieldsV1", "fieldsV1": encode(owned.fields)}
        if key.subresource:
            entry["subresource"] = key.subresource
        result.append(entry)
    return result


def sent(body: dict[str, Any], live: dict[str, Any], subresource: str) -> Managers:
    """The ownership that an update starts from: the one sent, if it says any; `[{}]` resets it."""
    entries = (body.get("metadata") or {}).get("managedFields")
    if not subresource and entries == [{}]:
        return {}
    return (not subresource and read(body)) or read(live)


def same_but_times(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether a write would change nothing but the times in managedFields: then it is not persisted."""
    if any(old.get(key) != new.get(key) for key in {*old, *new} - {"metadata"}):
        return False
    before, after = old["metadata"], new["metadata"]
    if any(before.get(key) != after.get(key) for key in {*before, *after} - {"managedFields"}):
        return False
    return _timeless(before) == _timeless(after)


def _timeless(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    entries = [{k: v for k, v in e.items() if k != "time"} for e in metadata.get("managedFields") or ()]
    return sorted(entries, key=lambda e: (e["operation"], e["manager"], e.get("subresource", "")))


def _ownable(obj: dict[str, Any]) -> dict[str, Any]:
    """An object without what nobody owns: identity, and what the server makes."""
    metadata = obj.get("metadata") or {}
    kept = {key: metadata[key] for key in _OWNABLE_METADATA if key in metadata}
    return {k: v for k, v in obj.items() if k not in ("apiVersion", "kind", "metadata")} | {"metadata": kept}


def _reduced(
    managers: Managers, but: ManagerKey | None, taken: Node, removed: Node
) -> dict[ManagerKey, Owned]:
    """Managers without the fields that another one has changed or that are gone."""
    result: dict[ManagerKey, Owned] = {}
    for key, owned in managers.items():
        fields = owned.fields
        if key != but:
            fields = difference(fields, intersection(fields, taken))
            fields = difference(fields, removed)
        if fields:
            result[key] = Owned(fields, owned.time)
    return result


def _stripped(fields: Node) -> Node:
    """Ownership without the membership of `metadata` itself."""
    metadata = {k: v for k, v in fields.get("f:metadata", {}).items() if k != "."}
    rest = {k: v for k, v in fields.items() if k != "f:metadata"}
    return rest | {"f:metadata": metadata} if metadata else rest


def after_create(obj: dict[str, Any], schema: Schema, managers: Managers, actor: Actor) -> Managers:
    return _after_change({}, obj, schema, managers, actor)


def after_update(
    old: dict[str, Any], new: dict[str, Any], schema: Schema, managers: Managers, actor: Actor
) -> Managers:
    """Whoever changes a field by update or patch owns it, and everybody else no longer does.

    An object that nobody owns anything of stays untracked until somebody applies.
    """
    return _after_change(old, new, schema, managers, actor) if managers else {}


def _after_change(
    old: dict[str, Any], new: dict[str, Any], schema: Schema, managers: Managers, actor: Actor
) -> Managers:
    added, modified, removed = compare(_ownable(old), _ownable(new), schema)
    taken = union(modified, added)
    result = _reduced(managers, None, taken, removed)
    if mine := _stripped(taken):
        key = actor.key("Update")
        had = result[key].fields if key in result else {}
        result[key] = Owned(union(had, mine), actor.time)
    return result


def ignored(resource: Resource, subresource: str) -> str:
    """The top-level field that a write to this (sub)resource neither changes nor owns; `""` for none."""
    if subresource == "status":
        return "f:spec"
    return "f:status" if resource.has_status else ""


def applied(body: bytes, resource: Resource, namespace: str) -> dict[str, Any]:
    """The object in the body of an apply. A field outside the schema is refused, not pruned: 500, as measured."""
    try:
        obj = json.loads(body)
    except ValueError as error:
        raise bad_request(f"error decoding YAML: {error}") from error
    if not isinstance(obj, dict):
        raise bad_request("error decoding YAML: not an object")
    faults = list(undeclared(obj, resource.schema))
    if faults:
        name = (obj.get("metadata") or {}).get("name", "")
        text = faults[0] if len(faults) == 1 else "\n  ".join(["errors:", *faults])
        raise StatusError(
            500,
            None,
            f"failed to create typed patch object ({namespace}/{name}; {resource.api_version}, "
            f"Kind={resource.kind}): {text}",
        )
    return obj


def after_first_apply(body: dict[str, Any], schema: Schema, actor: Actor, ignore: str) -> Managers:
    """Ownership of an object that an apply creates."""
    mine = _without(field_set(_ownable(body), schema), ignore)
    return {actor.key("Apply"): Owned(_stripped(mine), actor.time)} if mine else {}


def _without(fields: Node, ignore: str) -> Node:
    return {k: v for k, v in fields.items() if k != ignore} if ignore else fields


def after_apply(
    live: dict[str, Any],
    body: dict[str, Any],
    schema: Schema,
    actor: Actor,
    ignore: str,
    *,
    force: Literal["taken", "asked"],
) -> tuple[dict[str, Any], Managers]:
    """The merged object and its ownership. Raises the conflict, unless its fields are to be `taken`."""
    managers, me = dict(read(live)), actor.key("Apply")
    if not managers:
        before = Actor(BEFORE_FIRST_APPLY, actor.api_version, "", actor.time)
        managers = dict(after_create(live, schema, {}, before))
    last = managers.get(me)
    mine = _without(_stripped(field_set(_ownable(body), schema)), ignore)
    former = dict(managers)
    managers[me] = Owned(mine, actor.time if last is None or last.fields != mine else last.time)
    current = _ownable(live)
    merged = merge(current, _ownable(body), schema)
    merged = {} if merged is MISSING else merged
    if last is not None:
        merged = _pruned(merged, managers, last.fields, schema)
    added, modified, removed = (_without(fields, ignore) for fields in compare(current, merged, schema))
    taken = union(modified, added)
    if force == "asked":
        _refuse_conflicts(managers, me, taken)
    result = _reduced(managers, me, taken, removed)
    if not mine:
        result.pop(me, None)
    if me in result and (added or modified or removed or _fields(result) != _fields(former)):
        result[me] = Owned(mine, actor.time)
    return _joined(live, merged), result


def _fields(managers: Managers) -> dict[ManagerKey, Node]:
    return {key: owned.fields for key, owned in managers.items()}


def _joined(live: dict[str, Any], merged: dict[str, Any]) -> dict[str, Any]:
    """The merged fields back in an object with the live one's identity; empty metadata and nulls where none may stand are dropped."""
    metadata = {k: v for k, v in live["metadata"].items() if k not in _OWNABLE_METADATA}
    metadata |= {k: v for k, v in (merged.get("metadata") or {}).items() if v}
    rest = {k: v for k, v in merged.items() if k != "metadata" and v is not None}
    return {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": metadata} | rest


def _pruned(merged: dict[str, Any], managers: Managers, last: Node, schema: Schema) -> dict[str, Any]:
    """Without what the applier applied last time, not this time, and nobody else owns."""
    pruned = remove(merged, with_named_members(last, schema), schema) or {}
    everything = with_named_members(field_set(merged, schema), schema)
    owned: Node = {}
    for row in managers.values():
        owned = union(owned, row.fields)
    kept = union(with_named_members(field_set(pruned, schema), schema), with_named_members(owned, schema))
    pruned = remove(merged, difference(everything, kept), schema) or {}
    left = with_named_members(field_set(pruned, schema), schema)
    dropped = intersection(difference(everything, left), with_named_members(last, schema))
    found: dict[str, Any] = remove(merged, dropped, schema) or {}
    return found


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
