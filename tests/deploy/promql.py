"""What a PromQL expression asks for: metrics, labels and the values of these. Enough for what deploy/ says; no parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_WORDS = frozenset(
    [
        "by",
        "without",
        "on",
        "ignoring",
        "group_left",
        "group_right",
        "and",
        "or",
        "unless",
        "bool",
        "offset",
        "sum",
        "min",
        "max",
        "avg",
        "count",
        "topk",
        "bottomk",
        "histogram_quantile",
        "rate",
        "irate",
        "increase",
        "changes",
        "absent",
        "time",
        "label_values",
        "quantile",
        "stddev",
    ]
)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SELECTOR = re.compile(r"(?<![\w:$])([a-zA-Z_:][\w:]*)\s*(\{[^}]*\})?")
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')


@dataclass(frozen=True, slots=True)
class Selected:
    """A metric, and which of its series."""

    metric: str
    values: tuple[tuple[str, str], ...]
    """Label and value, one each for every alternative of a pattern."""


def selected(expression: str) -> Iterator[Selected]:
    """The metrics that an expression names, in order."""
    bare = _GROUPING.sub(" ", expression)
    bare = re.sub(r"\[[^\]]*\]", " ", bare)
    for found in _SELECTOR.finditer(bare):
        name, matchers = found[1], found[2] or ""
        if name in _WORDS or _inside(bare, found.start()):
            continue
        values = [
            (label, value)
            for label, sign, said in _MATCHER.findall(matchers)
            for value in (said.split("|") if sign.endswith("~") else [said])
        ]
        yield Selected(name, tuple(values))


def grouped(expression: str) -> frozenset[str]:
    """Labels that it groups or joins by."""
    return frozenset(
        label.strip()
        for group in _GROUPING.findall(expression)
        for label in group.split(",")
        if label.strip()
    )


def _inside(text: str, position: int) -> bool:
    """Whether this place stands in a string or between the braces of a selector."""
    before = _STRING.sub(lambda m: " " * len(m[0]), text[:position])
    return before.count("{") > before.count("}") or before.count('"') % 2 == 1
