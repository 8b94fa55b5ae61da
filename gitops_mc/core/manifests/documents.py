"""Bytes of a YAML file -> JSON documents, as kubectl reads them, with every flaw and its position.

kubectl cuts a file at the lines that begin with `---` and gives each piece to its YAML library alone. So does this
module; it is also what lets the other documents be read when one has a syntax error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from yaml import YAMLError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from gitops_mc.core.manifests.flaws import Flaw
from gitops_mc.core.manifests.line_ends import lines_of
from gitops_mc.core.manifests.pieces import as_utf8, pieces
from gitops_mc.core.manifests.positions import Chunk, Position, events, positions_of
from gitops_mc.core.manifests.scalars import TAG_PREFIX, ScalarError, resolve_plain, resolve_tagged, type_name
from gitops_mc.core.manifests.syntax import syntax_flaw
from gitops_mc.core.model import Severity

MAX_BYTES: Final = 16 * 1024 * 1024
MAX_DEPTH: Final = 100
MAX_FLAWS: Final = 200
"""In one document; after so many it is read no further."""
MAX_ALIASED_NODES: Final = 100_000
"""Nodes that aliases may stand for in one document, however few bytes they take."""

_FORCED: Final = re.compile(r"(?:&\S+\s+)?!\s")


@dataclass(frozen=True, slots=True)
class Document:
    """One document that could be read. `value` is JSON; parts of it may be shared (aliases): never change it."""

    value: Any
    chunk: Chunk
    start: Position


@dataclass(frozen=True, slots=True)
class Documents:
    """All that a file says. Empty documents are left out."""

    documents: tuple[Document, ...]
    flaws: tuple[Flaw, ...]


def read_documents(data: bytes) -> Documents:
    """Read a whole file. Never raises: what cannot be read is a flaw."""
    if len(data) > MAX_BYTES:
        message = f"the file has {len(data)} bytes, more than {MAX_BYTES}"
        return Documents((), (Flaw(0, 0, "yaml-limit", (), message, "split it"),))
    text, flaws = as_utf8(data)
    documents: list[Document] = []
    for chunk in pieces(text, flaws):
        reader = _Reader(chunk)
        value = reader.read()
        flaws.extend(reader.flaws)
        if value is not None:
            documents.append(Document(value, chunk, reader.start))
    return Documents(tuple(documents), tuple(flaws))


class _Stop(Exception):  # noqa: N818 - control flow inside this module: the document cannot be read any further
    """Raised after the flaw has been noted."""


@dataclass(slots=True)
class _Reader:
    """Reads one document. A value that has no meaning leaves a flaw and is null, so that the rest is checked too."""

    chunk: Chunk
    flaws: list[Flaw] = field(default_factory=list)
    path: list[str | int] = field(default_factory=list)
    anchors: dict[str, tuple[Any, int]] = field(default_factory=dict)
    open_anchors: set[str] = field(default_factory=set)
    nodes: int = 0
    aliased: int = 0
    start: Position = (0, 0)
    lines: list[bytes] | None = None
    """Of the chunk, once somebody had to look at them."""
    events: Iterator[Any] = field(init=False)

    def read(self) -> Any:
        """The document's value; None when it is empty or cannot be read to its end."""
        self.events = events(self.chunk.text)
        try:
            next(self.events)
            if type(next(self.events)) is not DocumentStartEvent:
                return None
            root = next(self.events)
            self.start = self.chunk.position(root)
            value = self._value(root, 0)
            end = next(self.events)
        except YAMLError as error:
            self.flaws.append(syntax_flaw(error, self.chunk, tuple(self.path)))
            return None
        except _Stop:
            return None
        self._end(end)
        return value

    def _end(self, end: Any) -> None:
        """Nothing but the end of the stream may follow: kubectl reads one document of each piece."""
        try:
            if type(next(self.events)) is StreamEndEvent:
                return
        except YAMLError:
            pass
        self._flaw(
            end,
            "yaml-separator",
            "kubectl reads nothing that follows the end of a document (`...`) up to the next `---`",
            "put `---` on a line of its own between the documents",
        )

    def _flaw(
        self, event: Any, rule: str, message: str, hint: str, severity: Severity = Severity.ERROR
    ) -> None:
        line, column = self.chunk.position(event)
        self.flaws.append(Flaw(line, column, rule, tuple(self.path), message, hint, severity))
        if len(self.flaws) >= MAX_FLAWS:
            raise _Stop

    def _value(self, event: Any, depth: int) -> Any:
        self.nodes += 1
        kind = type(event)
        if kind is ScalarEvent:
            value = self._scalar(event)
            if event.anchor is not None:
                self.anchors[event.anchor] = (value, 1)
            return value
        if kind is AliasEvent:
            return self._alias(event)
        if depth >= MAX_DEPTH:
            self._flaw(event, "yaml-limit", f"nested deeper than {MAX_DEPTH} levels", "flatten it")
            raise _Stop
        before = self.nodes
        if event.anchor is not None:
            self.open_anchors.add(event.anchor)
        value = self._mapping(event, depth) if kind is MappingStartEvent else self._sequence(event, depth)
        if event.anchor is not None:
            self.open_anchors.discard(event.anchor)
            self.anchors[event.anchor] = (value, self.nodes - before + 1)
        return value

    def _scalar(self, event: Any) -> Any:
        try:
            if event.implicit[0]:
                value = resolve_plain(event.value)
                return value if type(value) is str or not self._forced(event) else event.value
            if event.tag is None or event.implicit[1]:
                return event.value
            return resolve_tagged(event.value, event.tag)
        except ScalarError as error:
            self._flaw(event, "yaml-scalar", str(error), "quote it if a string is meant, else drop the tag")
            return None

    def _forced(self, event: Any) -> bool:
        """Whether a plain scalar has the tag `!` ("a string, whatever it looks like"), which libyaml does not tell."""
        start: Any = event.start_mark
        end: Any = event.end_mark
        if end.index - start.index == len(event.value):
            return False
        if self.lines is None:
            self.lines = lines_of(self.chunk.text)
        line = self.lines[start.line].decode(errors="replace")
        return _FORCED.match(line, start.column) is not None

    def _alias(self, event: Any) -> Any:
        if event.anchor in self.open_anchors:
            message = f"the value of anchor {event.anchor!r} contains itself"
            self._flaw(event, "yaml-alias", message, "write the value out")
            raise _Stop
        if event.anchor not in self.anchors:
            message = f"the anchor {event.anchor!r} does not stand in this document before this line"
            self._flaw(
                event, "yaml-alias", message, "define it before its use; an anchor ends with its document"
            )
            return None
        value, size = self.anchors[event.anchor]
        self.aliased += size
        self.nodes += size
        if self.aliased > MAX_ALIASED_NODES:
            message = f"the aliases of this document stand for more than {MAX_ALIASED_NODES} values"
            self._flaw(event, "yaml-limit", message, "write the values out, or use fewer")
            raise _Stop
        return value

    def _sequence(self, event: Any, depth: int) -> list[Any]:
        self._collection_tag(event, "seq")
        result: list[Any] = []
        path = self.path
        path.append(0)
        for item in self.events:
            if type(item) is SequenceEndEvent:
                break
            path[-1] = len(result)
            result.append(self._value(item, depth + 1))
        path.pop()
        return result

    def _mapping(self, event: Any, depth: int) -> dict[str, Any]:
        self._collection_tag(event, "map")
        result: dict[str, Any] = {}
        merged: set[str] = set()
        path = self.path
        path.append("")
        for key_event in self.events:
            if type(key_event) is MappingEndEvent:
                break
            key = self._key(key_event, depth)
            if key is _MERGE:
                self._merge(key_event, result, merged, depth)
                continue
            path[-1] = key
            if key in result and key not in merged:
                self._duplicate(key_event, key)
            merged.discard(key)
            result[key] = self._value(next(self.events), depth + 1)
        path.pop()
        return result

    def _key(self, event: Any, depth: int) -> Any:
        kind = type(event)
        if kind is ScalarEvent:
            text: str = event.value
            if text == "<<" and event.implicit[0]:
                return _MERGE
            key = self._scalar(event)
            if event.anchor is not None:
                self.anchors[event.anchor] = (key, 1)
        else:
            key = self._value(event, depth + 1)
            text = "the key"
        if type(key) is str:
            return key
        self.path[-1] = text
        message = f"the key {text} is {type_name(key)}, not a string"
        self._flaw(
            event, "yaml-key", message, f'write "{text}" in quotes' if kind is ScalarEvent else "use a string"
        )
        return text

    def _duplicate(self, event: Any, key: str) -> None:
        first = positions_of(self.chunk).get(tuple(self.path))
        where = f"line {first[0]}, column {first[1]}" if first else "an earlier line"
        line = self.chunk.position(event)[0]
        message = f"the key {key!r} stands here (line {line}) and at {where}; kubectl would keep the last without a word"
        self._flaw(event, "yaml-duplicate-key", message, "remove one of the two")

    def _merge(self, event: Any, result: dict[str, Any], merged: set[str], depth: int) -> None:
        self.path[-1] = "<<"
        value = self._value(next(self.events), depth + 1)
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            self._flaw(
                event,
                "yaml-merge",
                "the merge key << takes a mapping or a list of mappings",
                "use << with an alias of a mapping",
            )
            return
        for source in reversed(sources):
            for key, item in source.items():
                if key in result and key not in merged:
                    message = f"the merge key << comes after {key!r} and replaces it, as kubectl reads it"
                    self._flaw(
                        event,
                        "yaml-merge",
                        message,
                        "put << first if the mapping's own value is meant",
                        Severity.WARNING,
                    )
                merged.add(key)
                result[key] = item

    def _collection_tag(self, event: Any, name: str) -> None:
        if event.tag not in {None, "!", TAG_PREFIX + name}:
            self._flaw(event, "yaml-tag", f"the tag {event.tag} has no meaning here", "drop the tag")


_MERGE: Final = object()
"""Stands for the merge key, which is no key of the result."""
