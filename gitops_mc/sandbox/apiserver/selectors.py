"""Label and field selectors as they stand in a query string."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from gitops_mc.sandbox.apiserver.answers import bad_request

LabelTest: TypeAlias = Callable[[Mapping[str, str]], bool]

_SET = re.compile(r"^(?P<key>[^\s!=<>(),]+)\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)$")
_EQUAL = re.compile(r"^(?P<key>[^\s!=<>(),]+)\s*(?P<op>==|!=|=)\s*(?P<value>[^\s!=<>(),]*)$")
_ORDER = re.compile(r"^(?P<key>[^\s!=<>(),]+)\s*(?P<op>[<>])\s*(?P<value>-?\d+)$")
_EXISTS = re.compile(r"^(?P<absent>!?)\s*(?P<key>[^\s!=<>(),]+)$")
_COMMA_OUTSIDE_BRACKETS = re.compile(r",(?![^(]*\))")


@lru_cache(maxsize=4096)
def parse_labels(text: str) -> LabelTest:
    """The test a `labelSelector` stands for. Raises 400 where a real server does."""
    parts = [part.strip() for part in _COMMA_OUTSIDE_BRACKETS.split(text)] if text.strip() else []
    tests = [_label_test(part, text) for part in parts]
    return lambda labels: all(test(labels) for test in tests)


def _label_test(part: str, text: str) -> LabelTest:
    if found := _SET.match(part):
        key, values = found["key"], frozenset(v.strip() for v in found["values"].split(","))
        if found["op"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUAL.match(part):
        key, value = found["key"], found["value"]
        if found["op"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if found := _ORDER.match(part):
        key, bound, sign = found["key"], int(found["value"]), -1 if found["op"] == "<" else 1
        return lambda labels: _above(labels.get(key), bound, sign)
    if found := _EXISTS.match(part):
        key, wanted = found["key"], not found["absent"]
        return lambda labels: (key in labels) is wanted
    raise bad_request(f'unable to parse requirement: cannot read "{part}" of selector "{text}"')


def _above(value: str | None, bound: int, sign: int) -> bool:
    try:
        return value is not None and (int(value) - bound) * sign > 0
    except ValueError:
        return False


FieldTest: TypeAlias = Callable[[dict[str, Any]], bool]


@lru_cache(maxsize=4096)
def parse_fields(text: str, allowed: tuple[str, ...]) -> FieldTest:
    """The test a `fieldSelector` stands for; only the `allowed` paths are known, others are 400."""
    tests: list[FieldTest] = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        found = _EQUAL.match(part)
        if found is None:
            raise bad_request(f'invalid selector: "{text}"; can\'t understand "{part}"')
        if found["key"] not in allowed:
            raise bad_request(f"field label not supported: {found['key']}")
        tests.append(_field_test(tuple(found["key"].split(".")), found["value"], found["op"]))
    return lambda obj: all(test(obj) for test in tests)


def _field_test(path: tuple[str, ...], value: str, op: str) -> FieldTest:
    def read(obj: dict[str, Any]) -> str:
        node: Any = obj
        for step in path:
            node = node.get(step) if isinstance(node, dict) else None
        return "" if node is None else str(node)

    if op == "!=":
        return lambda obj: read(obj) != value
    return lambda obj: read(obj) == value
