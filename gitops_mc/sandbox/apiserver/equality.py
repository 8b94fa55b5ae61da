"""JSON equality. Python's own takes `true` for 1."""

from __future__ import annotations

from typing import Any


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal. What is shared between them is not looked at."""
    return left is right or (bool(left == right) and _same_types(left, right))


def _same_types(left: Any, right: Any) -> bool:
    """Of values that are equal for Python."""
    if isinstance(left, dict):
        return all(value is right[key] or _same_types(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return all(map(_same_types, left, right))
    return isinstance(left, bool) is isinstance(right, bool)
