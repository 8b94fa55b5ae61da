"""What a manifest says, as one digest: what was written last is told by it, whatever the encoding of a file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from gitops_mc.core.diff.paths import ANNOTATIONS, LABELS, PAUSED, Leaves, Path, items_of, leaves_of, shown
from gitops_mc.core.ignition.comparing import decoded_fields
from gitops_mc.core.ignition.merging import effective_of
from gitops_mc.core.model import (
    ABORT_ANNOTATION,
    APPLIED_ANNOTATION,
    BRACKET_ANNOTATION,
    FLEET_LABEL,
    PRUNE_ANNOTATION,
    JsonObject,
    Kind,
    digest_of,
)
from gitops_mc.core.remembered import Remembered

OUR_MARKS: frozenset[Path] = frozenset(
    {
        (*LABELS, FLEET_LABEL),
        *((*ANNOTATIONS, mark) for mark in (APPLIED_ANNOTATION, BRACKET_ANNOTATION, ABORT_ANNOTATION)),
    }
)

PRUNE_MARK: Path = (*ANNOTATIONS, PRUNE_ANNOTATION)

_ENTRY_LISTS: Mapping[Path, tuple[str, str]] = {
    ("spec", "config", "storage", "files"): ("storage", "files"),
    ("spec", "config", "systemd", "units"): ("systemd", "units"),
}


def applied_digest(kind: Kind, name: str, body: JsonObject) -> str:
    """Digest of what a manifest says: without our marks, without `paused`, file contents decoded.

    It stands in the cluster as annotation `gitops-mc.io/applied` and is compared by later releases: the same manifest
    must always give the same digest, so a frozen example guards it.
    """
    return _DIGESTS.get(
        (body,), (kind, name), lambda: digest_of_leaves(kind, name, desired_leaves(kind, body))
    )


_DIGESTS: Remembered[str] = Remembered()


def desired_leaves(kind: Kind, body: JsonObject) -> dict[Path, Any]:
    """The leaves that we set and own: not our marks, and not `paused` of a pool."""
    return {path: value for path, value in leaves_of(kind, body).items() if not _is_left_out(kind, path)}


def digest_of_leaves(kind: Kind, name: str, leaves: Leaves) -> str:
    """The same for leaves, those of a live object that are ours for instance; keyed items count in the order in which
    they stand in their list.
    """
    said = sorted(
        [shown(path), meaning(kind, path, value)]
        for path, value in leaves.items()
        if not _is_left_out(kind, path)
    )
    orders = [shown(item) for item in sorted(items_of(leaves), key=lambda item: shown(item[:-1]))]
    return digest_of([kind.value, name, said, *([orders] if orders else [])])


def meaning(kind: Kind, path: Path, value: Any) -> Any:
    """A leaf's value with files and units read entry by entry and contents decoded, so that spelling has no part."""
    place = _ENTRY_LISTS.get(path) if kind is Kind.MACHINE_CONFIG else None
    if place is None or not isinstance(value, list):
        return value
    section, name = place
    effective = effective_of({"metadata": {"name": ""}, "spec": {"config": {section: {name: value}}}})
    return [
        [found.entry.kind.value, found.entry.name, found.entry.part, _fields(decoded_fields(found))]
        for found in effective.entries.values()
    ]


def leaf_digests(kind: Kind, body: JsonObject) -> tuple[tuple[str, str], ...]:
    """Dotted path and digest of each leaf of the spec, and of the prune mark: tells later which of them has changed."""
    return tuple(
        sorted(
            (shown(path), hashlib.sha256(f"{shown(path)}={digest_of(value)}".encode()).hexdigest()[:16])
            for path, value in leaves_of(kind, body).items()
            if path[0] == "spec" or path == PRUNE_MARK
        )
    )


def _is_left_out(kind: Kind, path: Path) -> bool:
    return path in OUR_MARKS or (kind is Kind.MACHINE_CONFIG_POOL and path == PAUSED)


def _fields(fields: Mapping[tuple[str, ...], Any]) -> list[list[Any]]:
    return [
        [".".join(path), value.hex() if isinstance(value, bytes) else value]
        for path, value in sorted(fields.items())
    ]
