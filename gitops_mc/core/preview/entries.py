"""Where an entry of a config stands in Git."""

from __future__ import annotations

from gitops_mc.core.ignition import Entry, EntryKind, read
from gitops_mc.core.model import BodyPath, JsonObject, Manifest, Place
from gitops_mc.core.rules import place_of

_CONFIG = ("spec", "config")
_ARGUMENTS = ("spec", "kernelArguments")


def entry_place(manifest: Manifest, entry: Entry) -> Place:
    """The line of the entry, or of the closest thing around it that has one."""
    return place_of(manifest, _path(manifest.body, entry))


def _path(body: JsonObject, entry: Entry) -> BodyPath:
    """Where the body declares the entry, the last time; the config as a whole where it does not."""
    found = read(body)
    paths: list[BodyPath] = []
    match entry.kind:
        case EntryKind.FILE:
            paths = [(*_CONFIG, "storage", "files", f.position) for f in found.files if f.path == entry.name]
        case EntryKind.UNIT:
            paths = [(*_CONFIG, "systemd", "units", u.position) for u in found.units if u.name == entry.name]
        case EntryKind.DROPIN:
            paths = [
                (*_CONFIG, "systemd", "units", unit.position, "dropins", dropin.position)
                for unit in found.units
                for dropin in unit.dropins
                if (unit.name, dropin.name) == (entry.name, entry.part)
            ]
        case EntryKind.SSH_KEY:
            paths = [
                (*_CONFIG, "passwd", "users", user.position, "sshAuthorizedKeys", at)
                for user in found.users
                for at, key in enumerate(user.ssh_keys)
                if (user.name, key) == (entry.name, entry.part)
            ]
        case EntryKind.SSH_KEYS | EntryKind.USER:
            paths = [(*_CONFIG, "passwd", "users", u.position) for u in found.users if u.name == entry.name]
        case EntryKind.KERNEL_ARGUMENT:
            paths = [
                (*_ARGUMENTS, at) for at, value in enumerate(found.kernel_arguments) if value == entry.name
            ]
        case EntryKind.KERNEL_ARGUMENTS:
            paths = [_ARGUMENTS]
        case EntryKind.OTHER:
            paths = [(*_CONFIG, *entry.name.split("."))]
    return paths[-1] if paths else _CONFIG
