"""Field ownership: `metadata.managedFields` read and written, and what create, update and patch do with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from gitops_mc.sandbox.apiserver.equality import same
from gitops_mc.sandbox.apiserver.fieldsets import Node, decode, difference, encode, union
from gitops_mc.sandbox.apiserver.schema import Schema
from gitops_mc.sandbox.apiserver.typed import compare

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


@dataclass(slots=True)
class Owned:
    """Fields and when they last changed hands (RFC 3339). Not to be changed; what it learns is its own spelling."""

    fields: Node
    time: str
    _encoded: dict[str, Any] | None = None

    def as_fields_v1(self) -> dict[str, Any]:
        if self._encoded is None:
            self._encoded = encode(self.fields)
        return self._encoded

    def at(self, fields: Node, time: str) -> Owned:
        """The same owner with other fields or at another time."""
        return Owned(fields, time, self._encoded if fields is self.fields else None)


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


OWNABLE_METADATA = ("labels", "annotations", "finalizers", "ownerReferences", "generateName")


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
        result[key] = Owned(decode(fields), str(entry.get("time", "")), fields)
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
        entry |= {"fieldsType": "FieldsV1", "fieldsV1": owned.as_fields_v1()}
        if key.subresource:
            entry["subresource"] = key.subresource
        result.append(entry)
    return result


def sent(body: dict[str, Any], live: dict[str, Any], owners: Managers, subresource: str) -> Managers:
    """The ownership that an update starts from: the one sent, if it says any; `[{}]` resets it.

    `owners` is that of `live`, which is meant where the request sends back what it has read.
    """
    entries = (body.get("metadata") or {}).get("managedFields")
    if subresource or entries == live["metadata"].get("managedFields"):
        return owners
    return {} if entries == [{}] else read(body) or owners


def same_but_times(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether a write would change nothing but the times in managedFields: then it is not persisted."""
    if not all(same(old.get(key), new.get(key)) for key in {*old, *new} - {"metadata"}):
        return False
    before, after = old["metadata"], new["metadata"]
    if any(before.get(key) != after.get(key) for key in {*before, *after} - {"managedFields"}):
        return False
    return _timeless(before) == _timeless(after)


def _timeless(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    entries = [{k: v for k, v in e.items() if k != "time"} for e in metadata.get("managedFields") or ()]
    return sorted(entries, key=lambda e: (e["operation"], e["manager"], e.get("subresource", "")))


def ownable(obj: dict[str, Any]) -> dict[str, Any]:
    """An object without what nobody owns: identity, and what the server makes."""
    metadata = obj.get("metadata") or {}
    kept = {key: metadata[key] for key in OWNABLE_METADATA if key in metadata}
    return {k: v for k, v in obj.items() if k not in ("apiVersion", "kind", "metadata")} | {"metadata": kept}


def reduced(
    managers: Managers, but: ManagerKey | None, taken: Node, removed: Node
) -> dict[ManagerKey, Owned]:
    """Managers without the fields that another one has changed or that are gone."""
    result: dict[ManagerKey, Owned] = {}
    for key, owned in managers.items():
        fields = owned.fields
        if key != but:
            fields = difference(difference(fields, taken), removed)
        if fields:
            result[key] = owned if fields is owned.fields else Owned(fields, owned.time)
    return result


def stripped(fields: Node) -> Node:
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
    added, modified, removed = compare(ownable(old), ownable(new), schema)
    taken = union(modified, added)
    result = reduced(managers, None, taken, removed)
    if mine := stripped(taken):
        key = actor.key("Update")
        had = managers.get(key, Owned({}, ""))
        fields = union(difference(had.fields, removed), mine)
        result[key] = had.at(fields, actor.time)
    return result
