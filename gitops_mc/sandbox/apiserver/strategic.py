"""Strategic merge patch, which kubectl uses to label, annotate, cordon and edit. Built-in kinds only, as on a real server.

A merge patch in which lists with a key merge by it and sets grow, and directives say what else is to be done
(k8s.io/apimachinery/pkg/util/strategicpatch, compared with a real kube-apiserver 1.36).
"""

from __future__ import annotations

from typing import Any

from gitops_mc.sandbox.apiserver.answers import StatusError
from gitops_mc.sandbox.apiserver.schema import ANY, Schema
from gitops_mc.sandbox.apiserver.typed import element_of

STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_PATCH, _RETAIN, _ORDER, _DROP = "$patch", "$retainKeys", "$setElementOrder/", "$deleteFromPrimitiveList/"


def strategic_patch(target: Any, patch: Any, schema: Schema) -> Any:
    """The target with the patch merged in; nothing given is changed."""
    if not isinstance(patch, dict):
        return patch
    match patch.get(_PATCH, "merge"):
        case "replace":
            return {key: value for key, value in patch.items() if key != _PATCH}
        case "delete":
            return {}
        case "merge":
            pass
        case unknown:
            raise StatusError(500, None, f"unknown patch type: {unknown} in map")
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if key.startswith(_DROP):
            dropped = key.removeprefix(_DROP)
            result[dropped] = [item for item in result.get(dropped) or () if item not in value]
        elif key not in (_PATCH, _RETAIN) and not key.startswith(_ORDER):
            _merge_member(result, key, patch, schema.child(key) or ANY)
    for key in patch:
        _put_in_order(result, key, patch, schema)
    retained = patch.get(_RETAIN, result)
    return {key: value for key, value in result.items() if key in retained}


def _merge_member(result: dict[str, Any], key: str, patch: dict[str, Any], child: Schema) -> None:
    value = patch[key]
    if value is None:
        result.pop(key, None)
    elif isinstance(value, list) and _merges(child):
        result[key] = _merged_items(result.get(key) or [], value, child)
    else:
        result[key] = strategic_patch(result.get(key), value, child)


def _merges(schema: Schema) -> bool:
    return schema.type == "array" and not schema.is_atomic


def _put_in_order(result: dict[str, Any], directive: str, patch: dict[str, Any], schema: Schema) -> None:
    """The order of a list is what the directive says of it."""
    key = directive.removeprefix(_ORDER)
    child = schema.child(key) or ANY
    if directive.startswith(_ORDER) and isinstance(result.get(key), list) and _merges(child):
        result[key] = _in_order(result[key], patch[directive], child)


def _merged_items(live: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    """Items by key. Those of the patch stand in its order, new ones before what follows."""
    if {_PATCH: "replace"} in patch:
        return [item for item in patch if item != {_PATCH: "replace"}]
    found = {element_of(item, schema): item for item in live}
    named = []
    for item in patch:
        element = element_of(item, schema)
        if isinstance(item, dict) and item.get(_PATCH) == "delete":
            found.pop(element, None)
        else:
            found[element] = strategic_patch(found.get(element), item, schema.items or ANY)
            named.append(item)
    stood = [element_of(item, schema) for item in live]
    return _interleaved(found, [element_of(item, schema) for item in named], stood)


def _in_order(items: list[Any], order: list[Any], schema: Schema) -> list[Any]:
    found = {element_of(item, schema): item for item in items}
    return _interleaved(found, [element_of(item, schema) for item in order], list(found))


def _interleaved(found: dict[str, Any], order: list[str], stood: list[str]) -> list[Any]:
    """Those that the order names in that order; the others keep their place before what they stood before."""
    named = [element for element in order if element in found]
    others = [element for element in stood if element in found and element not in order]
    merged: list[str] = []
    while named and others:
        both = others[0] in stood and named[0] in stood
        first = others if both and stood.index(others[0]) < stood.index(named[0]) else named
        merged.append(first.pop(0))
    return [found[element] for element in (*merged, *named, *others)]
