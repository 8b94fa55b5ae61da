"""Where the fields of a document stand. Worked out only when somebody asks: most documents have no problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from yaml import CSafeLoader, YAMLError
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from gitops_mc.core.model import BodyPath, Place

Position = tuple[int, int]
"""Line and column, both from 1."""

_MAX_DEPTH: Final = 100


@dataclass(slots=True)
class Chunk:
    """The text of one document (UTF-8) and the number of lines before it in its file."""

    text: bytes
    line: int
    known: dict[BodyPath, Position] | None = field(default=None, repr=False, compare=False)
    """Filled at the first question; a pure function of `text`."""

    def position(self, event: Any) -> Position:
        mark: Any = event.start_mark
        return (self.line + mark.line + 1, mark.column + 1)


def events(text: bytes) -> Iterator[Any]:
    """The events of libyaml, without what a loader does around them. Raises YAMLError."""
    loader: Any = CSafeLoader(text)
    return iter(loader.get_event, None)


def positions_of(chunk: Chunk) -> Mapping[BodyPath, Position]:
    """BodyPath -> position of the key (in mappings) or of the item (in lists); of a duplicate key, the first one.
    Fields that come from an alias or a merge key have no entry. As far as the document can be parsed.
    """
    if chunk.known is None:
        chunk.known = {}
        with suppress(YAMLError):
            _walk(chunk, chunk.known)
    return chunk.known


class Places(Mapping[BodyPath, Place]):
    """The places of one object's fields, as a mapping that is worked out at the first question."""

    __slots__ = ("_base", "_chunk", "_file")

    def __init__(self, file: str, chunk: Chunk, base: BodyPath = ()) -> None:
        """`base` is the path of the object inside its document."""
        self._file = file
        self._chunk = chunk
        self._base = base

    def __getitem__(self, path: BodyPath) -> Place:
        line, column = positions_of(self._chunk)[self._base + path]
        return Place(self._file, line, column)

    def __iter__(self) -> Iterator[BodyPath]:
        start = len(self._base)
        return (path[start:] for path in positions_of(self._chunk) if path[:start] == self._base)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def line(self) -> int:
        """Lines of the file before the document."""
        return self._chunk.line

    def in_document(self, path: BodyPath) -> BodyPath:
        """Where a field of the object stands in its document."""
        return self._base + path

    def nearest(self, path: BodyPath) -> Place:
        """The place of the field, or of the closest one around it that has a place."""
        return Place(self._file, *nearest_position(self._chunk, self._base + path))


def nearest_position(chunk: Chunk, path: BodyPath) -> Position:
    """The position of the field, or of the closest one around it that has a position."""
    known = positions_of(chunk)
    for end in range(len(path), -1, -1):
        found = known.get(path[:end])
        if found is not None:
            return found
    return (chunk.line + 1, 1)


def _walk(chunk: Chunk, known: dict[BodyPath, Position]) -> None:
    """Note the position of every node, with a stack of open collections instead of recursion."""
    stack: list[_Open] = []
    for event in events(chunk.text):
        kind = type(event)
        if kind in _ENDS:
            if stack:
                stack.pop()
            continue
        if kind not in _NODES:
            continue
        path = stack[-1].next_path(event, chunk, known) if stack else ()
        if not stack:
            known.setdefault((), chunk.position(event))
        elif path is None:
            path = (*stack[-1].path, "")
        if kind in _STARTS:
            if len(stack) >= _MAX_DEPTH:
                return
            stack.append(_Open(path or (), mapping=kind is MappingStartEvent))


@dataclass(slots=True)
class _Open:
    """A collection that has begun: its path, and what comes next in it."""

    path: BodyPath
    mapping: bool
    items: int = 0
    key: str = ""

    def next_path(self, event: Any, chunk: Chunk, known: dict[BodyPath, Position]) -> BodyPath | None:
        """The path of the node that begins here; None when the node is a key."""
        number, self.items = self.items, self.items + 1
        if not self.mapping:
            path = (*self.path, number)
            known.setdefault(path, chunk.position(event))
            return path
        if number % 2:
            return (*self.path, self.key)
        self.key = event.value if type(event) is ScalarEvent else ""
        known.setdefault((*self.path, self.key), chunk.position(event))
        return None


_ENDS: Final = frozenset([MappingEndEvent, SequenceEndEvent])
_STARTS: Final = frozenset([MappingStartEvent, SequenceStartEvent])
_NODES: Final = frozenset([MappingStartEvent, SequenceStartEvent, ScalarEvent, AliasEvent])
