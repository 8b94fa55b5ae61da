"""Part (a) as plain JSON and as one digest: the same for the same two commits, in every process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from gitops_mc.core.disruption import Action
from gitops_mc.core.ignition import Entry
from gitops_mc.core.model import JsonObject, Manifest, Place, ResourceKey, digest_of
from gitops_mc.core.preview.model import PullChanges


def pull_digest(changes: PullChanges) -> str:
    """What the forge's comment and a cache go by: another value as soon as anything of part (a) is another."""
    return digest_of(pull_json(changes))


def pull_json(changes: PullChanges) -> JsonObject:
    """Every field of it. Of an object its digest stands there, never its body; entries are named without content, as people see
    them.
    """
    found: JsonObject = _plain(changes)
    return found


def _plain(value: Any) -> Any:
    match value:
        case Enum():
            return value.value
        case Entry() | Action() | Place() | ResourceKey():
            return str(value)
        case Manifest():
            return {"place": str(value.place), "digest": digest_of(value.body)}
        case tuple():
            return [_plain(item) for item in value]
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case str() | int() | None:
            return value
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return str(value)
