"""Strategic merge patch, which kubectl uses to label, annotate and cordon. Built-in kinds only, as on a real server."""

from __future__ import annotations

from typing import Any

from gitops_mc.sandbox.apiserver.answers import bad_request
from gitops_mc.sandbox.apiserver.schema import ANY, Schema
from gitops_mc.sandbox.apiserver.typed import element_of

STRATEGIC_PATCH = "application/strategic-merge-patch+json"


def strategic_patch(target: Any, patch: Any, schema: Schema) -> Any:
    """A merge patch in which lists with a key merge by it, and sets grow.

    Of the directives, `$patch: delete` on an item is honoured and `$setElementOrder` has no effect; others are 400.
    """
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if key.startswith("$setElementOrder/"):
            continue
        if key.startswith("$"):
            raise bad_request(f"the directive {key} of a strategic merge patch is not supported")
        child = schema.child(key) or ANY
        if value is None:
            result.pop(key, None)
        elif isinstance(value, list) and not child.is_atomic and child.type == "array":
            result[key] = _merged_items(result.get(key), value, child)
        else:
            result[key] = strategic_patch(result.get(key), value, child)
    return result


def _merged_items(target: Any, patch: list[Any], schema: Schema) -> list[Any]:
    found = {element_of(item, schema): item for item in target or ()}
    for item in patch:
        element = element_of(item, schema)
        if isinstance(item, dict) and item.get("$patch") == "delete":
            found.pop(element, None)
        else:
            found[element] = strategic_patch(found.get(element), item, schema.items or ANY)
    return list(found.values())
