"""Typed reading of a MachineConfig body. It may be live, so nothing is refused: what is not understood is kept raw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gitops_mc.core.model import ROLE_LABEL, JsonObject, metadata, name_of
from gitops_mc.core.remembered import Remembered


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One item of `storage.files`. The properties answer None for what is absent or of another type."""

    path: str
    raw: JsonObject
    position: int
    """Index in the list, for places in messages."""

    @property
    def mode(self) -> int | None:
        found = self.raw.get("mode")
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    @property
    def source(self) -> str | None:
        return _text(_dict(self.raw.get("contents")).get("source"))

    @property
    def compression(self) -> str | None:
        return _text(_dict(self.raw.get("contents")).get("compression"))

    @property
    def owner(self) -> JsonObject:
        """`user` as written: `id` or `name`."""
        return _dict(self.raw.get("user"))

    @property
    def group(self) -> JsonObject:
        return _dict(self.raw.get("group"))

    @property
    def append(self) -> tuple[Any, ...]:
        found = self.raw.get("append")
        return tuple(found) if isinstance(found, list) else ()


@dataclass(frozen=True, slots=True)
class Dropin:
    """One drop-in of a unit."""

    name: str
    raw: JsonObject
    position: int

    @property
    def contents(self) -> str | None:
        return _text(self.raw.get("contents"))


@dataclass(frozen=True, slots=True)
class Unit:
    """One item of `systemd.units`; `raw` includes the drop-ins."""

    name: str
    raw: JsonObject
    dropins: tuple[Dropin, ...]
    position: int

    @property
    def contents(self) -> str | None:
        return _text(self.raw.get("contents"))

    @property
    def enabled(self) -> bool | None:
        found = self.raw.get("enabled")
        return found if isinstance(found, bool) else None


@dataclass(frozen=True, slots=True)
class User:
    """One item of `passwd.users`."""

    name: str
    ssh_keys: tuple[str, ...]
    raw: JsonObject
    position: int

    @property
    def other_fields(self) -> JsonObject:
        """What is said of the user besides name and SSH keys, empty values left out."""
        known = ("name", "sshAuthorizedKeys")
        return {key: value for key, value in self.raw.items() if key not in known and not is_empty(value)}


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the spec that is kept as it is written; `name` is dotted, as in `storage.directories`."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class Reading:
    """One MachineConfig, read."""

    name: str
    role: str
    """Value of the role label, `""` without one."""
    files: tuple[FileEntry, ...]
    units: tuple[Unit, ...]
    users: tuple[User, ...]
    kernel_arguments: tuple[str, ...]
    other: tuple[Section, ...]
    """Sections besides these, and malformed items; empty ones and the Ignition version are left out."""


def read(body: JsonObject) -> Reading:
    """Read a MachineConfig, desired or live, rendered or not."""
    return _READINGS.get((body,), (), lambda: _read(body))


_READINGS: Remembered[Reading] = Remembered()


def _read(body: JsonObject) -> Reading:
    spec = _dict(body.get("spec"))
    config = _dict(spec.get("config"))
    files = _keyed(_dict(config.get("storage")).get("files"), "path")
    units = _keyed(_dict(config.get("systemd")).get("units"), "name")
    users = _keyed(_dict(config.get("passwd")).get("users"), "name")
    return Reading(
        name=name_of(body),
        role=role_of(body),
        files=tuple(FileEntry(path, raw, at) for at, path, raw in files),
        units=tuple(Unit(name, raw, _dropins(raw), at) for at, name, raw in units),
        users=tuple(User(name, _strings(raw.get("sshAuthorizedKeys")), raw, at) for at, name, raw in users),
        kernel_arguments=_strings(spec.get("kernelArguments")),
        other=tuple(section for section in _other(body, spec, config) if not is_empty(section.value)),
    )


def role_of(body: JsonObject) -> str:
    """The value of the role label, `""` without one."""
    return str(_dict(metadata(body).get("labels")).get(ROLE_LABEL, ""))


def is_empty(value: Any) -> bool:
    """Null, or a string, list or object with nothing in it (or, for objects, nothing but such)."""
    if isinstance(value, dict):
        return all(is_empty(inner) for inner in value.values())
    return value is None or value in ("", [])


def _dropins(unit: JsonObject) -> tuple[Dropin, ...]:
    return tuple(Dropin(name, raw, at) for at, name, raw in _keyed(unit.get("dropins"), "name"))


_LISTS = (("storage", "files", "path"), ("systemd", "units", "name"), ("passwd", "users", "name"))


def _other(body: JsonObject, spec: JsonObject, config: JsonObject) -> Iterator[Section]:
    if not isinstance(body.get("spec"), dict):
        yield Section("spec", body.get("spec"))
    for key in sorted(spec.keys() - {"config", "kernelArguments"}):
        yield Section(f"spec.{key}", spec[key])
    if not isinstance(spec.get("config"), dict):
        yield Section("config", spec.get("config"))
    yield from _malformed("kernelArguments", spec.get("kernelArguments"), None)
    typed = {section: name for section, name, _ in _LISTS}
    for key in sorted(config):
        part = config[key]
        if (key not in typed and key != "ignition") or not isinstance(part, dict):
            yield Section(key, part)
        else:
            for inner in sorted(part.keys() - {typed.get(key, "version")}):
                yield Section(f"{key}.{inner}", part[inner])
    for section, name, identity in _LISTS:
        yield from _malformed(f"{section}.{name}", _dict(config.get(section)).get(name), identity)
    yield from _malformed_inside(config)


def _malformed_inside(config: JsonObject) -> Iterator[Section]:
    for _, name, raw in _keyed(_dict(config.get("systemd")).get("units"), "name"):
        yield from _malformed(f"systemd.units[{name}].dropins", raw.get("dropins"), "name")
    for _, name, raw in _keyed(_dict(config.get("passwd")).get("users"), "name"):
        keys = raw.get("sshAuthorizedKeys")
        yield from _malformed(f"passwd.users[{name}].sshAuthorizedKeys", keys, None)


def _malformed(name: str, value: Any, identity: str | None) -> Iterator[Section]:
    """What the typed reading passed over: no list, or items that are no objects with such an identity
    (or, where there is none, no strings).
    """
    if not isinstance(value, list):
        yield Section(name, value)
        return
    for position, item in enumerate(value):
        if not (isinstance(item, str) if identity is None else isinstance(_dict(item).get(identity), str)):
            yield Section(f"{name}[{position}]", item)


def _keyed(value: Any, identity: str) -> Iterator[tuple[int, str, JsonObject]]:
    if isinstance(value, list):
        for position, item in enumerate(value):
            if isinstance(item, dict) and isinstance(item.get(identity), str):
                yield position, item[identity], item


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _dict(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
