"""A reader of OpenAPI schemas of its own, so that what the server tells is compared with what the server does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_OPEN = "x-kubernetes-preserve-unknown-fields"


@dataclass(frozen=True)
class Document:
    """The document of one group version."""

    body: Json

    def kind(self, kind: str) -> Json:
        for schema in self.body["components"]["schemas"].values():
            if any(row["kind"] == kind for row in schema.get("x-kubernetes-group-version-kind", ())):
                found: Json = schema
                return found
        raise AssertionError(f"the document has no schema of {kind}")

    def breaks(self, value: Any, schema: Json, path: str = "") -> Iterator[str]:
        """Where the value is not what the schema says, and why."""
        for part in schema.get("allOf", ()):
            yield from self.breaks(value, self._followed(part), path)
        if value is None:
            if not schema.get("nullable"):
                yield f"{path}: null"
        elif "anyOf" in schema:
            if all(any(self.breaks(value, option, path)) for option in schema["anyOf"]):
                yield f"{path}: none of several types"
        elif not _is(value, schema.get("type")):
            yield f"{path}: not of type {schema['type']}"
        elif isinstance(value, dict):
            yield from self._map(value, schema, path)
        elif isinstance(value, list):
            yield from self._list(value, schema, path)
        else:
            yield from _scalar(value, schema, path)

    def _followed(self, schema: Json) -> Json:
        name = schema["$ref"].removeprefix("#/components/schemas/")
        found: Json = self.body["components"]["schemas"][name]
        return found

    def _map(self, value: Json, schema: Json, path: str) -> Iterator[str]:
        if "allOf" in schema:
            return
        yield from (f"{path}.{name}: missing" for name in schema.get("required", ()) if name not in value)
        for key, item in value.items():
            child = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if child is not None:
                yield from self.breaks(item, child, f"{path}.{key}")
            elif not schema.get(_OPEN):
                yield f"{path}.{key}: not declared"

    def _list(self, value: list[Any], schema: Json, path: str) -> Iterator[str]:
        if len(value) > schema.get("maxItems", len(value)):
            yield f"{path}: too many"
        if "items" not in schema:
            return
        for at, item in enumerate(value):
            yield from self.breaks(item, schema["items"], f"{path}[{at}]")
        match schema.get("x-kubernetes-list-type"):
            case "map":
                keys = schema["x-kubernetes-list-map-keys"]
                identities = [repr([item.get(k) for k in keys]) for item in value if isinstance(item, dict)]
            case "set":
                identities = [repr(item) for item in value]
            case _:
                identities = []
        if len(set(identities)) < len(identities):
            yield f"{path}: the same element twice"


def _is(value: Any, type_: str | None) -> bool:
    if type_ is None:
        return True
    return isinstance(value, _TYPES[type_]) and (type_ == "boolean" or not isinstance(value, bool))


def _scalar(value: Any, schema: Json, path: str) -> Iterator[str]:
    if value not in schema.get("enum", (value,)):
        yield f"{path}: not one of the values"
    if isinstance(value, str):
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            yield f"{path}: of a wrong length"
        if "pattern" in schema and not re.search(schema["pattern"].removesuffix("$") + r"\Z", value):
            yield f"{path}: not of the pattern"
    elif value < schema.get("minimum", value):
        yield f"{path}: too small"
