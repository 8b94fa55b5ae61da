"""The order of module versions: semantic versions with or without a leading `v` (semver.org)."""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

_VERSION = re.compile(r"v?([0-9]{1,18}(?:\.[0-9]{1,18})*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
_NUMBERS = 3

_Identifier: TypeAlias = tuple[int, int, str]
"""Numbers before words; numbers by their length and then their digits, however many those are."""


class Version(NamedTuple):
    """A version to be compared. Build metadata has no part in the order."""

    numbers: tuple[int, ...]
    """At least major, minor and patch; missing ones count as zero, so `v4.1` is `v4.1.0`."""
    released: int
    """0 for a pre-release, which is older than its release; else 1."""
    pre_release: tuple[_Identifier, ...]


def parse_version(text: str) -> Version | None:
    """The version a text says, or None when it says none, or one with a number of more than 18 digits."""
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        return None
    numbers, pre = [int(part) for part in found[1].split(".")], found[2]
    while len(numbers) > _NUMBERS and numbers[-1] == 0:
        numbers.pop()
    numbers += [0] * (_NUMBERS - len(numbers))
    return Version(
        tuple(numbers),
        0 if pre else 1,
        tuple(_identifier(part) for part in pre.split(".")) if pre else (),
    )


def compare_versions(left: str, right: str) -> int | None:
    """-1, 0 or 1 as `left` is older than, the same as or newer than `right`; None where nobody can tell."""
    if left == right:
        return 0
    one, other = parse_version(left), parse_version(right)
    return None if one is None or other is None else (one > other) - (one < other)


def newer(one: str, other: str) -> bool | None:
    """Whether `one` is newer than `other`; None when they cannot be compared."""
    order = compare_versions(one, other)
    return None if order is None else order > 0


def _identifier(part: str) -> _Identifier:
    digits = part.lstrip("0")
    return (0, len(digits), digits) if part.isdecimal() else (1, 0, part)
