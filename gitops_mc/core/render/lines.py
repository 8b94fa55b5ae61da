"""Text for people, line by line, each with a tone that a terminal may show as a colour."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Controls, marks that turn the direction of writing, letters that nobody sees, and halves of letters that no encoding has."""


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
    """The text with control characters and invisible ones spelled out, so that no file of a repository can command a
    terminal, or look like what it is not. Tabs and line ends stay.
    """
    return _CONTROL.sub(lambda match: _spelled(match.group()), text)


def one_line(text: str) -> str:
    """As `visible`, line ends included: a reason from a repository or a cluster stays on its line."""
    return visible(text).replace("\n", "\\n")


def _spelled(letter: str) -> str:
    number = ord(letter)
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
