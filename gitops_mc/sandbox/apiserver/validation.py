"""Validation of whole objects against their schema: types first, then the rules that need right types."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from gitops_mc.sandbox.apiserver.answers import Cause
from gitops_mc.sandbox.apiserver.equality import same
from gitops_mc.sandbox.apiserver.resources import Resource
from gitops_mc.sandbox.apiserver.schema import Schema

_SECTIONS = ("spec", "status")
_BLOCKING = frozenset(
    {
        "FieldValueTypeInvalid",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueNotSupported",
    }
)
"""With one of these an object is not fit for its validation rules; they are left out."""
_UNCHECKED = Cause(
    "FieldValueInvalid",
    "<nil>",
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the "
    "existing errors to complete validation",
)


def problems(obj: dict[str, Any], live: dict[str, Any] | None, resource: Resource) -> list[Cause]:
    """What is wrong, in the order and the words of a real server. What is as it is in `live` has been checked then.

    Built-in kinds are checked for types only, and of what is declared.
    """
    schema = resource.schema
    changed = [
        key
        for key in _SECTIONS
        if key in schema.fields and (live is None or not same(obj.get(key), live.get(key)))
    ]
    found = [cause for key in changed for cause in _member(obj, key, schema)]
    if any(cause.reason in _BLOCKING for cause in found):
        return [*found, _UNCHECKED] if _declares_checks(resource) else found
    failed = (
        cause for key in changed if key in obj for cause in _failed_checks(obj[key], schema.fields[key], key)
    )
    return [*found, *failed, *_whole(obj, schema), *_misplaced_event(obj, resource)]


def _misplaced_event(obj: dict[str, Any], resource: Resource) -> Iterator[Cause]:
    """An Event stands in the namespace of the object it is about; where that has none, in `default`."""
    if resource.id != "events":
        return
    about = str((obj.get("involvedObject") or {}).get("namespace") or "")
    if (about or "default") != obj["metadata"].get("namespace"):
        message = f"Invalid value: {json.dumps(about)}: does not match event.namespace"
        yield Cause("FieldValueInvalid", "involvedObject.namespace", message)


def _whole(obj: dict[str, Any], schema: Schema) -> Iterator[Cause]:
    """Rules on the object as a whole."""
    for check in schema.checks:
        if not check.holds(obj):
            yield Cause("FieldValueInvalid", "<nil>", f"Invalid value: {check.message}")


_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_LABEL_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def label_problems(labels: dict[str, str]) -> Iterator[Cause]:
    """Values that no label may have. Keys are not looked at."""
    for key in sorted(labels):
        if len(labels[key]) > 63:
            yield Cause("FieldValueTooLong", "metadata.labels", "Too long: may not be more than 63 bytes")
        elif not _LABEL_VALUE.fullmatch(labels[key]):
            message = f"Invalid value: {json.dumps(labels[key])}: {_LABEL_RULE}"
            yield Cause("FieldValueInvalid", "metadata.labels", message)


def _member(obj: dict[str, Any], key: str, schema: Schema) -> Iterator[Cause]:
    if key in obj:
        yield from _shape(obj[key], schema.fields[key], key)
    elif key in schema.required:
        yield Cause("FieldValueRequired", key, "Required value")


@cache
def _declares_checks(resource: Resource) -> bool:
    return _has_checks(resource.schema)


def _has_checks(schema: Schema | None) -> bool:
    return schema is not None and bool(
        schema.checks
        or any(_has_checks(child) for child in schema.fields.values())
        or _has_checks(schema.items)
        or _has_checks(schema.values)
    )


_PYTHON = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
_TYPE_NAMES = {"int-or-string": "integer,string"}
_NAMES = {dict: "object", list: "array", str: "string", int: "integer", float: "number", bool: "boolean"}


def _of_type(value: Any, schema: Schema) -> bool:
    match schema.type:
        case "any":
            return True
        case "int-or-string":
            return isinstance(value, int | str) and not isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case kind:
            return isinstance(value, _PYTHON[kind])


def _shape(value: Any, schema: Schema, path: str) -> Iterator[Cause]:
    if schema.type == "any":
        return
    if value is None and schema.nullable:
        return
    if not _of_type(value, schema):
        shown = json.dumps(_NAMES.get(type(value), "null"))
        yield Cause(
            "FieldValueTypeInvalid",
            path,
            f"Invalid value: {shown}: {_told(path)} in body must be of type {_TYPE_NAMES.get(schema.type, schema.type)}: "
            f"{shown}",
        )
        return
    if isinstance(value, dict):
        yield from _map_shape(value, schema, path)
    elif isinstance(value, list):
        yield from _list_shape(value, schema, path)
    else:
        yield from _scalar_shape(value, schema, path)


def _map_shape(value: dict[str, Any], schema: Schema, path: str) -> Iterator[Cause]:
    for name in schema.required:
        if name not in value:
            yield Cause("FieldValueRequired", f"{path}.{name}", "Required value")
    for key in sorted(value):
        child = schema.child(key)
        if child is not None:
            yield from _shape(value[key], child, f"{path}.{key}")


def _list_shape(value: list[Any], schema: Schema, path: str) -> Iterator[Cause]:
    if schema.max_items is not None and len(value) > schema.max_items:
        message = f"Too many: {len(value)}: must have at most {schema.max_items} items"
        yield Cause("FieldValueTooMany", path, message)
    if schema.items is None:
        return
    for at, item in enumerate(value):
        yield from _shape(item, schema.items, f"{path}[{at}]")
    seen = set()
    for at, item in enumerate(value):
        identity = _identity(item, schema)
        if identity in seen:
            yield Cause("FieldValueDuplicate", f"{path}[{at}]", f"Duplicate value: {identity}")
        elif identity:
            seen.add(identity)


def _identity(item: Any, schema: Schema) -> str:
    if schema.keys and isinstance(item, dict):
        return json.dumps({key: item.get(key) for key in schema.keys}, separators=(",", ":"))
    return json.dumps(item) if schema.is_set else ""


def _told(path: str) -> str:
    """The path as the text of an error says it: what stands in status is named from there on."""
    return "" if path == "status" else path.removeprefix("status.")


def _scalar_shape(value: Any, schema: Schema, path: str) -> Iterator[Cause]:
    if schema.enum and value not in schema.enum:
        allowed = ", ".join(json.dumps(choice) for choice in schema.enum)
        message = f"Unsupported value: {json.dumps(value)}: supported values: {allowed}"
        yield Cause("FieldValueNotSupported", path, message)
    if (found := _unfit(value, schema, path)) is not None:
        yield found


def _unfit(value: Any, schema: Schema, path: str) -> Cause | None:
    """The first of what a scalar's schema asks of it and it does not keep to."""
    place = _told(path)
    if schema.max_length is not None and len(value) > schema.max_length:
        return Cause("FieldValueTooLong", path, f"Too long: may not be more than {schema.max_length} bytes")
    if schema.min_length is not None and len(value) < schema.min_length:
        message = (
            f'Invalid value: "{value}": {place} in body should be at least {schema.min_length} chars long'
        )
        return Cause("FieldValueInvalid", path, message)
    if schema.pattern is not None and isinstance(value, str) and _mismatch(schema.pattern, value):
        message = f"Invalid value: {json.dumps(value)}: {place} in body should match '{schema.pattern}'"
        return Cause("FieldValueInvalid", path, message)
    if schema.minimum is not None and value < schema.minimum:
        message = (
            f"Invalid value: {value}: {place} in body should be greater than or equal to {schema.minimum}"
        )
        return Cause("FieldValueInvalid", path, message)
    return None


def _mismatch(pattern: str, value: str) -> bool:
    """Whether the pattern does not match anywhere; a `$` at its end is the very end, as in Go."""
    ends = pattern.endswith("$") and not pattern.endswith(r"\$")
    return re.search(pattern[:-1] + r"\Z" if ends else pattern, value) is None


def _failed_checks(value: Any, schema: Schema, path: str) -> Iterator[Cause]:
    if value is None:
        return
    for check in schema.checks:
        if not check.holds(value):
            shown = "" if isinstance(value, dict | list) else f"{json.dumps(value, ensure_ascii=False)}: "
            yield Cause("FieldValueInvalid", path, f"Invalid value: {shown}{check.message}")
    if isinstance(value, dict):
        for key in sorted(value):
            if (child := schema.child(key)) is not None:
                yield from _failed_checks(value[key], child, f"{path}.{key}")
    elif isinstance(value, list) and schema.items is not None:
        for at, item in enumerate(value):
            yield from _failed_checks(item, schema.items, f"{path}[{at}]")
