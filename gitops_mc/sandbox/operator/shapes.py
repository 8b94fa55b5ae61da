"""The JSON shape of an Ignition 3.4 config, as its parser demands it (coreos/ignition, config/v3_4/types).

The parser reads into typed structures: a string where a list stands is an error for the whole config; null is a field that
was not set, and a field it does not know is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Shape: TypeAlias = "type[str | int | bool] | list[Shape] | Mapping[str, Shape]"
"""A scalar's type, a list of one shape, or the fields of a map."""

_RESOURCE: Shape = {
    "source": str,
    "compression": str,
    "httpHeaders": [{"name": str, "value": str}],
    "verification": {"hash": str},
}
_OWNER: Shape = {"id": int, "name": str}
_FILE: Shape = {
    "path": str,
    "mode": int,
    "overwrite": bool,
    "user": _OWNER,
    "group": _OWNER,
    "contents": _RESOURCE,
    "append": [_RESOURCE],
}
_UNIT: Shape = {
    "name": str,
    "contents": str,
    "enabled": bool,
    "mask": bool,
    "dropins": [{"name": str, "contents": str}],
}
_USER: Shape = {
    "name": str,
    "uid": int,
    "passwordHash": str,
    "sshAuthorizedKeys": [str],
    "gecos": str,
    "homeDir": str,
    "shell": str,
    "primaryGroup": str,
    "groups": [str],
    "noCreateHome": bool,
    "noUserGroup": bool,
    "noLogInit": bool,
    "shouldExist": bool,
    "system": bool,
}
_GROUP: Shape = {"name": str, "gid": int, "passwordHash": str, "shouldExist": bool, "system": bool}
_STORED: Mapping[str, Shape] = {
    kind: [{}] for kind in ("disks", "raid", "filesystems", "directories", "links", "luks")
}
CONFIG: Shape = {
    "ignition": {
        "version": str,
        "config": {"merge": [_RESOURCE], "replace": _RESOURCE},
        "proxy": {"httpProxy": str, "httpsProxy": str, "noProxy": [str]},
        "security": {"tls": {"certificateAuthorities": [_RESOURCE]}},
        "timeouts": {"httpResponseHeaders": int, "httpTotal": int},
    },
    "kernelArguments": {"shouldExist": [str], "shouldNotExist": [str]},
    "passwd": {"users": [_USER], "groups": [_GROUP]},
    "storage": {"files": [_FILE], **_STORED},
    "systemd": {"units": [_UNIT]},
}

_NAMED: Mapping[tuple[str, ...], str] = {
    ("storage", "files"): "path",
    ("storage", "files", "contents", "httpHeaders"): "name",
    ("systemd", "units"): "name",
    ("systemd", "units", "dropins"): "name",
    ("passwd", "users"): "name",
    ("passwd", "groups"): "name",
}
"""Lists whose elements are told apart by a field: each has it, and no two have the same."""

_WORDS: Mapping[type, str] = {
    str: "string",
    int: "integer",
    bool: "boolean",
    float: "number",
    list: "list",
    dict: "object",
}


def flaw(value: Any, shape: Shape = CONFIG, place: tuple[str, ...] = ()) -> str:
    """The first thing about a config that its parser refuses, with its place; empty when there is none."""
    if value is None and place:
        return ""
    at = ".".join(place) or "the config"
    match shape:
        case type():
            return "" if type(value) is shape else f"{at} is {_word(value)}, not {_a(shape)}"
        case list():
            if not isinstance(value, list):
                return f"{at} is {_word(value)}, not {_a(list)}"
            flaws = (flaw(element, shape[0], place) for element in value if element is not None)
            return next(filter(None, flaws), "") or _unnamed(value, place)
        case _:
            if not isinstance(value, dict):
                return f"{at} is {_word(value)}, not {_a(dict)}"
            flaws = (
                flaw(value[name], inner, (*place, name)) for name, inner in shape.items() if name in value
            )
            return next(filter(None, flaws), "")


def _unnamed(elements: list[Any], place: tuple[str, ...]) -> str:
    field = _NAMED.get(place)
    if field is None:
        return ""
    names = [(element or {}).get(field) for element in elements]
    if not all(names):
        return f"{'.'.join(place)} has an element without {field}"
    twice = next((name for name in names if names.count(name) > 1), None)
    return "" if twice is None else f"{'.'.join(place)} has a duplicate entry: {twice}"


def _word(value: Any) -> str:
    return _a(type(value))


def _a(kind: type) -> str:
    word = _WORDS[kind]
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
