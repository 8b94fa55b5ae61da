"""The comments of a YAML document: what stands before and behind each, so that none is lost and none moves; and where it
stands on its line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from yaml import CSafeLoader
from yaml.tokens import AliasToken, AnchorToken, ScalarToken

_COMMENT: Final = re.compile(r"#[^\n]*")
_ON_HEADER: Final = re.compile(r"[|>][-+0-9]*[ \t]+(#[^\n]*)")


class Comment(NamedTuple):
    """A comment between two values."""

    before: str
    text: str
    behind: str


@dataclass(slots=True)
class _Scanned:
    """The tokens of a document, and the text between them."""

    text: str
    lines: list[str] = field(init=False)
    starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = self.text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def steps(self) -> Iterator[tuple[int, int, Any]]:
        """Each token with the gap before it, as offsets; at the end the gap behind all of them, without a token."""
        end = 0
        loader: Any = CSafeLoader(self.text)
        while (token := loader.get_token()) is not None:
            first = min(self.offset(token.start_mark), len(self.text))
            yield end, max(first, end), token
            end = max(end, min(self.offset(token.end_mark), len(self.text)))
        yield end, len(self.text), None

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 0."""
        line = bisect_right(self.starts, offset) - 1
        return line, offset - self.starts[line]

    def depth(self, token: Any) -> _Depth:
        row = self.lines[token.start_mark.line]
        return _Depth(len(row) - len(row.lstrip(" ")), int(token.start_mark.column))

    def offset(self, mark: Any) -> int:
        line: int = min(mark.line, len(self.lines))
        column: int = mark.column
        return self.starts[line] + column


def comments_of(text: str) -> tuple[Comment, ...]:
    """In their order. Raises YAMLError."""
    scanned = _Scanned(text)
    waiting: list[str] = []
    told: list[Comment] = []
    before = ""
    for first, last, token in scanned.steps():
        waiting += [one.rstrip() for one in _COMMENT.findall(text[first:last])]
        if isinstance(token, ScalarToken | AliasToken | AnchorToken) or token is None:
            value = "" if token is None else str(token.value)
            told += [Comment(before, one, value) for one in waiting]
            waiting = [one.rstrip() for one in _headers(scanned, token)]
            before = value
    return tuple(told)


def _headers(scanned: _Scanned, token: Any) -> list[str]:
    """What stands behind the `|` of a block."""
    if not isinstance(token, ScalarToken) or token.style not in ("|", ">"):
        return []
    head = scanned.text[scanned.offset(token.start_mark) :].partition("\n")[0]
    return _ON_HEADER.findall(head)


def flattened(text: str) -> str:
    """The text with every comment that has a line of its own at the line's beginning, where it can be part of no block however
    that is indented. Raises YAMLError.
    """
    lines = text.split("\n")
    for spot in _spots(text)[0]:
        if spot.alone:
            lines[spot.line] = lines[spot.line].lstrip(" \t")
    return "\n".join(lines)


def realigned(before: str, after: str) -> str:
    """The text `after` with its comments where they stood in `before`: one on a line of its own as deep as the value, around
    it or behind it, that it was as deep as; one behind a value as far from it as it was. Raises YAMLError.
    """
    earlier, was = _spots(before)
    later, now = _spots(after)
    if len(earlier) != len(later) or len(was) != len(now):
        return after
    lines = after.split("\n")
    for spot, place in zip(earlier, later, strict=True):
        row = lines[place.line]
        gap = _depth_after(spot, was, now) if spot.alone and place.alone else spot.gap
        lines[place.line] = row[: place.column].rstrip(" ") + " " * gap + row[place.column :]
    return "\n".join(lines)


class _Depth(NamedTuple):
    """Of one value: how deep its line is, and it itself."""

    line: int
    own: int


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where a comment stands."""

    line: int
    column: int
    alone: bool
    """On a line of its own."""
    gap: int
    """Spaces before it."""
    around: tuple[int, ...]
    """Numbers of values: the next one, then those whose parts it may stand among, innermost first."""


def _depth_after(spot: _Spot, was: Sequence[_Depth], now: Sequence[_Depth]) -> int:
    """How deep a comment stands when the value that it was as deep as has moved."""
    likely = [
        (abs(spot.column - was[n][way]), rank, n, way) for rank, n in enumerate(spot.around) for way in (0, 1)
    ]
    _, _, number, way = min(likely, default=(0, 0, -1, 0))
    return now[number][way]


def _spots(text: str) -> tuple[list[_Spot], list[_Depth]]:
    """Every comment, and how deep each value is; the last depth is that of the end."""
    scanned = _Scanned(text)
    spots: list[_Spot] = []
    depths: list[_Depth] = []
    waiting: list[tuple[int, int]] = []
    opened: list[int] = []
    line = -1
    for first, last, token in scanned.steps():
        waiting += [scanned.place(first + match.start()) for match in _COMMENT.finditer(text[first:last])]
        if not isinstance(token, ScalarToken | AliasToken) and token is not None:
            continue
        around = (len(depths), *reversed(opened))
        spots += [_spot(scanned.lines, place, around) for place in waiting]
        waiting = []
        depth = _Depth(0, 0) if token is None else scanned.depth(token)
        if token is not None and token.start_mark.line != line:
            line = token.start_mark.line
            opened = [*(n for n in opened if depths[n].line < depth.line), len(depths)]
        depths.append(depth)
    return spots, depths


def _spot(lines: Sequence[str], place: tuple[int, int], around: tuple[int, ...]) -> _Spot:
    line, column = place
    head = lines[line][:column]
    return _Spot(line, column, not head.strip(), len(head) - len(head.rstrip(" ")), around)
