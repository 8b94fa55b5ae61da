"""Values seen through their schema: merge, compare, remove, and the set of fields of a value.

The rules are those of kubernetes-sigs/structured-merge-diff v6, the library behind server-side apply, and were
compared with the answers of a real kube-apiserver 1.36. `MISSING` is a value that is not there; a JSON null is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

from gitops_mc.sandbox.apiserver.equality import same
from gitops_mc.sandbox.apiserver.fieldsets import MEMBER, SELF, Node, union
from gitops_mc.sandbox.apiserver.schema import ANY, Schema

MISSING: Any = object()
Shape: TypeAlias = Literal["leaf", "map", "list"]


def _shape(value: Any, schema: Schema) -> Shape:
    """How a value is walked. Atomic lists and maps are leaves, and so is a value of a wrong type; a null or missing
    one goes by its schema.
    """
    if schema.is_atomic:
        return "leaf"
    absent = value is None or value is MISSING
    match schema.type:
        case "any":
            return "map" if isinstance(value, dict) else "leaf"
        case "object":
            return "map" if absent or isinstance(value, dict) else "leaf"
        case "array":
            return "list" if absent or isinstance(value, list) else "leaf"
        case _:
            return "leaf"


def element_of(item: Any, schema: Schema) -> str:
    """The path element of an item of a list map or of a set."""
    if schema.keys and isinstance(item, dict):
        pairs = {key: item.get(key) for key in sorted(schema.keys)}
        return "k:" + json.dumps(pairs, separators=(",", ":"), ensure_ascii=False)
    return "v:" + json.dumps(item, separators=(",", ":"), ensure_ascii=False)


def _items(value: Any, schema: Schema) -> dict[str, Any]:
    """Items by path element, in order; of several with one key the first."""
    result: dict[str, Any] = {}
    for item in value if isinstance(value, list) else ():
        result.setdefault(element_of(item, schema), item)
    return result


def _child(schema: Schema, name: str) -> Schema:
    return schema.child(name) or ANY


def field_set(value: Any, schema: Schema) -> Node:
    """The fields that somebody who applies `value` owns."""
    match _shape(value, schema):
        case "leaf":
            return MEMBER
        case "map":
            return _map_fields(value, schema) if isinstance(value, dict) else {}
        case "list":
            item_schema = schema.items or ANY
            return {
                element: union(field_set(item, item_schema), MEMBER)
                for element, item in _items(value, schema).items()
            }


def _map_fields(value: dict[str, Any], schema: Schema) -> Node:
    """Declared fields are members only by what is in them; a null or an empty map is a member itself."""
    result: Node = {}
    for key, item in value.items():
        found = field_set(item, _child(schema, key))
        if item is None or item == {} or key not in schema.fields:
            found = union(found, MEMBER)
        if found:
            result["f:" + key] = found
    return result


def merge(left: Any, right: Any, schema: Schema) -> Any:
    """`right` laid over `left`. A map or list in which nothing is left is MISSING."""
    shape = _shape(left if right is MISSING else right, schema)
    lower: Any = left if isinstance(left, dict | list) else ()
    upper: Any = right if isinstance(right, dict | list) else ()
    if shape == "leaf" or (not lower and not upper):
        return left if right is MISSING else right
    if shape == "map":
        lower = lower if isinstance(lower, dict) else {}
        upper = upper if isinstance(upper, dict) else {}
        result = {
            key: merged
            for key in (*lower, *(k for k in upper if k not in lower))
            if (merged := merge(lower.get(key, MISSING), upper.get(key, MISSING), _child(schema, key)))
            is not MISSING
        }
        return result or MISSING
    below, above, item_schema = _items(left, schema), _items(right, schema), schema.items or ANY
    merged_items = [
        merge(below.get(element, MISSING), above.get(element, MISSING), item_schema)
        for element in merged_order(list(below), list(above))
    ]
    return [item for item in merged_items if item is not MISSING] or MISSING


def merged_order(left: list[str], right: list[str]) -> list[str]:
    """Order of the items of a merged list map: what is applied keeps the applier's order; what is only live stays
    before the shared item that followed it, unless that order contradicts the applier's.
    """
    in_left, in_right = set(left), set(right)
    shared = iter([element for element in right if element in in_left])
    next_shared = next(shared, None)
    out: list[str] = []
    at, to = 0, 0
    while at < len(left) or to < len(right):
        if at < len(left) and to < len(right):
            element = left[at]
            if element == right[to]:
                out.append(element)
                at, to = at + 1, to + 1
                next_shared = next(shared, None)
                continue
            if element in in_right and next_shared is not None and element != next_shared:
                at += 1  # shared, but its turn comes later
                continue
        if at < len(left) and left[at] not in in_right:
            out.append(left[at])
            at += 1
            continue
        if to < len(right):
            out.append(right[to])
            if right[to] == next_shared:
                next_shared = next(shared, None)
            to += 1
        else:
            at += 1  # only shared items are left, and they have been taken
    return out


Changes: TypeAlias = tuple[Node, Node, Node]
"""Fields added, modified and removed."""
_NOTHING: Changes = ({}, {}, {})


def compare(left: Any, right: Any, schema: Schema) -> Changes:
    """What is different in `right`. Containers that come or go are members of added or removed themselves."""
    if same(left, right):
        return _NOTHING
    if left is MISSING or right is MISSING:
        fields = _everything(right if left is MISSING else left, schema)
        return (fields, {}, {}) if left is MISSING else ({}, {}, fields)
    before, after = _shape(left, schema), _shape(right, schema)
    if (left is None and after == "map") or (right is None and before == "map"):
        before = after = "map"  # a null is a map without members, also where nothing is declared
    if before != after:
        return _compare_across(left, right, schema)
    if after == "leaf" or (not left and not right):
        return ({}, MEMBER, {})
    if after == "map":
        return _compare_children(
            left if isinstance(left, dict) else {},
            right if isinstance(right, dict) else {},
            lambda key: _child(schema, key),
            "f:",
        )
    item_schema = schema.items or ANY
    return _compare_children(_items(left, schema), _items(right, schema), lambda _: item_schema, "")


def _compare_across(left: Any, right: Any, schema: Schema) -> Changes:
    """A scalar or list became a map, or the other way round: what was below goes or comes, the field is modified."""
    gone = {k: v for k, v in _everything(left, schema).items() if k != SELF}
    come = {k: v for k, v in _everything(right, schema).items() if k != SELF}
    return come, MEMBER, gone


def _everything(value: Any, schema: Schema) -> Node:
    """All fields of a value with all its containers: what is added with it, or removed with it."""
    match _shape(value, schema):
        case "map" if value:
            below = (("f:" + key, _everything(item, _child(schema, key))) for key, item in value.items())
        case "list" if value:
            below = (
                (key, _everything(item, schema.items or ANY)) for key, item in _items(value, schema).items()
            )
        case _:
            return MEMBER
    return {**MEMBER, **dict(below)}


def _compare_children(
    left: dict[str, Any], right: dict[str, Any], schema_of: Callable[[str], Schema], prefix: str
) -> Changes:
    added: Node = {}
    modified: Node = {}
    removed: Node = {}
    for key in _keys(left, right):
        below = compare(left.get(key, MISSING), right.get(key, MISSING), schema_of(key))
        for found, whole in zip(below, (added, modified, removed), strict=True):
            if found:
                whole[prefix + key] = found
    return added, modified, removed


def _keys(left: dict[str, Any], right: dict[str, Any]) -> Iterable[str]:
    return left if left.keys() == right.keys() else (*left, *(key for key in right if key not in left))


def remove(value: Any, fields: Node, schema: Schema) -> Any:
    """`value` without the members of `fields`, which lie below it. A container that has nothing left is None.

    Servers of Kubernetes 1.36.0 to 1.36.2 leave it empty (structured-merge-diff 6.3.2); those before and after do not.
    """
    shape = _shape(value, schema)
    if shape == "map" and isinstance(value, dict):
        return _remove_from_map(value, fields, schema) or None
    if shape == "list" and isinstance(value, list):
        return _remove_from_list(value, fields, schema) or None
    return None if isinstance(value, dict | list) else value


def _remove_from_list(value: list[Any], fields: Node, schema: Schema) -> list[Any]:
    kept = []
    for item in value:
        found = fields.get(element_of(item, schema), {})
        if SELF not in found:
            kept.append(remove(item, found, schema.items or ANY) if found else item)
    return kept


def _remove_from_map(value: dict[str, Any], fields: Node, schema: Schema) -> dict[str, Any]:
    kept = {}
    for key, item in value.items():
        found = fields.get("f:" + key, {})
        if SELF not in found:
            kept[key] = remove(item, found, _child(schema, key)) if found else item
    return kept


def with_named_members(fields: Node, schema: Schema) -> Node:
    """`fields` with every declared field that has members below it as a member itself."""
    result: Node = {}
    for key, child in fields.items():
        if key == SELF:
            result[key] = child
            continue
        name = key[2:]
        below = _child(schema, name) if key.startswith("f:") else schema.items or ANY
        found = with_named_members(child, below)
        declared = key.startswith("f:") and name in schema.fields
        result[key] = union(found, MEMBER) if declared else found
    return result
