"""The shape of objects as the server knows it, and what follows from it: pruning of unknown fields and validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

Type: TypeAlias = Literal["object", "array", "string", "integer", "boolean", "int-or-string", "any"]
_NONE: Mapping[str, Schema] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Check:
    """A validation rule beyond types. `holds` is only asked about values of the right type."""

    message: str
    holds: Callable[[Any], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """One node. A list with `keys` is a list map, one with `set_` a set, any other list is atomic.

    `any` has no shape: maps in it merge key by key, lists are atomic.
    """

    type: Type
    fields: Mapping[str, Schema] = field(default_factory=lambda: _NONE)
    required: tuple[str, ...] = ()
    values: Schema | None = None
    items: Schema | None = None
    keys: tuple[str, ...] = ()
    is_set: bool = False
    atomic: bool = False
    open: bool = False
    """Unknown fields are kept, and owned by the rules of `any`."""
    nullable: bool = False
    enum: tuple[str, ...] = ()
    max_items: int | None = None
    max_length: int | None = None
    min_length: int | None = None
    pattern: str | None = None
    minimum: int | None = None
    checks: tuple[Check, ...] = ()
    description: str = ""
    """What the field is for, as `kubectl explain` shows it."""

    def child(self, name: str) -> Schema | None:
        """Schema of a field; None if the field is not declared."""
        found = self.fields.get(name)
        if found is not None:
            return found
        if self.values is not None:
            return self.values
        return ANY if self.open or self.type == "any" else None

    @property
    def is_atomic(self) -> bool:
        if self.type == "array":
            return not self.keys and not self.is_set
        return self.atomic


ANY = Schema(type="any")
STRING = Schema(type="string")
BOOLEAN = Schema(type="boolean")
INTEGER = Schema(type="integer")
NUMBER_OR_PERCENT = Schema(type="int-or-string")
COUNT = Schema(type="integer", minimum=0)
FREE = Schema(type="object", open=True)
STRING_MAP = Schema(type="object", values=STRING)


def struct(required: str = "", /, **fields: Schema) -> Schema:
    """An object of declared fields; `required` names some of them, separated by blanks."""
    return Schema(type="object", fields=fields, required=tuple(required.split()))


def checked(schema: Schema, *checks: Check) -> Schema:
    """The same shape, with validation rules."""
    return replace(schema, checks=checks)


def told(description: str, schema: Schema) -> Schema:
    """The same shape, with a description."""
    return replace(schema, description=description)


def atomic_struct(required: str = "", /, **fields: Schema) -> Schema:
    return Schema(type="object", fields=fields, required=tuple(required.split()), atomic=True)


def list_of(items: Schema) -> Schema:
    """An atomic list."""
    return Schema(type="array", items=items)


def list_map(key: str, items: Schema, *, max_items: int | None = None) -> Schema:
    return Schema(type="array", items=items, keys=(key,), max_items=max_items)


METADATA = struct(
    name=STRING,
    generateName=STRING,
    namespace=STRING,
    selfLink=STRING,
    uid=STRING,
    resourceVersion=STRING,
    generation=INTEGER,
    creationTimestamp=STRING,
    deletionTimestamp=STRING,
    deletionGracePeriodSeconds=INTEGER,
    labels=STRING_MAP,
    annotations=STRING_MAP,
    ownerReferences=list_map(
        "uid",
        atomic_struct(
            "apiVersion kind name uid",
            apiVersion=STRING,
            kind=STRING,
            name=STRING,
            uid=STRING,
            controller=BOOLEAN,
            blockOwnerDeletion=BOOLEAN,
        ),
    ),
    finalizers=Schema(type="array", items=STRING, is_set=True),
    managedFields=list_of(ANY),
)


_API_VERSION = told("The group and version of the API that the object is written in.", STRING)
_KIND = told("The kind of the object, in CamelCase.", STRING)


def custom(required: str = "", /, **fields: Schema) -> Schema:
    """A custom resource: the fields given, beside those that all objects have."""
    return struct(required, apiVersion=_API_VERSION, kind=_KIND, metadata=METADATA, **fields)


def built_in(**fields: Schema) -> Schema:
    """A built-in kind, of which only what matters for merging is declared; the rest is open."""
    return Schema(
        type="object",
        fields={"apiVersion": STRING, "kind": STRING, "metadata": METADATA, **fields},
        open=True,
    )


def open_struct(**fields: Schema) -> Schema:
    return Schema(type="object", fields=fields, open=True)


def prune(value: Any, schema: Schema) -> Any:
    """`value` without fields that are not declared. Returns the same object when there is nothing to take away."""
    if schema.type == "any":
        return value
    if isinstance(value, dict):
        return _prune_map(value, schema)
    if isinstance(value, list) and schema.items is not None:
        pruned = [prune(item, schema.items) for item in value]
        return value if all(a is b for a, b in zip(pruned, value, strict=True)) else pruned
    return value


_CONTAINERS = (dict, list)


def _prune_map(value: dict[str, Any], schema: Schema) -> dict[str, Any]:
    result, changed = {}, False
    for key, item in value.items():
        child = schema.child(key)
        if child is None or (item is None and key in schema.fields and not child.nullable):
            # undeclared, or a null where none is allowed: both are dropped before validation
            changed = True
            continue
        result[key] = kept = prune(item, child) if isinstance(item, _CONTAINERS) else item
        changed = changed or kept is not item
    return result if changed else value


def undeclared(value: Any, schema: Schema, path: str = "") -> Iterator[str]:
    """Paths of fields that are not declared."""
    if isinstance(value, dict) and schema.type != "any":
        for key, item in value.items():
            child = schema.child(key)
            if child is None:
                yield f"{path}.{key}".removeprefix(".")
            else:
                yield from undeclared(item, child, f"{path}.{key}")
    elif isinstance(value, list) and schema.items is not None:
        for at, item in enumerate(value):
            yield from undeclared(item, schema.items, f"{path}[{at}]")
