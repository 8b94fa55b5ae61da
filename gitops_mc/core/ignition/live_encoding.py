"""Desired entries that say the same as the live ones keep the live spelling, so that nothing is written for it."""

from __future__ import annotations

from typing import Any

from gitops_mc.core.ignition.comparing import decoded_fields, differing_fields
from gitops_mc.core.ignition.data_urls import content_digest
from gitops_mc.core.ignition.entries import Entry, EntryKind
from gitops_mc.core.ignition.merging import Effective, effective_of
from gitops_mc.core.ignition.reading import FileEntry, read
from gitops_mc.core.model import JsonObject


def keep_live_encoding(desired_body: JsonObject, live_body: JsonObject) -> JsonObject:
    """The desired MachineConfig with the live bytes wherever both mean the same.

    A file or unit that is equal after decoding is taken as it is live; of a file that differs otherwise (mode, owner)
    equal contents keep their live source and compression. Files and units stand in the live order, new ones after
    them: their order has no meaning, but another one would be another spec and another rendered config.
    """
    spec, config = desired_body.get("spec"), (desired_body.get("spec") or {}).get("config")
    if not isinstance(spec, dict) or not isinstance(config, dict):
        return desired_body
    desired, live = effective_of(desired_body), effective_of(live_body)
    live_files = {file.path: file for file in read(live_body).files}
    live_units = {unit.name: unit.raw for unit in read(live_body).units}

    def file(item: JsonObject) -> JsonObject:
        found = live_files.get(item["path"])
        if found is None:
            return item
        if _equal(desired, live, Entry(EntryKind.FILE, item["path"])):
            return found.raw
        return _with_live_contents(item, found)

    def unit(item: JsonObject) -> JsonObject:
        found = live_units.get(item["name"])
        return found if found is not None and _units_equal(desired, live, item["name"]) else item

    kept = dict(config)
    for section, name, identity, keep, order in (
        ("storage", "files", "path", file, list(live_files)),
        ("systemd", "units", "name", unit, list(live_units)),
    ):
        part = config.get(section)
        if isinstance(part, dict) and _distinct(part.get(name), identity):
            rank = {key: position for position, key in enumerate(order)}
            items = sorted(part[name], key=lambda item: rank.get(item[identity], len(rank)))
            kept[section] = {**part, name: [keep(item) for item in items]}
    return {**desired_body, "spec": {**spec, "config": kept}}


def _distinct(items: Any, identity: str) -> bool:
    """Whether it is a list of objects, each with an identity of its own; anything else is left as it is."""
    if not isinstance(items, list):
        return False
    names = [item.get(identity) if isinstance(item, dict) else None for item in items]
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def _equal(desired: Effective, live: Effective, entry: Entry) -> bool:
    ours, theirs = desired.entries.get(entry), live.entries.get(entry)
    if ours is None or theirs is None:
        return ours is theirs
    return not differing_fields(decoded_fields(ours), decoded_fields(theirs))


def _units_equal(desired: Effective, live: Effective, name: str) -> bool:
    entries = {entry for entry in (*desired.entries, *live.entries) if _belongs_to_unit(entry, name)}
    return all(_equal(desired, live, entry) for entry in entries)


def _belongs_to_unit(entry: Entry, name: str) -> bool:
    return entry.kind in (EntryKind.UNIT, EntryKind.DROPIN) and entry.name == name


def _with_live_contents(item: JsonObject, live: FileEntry) -> JsonObject:
    contents = item.get("contents")
    if not isinstance(contents, dict) or not isinstance(contents.get("source"), str) or live.source is None:
        return item
    ours = content_digest(contents["source"], contents.get("compression"))
    if ours is None or ours != content_digest(live.source, live.compression):
        return item
    rest = {key: value for key, value in contents.items() if key not in ("source", "compression")}
    spelling = {
        key: live.raw["contents"][key] for key in ("source", "compression") if key in live.raw["contents"]
    }
    return {**item, "contents": {**rest, **spelling}}
