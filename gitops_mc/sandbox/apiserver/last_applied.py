"""What a server does for people who go over from `kubectl apply` to `kubectl apply --server-side`.

Client-side apply leaves what it applied in an annotation. Where the manager `kubectl` applies over it, the server lets
it take fields that still have the values of that annotation, and keeps the annotation up to date (structured merge's
lastAppliedManager and lastAppliedUpdater in k8s.io/apimachinery, compared with a real kube-apiserver 1.36).
"""

from __future__ import annotations

import json
from typing import Any

from gitops_mc.sandbox.apiserver.answers import encode
from gitops_mc.sandbox.apiserver.fieldsets import Node, difference
from gitops_mc.sandbox.apiserver.managed import ownable
from gitops_mc.sandbox.apiserver.schema import Schema
from gitops_mc.sandbox.apiserver.typed import compare, field_set

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
_MANAGER = "kubectl"


def free_fields(live: dict[str, Any], schema: Schema, manager: str) -> Node:
    """The fields that this manager may take without asking."""
    if manager != _MANAGER or (text := _annotation(live)) is None:
        return {}
    try:
        last = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(last, dict) or last.get("apiVersion") != live["apiVersion"]:
        return {}
    mine = field_set(ownable(last), schema)
    for moved in compare(ownable(last), ownable(live), schema):
        mine = difference(mine, moved)
    return mine


def kept_up(
    live: dict[str, Any], merged: dict[str, Any], body: dict[str, Any], manager: str
) -> dict[str, Any]:
    """The merged object, its annotation, if the live one has it, saying what was applied now."""
    if manager != _MANAGER or _annotation(live) is None:
        return merged
    metadata = dict(body.get("metadata") or {})
    if annotations := {k: v for k, v in (metadata.get("annotations") or {}).items() if k != ANNOTATION}:
        metadata["annotations"] = annotations
    else:
        metadata.pop("annotations", None)
    applied = encode(dict(sorted({**body, "metadata": metadata}.items()))).decode() + "\n"
    mine = merged["metadata"]
    noted = {**(mine.get("annotations") or {}), ANNOTATION: applied}
    return {**merged, "metadata": {**mine, "annotations": noted}}


def _annotation(obj: dict[str, Any]) -> str | None:
    annotations = obj["metadata"].get("annotations") or {}
    found = annotations.get(ANNOTATION)
    return found if isinstance(found, str) and found else None
