"""Globs of paths and of names, matched in bounded time whatever they say: they come from Git, and one that backtracks would
stop every thread of the process.

All patterns of a list are one automaton whose states are the bits of a number, so that each character costs a handful of
operations on numbers as long as the list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

LONGEST: Final = 512
"""Characters of one glob that people may write."""
MOST: Final = 100
"""Globs with wildcards in one list that people may write; plain paths and names cost nothing."""

_KNOWN: Final = 256
"""Characters that are remembered for one list."""
_WILD: Final = frozenset("*?[")


def is_wild(pattern: str) -> bool:
    """Whether it is more than a plain path or name."""
    return not _WILD.isdisjoint(pattern)


def path_matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether any of the globs describes the whole path: `*` and `?` stay within one folder, `**` crosses folders, and `**/` is
    any number of folders, none included.
    """
    return _path_globs(tuple(patterns)).match(path)


def name_matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether any of the globs describes the whole name, as in a shell: `*`, `?`, `[a-z]`, `[!a-z]`."""
    return _name_globs(tuple(patterns)).match(name)


@dataclass(frozen=True, slots=True)
class _Text:
    """One character that is meant as it is written."""

    character: str


@dataclass(frozen=True, slots=True)
class _One:
    """Any one character that `fits`."""

    fits: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _Many:
    """Any number of characters that `fits`, none included."""

    fits: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _Folders:
    """Nothing, or anything up to and with a `/`."""


_Token: TypeAlias = _Text | _One | _Many | _Folders


def _anything(_: str) -> bool:
    return True


def _in_folder(character: str) -> bool:
    return character != "/"


@dataclass(frozen=True, slots=True)
class _Class:
    """`[...]`: single characters and ranges, or, negated, whatever is in none of them."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool

    def __call__(self, character: str) -> bool:
        return any(low <= character <= high for low, high in self.ranges) is not self.negated


_PATH: Final = re.compile(r"\*\*/|\*\*|\*|\?|.", re.DOTALL)
_IN_PATHS: Final[dict[str, _Token]] = {
    "**/": _Folders(),
    "**": _Many(_anything),
    "*": _Many(_in_folder),
    "?": _One(_in_folder),
}


def _path_tokens(pattern: str) -> Iterator[_Token]:
    for found in _PATH.finditer(pattern):
        yield _IN_PATHS.get(found.group()) or _Text(found.group())


def _name_tokens(pattern: str) -> Iterator[_Token]:
    at = 0
    last = pattern.rfind("]")
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if character == "*":
            yield _Many(_anything)
        elif character == "?":
            yield _One(_anything)
        elif character == "[" and (end := _class_end(pattern, at, last)) > 0:
            yield _One(_class(pattern[at:end]))
            at = end + 1
        else:
            yield _Text(character)


def _class_end(pattern: str, at: int, last: int) -> int:
    """Where the class that begins at `at` ends; a `]` that comes first in it is a member. 0: it does not end, and is none."""
    at += 1 if pattern.startswith("!", at) else 0
    return pattern.find("]", at + 1) if last > at else 0


def _class(text: str) -> _Class:
    negated = text.startswith("!")
    text = text.removeprefix("!")
    ranges = []
    at = 0
    while at < len(text):
        size = 3 if text[at + 1 : at + 2] == "-" and at + 2 < len(text) else 1
        ranges.append((text[at], text[at + size - 1]))
        at += size
    return _Class(tuple(ranges), negated)


class _Globs:
    """A list of globs. A bit of a number of states says: from here on the rest of this glob has to match."""

    def __init__(self, patterns: Iterable[str], tokens_of: Callable[[str], Iterator[_Token]]) -> None:
        self._plain = frozenset(pattern for pattern in patterns if not is_wild(pattern))
        self._starts: list[tuple[int, str]] = []
        """Of every glob: its first state, and the longest piece of text that stands in whatever it matches."""
        self._text: dict[str, int] = {}
        """By character: the states that it leads on from."""
        self._one: dict[Callable[[str], bool], int] = {}
        self._many: dict[Callable[[str], bool], int] = {}
        self._folders = 0
        self._optional = 0
        """States that are left without any character."""
        self._ends = 0
        self._known: dict[str, tuple[int, int]] = {}
        state = 1
        for pattern in dict.fromkeys(patterns):
            if is_wild(pattern):
                state = self._add(list(tokens_of(pattern)), state)

    def _add(self, tokens: list[_Token], state: int) -> int:
        """Returns the first state that is free after it."""
        words = "".join(t.character if isinstance(t, _Text) else "\0" for t in tokens).split("\0")
        self._starts.append((state, max(words, key=len)))
        for token in tokens:
            match token:
                case _Text(character):
                    self._text[character] = self._text.get(character, 0) | state
                case _One(fits):
                    self._one[fits] = self._one.get(fits, 0) | state
                case _Many(fits):
                    self._many[fits] = self._many.get(fits, 0) | state
                    self._optional |= state
                case _Folders():
                    self._folders |= state
                    self._optional |= state
            state <<= 1
        self._ends |= state
        return state << 1

    def match(self, text: str) -> bool:
        if text in self._plain:
            return True
        states = sum(start for start, word in self._starts if word in text)
        if not states:
            return False
        states = self._without_a_character(states)
        below = 0
        for character in text:
            below |= states & self._folders
            leads_on, stays = self._known.get(character) or self._look_up(character)
            states = (states & leads_on) << 1 | states & stays
            if character == "/":
                states |= below << 1
            if not states and not below:
                return False
            states = self._without_a_character(states)
        return states & self._ends != 0

    def _look_up(self, character: str) -> tuple[int, int]:
        """The states that it leads on from, and those in which it stays."""
        leads_on = self._text.get(character, 0)
        stays = 0
        for fits, states in self._one.items():
            leads_on |= states if fits(character) else 0
        for fits, states in self._many.items():
            stays |= states if fits(character) else 0
        if len(self._known) >= _KNOWN:
            self._known.clear()
        self._known[character] = found = (leads_on, stays)
        return found

    def _without_a_character(self, states: int) -> int:
        """And the states that follow on optional ones. The sum carries each bit to the end of its run of optional states."""
        return states | ((states & self._optional) + self._optional) ^ self._optional


@lru_cache(maxsize=2048)
def _path_globs(patterns: tuple[str, ...]) -> _Globs:
    return _Globs(patterns, _path_tokens)


@lru_cache(maxsize=2048)
def _name_globs(patterns: tuple[str, ...]) -> _Globs:
    return _Globs(patterns, _name_tokens)
