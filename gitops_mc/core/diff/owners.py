"""Who owns what in a live object: `metadata.managedFields`, read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_mc.core.diff.paths import Item, Leaves, Path
from gitops_mc.core.model import FIELD_MANAGER, JsonObject, metadata


@dataclass(frozen=True, slots=True)
class Owners:
    """Owned paths, of leaves and of the things around them, by owner.

    `ours` is None where server-side apply has no entry of ours: we own nothing here.
    """

    ours: frozenset[Path] | None
    others: Mapping[str, frozenset[Path]]
    """By name of the field manager, ordered; our own patches (pausing) count as another's, as the server counts them."""

    def of(self, path: Path) -> tuple[str, ...]:
        """The other managers that own a path."""
        return tuple(name for name, paths in self.others.items() if path in paths)

    def among(self, paths: Iterable[Path]) -> tuple[str, ...]:
        """The other managers that own any of these leaves, ordered."""
        return tuple(sorted({name for path in paths for name in self.of(path)}))

    def we_own(self, path: Path) -> bool:
        return self.ours is not None and path in self.ours

    def projection(self, leaves: Leaves) -> Leaves:
        """The leaves of a live object that are ours."""
        return {path: value for path, value in leaves.items() if self.we_own(path)}


def owners_of(live: JsonObject) -> Owners:
    """Read the owners of a live object's fields."""
    ours: frozenset[Path] | None = None
    others: dict[str, frozenset[Path]] = {}
    for entry in metadata(live).get("managedFields") or ():
        paths = frozenset(_parse(entry.get("fieldsV1") or {}, ()))
        name = str(entry.get("manager", ""))
        if name == FIELD_MANAGER and entry.get("operation") == "Apply":
            ours = paths if ours is None else ours | paths
        else:
            others[name] = others.get(name, frozenset()) | paths
    return Owners(ours, dict(sorted(others.items())))


def _parse(fields: Mapping[str, Any], path: Path) -> Iterator[Path]:
    """Paths of fieldsV1: `f:` a field, `k:` an item by key, `v:` a member of a set, `.` the thing itself."""
    for name, inner in fields.items():
        here = path if name == "." else (*path, _step(name))
        if inner:
            yield from _parse(inner, here)
        else:
            yield here


def _step(name: str) -> str | Item:
    sort, _, rest = name.partition(":")
    if sort == "f":
        return rest
    if sort == "k":
        pairs = json.loads(rest)
        return Item(",".join(pairs), ",".join(str(value) for value in pairs.values()))
    return Item(sort, rest)
