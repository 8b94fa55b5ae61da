"""Rules about systemd units and their drop-ins."""

from __future__ import annotations

import re

from gitops_mc.core.model import JsonObject
from gitops_mc.core.rules.row import Found
from gitops_mc.core.rules.shapes import entries, text

_UNITS = ("spec", "config", "systemd", "units")

UNIT_TYPES = (
    "service",
    "socket",
    "device",
    "mount",
    "automount",
    "swap",
    "target",
    "path",
    "timer",
    "snapshot",
    "slice",
    "scope",
)
"""As the schema of MachineConfiguration lists them; systemd itself has dropped `snapshot`."""

_UNIT_NAME = re.compile(rf"[A-Za-z0-9:_.\\@-]+\.({'|'.join(UNIT_TYPES)})")
_LONGEST_UNIT_NAME = 255
_SECTION = re.compile(r"^\s*\[[^\]\n]+\]", re.MULTILINE)
_INSTALL = re.compile(r"^\s*\[Install\]", re.MULTILINE)


def unit_name(body: JsonObject) -> Found:
    for where, unit in entries(body, *_UNITS):
        name = unit.get("name")
        if not isinstance(name, str) or not name:
            yield (*where, "name"), "the unit has no name", "write it with its type, like chronyd.service"
        elif len(name) > _LONGEST_UNIT_NAME or not _UNIT_NAME.fullmatch(name):
            yield (
                (*where, "name"),
                f"{name!r} is not a unit name",
                f"letters, digits and `:-_.\\@`, ending in one of .{', .'.join(UNIT_TYPES)}",
            )


def duplicate_unit(body: JsonObject) -> Found:
    seen: set[str] = set()
    for where, unit in entries(body, *_UNITS):
        name = text(unit.get("name"))
        if name and name in seen:
            yield (*where, "name"), f"unit {name} stands in this config twice", "keep one entry"
        seen.add(name)


def unit_contents(body: JsonObject) -> Found:
    for where, unit in entries(body, *_UNITS):
        contents = unit.get("contents")
        if contents is None:
            continue
        if not text(contents).strip():
            yield (
                (*where, "contents"),
                f"unit {unit.get('name')} has empty contents, which writes no unit file",
                "write the unit, or leave contents out to enable or mask one that the node has",
            )
        elif not _SECTION.search(text(contents)):
            yield (
                (*where, "contents"),
                f"unit {unit.get('name')} has no [Section], so systemd ignores every line of it",
                "begin with [Unit] or [Service]",
            )


def enabled_without_install(body: JsonObject) -> Found:
    for where, unit in entries(body, *_UNITS):
        contents = text(unit.get("contents"))
        if unit.get("enabled") is True and contents.strip() and not _INSTALL.search(contents):
            yield (
                (*where, "enabled"),
                f"unit {unit.get('name')} is enabled, but has no [Install] section: nothing starts it at boot",
                "add [Install] with WantedBy=, or drop `enabled`",
            )


def masked_with_contents(body: JsonObject) -> Found:
    for where, unit in entries(body, *_UNITS):
        if unit.get("mask") is True and (text(unit.get("contents")).strip() or unit.get("enabled") is True):
            yield (
                (*where, "mask"),
                f"unit {unit.get('name')} is masked, so its contents and `enabled` have no effect",
                "keep either the mask or the rest",
            )


def dropin_name(body: JsonObject) -> Found:
    for where, unit in entries(body, *_UNITS):
        seen: set[str] = set()
        for path, dropin in entries(unit, "dropins"):
            name = text(dropin.get("name"))
            place = (*where, *path, "name")
            if not name.endswith(".conf") or name == ".conf" or "/" in name:
                yield (
                    place,
                    f"drop-in {name!r} does not end in .conf: systemd does not read it",
                    "name it NN-topic.conf",
                )
            elif name in seen:
                yield place, f"drop-in {name} stands in this unit twice", "keep one entry"
            seen.add(name)


def dropin_contents(body: JsonObject) -> Found:
    for where, unit in entries(body, *_UNITS):
        for path, dropin in entries(unit, "dropins"):
            contents = text(dropin.get("contents"))
            if not contents.strip():
                yield (
                    (*where, *path),
                    f"drop-in {dropin.get('name')} of {unit.get('name')} is empty, and changes nothing",
                    "write its contents, or remove it",
                )
            elif not _SECTION.search(contents):
                yield (
                    (*where, *path, "contents"),
                    f"drop-in {dropin.get('name')} of {unit.get('name')} has no [Section], so systemd ignores every line of it",
                    "begin with the section that the lines belong to, like [Service]",
                )
