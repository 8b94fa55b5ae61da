"""The merge of a pool's configs as the operator does it: Ignition 3 semantics over raw JSON.

Written from Ignition's public rules (coreos/ignition, docs/operator-notes and config/merge), apart from the product's
own merge, because it is the witness of the product's forecasts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

from gitops_mc.core.model import ROLE_LABEL, JsonObject, labels_of, name_of

IGNITION_VERSION = "3.4.0"

_LIST_KEYS: Mapping[tuple[str, ...], str] = {
    ("storage", "files"): "path",
    ("systemd", "units"): "name",
    ("systemd", "units", "dropins"): "name",
    ("passwd", "users"): "name",
    ("passwd", "groups"): "name",
    ("storage", "files", "contents", "httpHeaders"): "name",
}
"""Lists whose elements have an identity: where they stand, and the field that identifies an element."""


class MergeOrder(Enum):
    """In which order a pool's configs are merged; the later one wins."""

    ALPHABETICAL = "alphabetical"
    """By name alone (ACP docs)."""
    ROLE_FIRST = "role-first"
    """Role worker first, then custom roles, each by name (the public operator today)."""


def ordered(configs: Iterable[JsonObject], order: MergeOrder) -> list[JsonObject]:
    """Configs in the order in which they are merged."""

    def key(config: JsonObject) -> tuple[bool, str]:
        custom = labels_of(config).get(ROLE_LABEL) not in {"worker", "master"}
        return (custom and order is MergeOrder.ROLE_FIRST, name_of(config))

    return sorted(configs, key=key)


def merge_specs(specs: Iterable[JsonObject]) -> JsonObject:
    """Spec of the rendered config: Ignition merged in order, kernel arguments concatenated, `overwrite` filled in."""
    merged: JsonObject = {"ignition": {"version": IGNITION_VERSION}}
    arguments: list[str] = []
    for spec in specs:
        merged = _merge_objects(merged, spec.get("config") or {}, ())
        arguments.extend(spec.get("kernelArguments") or ())
    merged["ignition"] = {**merged["ignition"], "version": IGNITION_VERSION}
    files = (merged.get("storage") or {}).get("files")
    if files:
        complete = [{"overwrite": True, **_written(f)} for f in files]
        merged["storage"] = {**merged["storage"], "files": complete}
    units = (merged.get("systemd") or {}).get("units")
    if units:
        merged["systemd"] = {**merged["systemd"], "units": [_written(u) for u in units]}
    # The operator writes Go structures: sections that nobody filled stand there, empty.
    return {
        "config": {"passwd": {}, "storage": {}, "systemd": {}, **merged},
        "kernelArguments": arguments,
    }


_UNSET: JsonObject = {"overwrite": None, "user": {}, "group": {}, "contents": {}, "append": [], "dropins": []}


def _written(entry: JsonObject) -> JsonObject:
    """A file or unit as the Go structure is written: an owner, contents or drop-ins of which nothing is said are the same as none
    (coreos/ignition, config/v3_4/types: they are structures and slices, not pointers).
    """
    return {k: v for k, v in entry.items() if k not in _UNSET or v != _UNSET[k]}


def _merge_objects(parent: JsonObject, child: JsonObject, place: tuple[str, ...]) -> JsonObject:
    merged = dict(parent)
    if place == ("storage", "files", "contents") and child.get("source") is not None:
        merged.pop("compression", None)  # a new source brings its own compression, or none
    for name, value in child.items():
        if value is not None:  # null is a field that was not set
            merged[name] = _merge_values(merged.get(name), value, (*place, name))
    return merged


def _merge_values(parent: Any, child: Any, place: tuple[str, ...]) -> Any:
    if isinstance(child, dict):
        return _merge_objects(parent if isinstance(parent, dict) else {}, child, place)
    if isinstance(child, list):
        return _merge_lists(parent if isinstance(parent, list) else [], child, place)
    return child


def _merge_lists(parent: list[Any], child: list[Any], place: tuple[str, ...]) -> list[Any]:
    """Elements with an identity are merged in place, new ones follow; plain elements are a union."""
    field = _LIST_KEYS.get(place)
    identity: Callable[[Any], Any] = (lambda e: e.get(field)) if field else _frozen
    merged = {identity(element): element for element in parent}
    for element in child:
        known = merged.get(identity(element))
        merged[identity(element)] = _merge_objects(known or {}, element, place) if field else element
    return list(merged.values())


def _frozen(value: Any) -> Any:
    """Something to compare a plain element by, whatever it is."""
    return json.dumps(value, sort_keys=True)
