"""Objects of the API as raw JSON: reading their metadata, label selectors, and one digest for one value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object as `json.loads` gives it. Treated as immutable once it stands in a value of this module."""


def metadata(obj: JsonObject) -> JsonObject:
    found: JsonObject = obj.get("metadata") or {}
    return found


def name_of(obj: JsonObject) -> str:
    return str(metadata(obj).get("name", ""))


def labels_of(obj: JsonObject) -> Mapping[str, str]:
    found: Mapping[str, str] = metadata(obj).get("labels") or {}
    return found


def annotations_of(obj: JsonObject) -> Mapping[str, str]:
    found: Mapping[str, str] = metadata(obj).get("annotations") or {}
    return found


def resource_version(obj: JsonObject) -> str:
    return str(metadata(obj).get("resourceVersion", ""))


def uid_of(obj: JsonObject) -> str:
    return str(metadata(obj).get("uid", ""))


def being_deleted(obj: JsonObject) -> bool:
    """Whether it was deleted already and only waits for its finalizers."""
    return bool(metadata(obj).get("deletionTimestamp"))


def is_protected_config(name: str) -> bool:
    """Names that belong to the operator: never written, never pruned (ACP docs: base and rendered configs)."""
    return name.startswith(("00-", "rendered-", "render-"))


def matches_selector(selector: JsonObject | None, labels: Mapping[str, str]) -> bool:
    """Kubernetes label selector semantics: a missing selector matches nothing, an empty one everything."""
    if selector is None:
        return False
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    return all(_matches_expression(e, labels) for e in selector.get("matchExpressions") or ())


def _matches_expression(expression: JsonObject, labels: Mapping[str, str]) -> bool:
    key = expression.get("key", "")
    values = expression.get("values") or []
    match expression.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return False


def canonical_json(value: Any) -> bytes:
    """One spelling for one JSON value, whatever the order in which it was made. Half of a letter, which JSON can spell and UTF-8
    cannot, is one as well: what a server says of a cluster stops nobody.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode("utf-8", "surrogatepass")


def digest_of(value: Any) -> str:
    """sha256 of the canonical JSON, 64 hex digits."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
