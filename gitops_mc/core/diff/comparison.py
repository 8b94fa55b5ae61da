"""One desired object of a machine kind held against the live one: values, ownership, order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_mc.core.diff.changes import ABSENT, Conflict, FieldChange, FieldValue, Touch
from gitops_mc.core.diff.digests import OUR_MARKS, desired_leaves
from gitops_mc.core.diff.owners import Owners, owners_of
from gitops_mc.core.diff.paths import (
    KEYED_LISTS,
    Leaves,
    Path,
    item_of,
    items_of,
    leaves_of,
    members_of,
    same,
    shown,
    value_at,
    vanishes_whole,
)
from gitops_mc.core.model import JsonObject, Kind

_ENTRY_KEYS: Mapping[Path, str] = {
    ("spec", "config", "storage", "files"): "path",
    ("spec", "config", "systemd", "units"): "name",
    ("spec", "config", "passwd", "users"): "name",
}


ORDER = " (order)"
"""Ends the path of a keyed list of which only the order differs: it is shown, and has no effect."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What an apply of `body` would do to the live object, and what stands in its way."""

    kind: Kind
    body: JsonObject
    live: JsonObject
    wanted: Leaves
    """The leaves of `body` that we set."""
    there: Leaves
    """All leaves of the live object."""
    owners: Owners
    differing: tuple[Path, ...]
    """Wanted leaves whose live value is another, or is not there."""
    dropped: tuple[Path, ...]
    """Live leaves of ours that are no longer wanted."""
    reordered: tuple[Path, ...]
    """Keyed lists in which our entries stand in another order."""

    doomed: tuple[Path, ...]
    """Live leaves in a map or keyed item that is ours alone and no longer wanted: it goes with all that is in it."""

    @property
    def going(self) -> tuple[Path, ...]:
        """Live leaves that the apply removes: dropped ones that nobody else owns, and doomed ones."""
        alone = (path for path in self.dropped if not self.owners.of(path))
        return tuple(dict.fromkeys((*alone, *self.doomed)))

    @property
    def staying(self) -> tuple[Path, ...]:
        """Dropped leaves that stay, since another manager owns them too."""
        return tuple(path for path in self.dropped if path not in self.going)

    @property
    def equal(self) -> bool:
        """No value would change."""
        return not (self.differing or self.going or self.reordered)

    @property
    def contested(self) -> tuple[Path, ...]:
        """Leaves that would change and that we do not own: new ones, and those that somebody took or removed."""
        return tuple(path for path in (*self.differing, *self.going) if not self.owners.we_own(path))

    @property
    def shared_with(self) -> tuple[str, ...]:
        """The other managers that own any wanted leaf."""
        return self.owners.among(self.wanted)

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Values of other managers that the apply would change, by manager. The server answers 409 to it, but not where
        a value goes along with something of ours that we drop: it removes that without a word.
        """
        marks = (path for path in OUR_MARKS if path in self.there and self._after(path) is not ABSENT)
        moved = [path for path in marks if not same(self._after(path), self.there[path])]
        found: dict[str, list[str]] = {}
        for path in (*self.differing, *moved, *self.doomed):
            for manager in self.owners.of(path):
                found.setdefault(manager, []).append(shown(path))
        return tuple(Conflict(manager, tuple(sorted(fields))) for manager, fields in sorted(found.items()))

    def touch(self) -> Touch:
        """Pure addition only if no value that stands there is changed, removed, moved or taken over."""
        changes = self.going or self.reordered or any(self._touches(path) for path in self.wanted)
        return Touch.CHANGES_EXISTING if changes else Touch.PURE_ADDITION

    def _touches(self, path: Path) -> bool:
        if path in self.there:
            return path in self.differing or not self.owners.we_own(path)
        return any(path[:length] in self.there for length in range(2, len(path)))

    def fields(self) -> tuple[FieldChange, ...]:
        """From live to desired, ordered by path; keyed items that come or go are told as one."""
        changed = [*self.differing, *self.going]
        whole = [item for item in items_of(changed) if self._comes_or_goes(item)]
        paths = [*whole, *(path for path in changed if item_of(path) not in whole), *self.reordered]
        found = [change for path in paths for change in self._changes_at(path)]
        return tuple(sorted(found, key=lambda change: change.path))

    def _comes_or_goes(self, item: Path) -> bool:
        return ABSENT in (value_at(self.live, item), self._after(item))

    def _after(self, path: Path) -> FieldValue:
        return value_at(self.body, path)

    def _changes_at(self, path: Path) -> Iterator[FieldChange]:
        if path in self.reordered:
            key = KEYED_LISTS[self.kind][path]
            before, after = (_order(value_at(body, path), key) for body in (self.live, self.body))
            yield FieldChange(f"{shown(path)}{ORDER}", before, after)
            return
        before, after = value_at(self.live, path), self._after(path)
        entry_key = _ENTRY_KEYS.get(path) if self.kind is Kind.MACHINE_CONFIG else None
        entries = list(_entry_changes(path, entry_key, before, after)) if entry_key else []
        yield from entries or [FieldChange(shown(path), before, after)]


def compare_object(kind: Kind, body: JsonObject, live: JsonObject) -> Comparison:
    """Hold the body that would be sent against what is live."""
    wanted, there, owners = desired_leaves(kind, body), leaves_of(kind, live), owners_of(live)
    settable = desired_leaves(kind, live)
    return Comparison(
        kind=kind,
        body=body,
        live=live,
        wanted=wanted,
        there=there,
        owners=owners,
        differing=tuple(path for path, value in wanted.items() if not same(value, there.get(path, ABSENT))),
        dropped=tuple(path for path in settable if owners.we_own(path) and path not in wanted),
        doomed=_doomed(kind, owners, members_of(wanted, body), there),
        reordered=tuple(path for path in KEYED_LISTS.get(kind, {}) if _out_of_order(path, wanted, there)),
    )


def _doomed(kind: Kind, owners: Owners, wanted: set[Path], there: Leaves) -> tuple[Path, ...]:
    ours = owners.ours or frozenset()
    lost = {p for p in ours - wanted if vanishes_whole(kind, p) and p not in there and not owners.of(p)}
    return tuple(path for path in there if any(path[:length] in lost for length in range(1, len(path))))


def _out_of_order(path: Path, wanted: Leaves, there: Leaves) -> bool:
    ours = [item for item in items_of(wanted) if item[:-1] == path]
    live = [item for item in items_of(there) if item in ours]
    return live != [item for item in ours if item in live]


def _order(entries: FieldValue, key: str) -> FieldValue:
    return [entry.get(key) for entry in entries] if isinstance(entries, list) else entries


def _entry_changes(path: Path, key: str, before: FieldValue, after: FieldValue) -> Iterator[FieldChange]:
    """The entries of an atomic list that differ, or nothing where they cannot be told apart by key."""
    earlier, later = _by_key(before, key), _by_key(after, key)
    if earlier is None or later is None:
        return
    for name in sorted(earlier.keys() | later.keys()):
        left, right = earlier.get(name, ABSENT), later.get(name, ABSENT)
        if not same(left, right):
            yield FieldChange(f"{shown(path)}[{name}]", left, right)


def _by_key(entries: FieldValue, key: str) -> dict[str, Any] | None:
    if entries is ABSENT:
        return {}
    if not isinstance(entries, list):
        return None
    keyed = {
        entry[key]: entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get(key), str)
    }
    return keyed if len(keyed) == len(entries) else None


def turned(fields: Iterable[FieldChange]) -> tuple[FieldChange, ...]:
    """The same from the other side: from Git to live."""
    return tuple(FieldChange(change.path, change.after, change.before) for change in fields)
