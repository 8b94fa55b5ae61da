"""What differs in one object, part by part, in the words of the people who wrote it: files decoded, units as text.

Of what is marked sensitive only its size is told, in no encoding anything else.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitops_mc.core.diff import ABSENT, FieldChange
from gitops_mc.core.globs import name_matches
from gitops_mc.core.ignition import (
    ChangeKind,
    Effective,
    Entry,
    EntryChange,
    EntryKind,
    FieldPath,
    SourceDecodeError,
    decode_source,
    entries_changed,
)
from gitops_mc.core.policy import Sensitive
from gitops_mc.core.redact.places import is_sensitive_file, is_sensitive_unit
from gitops_mc.core.render.lines import visible
from gitops_mc.core.render.yaml_text import yaml_lines

SOURCE: FieldPath = ("contents", "source")
COMPRESSION: FieldPath = ("contents", "compression")
UNIT_CONTENTS: FieldPath = ("contents",)
_HARMLESS: frozenset[FieldPath] = frozenset(
    {("mode",), ("overwrite",), ("enabled",), ("mask",), ("user", "name"), ("group", "name")}
)
"""Fields that may be shown of a sensitive entry."""
_DATA = "data:"
_MOST_LINES = 4_000
"""Of both sides together: comparing line by line takes time that grows with their square."""
_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an object that differs."""

    name: str
    change: ChangeKind
    details: tuple[str, ...] = ()
    """Sentences such as `mode: 0644 -> 0600`."""
    diff: tuple[str, ...] = ()
    """Lines of a unified diff, without line ends."""
    sensitive: bool = False


def entry_parts(before: Effective, after: Effective, sensitive: Sensitive) -> Iterator[Part]:
    """Entries of a MachineConfig that differ as they are written: another encoding of the same bytes is one, too."""
    for change in entries_changed(before, after):
        sides = _fields(before, change.entry), _fields(after, change.entry)
        match change.entry.kind:
            case EntryKind.FILE:
                yield _file(change, *sides, sensitive)
            case EntryKind.UNIT | EntryKind.DROPIN:
                yield _unit(change, *sides, sensitive)
            case EntryKind.KERNEL_ARGUMENT:
                yield _kernel_argument(change, sensitive)
            case _:
                yield Part(
                    visible(str(change.entry)), change.change, tuple(visible(f) for f in change.fields)
                )


def field_parts(
    changes: Iterable[FieldChange], sensitive: Sensitive, *, module: str | None = None
) -> Iterator[Part]:
    """Fields of any other object. `module`: the module's name, where it is a ModuleInfo."""
    for change in changes:
        kind = _kind_of(change)
        name = visible(change.path)
        if module is not None and _is_sensitive_field(sensitive, module, change.path):
            shown = change.before if change.after is ABSENT else change.after
            yield Part(
                name,
                kind,
                (_hidden(_size(shown), kind),),
                sensitive=True,
            )
        elif any(_is_large(side) for side in (change.before, change.after)):
            yield Part(name, kind, diff=_unified(_lines(change.before), _lines(change.after)))
        else:
            yield Part(name, kind, (_arrow(change.before, change.after),))


def _file(
    change: EntryChange, before: Mapping[FieldPath, Any], after: Mapping[FieldPath, Any], sensitive: Sensitive
) -> Part:
    name = visible(str(change.entry))
    old, new = _content(before), _content(after)
    if is_sensitive_file(sensitive, change.entry.name):
        shown = new if new is not None else old
        told = _content_hidden(change, old, new, shown)
        return Part(
            name, change.change, (*told, *_other_fields(change, before, after, _HARMLESS)), sensitive=True
        )
    details: list[str] = []
    diff: tuple[str, ...] = ()
    if _differ(before, after, SOURCE, COMPRESSION):
        if change.change is ChangeKind.CHANGED and old is not None and old == new:
            details.append("the same content in another encoding: to the operator that is a change")
        elif isinstance(old, bytes | None) and isinstance(new, bytes | None):
            found = _content_diff(old, new)
            details += [found] if isinstance(found, str) else []
            diff = found if isinstance(found, tuple) else ()
        else:
            details.append(f"contents: {_told_content(old)} -> {_told_content(new)}")
    details += _other_fields(change, before, after, None, SOURCE, COMPRESSION)
    return Part(name, change.change, tuple(details), diff)


def _content_hidden(
    change: EntryChange, old: bytes | str | None, new: bytes | str | None, shown: bytes | str | None
) -> Iterator[str]:
    if change.change is not ChangeKind.CHANGED or old != new:
        yield _hidden(len(shown or b""), change.change)
    elif any(field.startswith("contents") for field in change.fields):
        yield "the same content in another encoding: to the operator that is a change"


def _unit(
    change: EntryChange, before: Mapping[FieldPath, Any], after: Mapping[FieldPath, Any], sensitive: Sensitive
) -> Part:
    name = visible(str(change.entry))
    old, new = before.get(UNIT_CONTENTS), after.get(UNIT_CONTENTS)
    if is_sensitive_unit(sensitive, change.entry.name):
        told = (_hidden(_size(str(new or old or "")), change.change),) if old != new else ()
        return Part(
            name, change.change, (*told, *_other_fields(change, before, after, _HARMLESS)), sensitive=True
        )
    diff = _unified(_text_lines(old), _text_lines(new)) if old != new else ()
    return Part(name, change.change, tuple(_other_fields(change, before, after, None, UNIT_CONTENTS)), diff)


def _kernel_argument(change: EntryChange, sensitive: Sensitive) -> Part:
    if sensitive.kernel_arguments:
        told = _hidden(_size(change.entry.name), change.change)
        return Part("kernel argument", change.change, (told,), sensitive=True)
    return Part(visible(f"kernel argument {change.entry.name}"), change.change)


def _fields(effective: Effective, entry: Entry) -> Mapping[FieldPath, Any]:
    found = effective.entries.get(entry)
    return {} if found is None else found.fields


def _other_fields(
    change: EntryChange,
    before: Mapping[FieldPath, Any],
    after: Mapping[FieldPath, Any],
    only: frozenset[FieldPath] | None,
    *besides: FieldPath,
) -> list[str]:
    """Sentences on the other fields. Of a removed entry they go with it; `overwrite` is true for every new one."""
    told: list[str] = []
    if change.change is ChangeKind.REMOVED:
        return told
    for path in sorted(before.keys() | after.keys()):
        if path in besides or (only is not None and path not in only) or not _differ(before, after, path):
            continue
        if change.change is ChangeKind.ADDED and path == ("overwrite",) and after[path] is True:
            continue
        old, new = (_mode(path, side.get(path, ABSENT)) for side in (before, after))
        told.append(f"{visible('.'.join(path))}: {_arrow(old, new)}")
    return told


def _differ(before: Mapping[FieldPath, Any], after: Mapping[FieldPath, Any], *paths: FieldPath) -> bool:
    return any(before.get(path, ABSENT) != after.get(path, ABSENT) for path in paths)


def _mode(path: FieldPath, value: Any) -> Any:
    """Modes as people write them."""
    if path == ("mode",) and isinstance(value, int):
        return _Word(f"{value:04o}")
    return value


class _Word(str):
    """Shown as it is, without quotes."""

    __slots__ = ()


def _content(fields: Mapping[FieldPath, Any]) -> bytes | str | None:
    """Decoded bytes; the source as written where it cannot be decoded; None where there is none."""
    source = fields.get(SOURCE)
    if not isinstance(source, str):
        return None
    try:
        return decode_source(source, fields.get(COMPRESSION))
    except SourceDecodeError:
        return source


def _told_content(content: bytes | str | None) -> str:
    match content:
        case bytes():
            return f"{len(content)} bytes"
        case str() if content.startswith(_DATA):  # what it hides, compressed for instance, no redactor sees
            return f"{len(content)} letters that cannot be decoded"
        case str():
            return visible(json.dumps(content, ensure_ascii=False))
        case None:
            return "none"


def _content_diff(old: bytes | None, new: bytes | None) -> tuple[str, ...] | str:
    """Lines of a diff; a sentence where the content is no text, or too much of it."""
    texts = _decoded(old), _decoded(new)
    if texts[0] is None or texts[1] is None:
        return f"binary: {_told_content(old)} -> {_told_content(new)}"
    return _unified(_text_lines(texts[0]), _text_lines(texts[1]))


def _decoded(content: bytes | None) -> str | None:
    if content is None:
        return ""
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _text_lines(text: str | None) -> tuple[str, ...]:
    lines = (text or "").split("\n")
    if lines[-1] == "":
        return tuple(lines[:-1])
    return (*lines[:-1], f"{lines[-1]}\n\\ No newline at end of file")


def _lines(value: Any) -> tuple[str, ...]:
    if value is ABSENT:
        return ()
    return _text_lines(value) if isinstance(value, str) else yaml_lines(value)


def _unified(old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    if len(old) + len(new) > _MOST_LINES:
        return (f"@@ too long to be shown line by line: {len(old)} lines before, {len(new)} after @@",)
    found = list(difflib.unified_diff(old, new, lineterm="", n=_CONTEXT))[2:]
    return tuple(visible(part) for line in found for part in line.split("\n"))


def _kind_of(change: FieldChange) -> ChangeKind:
    if change.before is ABSENT:
        return ChangeKind.ADDED
    return ChangeKind.REMOVED if change.after is ABSENT else ChangeKind.CHANGED


def _is_large(value: Any) -> bool:
    return (isinstance(value, dict | list) and bool(value)) or (isinstance(value, str) and "\n" in value)


def _arrow(old: Any, new: Any) -> str:
    if old is ABSENT:
        return _plain(new)
    return f"{_plain(old)} -> {'none' if new is ABSENT else _plain(new)}"


def _plain(value: Any) -> str:
    return str(value) if isinstance(value, _Word) else visible(json.dumps(value, ensure_ascii=False))


def _size(value: Any) -> int:
    """Bytes of a text; of anything else, those of its JSON."""
    text = value if isinstance(value, str) else json.dumps(value)
    return len(text.encode("utf-8", "surrogatepass"))


def _hidden(size: int, change: ChangeKind) -> str:
    return f"{change.value}, {size} bytes"


def _is_sensitive_field(sensitive: Sensitive, module: str, path: str) -> bool:
    """Whether a field is, holds, or is inside something sensitive. A list is one field: it is hidden whole."""
    for pattern in sensitive.modules:
        if not name_matches(module, (pattern.module,)):
            continue
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in pattern.pointer.split("/")[1:]]
        marked = ".".join(["spec", "config", *tokens])
        if path == marked or path.startswith((f"{marked}.", f"{marked}[")) or marked.startswith(f"{path}."):
            return True
    return False
