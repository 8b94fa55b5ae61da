"""Sets of field paths, the algebra behind field ownership.

A set is a tree of dicts. Its keys are path elements as `fieldsV1` writes them (`f:spec`, `k:{"path":"/etc/a"}`,
`v:"x"`); the key `.` says that the path up to here is itself a member. No function changes what it is given.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

Node: TypeAlias = dict[str, Any]
SELF = "."
MEMBER: Node = {SELF: {}}


def decode(fields: dict[str, Any]) -> Node:
    """From `fieldsV1`, where a leaf is written as an empty object. What cannot be read is left out."""
    return {
        key: {} if key == SELF else (decode(value) if value else MEMBER)
        for key, value in fields.items()
        if isinstance(value, dict) and (key == SELF or _is_element(key))
    }


def _is_element(key: str) -> bool:
    form, value = key[:2], key[2:]
    if form == "f:":
        return True
    try:
        return form in ("k:", "v:") and isinstance(json.loads(value), dict) is (form == "k:")
    except ValueError:
        return False


def encode(node: Node) -> dict[str, Any]:
    """To `fieldsV1`, in the order of keys."""
    return {
        key: {} if key == SELF or (len(child) == 1 and SELF in child) else encode(child)
        for key, child in sorted(node.items())
    }


def union(left: Node, right: Node) -> Node:
    """The members of both; `left` itself if it has them all."""
    if not left or not right:
        return left or right
    result = left
    for key, child in right.items():
        merged = union(left[key], child) if key in left else child
        if key not in left or (merged is not left[key] and key != SELF):
            result = dict(left) if result is left else result
            result[key] = merged
    return result


def difference(left: Node, right: Node) -> Node:
    """The members of `left` that are not members of `right`; `left` itself if that is all of them."""
    if not left or not right:
        return left
    result: Node = {}
    same = True
    for key, child in left.items():
        rest = child
        if key in right:
            rest = {} if key == SELF else difference(child, right[key])
            same = same and rest is child and key != SELF
        if rest or (key == SELF and key not in right):
            result[key] = rest
    return left if same else result


def intersection(left: Node, right: Node) -> Node:
    result: Node = {}
    for key, child in left.items():
        if key not in right:
            continue
        if key == SELF:
            result[key] = {}
        elif rest := intersection(child, right[key]):
            result[key] = rest
    return result


def paths(node: Node, prefix: str = "") -> Iterator[str]:
    """Every member, as conflicts name them; at each level members come before what lies below."""
    children = [(key, node[key]) for key in sorted(node) if key != SELF]
    for key, child in children:
        if SELF in child:
            yield prefix + element_text(key)
    for key, child in children:
        yield from paths({k: v for k, v in child.items() if k != SELF}, prefix + element_text(key))


def element_text(element: str) -> str:
    form, value = element[0], element[2:]
    if form == "f":
        return f".{value}"
    if form == "k":
        pairs = json.loads(value)
        return "[" + ",".join(f"{key}={json.dumps(pairs[key])}" for key in sorted(pairs)) + "]"
    return f"[={value}]"
