"""Rules about who owns what on a node: the operating system, the operator, or which of two configs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gitops_mc.core.ignition import EffectiveEntry, Entry, EntryKind, wholly_overridden
from gitops_mc.core.model import ROLE_LABEL, BodyPath, JsonObject, Manifest
from gitops_mc.core.rules.merged import named, where
from gitops_mc.core.rules.row import DesiredFacts, Found, Hit
from gitops_mc.core.rules.shapes import entries, labels, mapping, text

_CONFIG = ("spec", "config")
_OPERATORS = {
    "/home/boot/.ssh": "the SSH keys of user boot, which are written from passwd.users",
    "/etc/machine-config-daemon": "what the daemon remembers of the node (inferred from OpenShift's)",
}
_KUBELET = "kubelet.service"


def operators_file(body: JsonObject) -> Found:
    for path, file in entries(body, *_CONFIG, "storage", "files"):
        for folder, what in _OPERATORS.items():
            if text(file.get("path")).startswith(folder + "/"):
                yield (
                    (*path, "path"),
                    f"{file['path']} stands where the operator keeps {what}",
                    "remove the file; keys go to passwd.users with `name: boot`",
                )


def unit_taken_over(facts: DesiredFacts) -> Iterator[Hit]:
    """A drop-in for a unit that no config writes: the operator then owns that unit of the system whole."""
    seen: set[tuple[str, str]] = set()
    for view in facts.pools:
        units = {found.entry.name: found for found in view.by_name.of_kind(EntryKind.UNIT)}
        for found in _added_to(view.by_name.of_kind(EntryKind.DROPIN), units):
            name = found.entry.name
            if (name, found.owner) not in seen:
                seen.add((name, found.owner))
                manifest = named(view, found.owner)
                yield Hit(
                    manifest,
                    where(manifest.body, found.entry),
                    f"no config gives {name} contents, so it is a unit of the system, and a drop-in declared here takes the "
                    "whole unit over: it is deleted when this config goes"
                    + (", and without its kubelet a node is NotReady" if name == _KUBELET else ""),
                    f"write the drop-in as a file, /etc/systemd/system/{name}.d/{found.entry.part}, with a policy entry",
                )


def _added_to(
    dropins: tuple[EffectiveEntry, ...], units: dict[str, EffectiveEntry]
) -> Iterator[EffectiveEntry]:
    for found in dropins:
        unit = units.get(found.entry.name)
        if unit is None or ("contents",) not in unit.fields:
            yield found


def unit_two_owners(facts: DesiredFacts) -> Iterator[Hit]:
    yield from _two_owners(facts, (EntryKind.UNIT, EntryKind.DROPIN))


def file_two_owners(facts: DesiredFacts) -> Iterator[Hit]:
    yield from _two_owners(facts, (EntryKind.FILE,))


def _two_owners(facts: DesiredFacts, kinds: tuple[EntryKind, ...]) -> Iterator[Hit]:
    """One entry with contents in two configs of one role and one folder. A cluster that overrides its shared set, or a
    custom pool that overrides worker, means it.
    """
    told: set[tuple[str, Entry]] = set()
    for view in facts.pools:
        found: dict[tuple[Entry, str | None, str], list[tuple[Manifest, BodyPath]]] = defaultdict(list)
        for manifest in view.configs:
            for entry, path in _with_contents(manifest.body):
                if entry.kind in kinds:
                    role = labels(manifest.body).get(ROLE_LABEL, "")
                    found[entry, manifest.shared_set, role].append((manifest, path))
        for (entry, _, _), places in found.items():
            manifest, path = places[-1]
            names = list(dict.fromkeys(m.key.name for m, _ in places))
            if len(names) > 1:  # rule `mc-overridden` speaks of those of which nothing is left
                lost = wholly_overridden(view.by_name)
                names = [name for name in names if name not in lost]
            if len(names) > 1 and (manifest.key.name, entry) not in told:
                told.add((manifest.key.name, entry))
                yield Hit(
                    manifest,
                    path,
                    f"{entry} has contents in {' and in '.join(names)}: those of {names[-1]} are written, and when it goes the "
                    "others come up",
                    "keep it in one of them",
                )


def _with_contents(body: JsonObject) -> Iterator[tuple[Entry, BodyPath]]:
    for path, file in entries(body, *_CONFIG, "storage", "files"):
        if text(file.get("path")) and mapping(file.get("contents")):
            yield Entry(EntryKind.FILE, file["path"]), (*path, "path")
    for path, unit in entries(body, *_CONFIG, "systemd", "units"):
        name = text(unit.get("name"))
        if name and text(unit.get("contents")):
            yield Entry(EntryKind.UNIT, name), (*path, "name")
        for inner, dropin in entries(unit, "dropins"):
            if name and text(dropin.get("name")) and text(dropin.get("contents")):
                yield Entry(EntryKind.DROPIN, name, dropin["name"]), (*path, *inner, "name")
