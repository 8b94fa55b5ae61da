"""What is said of a pull request, before it is Markdown, text or HTML: sections of blocks, in the order in which they are read.

Words are as they came: whoever writes them escapes them. They are redacted once, here, whole, before anybody cuts them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeAlias, assert_never

from gitops_mc.core.preview.model import State

Redact: TypeAlias = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Code:
    """A name, a path, a command: shown letter by letter."""

    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    text: str


Words: TypeAlias = tuple["str | Code | Strong", ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    words: Words


@dataclass(frozen=True, slots=True)
class Bullets:
    items: tuple[Words, ...]
    what: str
    """What an item is, a noun in the singular: those that do not fit are counted under it."""


@dataclass(frozen=True, slots=True)
class Table:
    heads: tuple[str, ...]
    rows: tuple[tuple[Words, ...], ...]
    what: str
    """What a row is, as above."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Lines as they are: a diff, YAML to be pasted."""

    language: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a bar, in minutes from the merge."""

    kind: StretchKind
    start: float
    end: float


class StretchKind(StrEnum):
    LIKELY = "half of the time it is over by then"
    LATE = "19 times of 20 it is over by then"
    SOAK = "soak"
    SHUT = "outside its window"


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    told: str
    """The same in words."""
    stretches: tuple[Stretch, ...]
    level: int = 0
    """1: it belongs to the one of level 0 above it."""


@dataclass(frozen=True, slots=True)
class Timeline:
    bars: tuple[Bar, ...]
    minutes: float
    """How far it goes."""


@dataclass(frozen=True, slots=True)
class Fold:
    """What is there for whoever asks for it."""

    summary: str
    blocks: tuple[Block, ...]
    what: str
    """What it is, as above."""


Block: TypeAlias = Paragraph | Bullets | Table | Listing | Timeline | Fold


class Basis(StrEnum):
    """What a section rests on."""

    GIT = "git"
    """Part (a): the two commits alone."""
    MERGED = "merged"
    """What merging comes to on the clusters, as they were read."""
    ALREADY = "already"
    """Part (b)."""
    UNDER_WAY = "under way"
    """Part (c)."""
    FOOT = "foot"


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    basis: Basis
    blocks: tuple[Block, ...]
    share: float
    """Of the room there is, what it may take before the less important ones have had theirs."""


@dataclass(frozen=True, slots=True)
class Document:
    name: str
    """Of the fleet; may be empty."""
    state: State
    line: str
    reasons: tuple[str, ...]
    sections: tuple[Section, ...]
    read: str
    """When the clusters were read, or why they were not; in words."""
    command: str
    """That shows all of it."""


def words(*parts: str | Code | Strong) -> Words:
    return tuple(part for part in parts if not isinstance(part, str) or part)


def plain(found: Words) -> str:
    return "".join(part if isinstance(part, str) else part.text for part in found)


def redacted(document: Document, redact: Redact) -> Document:
    """The same with nothing sensitive in any of its words."""
    return replace(
        document,
        name=redact(document.name),
        line=redact(document.line),
        reasons=tuple(redact(reason) for reason in document.reasons),
        sections=tuple(
            replace(s, title=redact(s.title), blocks=tuple(_block(b, redact) for b in s.blocks))
            for s in document.sections
        ),
        read=redact(document.read),
        command=redact(document.command),
    )


def _block(block: Block, redact: Redact) -> Block:
    match block:
        case Paragraph(found):
            return Paragraph(_words(found, redact))
        case Bullets(items, what):
            return Bullets(tuple(_words(item, redact) for item in items), what)
        case Table(heads, rows, what):
            return Table(heads, tuple(tuple(_words(cell, redact) for cell in row) for row in rows), what)
        case Listing(language, lines):
            return Listing(language, tuple(redact("\n".join(lines)).split("\n")))
        case Timeline(bars, minutes):
            return Timeline(
                tuple(replace(bar, name=redact(bar.name), told=redact(bar.told)) for bar in bars), minutes
            )
        case Fold(summary, blocks, what):
            return Fold(redact(summary), tuple(_block(b, redact) for b in blocks), what)
        case _:
            assert_never(block)


def _words(found: Words, redact: Redact) -> Words:
    """Each part by itself; as one where a secret goes from one part into the next."""
    shown = tuple(
        redact(part) if isinstance(part, str) else replace(part, text=redact(part.text)) for part in found
    )
    joined = plain(shown)
    return shown if redact(joined) == joined else (redact(plain(found)),)


def at_words(moment: datetime) -> str:
    """`10:42 UTC`; whoever reads it later finds the day in the foot."""
    return moment.astimezone(UTC).strftime("%H:%M UTC")
