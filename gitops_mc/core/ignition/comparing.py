"""Merged against rendered, and before against after: entry by entry, both ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from gitops_mc.core.globs import path_matches
from gitops_mc.core.ignition.data_urls import content_digest
from gitops_mc.core.ignition.entries import KERNEL_ARGUMENTS, Entry, EntryKind, FieldPath
from gitops_mc.core.ignition.merging import COMPRESSION, SOURCE, Effective, EffectiveEntry, MergeOrder, merge
from gitops_mc.core.ignition.reading import is_empty
from gitops_mc.core.model import JsonObject
from gitops_mc.core.remembered import Remembered


class MismatchKind(StrEnum):
    MISSING = "missing"
    """The merge has the entry, the rendered config does not."""
    SURPLUS = "surplus"
    """The rendered config has the entry, the merge does not: what an update that only removes leaves behind."""
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One way in which a rendered config is not the merge of the selected configs."""

    kind: MismatchKind
    entry: Entry
    fields: tuple[str, ...] = ()
    """Dotted names of the fields that differ."""
    owner: str = ""
    """The config that decides the entry in the merge; `""` for surplus."""

    def __str__(self) -> str:
        """One sentence; it names entries, fields and configs, and shows no content."""
        source = f" (from {self.owner})" if self.owner else ""
        match self.kind:
            case MismatchKind.MISSING:
                return f"{self.entry}{source} is not in the rendered config"
            case MismatchKind.SURPLUS:
                return f"{self.entry} is in the rendered config and in none of the selected configs"
            case MismatchKind.DIFFERENT:
                fields = f" in {', '.join(self.fields)}" if self.fields else ""
                return f"{self.entry}{source} differs from the rendered config{fields}"


def compare(
    merged: Effective, rendered: Effective, *, operator_files: Sequence[str] = ()
) -> tuple[Mismatch, ...]:
    """Every entry in which the rendered config is not the merge, ordered; empty when they are equal.

    Contents are compared decoded (raw where they cannot be decoded). Allowed for, because the operator does it to every
    config: `overwrite: true` where none is set, the Ignition version, null or emptied fields in place of absent ones,
    and the order of SSH keys. The order of kernel arguments counts. `operator_files` are globs of paths that the
    operator adds by itself: they excuse surplus, never a difference.
    """
    return _COMPARED.get(
        (merged, rendered),
        tuple(operator_files),
        lambda: (
            *_compare_entries(merged, rendered, operator_files),
            *_compare_arguments(merged, rendered),
        ),
    )


_COMPARED: Remembered[tuple[Mismatch, ...]] = Remembered()


def with_operator_files(merged: Effective, rendered: Effective, operator_files: Sequence[str]) -> Effective:
    """The merge together with the files that the operator put into a rendered config by itself: what it is going to
    render. Without them a forecast would take those files for removed.
    """
    added = {
        entry: found
        for entry, found in rendered.entries.items()
        if entry not in merged.entries and _is_operator_file(entry, operator_files)
    }
    entries = {**merged.entries, **added}
    return replace(merged, entries=MappingProxyType({entry: entries[entry] for entry in sorted(entries)}))


def fitting_orders(
    configs: Sequence[JsonObject], rendered: Effective, *, operator_files: Sequence[str] = ()
) -> frozenset[MergeOrder]:
    """The merge orders that explain a rendered config. One alone teaches the cluster's order; none: not rendered yet."""
    return frozenset(
        order
        for order in MergeOrder
        if not compare(merge(configs, order), rendered, operator_files=operator_files)
    )


class ChangeKind(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class EntryChange:
    """One entry that differs between two configs as they are written."""

    entry: Entry
    change: ChangeKind
    fields: tuple[str, ...] = ()
    """Dotted names of the fields that differ, for CHANGED."""

    def __str__(self) -> str:
        return f"{self.entry} {self.change.value}"


def entries_changed(before: Effective, after: Effective) -> tuple[EntryChange, ...]:
    """What differs, ordered, compared as it is written: to the operator another encoding of the same bytes is a change.

    Kernel arguments are compared with their order, and so are a user's SSH keys.
    """
    return (
        *_changed_entries(before, after),
        *_reordered_keys(before, after),
        *_changed_arguments(before, after),
    )


def _compare_entries(
    merged: Effective, rendered: Effective, operator_files: Sequence[str]
) -> Iterator[Mismatch]:
    for entry in sorted(merged.entries.keys() | rendered.entries.keys()):
        ours, theirs = merged.entries.get(entry), rendered.entries.get(entry)
        if theirs is None:
            yield Mismatch(MismatchKind.MISSING, entry, owner=ours.owner if ours else "")
        elif ours is None:
            if not _is_operator_file(entry, operator_files):
                yield Mismatch(MismatchKind.SURPLUS, entry)
        elif fields := _decoded_difference(ours, theirs):
            yield Mismatch(MismatchKind.DIFFERENT, entry, fields, ours.owner)


def _is_operator_file(entry: Entry, operator_files: Sequence[str]) -> bool:
    return entry.kind is EntryKind.FILE and path_matches(entry.name, operator_files)


def _compare_arguments(merged: Effective, rendered: Effective) -> Iterator[Mismatch]:
    ours = [argument.value for argument in merged.kernel_arguments]
    theirs = [argument.value for argument in rendered.kernel_arguments]
    owners = {argument.value: argument.owner for argument in merged.kernel_arguments}
    missing, surplus = Counter(ours) - Counter(theirs), Counter(theirs) - Counter(ours)
    for value in sorted(missing):
        yield Mismatch(MismatchKind.MISSING, Entry(EntryKind.KERNEL_ARGUMENT, value), owner=owners[value])
    for value in sorted(surplus):
        yield Mismatch(MismatchKind.SURPLUS, Entry(EntryKind.KERNEL_ARGUMENT, value))
    if not missing and not surplus and ours != theirs:
        yield Mismatch(MismatchKind.DIFFERENT, KERNEL_ARGUMENTS, ("order",))


def _changed_entries(before: Effective, after: Effective) -> Iterator[EntryChange]:
    for entry in sorted(before.entries.keys() | after.entries.keys()):
        earlier, later = before.entries.get(entry), after.entries.get(entry)
        if earlier is None:
            yield EntryChange(entry, ChangeKind.ADDED)
        elif later is None:
            yield EntryChange(entry, ChangeKind.REMOVED)
        elif fields := differing_fields(earlier.fields, later.fields):
            yield EntryChange(entry, ChangeKind.CHANGED, fields)


def _reordered_keys(before: Effective, after: Effective) -> Iterator[EntryChange]:
    for user in sorted({key.name for key in before.ssh_keys} & {key.name for key in after.ssh_keys}):
        earlier = [key.part for key in before.ssh_keys if key.name == user]
        later = [key.part for key in after.ssh_keys if key.name == user]
        if earlier != later and sorted(earlier) == sorted(later):
            yield EntryChange(Entry(EntryKind.SSH_KEYS, user), ChangeKind.CHANGED, ("order",))


def _changed_arguments(before: Effective, after: Effective) -> Iterator[EntryChange]:
    earlier = [argument.value for argument in before.kernel_arguments]
    later = [argument.value for argument in after.kernel_arguments]
    removed, added = Counter(earlier) - Counter(later), Counter(later) - Counter(earlier)
    for value in sorted(removed):
        yield EntryChange(Entry(EntryKind.KERNEL_ARGUMENT, value), ChangeKind.REMOVED)
    for value in sorted(added):
        yield EntryChange(Entry(EntryKind.KERNEL_ARGUMENT, value), ChangeKind.ADDED)
    if not removed and not added and earlier != later:
        yield EntryChange(KERNEL_ARGUMENTS, ChangeKind.CHANGED, ("order",))


def _decoded_difference(ours: EffectiveEntry, theirs: EffectiveEntry) -> tuple[str, ...]:
    if not differing_fields(ours.fields, theirs.fields):  # as nearly always: nothing to decode
        return ()
    return differing_fields(decoded_fields(ours), decoded_fields(theirs))


def decoded_fields(found: EffectiveEntry) -> Mapping[FieldPath, Any]:
    """The fields with a file's contents as a digest of the decoded bytes, and without emptied ones.

    A file without a source differs from one with empty contents: Ignition leaves an existing file alone for the first.
    """
    fields = {path: value for path, value in found.fields.items() if not is_empty(value)}
    if found.entry.kind is EntryKind.FILE and isinstance(source := fields.get(SOURCE), str):
        compression = fields.get(COMPRESSION)
        if digest := content_digest(source, compression):
            fields[SOURCE] = digest
            fields.pop(COMPRESSION, None)
    return fields


def differing_fields(some: Mapping[FieldPath, Any], others: Mapping[FieldPath, Any]) -> tuple[str, ...]:
    """Dotted names of the fields that are not equal, ordered. 1 and True are not equal."""
    absent = object()
    return tuple(
        ".".join(path)
        for path in sorted(some.keys() | others.keys())
        if not _same(some.get(path, absent), others.get(path, absent))
    )


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
