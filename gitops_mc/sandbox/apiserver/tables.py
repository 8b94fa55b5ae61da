"""Answers in the form of a Table, which is what kubectl prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from gitops_mc.sandbox.apiserver.answers import bad_request, encode
from gitops_mc.sandbox.apiserver.built_in_columns import BUILT_IN
from gitops_mc.sandbox.apiserver.columns import Column
from gitops_mc.sandbox.apiserver.platform_columns import PLATFORM, UNDECLARED
from gitops_mc.sandbox.apiserver.resources import Resource
from gitops_mc.sandbox.apiserver.store import Stored, partial

_COLUMNS: Mapping[str, tuple[Column, ...]] = {**BUILT_IN, **PLATFORM}


def columns_of(resource: Resource) -> tuple[Column, ...]:
    """A custom resource without columns of its own shows its age."""
    return resource.columns or _COLUMNS.get(resource.id, UNDECLARED)


def table(
    resource: Resource,
    objects: Iterable[dict[str, Any]],
    now: datetime,
    query: Mapping[str, str],
    metadata: Mapping[str, Any],
) -> dict[str, Any]:
    """A Table of these objects. `includeObject` of the query says how much of each stands beside its cells."""
    shown = columns_of(resource)
    include = query.get("includeObject") or "Metadata"
    if include not in ("None", "Metadata", "Object"):
        detail = f"Invalid value: \"{include}\": must be 'Metadata', 'Object', 'None', or empty"
        raise bad_request(f"Unable to convert to Table as requested: includeObject: {detail}")
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": [column.definition() for column in shown],
        "rows": [_row(obj, shown, now, include) for obj in objects],
    }


def _row(obj: dict[str, Any], shown: tuple[Column, ...], now: datetime, include: str) -> dict[str, Any]:
    cells = [column.read(obj, now) for column in shown]
    match include:
        case "None":
            return {"cells": cells}
        case "Object":
            return {"cells": cells, "object": obj}
        case _:
            return {"cells": cells, "object": partial(obj)}


def table_writer(
    resource: Resource, query: Mapping[str, str], now: Callable[[], datetime]
) -> Callable[[Stored], bytes]:
    """Writes the objects of one watch: Tables of one row, of which the first alone says what its columns are."""
    told = False

    def write(stored: Stored) -> bytes:
        nonlocal told
        found = table(resource, (stored.obj,), now(), query, {"resourceVersion": str(stored.version)})
        if told:
            found["columnDefinitions"] = None
        told = True
        return encode(found)

    return write
