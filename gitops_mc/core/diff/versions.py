"""Order of module versions: semantic versions with or without a leading `v`."""

from __future__ import annotations

import re

_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")


def compare_versions(left: str, right: str) -> int | None:
    """-1, 0 or 1 as `left` is older than, the same as or newer than `right`; None where nobody can tell.

    Missing numbers count as zero (`v4.1` is `v4.1.0`), a pre-release is older than its release, build metadata has no
    part in the order (semver.org).
    """
    if left == right:
        return 0
    one, other = _VERSION.fullmatch(left), _VERSION.fullmatch(right)
    if one is None or other is None:
        return None
    return _sign(_numbers(one[1]), _numbers(other[1])) or _pre_release(one[2], other[2])


def _numbers(text: str) -> list[int]:
    numbers = [int(part) for part in text.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def _pre_release(left: str | None, right: str | None) -> int:
    if left is None or right is None:
        return (right is not None) - (left is not None)
    return _sign(_identifiers(left), _identifiers(right))


def _identifiers(text: str) -> list[tuple[int, int, str]]:
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in text.split(".")]


def _sign(left: list[int] | list[tuple[int, int, str]], right: list[int] | list[tuple[int, int, str]]) -> int:
    return (left > right) - (left < right)  # type: ignore[operator]
