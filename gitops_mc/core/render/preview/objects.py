"""What the pull request changes in objects: the diffs, decoded; modules; settings of fleet.yaml."""

from __future__ import annotations

from gitops_mc.core.diff import ABSENT, FieldChange
from gitops_mc.core.diff.paths import leaves_of, same, shown
from gitops_mc.core.ignition import MergeOrder, effective_of, merge
from gitops_mc.core.model import Kind, Manifest
from gitops_mc.core.policy import Sensitive
from gitops_mc.core.preview.changed import ChangeOf, ModuleChange, ObjectChange
from gitops_mc.core.preview.model import Preview
from gitops_mc.core.render.parts import Part, entry_parts, field_parts
from gitops_mc.core.render.preview.document import (
    Basis,
    Block,
    Bullets,
    Code,
    Fold,
    Listing,
    Paragraph,
    Section,
    Strong,
    Table,
    Words,
    words,
)
from gitops_mc.core.render.preview.groups import Shared, modules_of, objects_of
from gitops_mc.core.render.preview.pools import place_told

SIGNS = {ChangeOf.ADDED: "+", ChangeOf.CHANGED: "~", ChangeOf.REMOVED: "-"}
_DIFFS, _MODULES, _SETTINGS = 0.1, 0.05, 0.05
_ENTRIES = ("spec.config", "spec.kernelArguments")


def diffs(preview: Preview, sensitive: Sensitive) -> Section:
    """Every object that is added, changed or removed, contents decoded; each once, whichever clusters have it."""
    found = tuple(_object(change, sensitive) for change in objects_of(preview.changes.clusters))
    return Section("Diffs", Basis.GIT, found, _DIFFS)


def modules(preview: Preview) -> Section:
    rows = tuple(
        (
            words(change.told()),
            words(change.one.module),
            words(_version(change.one)),
            words("changes" if change.one.config else "stays"),
            words(place_told(change.one.place)),
        )
        for change in modules_of(preview.changes.clusters)
    )
    table = Table(("clusters", "module", "version", "config", "at"), rows, "module")
    return Section("Modules", Basis.GIT, (table,) if rows else (), _MODULES)


def settings(preview: Preview) -> Section:
    rows = tuple(
        (words(Code(s.path)), words(s.before or "not set"), words(s.after or "not set"))
        for s in preview.changes.settings
    )
    table = Table(("setting", "before", "after"), rows, "setting")
    return Section("Settings of fleet.yaml", Basis.GIT, (table,) if rows else (), _SETTINGS)


def parts_of(change: ObjectChange, sensitive: Sensitive) -> tuple[Part, ...]:
    """What differs in it: the entries of a MachineConfig, and the fields of everything else."""
    found: tuple[Part, ...] = ()
    fields = _fields(change)
    if change.key.kind is Kind.MACHINE_CONFIG:
        before, after = (
            merge((), MergeOrder.ALPHABETICAL) if side is None else effective_of(side.body)
            for side in (change.before, change.after)
        )
        found = tuple(entry_parts(before, after, sensitive))
        fields = tuple(f for f in fields if not f.path.startswith(_ENTRIES))
    module = change.key.name if change.key.kind is Kind.MODULE_INFO else None
    return (*found, *field_parts(fields, sensitive, module=module))


def _fields(change: ObjectChange) -> tuple[FieldChange, ...]:
    kind = change.key.kind
    before = leaves_of(kind, change.before.body) if change.before is not None else {}
    after = leaves_of(kind, change.after.body) if change.after is not None else {}
    return tuple(
        FieldChange(shown(path), before.get(path, ABSENT), after.get(path, ABSENT))
        for path in dict.fromkeys((*before, *after))
        if not same(before.get(path, ABSENT), after.get(path, ABSENT))
    )


def _object(change: Shared[ObjectChange], sensitive: Sensitive) -> Fold:
    one = change.one
    blocks: list[Block] = [Paragraph(_where(one))]
    if one.kept:
        blocks.append(Paragraph(words(Strong("stays on the cluster"), f": {one.kept}")))
    for part in parts_of(one, sensitive):
        blocks += _part(part)
    told = f"{SIGNS[one.change]} {one.key.kind.value} {one.key.name} {one.change.value}: {change.told()}"
    return Fold(told, tuple(blocks), "diff")


def _where(change: ObjectChange) -> Words:
    places = [m.place for m in (change.before, change.after) if isinstance(m, Manifest)]
    if len({place.file for place in places}) > 1:
        return words("moved from ", place_told(places[0]), " to ", place_told(places[-1]))
    return words("at ", place_told(places[-1])) if places else ()


def _part(part: Part) -> tuple[Block, ...]:
    if len(part.details) == 1 and not part.diff:
        return (Bullets((words(Code(part.name), f" {_verb(part)}{part.details[0]}"),), "change"),)
    details = f": {'; '.join(part.details)}" if part.details else ""
    blocks: list[Block] = [Bullets((words(Code(part.name), f" {part.change.value}{details}"),), "change")]
    if part.diff:
        blocks.append(Listing("diff", part.diff))
    return tuple(blocks)


def _verb(part: Part) -> str:
    """What is sensitive says by itself that it changed."""
    return "" if part.sensitive else f"{part.change.value}: "


def _version(change: ModuleChange) -> str:
    match change.change:
        case ChangeOf.ADDED:
            return f"{change.after} (new)"
        case ChangeOf.REMOVED:
            return f"{change.before} (removed)"
        case ChangeOf.CHANGED:
            return change.after if change.before == change.after else f"{change.before} -> {change.after}"
