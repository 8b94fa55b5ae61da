"""Where sensitive values stand in an object."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gitops_mc.core.globs import name_matches, path_matches
from gitops_mc.core.ignition import SourceDecodeError, decode_source
from gitops_mc.core.model import MODULE_LABEL, BodyPath, JsonObject, Kind
from gitops_mc.core.numbers import whole_number
from gitops_mc.core.policy import Sensitive

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""A copy of a whole earlier version of the object, written by `kubectl apply`."""

_UNIT_FILE = re.compile(r"/(etc|run|usr/lib)/systemd/system/(?P<name>[^/]+?)(\.d/[^/]+)?$")
_CONFIG: BodyPath = ("spec", "config")


@dataclass(frozen=True, slots=True)
class Part:
    """One sensitive part of an object: what to hide, and what not to say anywhere else."""

    path: BodyPath
    shown: Any
    """What stands in its place: a value of the same shape."""
    secrets: tuple[bytes, ...]


def marker(size: int) -> str:
    """What stands in place of a sensitive value."""
    return f"[sensitive, {size} bytes]"


def is_sensitive_file(sensitive: Sensitive, path: str) -> bool:
    """Whether a glob covers the path, as written or normalised, or it is the file or a drop-in of a sensitive unit."""
    normal = posixpath.normpath(path).replace("//", "/")
    if path_matches(path, sensitive.paths) or path_matches(normal, sensitive.paths):
        return True
    unit = _UNIT_FILE.match(normal)
    return unit is not None and is_sensitive_unit(sensitive, unit["name"])


def is_sensitive_unit(sensitive: Sensitive, name: str) -> bool:
    return name_matches(name, sensitive.units)


def sensitive_parts(sensitive: Sensitive, body: JsonObject) -> Iterator[Part]:
    """The sensitive parts of an object of any kind, desired or live. Copies in annotations are not among them."""
    kind = body.get("kind")  # an item of a list may come without one: then it may be any
    if kind in (Kind.MACHINE_CONFIG, None):
        yield from _files(sensitive, body)
        yield from _units(sensitive, body)
        if sensitive.kernel_arguments:
            yield from _kernel_arguments(body)
    if kind in (Kind.MODULE_INFO, None):
        yield from _module(sensitive, body)


def last_applied(body: JsonObject) -> Any:
    """The earlier version in kubectl's annotation: an object, or None when there is none or it cannot be read."""
    text = value_at(body, ("metadata", "annotations", LAST_APPLIED))
    if not isinstance(text, str):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _files(sensitive: Sensitive, body: JsonObject) -> Iterator[Part]:
    for path, entry in _items(body, (*_CONFIG, "storage", "files")):
        name = entry.get("path")
        if isinstance(name, str) and is_sensitive_file(sensitive, name):
            if isinstance(entry.get("contents"), dict):
                yield _contents((*path, "contents"), entry["contents"])
            for where, resource in _items(entry, ("append",)):
                yield _contents((*path, *where), resource)


def _contents(path: BodyPath, contents: JsonObject) -> Part:
    secrets: list[bytes] = []
    size = 0
    for field in ("inline", "source"):
        text = contents.get(field)
        if not isinstance(text, str):
            continue
        written = text if field == "inline" else text.partition(",")[2] or text
        secrets.append(_bytes(written))
        size = len(secrets[-1])
        if field == "source":
            for compression in (None, contents.get("compression")):
                try:
                    decoded = decode_source(text, compression)
                except SourceDecodeError:
                    continue
                secrets.append(decoded)
                size = len(decoded)
    return Part(path, {"source": marker(size)}, tuple(secrets))


def _units(sensitive: Sensitive, body: JsonObject) -> Iterator[Part]:
    for path, unit in _items(body, (*_CONFIG, "systemd", "units")):
        name = unit.get("name")
        if not isinstance(name, str) or not is_sensitive_unit(sensitive, name):
            continue
        for where, part in ((path, unit), *((path + p, d) for p, d in _items(unit, ("dropins",)))):
            if isinstance(part.get("contents"), str):
                yield _value((*where, "contents"), part["contents"])


def _kernel_arguments(body: JsonObject) -> Iterator[Part]:
    arguments = value_at(body, ("spec", "kernelArguments"))
    for index, argument in enumerate(arguments if isinstance(arguments, list) else ()):
        if isinstance(argument, str):
            yield _value(("spec", "kernelArguments", index), argument)


def _module(sensitive: Sensitive, body: JsonObject) -> Iterator[Part]:
    label = value_at(body, ("metadata", "labels", MODULE_LABEL))
    for pattern in sensitive.modules:
        # the platform may have re-created the object without its labels: then it may be any module
        if isinstance(label, str) and not name_matches(label, (pattern.module,)):
            continue
        path = (*_CONFIG, *_pointer(value_at(body, _CONFIG), pattern.pointer))
        value = value_at(body, path)
        if value is not None:
            yield _value(path, value)


def _pointer(document: Any, pointer: str) -> BodyPath:
    """The keys of an RFC 6901 pointer, as numbers where they go into a list."""
    path: list[str | int] = []
    for raw in pointer.split("/")[1:]:
        key: str | int = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(document, list) and (position := whole_number(raw)) is not None:
            key = position
        path.append(key)
        document = value_at(document, (key,))
    return tuple(path)


def _value(path: BodyPath, value: Any) -> Part:
    size = len(_bytes(value)) if isinstance(value, str) else len(json.dumps(value))
    return Part(path, marker(size), tuple(_leaves(value)))


def _leaves(value: Any) -> Iterator[bytes]:
    match value:
        case str():
            yield _bytes(value)
        case dict():
            for inner in value.values():
                yield from _leaves(inner)
        case list():
            for inner in value:
                yield from _leaves(inner)
        case int() | float() if not isinstance(value, bool):
            yield _bytes(json.dumps(value))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _items(body: JsonObject, path: BodyPath) -> Iterator[tuple[BodyPath, JsonObject]]:
    found = value_at(body, path)
    for index, item in enumerate(found if isinstance(found, list) else ()):
        if isinstance(item, dict):
            yield (*path, index), item


def value_at(document: Any, path: BodyPath) -> Any:
    """The value at a path, or None."""
    for key in path:
        if isinstance(document, dict):
            document = document.get(key)
        elif isinstance(document, list) and isinstance(key, int) and key < len(document):
            document = document[key]
        else:
            return None
    return document
