"""Merge of MachineConfigs as the operator merges them, with the config that decides each entry in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

from gitops_mc.core.ignition.entries import Entry, EntryKind, FieldPath
from gitops_mc.core.ignition.reading import Reading, is_empty, read, role_of
from gitops_mc.core.model import JsonObject, canonical_json, name_of
from gitops_mc.core.remembered import Remembered

MAX_SPEC_BYTES = 1_572_864
"""The operator refuses a merged spec above 1.5 MiB (etcd's limit for one object)."""

IGNITION_VERSION = "3.4.0"
_BASE_ROLES = ("worker", "master")


class MergeOrder(Enum):
    """The order in which configs are merged; the later one wins."""

    ALPHABETICAL = "alphabetical"
    """By name (ACP docs)."""
    ROLE_FIRST = "role-first"
    """Configs of role worker or master first, then all others, each by name, so that a custom pool overrides what it
    inherits (OpenShift's machine-config-operator)."""


_SORT_KEYS: Mapping[MergeOrder, Callable[[JsonObject], tuple[int, str]]] = MappingProxyType(
    {
        MergeOrder.ALPHABETICAL: lambda body: (0, name_of(body)),
        MergeOrder.ROLE_FIRST: lambda body: (0 if role_of(body) in _BASE_ROLES else 1, name_of(body)),
    }
)


@dataclass(frozen=True, slots=True)
class EffectiveEntry:
    """One entry of the merged config, as it is written, and who had a say in it."""

    entry: Entry
    fields: Mapping[FieldPath, Any]
    """Leaf values by path, without the identity and without nulls. What the operator adds to every file
    (`overwrite: true`) is there."""
    owner: str
    """The last config in merge order that declares the entry: the one that decides."""
    contributors: tuple[str, ...]
    """Configs that something in the result comes from, in merge order, the owner included."""
    overridden: tuple[str, ...]
    """Configs that declare the entry and of which nothing is left, in merge order."""

    def raw(self) -> JsonObject:
        """The fields as nested JSON. Where configs disagree on whether a field is a map, the map is shown."""
        nested: JsonObject = {}
        for path, value in self.fields.items():
            inner = nested
            for key in path[:-1]:
                if not isinstance(inner.get(key), dict):
                    inner[key] = {}
                inner = inner[key]
            if path:
                inner[path[-1]] = value
        return nested


@dataclass(frozen=True, slots=True)
class KernelArgument:
    value: str
    owner: str


@dataclass(frozen=True, slots=True)
class Effective:
    """What a set of configs comes to. Made of one rendered config, it is what a node has, or is to have."""

    entries: Mapping[Entry, EffectiveEntry]
    """All entries but kernel arguments, ordered."""
    kernel_arguments: tuple[KernelArgument, ...]
    """In order, repeats kept: both matter."""
    ssh_keys: tuple[Entry, ...]
    """The SSH key entries in the order in which they are written."""
    configs: tuple[str, ...]
    """Names of the configs, in merge order."""

    def of_kind(self, kind: EntryKind) -> tuple[EffectiveEntry, ...]:
        return tuple(found for entry, found in self.entries.items() if entry.kind is kind)


@dataclass(slots=True)
class _Growing:
    """One entry while configs are merged into it. Values carry the configs they come from."""

    declared: list[str] = field(default_factory=list)
    values: dict[FieldPath, tuple[Any, tuple[str, ...]]] = field(default_factory=dict)

    def finished(self, entry: Entry) -> EffectiveEntry:
        fields = {path: value for path, (value, _) in sorted(self.values.items())}
        if entry.kind is EntryKind.FILE:
            fields.setdefault(("overwrite",), True)
        owner = self.declared[-1]
        alive = {owner}.union(*(origins for _, origins in self.values.values()))
        if entry.kind is EntryKind.SSH_KEY:  # a union: the key stays as long as any config has it
            alive.update(self.declared)
        declared = tuple(dict.fromkeys(self.declared))
        return EffectiveEntry(
            entry,
            MappingProxyType(dict(sorted(fields.items()))),
            owner,
            tuple(name for name in declared if name in alive),
            tuple(name for name in declared if name not in alive),
        )


COMPRESSION: FieldPath = ("contents", "compression")
SOURCE: FieldPath = ("contents", "source")


def merge(configs: Sequence[JsonObject], order: MergeOrder) -> Effective:
    """Merge MachineConfig bodies with the semantics of Ignition 3, in the given order of the operator.

    Files go by path, units, drop-ins and users by name, and a later one overrides field by field; contents that bring
    a source without `compression` clear an earlier one's. A user's SSH keys are a union. Kernel arguments are concatenated.
    """
    ordered = tuple(sorted(configs, key=_SORT_KEYS[order]))  # nearly always the same for every order
    return _MERGES.get(ordered, (), lambda: _merge(ordered))


_MERGES: Remembered[Effective] = Remembered()


def _merge(configs: Sequence[JsonObject]) -> Effective:
    readings = [read(config) for config in configs]
    growing: dict[Entry, _Growing] = {}
    arguments: list[KernelArgument] = []
    for reading in readings:
        for entry, raw in _declarations(reading):
            _merge_into(growing.setdefault(entry, _Growing()), entry, raw, reading.name)
        arguments += (KernelArgument(value, reading.name) for value in reading.kernel_arguments)
    return Effective(
        entries=MappingProxyType({entry: growing[entry].finished(entry) for entry in sorted(growing)}),
        kernel_arguments=tuple(arguments),
        ssh_keys=tuple(entry for entry in growing if entry.kind is EntryKind.SSH_KEY),
        configs=tuple(reading.name for reading in readings),
    )


def effective_of(rendered: JsonObject) -> Effective:
    """One config by itself: what a rendered config says."""
    return merge((rendered,), MergeOrder.ALPHABETICAL)


def wholly_overridden(effective: Effective) -> tuple[str, ...]:
    """Configs that declare something and of which nothing is left in the result: they have no effect at all."""
    declaring = {name for e in effective.entries.values() for name in (*e.contributors, *e.overridden)}
    alive = {name for e in effective.entries.values() for name in e.contributors}
    alive.update(argument.owner for argument in effective.kernel_arguments)
    return tuple(name for name in effective.configs if name in declaring - alive)


def effective_spec(effective: Effective) -> JsonObject:
    """The merged config as a MachineConfig spec, as the operator would render it.

    Sections that are kept raw stand under their dotted names: no such config renders on the platform anyway.
    """
    files = [{"path": e.entry.name, **e.raw()} for e in effective.of_kind(EntryKind.FILE)]
    users = dict.fromkeys([entry.name for entry in effective.ssh_keys])
    config: JsonObject = {"ignition": {"version": IGNITION_VERSION}}
    if users:
        keys = [(entry.name, entry.part) for entry in effective.ssh_keys]
        config["passwd"] = {
            "users": [
                {"name": user, "sshAuthorizedKeys": [key for owner, key in keys if owner == user]}
                for user in users
            ]
        }
    if files:
        config["storage"] = {"files": files}
    units = [_unit_json(effective, unit) for unit in effective.of_kind(EntryKind.UNIT)]
    if units:
        config["systemd"] = {"units": units}
    for other in (*effective.of_kind(EntryKind.USER), *effective.of_kind(EntryKind.OTHER)):
        config[other.entry.name] = other.fields[()] if () in other.fields else other.raw()
    return {"config": config, "kernelArguments": [argument.value for argument in effective.kernel_arguments]}


def spec_size(effective: Effective) -> int:
    """Bytes of the merged spec as compact JSON, to be held against MAX_SPEC_BYTES.

    The operator's own spelling may differ by a few bytes per entry: leave a margin.
    """
    return len(canonical_json(effective_spec(effective)))


def _unit_json(effective: Effective, unit: EffectiveEntry) -> JsonObject:
    dropins = [
        {"name": e.entry.part, **e.raw()}
        for e in effective.of_kind(EntryKind.DROPIN)
        if e.entry.name == unit.entry.name
    ]
    return {"name": unit.entry.name, **unit.raw(), **({"dropins": dropins} if dropins else {})}


def _declarations(reading: Reading) -> Iterator[tuple[Entry, Any]]:
    for file in reading.files:
        yield Entry(EntryKind.FILE, file.path), _without(file.raw, "path")
    for unit in reading.units:
        yield Entry(EntryKind.UNIT, unit.name), _without(unit.raw, "name", "dropins")
        for dropin in unit.dropins:
            yield Entry(EntryKind.DROPIN, unit.name, dropin.name), _without(dropin.raw, "name")
    for user in reading.users:
        for key in user.ssh_keys:
            yield Entry(EntryKind.SSH_KEY, user.name, key), {}
        if user.other_fields:
            yield Entry(EntryKind.USER, user.name), user.other_fields
    for section in reading.other:
        yield Entry(EntryKind.OTHER, section.name), section.value


def _merge_into(growing: _Growing, entry: Entry, raw: Any, config: str) -> None:
    values = growing.values
    leaves = dict(_leaves(raw, ()))
    if entry.kind is EntryKind.FILE and SOURCE in leaves:
        values.pop(COMPRESSION, None)
    growing.declared.append(config)
    for path, value in leaves.items():
        earlier = values.get(path)
        if earlier is not None and isinstance(value, list) and isinstance(earlier[0], list):
            values[path] = ([*earlier[0], *value], (*earlier[1], config))
        else:
            values[path] = (value, (config,))


def _leaves(value: Any, path: FieldPath) -> Iterator[tuple[FieldPath, Any]]:
    """Leaf values by path. Null is as good as absent, and so is an empty list or object; an empty string is a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif value == "" or not is_empty(value):
        yield path, value


def _without(raw: JsonObject, *keys: str) -> JsonObject:
    return {key: value for key, value in raw.items() if key not in keys}
