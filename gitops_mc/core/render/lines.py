"""Text for people, line by line, each with a tone that a terminal may show as a colour."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")


class Tone(StrEnum):
    """What a line is; never the only carrier of a meaning, for a pipe shows none."""

    PLAIN = "plain"
    HEAD = "head"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    DIM = "dim"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Line:
    """One line, without its end."""

    text: str
    tone: Tone = Tone.PLAIN


def text_of(lines: Iterable[Line]) -> str:
    """The lines as plain text, each with its end."""
    return "".join(f"{line.text}\n" for line in lines)


def visible(text: str) -> str:
    """The text with control characters spelled out, so that no file of a repository can command a terminal. Tabs and
    line ends stay.
    """
    return _CONTROL.sub(lambda match: _spelled(match.group()), text)


def one_line(text: str) -> str:
    """As `visible`, line ends included: a reason from a repository or a cluster stays on its line."""
    return visible(text).replace("\n", "\\n")


def _spelled(letter: str) -> str:
    number = ord(letter)
    return f"\\x{number:02x}" if number <= 0xFF else f"\\u{number:04x}"
