"""What of an object is, or looks like, a secret, and would stand readable in Git."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from gitops_mc.core.ignition import SourceDecodeError, decode_source
from gitops_mc.core.model import JsonObject, Kind, ResourceKey
from gitops_mc.core.policy import ObjectPattern, Sensitive
from gitops_mc.core.raw import items, section, text
from gitops_mc.core.redact.places import is_sensitive_file, is_sensitive_unit

_NAMES: Final = re.compile(
    r"(/etc/kubernetes/pki/|^(?=.*?/etc/kubernetes/).*\.conf$|/etc/g?shadow-?$|/etc/docker/key\.json$|/\.docker/config\.json$"
    r"|/var/lib/kubelet/(config\.json$|pki/)|(^|/)\.(netrc|pgpass|dockercfg|git-credentials|vault-token)$|/kubeconfig$"
    r"|(^|/)id_(rsa|dsa|ecdsa|ed25519)$|ssh_host_[a-z0-9]+_key$|(^|/)auth\.json$"
    r"|\.(key|keytab|p12|pfx|jks|kubeconfig|ppk)$)",
    re.IGNORECASE,
)
_NAMED_SO: Final = re.compile(r"password|passwd|secret|token|credential", re.IGNORECASE)
"""In the last part of a path."""
_NOT_SECRET: Final = re.compile(r"(/etc/passwd-?$|\.pub$)")
_WORDS: Final = r"(pass(word|wd|phrase)?|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|client[_-]?secret)"
_KEY_BLOCK: Final = re.compile(
    rb"-----BEGIN (OPENSSH |RSA |EC |DSA |ENCRYPTED |PGP )?PRIVATE KEY( BLOCK)?-----"
)
_ASSIGNED: Final = re.compile(
    rf"(?i){_WORDS}[\w.-]{{0,40}}[\"']?\s{{0,40}}[=:]\s{{0,40}}[\"']?[^\s\"'{{}}$]{{4}}"
)
"""Bounded, as those below: a cluster holds files with words of any length."""
_AUTHS: Final = re.compile(r'"(auths?|identitytoken)"\s*:\s*["{]')
_IN_ADDRESS: Final = re.compile(r"(?i)[a-z0-9+.-]://[^/\s:@]+:[^/\s:@]+@")
_FIELD: Final = re.compile(rf"(?i){_WORDS}\Z")
MARKED: Final = "marked sensitive in fleet.yaml"


@dataclass(frozen=True, slots=True)
class Secret:
    """One place that holds a secret, or looks as if."""

    key: ResourceKey
    place: str
    """`file /etc/a`, `unit a.service`, `kernelArguments`, `config /a/b`: for people, never the value."""
    why: str
    pattern: str
    """As `sensitive` of fleet.yaml has it."""
    name: str = ""
    """Path of the file or name of the unit."""


def secrets_in(key: ResourceKey, body: JsonObject, sensitive: Sensitive) -> tuple[Secret, ...]:
    """In the order in which they stand there."""
    if key.kind is Kind.MACHINE_CONFIG:
        return (
            *_files(key, body, sensitive),
            *_units(key, body, sensitive),
            *_arguments(key, body, sensitive),
        )
    if key.kind is Kind.MODULE_INFO:
        return tuple(_module(key, section(body, "spec", "config"), ""))
    return ()


def marked_too(sensitive: Sensitive, secrets: Iterable[Secret]) -> Sensitive:
    """What fleet.yaml marks, and what was found beside it: so that no output shows either."""
    found = tuple(secrets)
    pointers = [secret.pattern.split(":", 2) for secret in found if secret.key.kind is Kind.MODULE_INFO]
    files = tuple(secret.name for secret in found if secret.place.startswith("file "))
    units = tuple(secret.name for secret in found if secret.place.startswith("unit "))
    return replace(
        sensitive,
        paths=(*sensitive.paths, *files),
        units=(*sensitive.units, *units),
        modules=(*sensitive.modules, *(ObjectPattern(module, pointer) for _, module, pointer in pointers)),
        kernel_arguments=sensitive.kernel_arguments or any(s.pattern == "kernelArguments" for s in found),
    )


def _files(key: ResourceKey, body: JsonObject, sensitive: Sensitive) -> Iterator[Secret]:
    for file in items(body, "spec", "config", "storage", "files"):
        path = text(file, "path")
        why = MARKED if is_sensitive_file(sensitive, path) else _why_file(path, section(file, "contents"))
        if why:
            yield Secret(key, f"file {path}", why, path, path)


def _why_file(path: str, contents: JsonObject) -> str:
    if _NOT_SECRET.search(path):
        return ""
    if _NAMES.search(path) or ("/" in path and _NAMED_SO.search(path.rpartition("/")[2])):
        return "files of this name hold secrets"
    source, compression = contents.get("source"), contents.get("compression")
    try:
        data = decode_source(source, compression) if isinstance(source, str) else b""
    except SourceDecodeError:
        return ""
    return _why_text(data)


def _why_text(data: bytes) -> str:
    if _KEY_BLOCK.search(data):
        return "it holds a private key"
    said = data.decode("utf-8", "replace")
    if _AUTHS.search(said):
        return "it looks like credentials of a registry"
    if _IN_ADDRESS.search(said):
        return "an address in it has a password"
    if _ASSIGNED.search(said):
        return "a value in it is called a password, token or secret"
    return ""


def _units(key: ResourceKey, body: JsonObject, sensitive: Sensitive) -> Iterator[Secret]:
    for unit in items(body, "spec", "config", "systemd", "units"):
        name = text(unit, "name")
        said = [text(one, "contents") for one in (unit, *items(unit, "dropins"))]
        why = (
            MARKED
            if is_sensitive_unit(sensitive, name)
            else _why_text("\n".join(said).encode("utf-8", "replace"))
        )
        if why:
            yield Secret(key, f"unit {name}", why, f"unit:{name}", name)


def _arguments(key: ResourceKey, body: JsonObject, sensitive: Sensitive) -> Iterator[Secret]:
    found = section(body, "spec").get("kernelArguments")
    said = "\n".join(one for one in found if isinstance(one, str)) if isinstance(found, list) else ""
    why = MARKED if sensitive.kernel_arguments and said else _why_text(said.encode("utf-8", "replace"))
    if why:
        yield Secret(key, "kernelArguments", why, "kernelArguments")


def _module(key: ResourceKey, value: Any, pointer: str) -> Iterator[Secret]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for field, found in inner:
        here = f"{pointer}/{str(field).replace('~', '~0').replace('/', '~1')}"
        if (
            isinstance(found, str)
            and found
            and (_FIELD.search(str(field)) or _why_text(found.encode("utf-8", "replace")))
        ):
            yield Secret(key, f"config {here}", "its value looks like a secret", f"module:{key.name}:{here}")
        else:
            yield from _module(key, found, here)
