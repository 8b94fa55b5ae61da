"""Reading bodies that may have any shape: a value of the wrong type reads as empty here, and rule `field-type` says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gitops_mc.core.model import BodyPath, JsonObject


def mapping(value: Any) -> JsonObject:
    """The value, if it is a JSON object; else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """The value, if it is a JSON array; else an empty one."""
    return value if isinstance(value, list) else []


def at(body: Any, *path: str) -> Any:
    """The value at a path of keys, or None."""
    for key in path:
        body = mapping(body).get(key)
    return body


def entries(body: Any, *path: str) -> Iterator[tuple[BodyPath, JsonObject]]:
    """The objects of a list at a path of keys, each with its own path."""
    for index, entry in enumerate(sequence(at(body, *path))):
        if isinstance(entry, dict):
            yield (*path, index), entry


def text(value: Any) -> str:
    """The value, if it is a string; else the empty string."""
    return value if isinstance(value, str) else ""


def whole_number(value: Any) -> int | None:
    """The value, if it is a JSON integer. `true` is none, though Python counts it as one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def filled(value: Any) -> bool:
    """Whether a field says anything: null, `{}`, `[]` and `""` do not."""
    return value is not None and value not in ({}, [], "")


def labels(body: JsonObject) -> dict[str, str]:
    """metadata.labels that are strings."""
    found = mapping(at(body, "metadata", "labels"))
    return {key: value for key, value in found.items() if isinstance(value, str)}
