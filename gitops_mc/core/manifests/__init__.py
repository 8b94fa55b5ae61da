"""Bytes of a manifest file -> objects of the managed kinds, with every flaw and its position.

The result depends on the bytes alone, neither on the file's name nor on its place: it can be kept by blob id.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from gitops_mc.core.ignition import resolve_contents
from gitops_mc.core.manifests.documents import Document, read_documents
from gitops_mc.core.manifests.envelope import check_envelope, kind_of
from gitops_mc.core.manifests.flaws import Flaw
from gitops_mc.core.manifests.positions import Chunk, Places, Position, nearest_position
from gitops_mc.core.manifests.scalars import type_name
from gitops_mc.core.model import BodyPath, Finding, JsonObject, Kind, Place, Severity

LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/v1"


@dataclass(frozen=True, slots=True)
class Parsed:
    """One object of a file. `body` is shared by all who read the same blob: never change it."""

    kind: Kind
    body: JsonObject
    chunk: Chunk
    base: BodyPath
    """BodyPath of the object in its document: `()`, or `("items", n)` in a list."""
    start: Position
    local: bool = False
    """Whether it takes contents from other files; it is then still as written, else contents are resolved."""

    def places(self, file: str) -> Places:
        return Places(file, self.chunk, self.base)

    def place(self, file: str) -> Place:
        """Where the object begins."""
        return Place(file, *self.start)


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """All that a manifest file says."""

    objects: tuple[Parsed, ...]
    flaws: tuple[Flaw, ...]


Cache: TypeAlias = MutableMapping[str, ManifestFile]
"""By blob id. The caller owns it and decides what it forgets."""


def read_manifests(data: bytes) -> ManifestFile:
    """Never raises: whatever cannot be used is a flaw."""
    if data.startswith(LFS_POINTER):
        message = "the file is a Git LFS pointer, not the content"
        hint = "fetch it (`git lfs pull`), or keep manifests out of LFS"
        return ManifestFile((), (Flaw(0, 0, "file-lfs-pointer", (), message, hint),))
    read = read_documents(data)
    objects: list[Parsed] = []
    flaws = list(read.flaws)
    if not read.documents and not read.flaws:
        message = "the file has no documents"
        hint = "remove it, or write a manifest into it"
        flaws.append(Flaw(0, 0, "file-empty", (), message, hint, Severity.WARNING))
    for document in read.documents:
        for base, value in _expanded(document, (), document.value, flaws):
            parsed = _parsed(document, base, value, flaws)
            if parsed is not None:
                objects.append(parsed)
    return ManifestFile(tuple(objects), tuple(flaws))


def _expanded(
    document: Document, base: BodyPath, value: Any, flaws: list[Flaw]
) -> Iterator[tuple[BodyPath, JsonObject]]:
    """The object itself, or the items of a list, whose apiVersion and kind may be left to the list."""
    if not isinstance(value, dict):
        finding = Finding(
            (),
            "manifest-object",
            f"a manifest is a mapping, not {type_name(value)}",
            "write apiVersion: and kind:",
        )
        flaws.append(flaw_at(document.chunk, base, finding))
        return
    kind = value.get("kind")
    if not isinstance(kind, str) or not kind.endswith("List") or "items" not in value:
        yield base, value
        return
    items = value["items"]
    if items is not None and not isinstance(items, list):
        finding = Finding(
            ("items",), "manifest-object", f"items is {type_name(items)}, not a list", "write a list"
        )
        flaws.append(flaw_at(document.chunk, base, finding))
        return
    defaults = {} if kind == "List" else {"apiVersion": value.get("apiVersion"), "kind": kind[: -len("List")]}
    for number, item in enumerate(items or ()):
        whole = {**defaults, **item} if isinstance(item, dict) else item
        yield from _expanded(document, (*base, "items", number), whole, flaws)


def _parsed(document: Document, base: BodyPath, value: JsonObject, flaws: list[Flaw]) -> Parsed | None:
    chunk = document.chunk
    kind = kind_of(value)
    if isinstance(kind, Finding):
        flaws.append(flaw_at(chunk, base, kind))
        return None
    body = check_envelope(value, kind, lambda finding: flaws.append(flaw_at(chunk, base, finding)))
    start = nearest_position(chunk, base) if base else document.start
    if kind is not Kind.MACHINE_CONFIG:
        return Parsed(kind, body, chunk, base, start)
    asked: list[str] = []
    resolved, findings = resolve_contents(body, asked.append)
    if asked:
        return Parsed(kind, body, chunk, base, start, local=True)
    flaws.extend(flaw_at(chunk, base, finding) for finding in findings)
    return Parsed(kind, resolved, chunk, base, start)


def flaw_at(chunk: Chunk, base: BodyPath, finding: Finding) -> Flaw:
    """The finding with its position; its field is told as it stands in the document."""
    path = base + finding.path
    line, column = nearest_position(chunk, path)
    return Flaw(line, column, finding.rule, path, finding.message, finding.hint, finding.severity)
