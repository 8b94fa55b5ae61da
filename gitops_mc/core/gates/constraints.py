"""The constraints that a catalog puts on versions of modules.

Their grammar is not documented; what is not understood is answered with None, never with a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from gitops_mc.core.versions import Version, parse_version

_ANY = "*"
_TERM = re.compile(r"(>=|<=|==|!=|=|>|<|\^|~)?\s{0,40}(v?\d[0-9A-Za-z.+-]*)")
_BOUND = re.compile(r"v?\d+\.\d+(?:\.\d+)?(?:[-+].*)?")
"""In other grammars `3` stands for every 3.x.y, so that one is not understood."""


def admits(constraint: str, version: str) -> bool | None:
    """Whether a constraint (`>=v1.0.0, <v2.0.0 || v3.0.0`) admits a version; None when either is not understood."""
    found = parse_version(version)
    if found is None:
        return None
    answers = [_all_of(alternative, found) for alternative in constraint.split("||")]
    if True in answers:
        return True
    return None if None in answers else False


def _all_of(terms: str, version: Version) -> bool | None:
    if terms.strip() == _ANY:
        return True
    rest = _TERM.sub("", terms).replace(",", "").strip()
    found = _TERM.findall(terms)
    if rest or not found:
        return None
    answers = []
    for operator, text in found:
        bound = parse_version(text) if _BOUND.fullmatch(text) else None
        if bound is None:
            return None
        answers.append(_OPERATORS[operator](version, bound))
    return all(answers)


def _caret(version: Version, bound: Version) -> bool:
    """Same leftmost number that is not zero, and not older."""
    fixed = next((at for at, number in enumerate(bound.numbers) if number), 2) + 1
    return version >= bound and version.numbers[:fixed] == bound.numbers[:fixed]


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
        "~": lambda version, bound: version >= bound and version.numbers[:2] == bound.numbers[:2],
    }
)
