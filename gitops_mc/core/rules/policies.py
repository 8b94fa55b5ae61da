"""Rules about the MachineConfiguration: the node-disruption policy and its actions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gitops_mc.core.model import POLICY_NAME, BodyPath, JsonObject, dotted, name_of
from gitops_mc.core.rules.files import wrong_with_path
from gitops_mc.core.rules.row import Found
from gitops_mc.core.rules.shapes import at, entries, mapping, sequence, text
from gitops_mc.core.rules.units import UNIT_TYPES

_ACTIONS = ("Reboot", "Drain", "Reload", "Restart", "DaemonReload", "None")
_ALONE = ("Reboot", "None")
_WITH_SERVICE = {"Reload": "reload", "Restart": "restart"}
_MOST_ENTRIES = 50
_MOST_ACTIONS = 10
_LONGEST_SERVICE = 255
_SERVICE_TYPE = re.compile(rf"\.({'|'.join(UNIT_TYPES)})$")
_SERVICE_NAME = re.compile(r"^[a-zA-Z0-9:._\\-]+\..")

_POLICY = ("spec", "nodeDisruptionPolicy")
_DEFAULTS = ("spec", "defaultNodeDisruptionPolicySpecAction")
_KEYED = (("files", "path"), ("units", "name"))


def _lists(body: JsonObject) -> Iterator[tuple[BodyPath, Any]]:
    """Every action list, with its path."""
    for name, _ in _KEYED:
        for where, entry in entries(body, *_POLICY, name):
            yield (*where, "actions"), entry.get("actions")
    if at(body, *_POLICY, "sshkey") is not None:
        yield (*_POLICY, "sshkey", "actions"), at(body, *_POLICY, "sshkey", "actions")
    for name, _ in _KEYED:
        if name in mapping(at(body, *_DEFAULTS)):
            yield (*_DEFAULTS, name), at(body, *_DEFAULTS, name)


def _each_action(body: JsonObject) -> Iterator[tuple[BodyPath, JsonObject]]:
    for path, actions in _lists(body):
        for index, action in enumerate(sequence(actions)):
            if isinstance(action, dict):
                yield (*path, index), action


def singleton_name(body: JsonObject) -> Found:
    if name_of(body) != POLICY_NAME:
        yield (
            ("metadata", "name"),
            f"the operator reads the MachineConfiguration `{POLICY_NAME}` only, not {name_of(body)!r}",
            f"name it {POLICY_NAME}",
        )


def action_type(body: JsonObject) -> Found:
    for path, action in _each_action(body):
        kind = action.get("type")
        if kind not in _ACTIONS:
            said = "the action has no type" if kind is None else f"there is no action {kind!r}"
            yield (*path, "type"), said, f"one of {', '.join(_ACTIONS)}"


def stands_alone(body: JsonObject) -> Found:
    for path, actions in _lists(body):
        kinds = [mapping(action).get("type") for action in sequence(actions)]
        for alone in _ALONE:
            if alone in kinds and len(kinds) > 1:
                yield (
                    path,
                    f"{alone} action can only be specified standalone, as it will override any other actions",
                    f"keep {alone} alone, or remove it",
                )


def service_given(body: JsonObject) -> Found:
    for path, action in _each_action(body):
        for kind, field in _WITH_SERVICE.items():
            if action.get("type") == kind and not text(at(action, field, "serviceName")):
                yield (
                    path,
                    f"{field} is required when type is {kind}, and forbidden otherwise",
                    f"{field}: {{serviceName: chronyd.service}}",
                )
            elif action.get("type") != kind and field in action:
                yield (
                    (*path, field),
                    f"{field} is required when type is {kind}, and forbidden otherwise",
                    "remove it, or correct the type",
                )


def service_name(body: JsonObject) -> Found:
    for path, name in _unit_names(body):
        if not name:
            continue
        if not _SERVICE_TYPE.search(name):
            yield path, f"{name!r} has no unit type", f"end it in one of .{', .'.join(UNIT_TYPES)}"
        elif not _SERVICE_NAME.search(name) or len(name) > _LONGEST_SERVICE:
            yield (
                path,
                f"{name!r} is not a unit name that the schema admits",
                "at most 255 letters, digits and `:-_.\\`; template instances (`@`) are not admitted",
            )


def _unit_names(body: JsonObject) -> Iterator[tuple[BodyPath, str]]:
    for path, action in _each_action(body):
        for field in _WITH_SERVICE.values():
            yield (*path, field, "serviceName"), text(at(action, field, "serviceName"))
    for path, entry in entries(body, *_POLICY, "units"):
        yield (*path, "name"), text(entry.get("name"))


def entry_key(body: JsonObject) -> Found:
    for name, key in _KEYED:
        seen: set[str] = set()
        for path, entry in entries(body, *_POLICY, name):
            value = text(entry.get(key))
            if not value:
                yield (*path, key), f"the entry has no {key}", f"write the {key} it is for"
            elif value in seen:
                yield (*path, key), f"{value} has two entries in the policy", "keep one entry"
            seen.add(value)


def policy_path(body: JsonObject) -> Found:
    for path, entry in entries(body, *_POLICY, "files"):
        value = text(entry.get("path"))
        wrong = wrong_with_path(value) if value else ""
        if wrong:
            yield (
                (*path, "path"),
                f"{wrong}; so the entry covers no file",
                "an absolute path of a file or a directory, without a trailing `/`",
            )
        elif value == "/":
            yield (*path, "path"), "a policy for the root directory is not possible", "use the default action"


def most_entries(body: JsonObject) -> Found:
    for name, _ in _KEYED:
        found = sequence(at(body, *_POLICY, name))
        if len(found) > _MOST_ENTRIES:
            yield (
                (*_POLICY, name),
                f"{len(found)} entries in {dotted((*_POLICY, name))}, at most {_MOST_ENTRIES}",
                "cover a directory by one entry",
            )
    for path, actions in _lists(body):
        found = sequence(actions)
        if len(found) > _MOST_ACTIONS:
            yield path, f"{len(found)} actions in {dotted(path)}, at most {_MOST_ACTIONS}", "use fewer"


def no_actions(body: JsonObject) -> Found:
    for path, actions in _lists(body):
        if actions is None or actions == []:
            yield (
                path,
                f"{dotted(path)} is empty, and what a node then does is nowhere said",
                "write `type: None`",
            )


def states_file_default(body: JsonObject) -> bool:
    """Whether the manifest says what a file without an entry does."""
    return bool(sequence(at(body, *_DEFAULTS, "files")))


def readable_policy(body: JsonObject) -> JsonObject:
    """A MachineConfiguration with its policy alone, and without the parts of it that have the wrong shape, which other rules
    speak of.
    """
    policy: JsonObject = {
        name: [
            {key: text(entry.get(key)), "actions": _readable_actions(entry.get("actions"))}
            for _, entry in entries(body, *_POLICY, name)
        ]
        for name, key in _KEYED
    }
    if isinstance(at(body, *_POLICY, "sshkey"), dict):
        policy["sshkey"] = {"actions": _readable_actions(at(body, *_POLICY, "sshkey", "actions"))}
    defaults = {name: _readable_actions(at(body, *_DEFAULTS, name)) for name, _ in _KEYED}
    stated = {name: actions for name, actions in defaults.items() if actions}
    return {"spec": {_POLICY[1]: policy, _DEFAULTS[1]: stated}}


def _readable_actions(actions: Any) -> list[JsonObject]:
    return [
        {
            "type": text(action.get("type")),
            **{
                field: {"serviceName": text(at(action, field, "serviceName"))}
                for field in _WITH_SERVICE.values()
                if field in action
            },
        }
        for action in map(mapping, sequence(actions))
    ]
