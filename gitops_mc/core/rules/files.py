"""Rules about one file entry, or the files of one MachineConfig."""

from __future__ import annotations

import posixpath

from gitops_mc.core.ignition import SourceDecodeError, decode_source
from gitops_mc.core.model import JsonObject
from gitops_mc.core.rules.row import Found
from gitops_mc.core.rules.shapes import entries, filled, mapping, text, whole_number

_FILES = ("spec", "config", "storage", "files")

_ALLOWED_MODE = 0o777
_DECIMAL_FOR_OCTAL = frozenset(
    {400, 440, 444, 500, 550, 555, 600, 640, 644, 660, 664, 666, 700, 711, 744, 750, 755, 770, 775, 777}
)
"""Modes of daily life, read as decimal. None of them is a mode anybody wants: 644 is 01204, 400 is 0620."""

_VOLATILE = "what stands there is gone after the next boot"
_FROM_IMAGE = "part of the operating system's image, and read-only where the system is immutable"
_PLACES = {
    "/bin": _FROM_IMAGE,
    "/boot": _FROM_IMAGE,
    "/lib": _FROM_IMAGE,
    "/lib64": _FROM_IMAGE,
    "/sbin": _FROM_IMAGE,
    "/usr": _FROM_IMAGE,
    "/dev": _VOLATILE,
    "/proc": _VOLATILE,
    "/run": _VOLATILE,
    "/sys": _VOLATILE,
    "/tmp": _VOLATILE,  # noqa: S108 (a path on a node; nothing is written to it here)
    "/var/run": _VOLATILE,
}
_WRITABLE = ("/usr/local",)
"""ACP's own samples write below /usr/local."""


def wrong_with_path(path: object) -> str:
    """Why this is no absolute, normalised path of a file; empty if it is one."""
    if not isinstance(path, str) or not path:
        return "the path is missing or not a string"
    if "\0" in path or "\n" in path:
        return "the path has a line break or a NUL in it"
    if not path.startswith("/"):
        return f"the path {path!r} is not absolute"
    normal = posixpath.normpath(path).replace("//", "/")
    if normal != path:
        return f"the path {path!r} is not normalised: it means {normal}"
    return ""


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder + "/")


def file_path(body: JsonObject) -> Found:
    for where, entry in entries(body, *_FILES):
        wrong = wrong_with_path(entry.get("path"))
        if wrong:
            yield (*where, "path"), wrong, "an absolute path without `//`, `.`, `..` and trailing `/`"


def file_in_root(body: JsonObject) -> Found:
    for where, entry in entries(body, *_FILES):
        path = text(entry.get("path"))
        if not wrong_with_path(path) and posixpath.dirname(path) == "/":
            yield (
                (*where, "path"),
                f"{path} stands in the root directory, which is not managed",
                "use a writable directory below it, such as /etc or /var",
            )


def read_only_place(body: JsonObject) -> Found:
    for where, entry in entries(body, *_FILES):
        path = text(entry.get("path"))
        if wrong_with_path(path) or any(_below(path, folder) for folder in _WRITABLE):
            continue
        for folder, reason in _PLACES.items():
            if _below(path, folder):
                yield (
                    (*where, "path"),
                    f"{path} is below {folder}: {reason}",
                    "files are written in writable directories only; /etc, /var and /usr/local are",
                )


def duplicate_path(body: JsonObject) -> Found:
    seen: set[str] = set()
    for where, entry in entries(body, *_FILES):
        path = text(entry.get("path"))
        if path and path in seen:
            yield (*where, "path"), f"{path} stands in this config twice", "keep one entry"
        seen.add(path)


def file_below_file(body: JsonObject) -> Found:
    paths = {text(entry.get("path")) for _, entry in entries(body, *_FILES)}
    for where, entry in entries(body, *_FILES):
        parent = parent_among(text(entry.get("path")), paths)
        if parent:
            yield (
                (*where, "path"),
                f"{parent} is a file in this config and cannot be the directory of {entry['path']}",
                "move one of the two",
            )


def parent_among(path: str, paths: set[str]) -> str:
    """The nearest parent of a path that is one of `paths`, or the empty string."""
    parent = path.rpartition("/")[0]
    while parent:
        if parent in paths:
            return parent
        parent = parent.rpartition("/")[0]
    return ""


def file_append(body: JsonObject) -> Found:
    for where, entry in entries(body, *_FILES):
        if filled(entry.get("append")):
            yield (
                (*where, "append"),
                "a file cannot be appended to on a running node: the pool degrades on it",
                "write the whole file under contents",
            )


def mode_type(body: JsonObject) -> Found:
    """A mode in quotes is told when contents are resolved, with the number it stands for."""
    for where, entry in entries(body, *_FILES):
        mode = entry.get("mode")
        if not isinstance(mode, str | None) and whole_number(mode) is None:
            yield (
                (*where, "mode"),
                f"the mode {mode!r} is not a whole number",
                "write it like 0644, without quotes",
            )


def mode_decimal(body: JsonObject) -> Found:
    for where, entry in entries(body, *_FILES):
        mode = whole_number(entry.get("mode"))
        if mode in _DECIMAL_FOR_OCTAL:
            yield (
                (*where, "mode"),
                f"the mode {mode} was read as a decimal number: it is {mode:04o} in octal",
                f"write 0{mode}",
            )


def mode_range(body: JsonObject) -> Found:
    for where, entry in entries(body, *_FILES):
        mode = whole_number(entry.get("mode"))
        if mode is None or mode in _DECIMAL_FOR_OCTAL or 0 <= mode <= _ALLOWED_MODE:
            continue
        shown = f"{mode} ({mode:04o} in octal)" if mode > 0 else str(mode)
        yield (
            (*where, "mode"),
            f"the mode {shown} is outside 0 to 0777: set-uid, set-gid and sticky bits are not reconciled",
            "use a mode up to 0777",
        )


def owner_twice(body: JsonObject) -> Found:
    for where, entry in entries(body, *_FILES):
        for field in ("user", "group"):
            owner = mapping(entry.get(field))
            if owner.get("id") is not None and owner.get("name") is not None:
                yield (*where, field), f"{field} has both an id and a name", "keep one of the two"


def owner_name(body: JsonObject) -> Found:
    for where, entry in entries(body, *_FILES):
        for field in ("user", "group"):
            name = text(mapping(entry.get(field)).get("name"))
            if name and name != "root":
                yield (
                    (*where, field, "name"),
                    f"{field} {name} is not created by this, and the file fails on a node that lacks it",
                    f"make sure that every node of the pool has {field} {name}",
                )


def file_contents(body: JsonObject) -> Found:
    for where, entry in entries(body, *_FILES):
        contents = mapping(entry.get("contents"))
        source, compression = contents.get("source"), contents.get("compression")
        if not isinstance(source, str | None) or not isinstance(compression, str | None):
            yield (
                (*where, "contents"),
                "source and compression must be strings",
                "write contents.inline instead",
            )
            continue
        try:
            decode_source(source, compression)
        except SourceDecodeError as error:
            yield (*where, "contents", "source"), error.message, error.hint
