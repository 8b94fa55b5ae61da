"""Part (a) as plain JSON and as one digest: the same for the same two commits, in every process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any

from gitops_mc.core.disruption import Action
from gitops_mc.core.ignition import Entry
from gitops_mc.core.model import (
    ClusterScope,
    FleetScope,
    JsonObject,
    Manifest,
    Place,
    ResourceKey,
    SharedScope,
    digest_of,
)
from gitops_mc.core.preview.changed import PoolChange, PullChanges


def pull_digest(changes: PullChanges) -> str:
    """What a forge's comment and a cache go by: another value as soon as anything of part (a) is another."""
    return digest_of(_Plain(_Digests()).of(changes))


def pull_json(changes: PullChanges) -> JsonObject:
    """Every field of it. Of an object its digest stands there, never its body; entries are named without content, as people see
    them.
    """
    found: JsonObject = _Plain(None).of(changes)
    return found


@dataclass(slots=True)
class _Digests:
    """Digests in place of what hundreds of clusters share, by identity: what is digested lives as long as this does."""

    known: dict[int, str] = field(default_factory=dict)

    def of(self, shared: Any, plain: Any) -> str:
        if id(shared) not in self.known:
            self.known[id(shared)] = digest_of(plain())
        return self.known[id(shared)]


@dataclass(frozen=True, slots=True)
class _Plain:
    """Values as JSON."""

    digests: _Digests | None

    def of(self, value: Any) -> Any:
        match value:
            case Enum():
                return value.value
            case Entry() | Action() | Place() | ResourceKey() | FleetScope() | ClusterScope() | SharedScope():
                return str(value)
            case Manifest():
                return {"place": str(value.place), "digest": self._body(value.body)}
            case (PoolChange(), *_) if self.digests is not None:
                return self.digests.of(value, lambda: [self._fields(pool) for pool in value])
            case tuple():
                return [self.of(item) for item in value]
            case Mapping():
                return {str(key): self.of(item) for key, item in value.items()}
            case str() | int() | None:
                return value
        return self._fields(value) if is_dataclass(value) else str(value)

    def _fields(self, value: Any) -> JsonObject:
        return {field.name: self.of(getattr(value, field.name)) for field in fields(value)}

    def _body(self, body: JsonObject) -> str:
        return digest_of(body) if self.digests is None else self.digests.of(body, lambda: body)
