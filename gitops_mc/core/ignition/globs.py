"""Globs of file paths on a node: `*` and `?` stay within one folder, `**` crosses folders."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_MEANING = {"**/": r"(?:.*/)?", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}


def path_matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether any of the globs describes the whole path."""
    return any(_compiled(pattern).fullmatch(path) for pattern in patterns)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    tokens = (match.group() for match in _TOKEN.finditer(pattern))
    return re.compile("".join(_MEANING.get(token) or re.escape(token) for token in tokens), re.DOTALL)
