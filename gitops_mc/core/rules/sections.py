"""Rules about a MachineConfig as a whole: Ignition version and sections, users, kernel arguments, names."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from gitops_mc.core.model import ROLE_LABEL, BodyPath, JsonObject, dotted, is_protected_config, name_of
from gitops_mc.core.rules.row import Found
from gitops_mc.core.rules.shapes import at, entries, filled, labels, mapping, sequence, text

IGNITION_VERSION = "3.4.0"
LOGIN_USER = "boot"
"""The only user whose SSH keys the operator writes (ACP docs, Machine Configuration: Overview)."""

_CONFIG = ("spec", "config")

_UNSUPPORTED = {
    ("storage", "disks"): "a running node is not repartitioned; provision the node anew",
    ("storage", "filesystems"): "a running node's file systems are not made anew; provision the node anew",
    ("storage", "raid"): "a running node's arrays are not made anew; provision the node anew",
    ("storage", "luks"): "a running node is not encrypted anew; provision the node anew",
    ("storage", "directories"): "write a file below the directory: its parents are made with it",
    ("storage", "links"): "write a regular file, or a unit that makes the link",
    ("passwd", "groups"): "groups are never created; use one that the node has",
    ("kernelArguments",): "write kernel arguments under spec.kernelArguments",
    ("ignition", "config"): "write the entries into this MachineConfig: other configs are not fetched",
}
_FETCHING = ("proxy", "security", "timeouts")

_IGNITION_FIELDS: dict[tuple[str, ...], frozenset[str]] = {
    (): frozenset({"ignition", "kernelArguments", "passwd", "storage", "systemd"}),
    ("ignition",): frozenset({"config", "proxy", "security", "timeouts", "version"}),
    ("passwd",): frozenset({"groups", "users"}),
    ("storage",): frozenset({"directories", "disks", "files", "filesystems", "links", "luks", "raid"}),
    ("systemd",): frozenset({"units"}),
}
_ENTRY_FIELDS: dict[tuple[str, str], frozenset[str]] = {
    ("storage", "files"): frozenset({"append", "contents", "group", "mode", "overwrite", "path", "user"}),
    ("systemd", "units"): frozenset({"contents", "contents_local", "dropins", "enabled", "mask", "name"}),
}
_USER_FIELDS = frozenset({"name", "sshAuthorizedKeys"})

_KEY_TYPES = frozenset(
    {
        "ssh-ed25519",
        "ssh-rsa",
        "ecdsa-sha2-nistp256",
        "ecdsa-sha2-nistp384",
        "ecdsa-sha2-nistp521",
        "sk-ssh-ed25519@openssh.com",
        "sk-ecdsa-sha2-nistp256@openssh.com",
        "ssh-dss",
    }
)
_CONVENTION = re.compile(r"\d\d-[a-z0-9].*")


def ignition_version(body: JsonObject) -> Found:
    config = at(body, *_CONFIG)
    if config is None:
        return
    version = at(config, "ignition", "version")
    path = (*_CONFIG, "ignition", "version")
    hint = f"write `version: {IGNITION_VERSION}`"
    match version:
        case "3.4.0":
            return
        case None:
            yield path, "the Ignition version is missing", hint
        case str():
            yield path, f"Ignition version {version!r} is not supported, only {IGNITION_VERSION} is", hint
        case int() | float():
            yield path, f"YAML read the Ignition version {version} as a number, not as a version", hint
        case _:
            yield path, "the Ignition version is not a string", hint


def unsupported_sections(body: JsonObject) -> Found:
    for path, hint in _UNSUPPORTED.items():
        if filled(at(body, *_CONFIG, *path)):
            where = (*_CONFIG, *path)
            yield where, f"{dotted(path)} cannot be changed on a running node: the pool degrades on it", hint


def fetch_settings(body: JsonObject) -> Found:
    for name in _FETCHING:
        path = ("ignition", name)
        if filled(at(body, *_CONFIG, *path)):
            yield (
                (*_CONFIG, *path),
                f"{dotted(path)} governs how a new machine fetches its config, and changes nothing on a node",
                "remove it",
            )


def unknown_ignition_fields(body: JsonObject) -> Found:
    config = mapping(at(body, *_CONFIG))
    for path, known in _IGNITION_FIELDS.items():
        yield from _unknown((*_CONFIG, *path), mapping(at(config, *path)), known)
    for (section, name), known in _ENTRY_FIELDS.items():
        for where, entry in entries(body, *_CONFIG, section, name):
            yield from _unknown(where, entry, known)


def _unknown(path: BodyPath, value: JsonObject, known: frozenset[str]) -> Found:
    for key in value:
        if key not in known:
            close = get_close_matches(key, sorted(known), n=1)
            yield (
                (*path, key),
                f"{key} is no field of Ignition 3.4 at this place, so it is ignored without a word",
                f"did you mean {close[0]}?" if close else f"known here: {', '.join(sorted(known))}",
            )


def other_users(body: JsonObject) -> Found:
    for path, user in entries(body, *_CONFIG, "passwd", "users"):
        name = user.get("name")
        hint = f"only the SSH keys of user `{LOGIN_USER}` are managed; users are never created"
        if name is None and user.get("user") == LOGIN_USER:
            continue  # rule `user-name-field` speaks of it
        if name is None:
            yield (*path, "name"), "the user has no name", hint
        elif name != LOGIN_USER:
            yield (*path, "name"), f"user {name!r} is not managed, and the config is refused for it", hint


def user_name_field(body: JsonObject) -> Found:
    for path, user in entries(body, *_CONFIG, "passwd", "users"):
        if user.get("name") is None and user.get("user") == LOGIN_USER:
            yield (
                (*path, "user"),
                "`user: boot`, as a sample of the ACP docs has it, is no field of Ignition 3.4: the keys may go nowhere",
                "write `name: boot`",
            )


def user_fields(body: JsonObject) -> Found:
    for path, user in entries(body, *_CONFIG, "passwd", "users"):
        for field in user:
            if field not in _USER_FIELDS and field != "user" and filled(user[field]):
                yield (
                    (*path, field),
                    f"{field} of a user cannot be changed on a running node: only sshAuthorizedKeys can",
                    "remove it",
                )


def _keys(body: JsonObject) -> Iterator[tuple[BodyPath, Any]]:
    for path, user in entries(body, *_CONFIG, "passwd", "users"):
        for index, key in enumerate(sequence(user.get("sshAuthorizedKeys"))):
            yield (*path, "sshAuthorizedKeys", index), key


def ssh_keys(body: JsonObject) -> Found:
    for path, key in _keys(body):
        wrong = _wrong_with_key(key)
        if wrong:
            yield path, wrong, "one public key a line, as in the .pub file: `ssh-ed25519 AAAA... comment`"


def _wrong_with_key(key: Any) -> str:
    if not isinstance(key, str) or not key.strip():
        return "the SSH key is empty or not a string"
    if "PRIVATE KEY" in key:
        return "this is a private key; never put it into a repository, and replace it now"
    if "\n" in key.strip("\n"):
        return "the SSH key runs over several lines"
    words = key.split()
    kind = next((i for i, word in enumerate(words) if word in _KEY_TYPES), None)
    if kind is None:
        return "no known key type in the SSH key"
    if kind + 1 == len(words):
        return "the SSH key has no key data"
    try:
        blob = base64.b64decode(words[kind + 1], validate=True)
    except (binascii.Error, ValueError):
        return "the data of the SSH key is not base64"
    length = int.from_bytes(blob[:4], "big")
    if blob[4 : 4 + length] != words[kind].encode():
        return f"the data of the SSH key is not that of a {words[kind]} key, or is cut off"
    return ""


def duplicate_ssh_keys(body: JsonObject) -> Found:
    seen: dict[str, int] = {}
    for path, key in _keys(body):
        words = tuple(word for word in text(key).split() if word.startswith("AAAA"))
        if words and words[0] in seen:
            yield path, "the same SSH key stands here twice", "keep one"
        elif words:
            seen[words[0]] = 1


def kernel_arguments(body: JsonObject) -> Found:
    for index, argument in enumerate(sequence(at(body, "spec", "kernelArguments"))):
        path = ("spec", "kernelArguments", index)
        if not isinstance(argument, str):
            continue  # rule `field-type` speaks of it
        if not argument.strip():
            yield path, "the kernel argument is empty", "remove it"
        elif argument != argument.strip() or "\n" in argument:
            yield path, "the kernel argument begins or ends with white space", "write it without"


def duplicate_kernel_arguments(body: JsonObject) -> Found:
    seen: set[str] = set()
    for index, argument in enumerate(sequence(at(body, "spec", "kernelArguments"))):
        if isinstance(argument, str) and argument in seen:
            path = ("spec", "kernelArguments", index)
            yield path, f"kernel argument {argument.split('=')[0]} stands here twice, alike", "keep one"
        seen.add(str(argument))


def protected_name(body: JsonObject) -> Found:
    name = name_of(body)
    if is_protected_config(name):
        yield (
            ("metadata", "name"),
            f"{name} belongs to the operator (00-*, rendered-*, render-*) and is never written from here",
            "name it NN-<role>-<topic>, with NN from 01 to 99",
        )


def name_convention(body: JsonObject) -> Found:
    name, role = name_of(body), labels(body).get(ROLE_LABEL)
    if is_protected_config(name) or not role:
        return
    if not _CONVENTION.fullmatch(name) or not name[3:].startswith(f"{role}-"):
        yield (
            ("metadata", "name"),
            f"{name} does not follow the convention NN-<role>-<topic>, by which configs are put in order",
            f"for instance 50-{role}-{re.sub(r'^[0-9]+-', '', name) or 'topic'}",
        )
