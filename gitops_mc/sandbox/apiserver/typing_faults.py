"""What makes the object in an apply untypable: fields that are not declared, wrong types, keys missing or doubled.

A real server answers all of them with 500 and "failed to create typed patch object", before any validation. The words
are those of structured-merge-diff; those for undeclared fields were measured on a real kube-apiserver 1.36.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gitops_mc.sandbox.apiserver.fieldsets import element_text
from gitops_mc.sandbox.apiserver.schema import ANY, Schema
from gitops_mc.sandbox.apiserver.typed import element_of

UNDECLARED = "field not declared in schema"
_EXPECTED: dict[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "string"),
    "boolean": ((bool,), "boolean"),
    "integer": ((int, float), "numeric (int or float)"),
    "object": ((dict,), "map"),
    "array": ((list,), "list"),
}


def faults(value: Any, schema: Schema, path: str = "") -> Iterator[str]:
    """One line each, in the order of the fields. A null is of every type."""
    if value is None or schema.type in ("any", "int-or-string"):
        return
    types, name = _EXPECTED[schema.type]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        yield f"{path}: expected {name}, got {_got(value, schema)}"
    elif isinstance(value, dict):
        for key, item in value.items():
            child = schema.child(key)
            if child is None:
                yield f"{path}.{key}: {UNDECLARED}"
            else:
                yield from faults(item, child, f"{path}.{key}")
    elif isinstance(value, list):
        yield from _list_faults(value, schema, path)


def _list_faults(value: list[Any], schema: Schema, path: str) -> Iterator[str]:
    seen = set()
    for at, item in enumerate(value):
        missing = [key for key in schema.keys if not isinstance(item, dict) or key not in item]
        if missing:
            yield (
                f"{path}: element {at}: associative list with keys has an element that omits all key fields "
                f"{_go_list(missing)} (and doesn't have default values for any key fields)"
            )
            return  # the elements after it are not looked at
        place = f"[{at}]" if schema.is_atomic else element_text(element_of(item, schema))
        if not schema.is_atomic and place in seen:
            yield f"{path}: duplicate entries for key {place}"
        seen.add(place)
        yield from faults(item, schema.items or ANY, f"{path}{place}")


def _go_list(texts: list[str]) -> str:
    """As Go's `%q` prints a slice of strings."""
    return f"[{' '.join(json.dumps(text) for text in texts)}]"


def _got(value: Any, schema: Schema) -> str:
    """What came in the place of something else: by its type for a number, in full for a string, in short for the rest."""
    match schema.type:
        case "integer":
            return _GO_TYPES[type(value)]
        case "string":
            return f"&value.valueUnstructured{{Value:{_in_full(value)}}}"
        case _:
            return f"&{{{_in_short(value)}}}"


_GO_TYPES = {str: "string", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}


def _in_full(value: Any) -> str:
    """As Go's `%#v`."""
    match value:
        case dict():
            members = (f"{json.dumps(k, ensure_ascii=False)}:{_in_full(value[k])}" for k in sorted(value))
            return f"map[string]interface {{}}{{{', '.join(members)}}}"
        case list():
            return f"[]interface {{}}{{{', '.join(map(_in_full, value))}}}"
        case None:
            return "interface {}(nil)"
        case _:
            return json.dumps(value, ensure_ascii=False)


def _in_short(value: Any) -> str:
    """As Go's `%v`."""
    match value:
        case dict():
            return f"map[{' '.join(f'{k}:{_in_short(value[k])}' for k in sorted(value))}]"
        case list():
            return f"[{' '.join(map(_in_short, value))}]"
        case str():
            return value
        case None:
            return "<nil>"
        case _:
            return json.dumps(value)
