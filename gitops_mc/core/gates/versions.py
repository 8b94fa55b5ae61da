"""Versions of modules, `v1.2.3` or `v1.2.3-x`, and the constraints that a catalog puts on them.

The grammar of constraints is not documented; what is not understood is answered with None, never with a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
_TERM = re.compile(r"(>=|<=|==|!=|=|>|<|\^|~)?\s*(v?\d[0-9A-Za-z.+-]*)")

_Identifier: TypeAlias = tuple[int, int, str]
Version: TypeAlias = tuple[int, int, int, int, tuple[_Identifier, ...]]
"""Sorts as semantic versioning says: numbers first, then a pre-release before its release."""


def parse_version(text: str) -> Version | None:
    """A version to be compared, or None when it is not one."""
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        return None
    major, minor, patch, pre = found.groups()
    identifiers = tuple(_identifier(part) for part in pre.split(".")) if pre else ()
    return (int(major), int(minor), int(patch or 0), 0 if pre else 1, identifiers)


def newer(one: str, other: str) -> bool | None:
    """Whether `one` is newer than `other`; None when they cannot be compared."""
    if one == other:
        return False
    mine, theirs = parse_version(one), parse_version(other)
    return None if mine is None or theirs is None else mine > theirs


def admits(constraint: str, version: str) -> bool | None:
    """Whether a constraint (`>=v1.0.0, <v2.0.0 || v3.0.0`) admits a version; None when either is not understood."""
    found = parse_version(version)
    if found is None:
        return None
    answers = [_all_of(alternative, found) for alternative in constraint.split("||")]
    if True in answers:
        return True
    return None if None in answers else False


def _identifier(part: str) -> _Identifier:
    return (0, int(part), "") if part.isdecimal() else (1, 0, part)


def _all_of(terms: str, version: Version) -> bool | None:
    rest = _TERM.sub("", terms).replace(",", "").strip()
    found = _TERM.findall(terms)
    if rest or not found:
        return None
    answers = []
    for operator, text in found:
        bound = parse_version(text)
        if bound is None:
            return None
        answers.append(_OPERATORS[operator](version, bound))
    return all(answers)


def _caret(version: Version, bound: Version) -> bool:
    """Same leftmost number that is not zero, and not older."""
    fixed = next((at for at, number in enumerate(bound[:3]) if number), 2) + 1
    return version >= bound and version[:fixed] == bound[:fixed]


_OPERATORS: Mapping[str, Callable[[Version, Version], bool]] = MappingProxyType(
    {
        "": lambda version, bound: version == bound,
        "=": lambda version, bound: version == bound,
        "==": lambda version, bound: version == bound,
        "!=": lambda version, bound: version != bound,
        ">=": lambda version, bound: version >= bound,
        "<=": lambda version, bound: version <= bound,
        ">": lambda version, bound: version > bound,
        "<": lambda version, bound: version < bound,
        "^": _caret,
        "~": lambda version, bound: version >= bound and version[:2] == bound[:2],
    }
)
