"""Rules about what services do with files and policies: what is started must be able to run, and what is new must be read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from gitops_mc.core.disruption import closest_policy
from gitops_mc.core.ignition import EntryKind
from gitops_mc.core.model import BodyPath, JsonObject, Kind
from gitops_mc.core.rules.merged import named, where
from gitops_mc.core.rules.row import DesiredFacts, Found, Hit, PoolView
from gitops_mc.core.rules.shapes import at, entries, mapping, sequence, text, whole_number

_EXEC = re.compile(
    r"^[ \t]*Exec(?:Start|StartPre|StartPost|Reload|Stop|StopPost|Condition)[ \t]*=[ \t]*(\S+)", re.MULTILINE
)
_PREFIXES = "@-:+!|"
"""Characters before the path of a command, which say how it is run (systemd.service)."""
_DEFAULT_MODE = 0o644
_ANY_EXECUTE = 0o111
_UNIT_FOLDER = "/etc/systemd/system/"
_POLICY = ("spec", "nodeDisruptionPolicy")
_DAEMON_RELOAD = "DaemonReload"
_STARTING = {"Restart": "restart", "Reload": "reload"}


def not_executable(facts: DesiredFacts) -> Iterator[Hit]:
    """A script that a unit starts, and that is written without the right to be executed."""
    told: set[tuple[str, str]] = set()
    for view in facts.pools:
        files = {found.entry.name: found for found in view.by_name.of_kind(EntryKind.FILE)}
        for unit in (*view.by_name.of_kind(EntryKind.UNIT), *view.by_name.of_kind(EntryKind.DROPIN)):
            for command in _EXEC.findall(text(unit.fields.get(("contents",)))):
                file = files.get(command.lstrip(_PREFIXES))
                if file is None or (file.owner, file.entry.name) in told:
                    continue
                mode = whole_number(file.fields.get(("mode",)))
                if not (_DEFAULT_MODE if mode is None else mode) & _ANY_EXECUTE:
                    told.add((file.owner, file.entry.name))
                    manifest = named(view, file.owner)
                    yield Hit(
                        manifest,
                        where(manifest.body, file.entry),
                        f"{unit.entry.name} starts {file.entry.name}, which is written without the right to be executed",
                        "write `mode: 0755`",
                    )


def reads_old_unit(body: JsonObject) -> Found:
    """A unit's file that changes, and its service restarted without systemd having read the file again."""
    for path, name, actions in _of_units(body):
        reloaded = False
        for index, action in enumerate(actions):
            kind = mapping(action).get("type")
            reloaded = reloaded or kind == _DAEMON_RELOAD
            if kind in _STARTING and not reloaded:
                yield (
                    (*path, "actions", index),
                    f"{name} changes and {kind} follows, but systemd has not read the unit again: it goes on with the old one",
                    f"put `type: {_DAEMON_RELOAD}` before it",
                )
                break


def _of_units(body: JsonObject) -> Iterator[tuple[BodyPath, str, list[object]]]:
    """The entries that decide for unit files: units, and files and folders where units and their drop-ins stand."""
    for path, entry in entries(body, *_POLICY, "units"):
        yield path, text(entry.get("name")), sequence(entry.get("actions"))
    for path, entry in entries(body, *_POLICY, "files"):
        if f"{text(entry.get('path'))}/".startswith(_UNIT_FOLDER):
            yield path, text(entry.get("path")), sequence(entry.get("actions"))


def restarts_masked(facts: DesiredFacts) -> Iterator[Hit]:
    """In a pool that has what the entry decides for; elsewhere the mask is in nobody's way."""
    told: set[tuple[str, BodyPath]] = set()
    for view in facts.pools:
        units = {unit.entry.name: unit for unit in view.by_name.of_kind(EntryKind.UNIT)}
        masked = {name: unit.owner for name, unit in units.items() if unit.fields.get(("mask",)) is True}
        for manifest in facts.cluster.of_kind(Kind.MACHINE_CONFIGURATION) if masked else ():
            for path, service in _started_by(manifest.body, view, units.keys()):
                if service in masked and (manifest.key.name, path) not in told:
                    told.add((manifest.key.name, path))
                    yield Hit(
                        manifest,
                        path,
                        f"the action needs {service}, which {masked[service]} masks in pool {view.pool}: a masked unit cannot "
                        "be started",
                        "take the action away, or the mask",
                    )


def _started_by(body: JsonObject, view: PoolView, units: Collection[str]) -> Iterator[tuple[BodyPath, str]]:
    """The services that the policy restarts or reloads when something of this pool changes."""
    covered = [text(entry.get("path")) for _, entry in entries(body, *_POLICY, "files")]
    files = {closest_policy(f.entry.name, covered) for f in view.by_name.of_kind(EntryKind.FILE)}
    for name, key, here in (("files", "path", files), ("units", "name", units)):
        for path, entry in entries(body, *_POLICY, name):
            for inner, action in entries(entry, "actions") if text(entry.get(key)) in here else ():
                field = _STARTING.get(text(action.get("type")), "")
                yield (*path, *inner), text(at(action, field, "serviceName"))
