"""Columns that a server prints of a kind: how they are declared, and how a cell is read.

A custom resource declares them in its CRD (`additionalPrinterColumns`), by a JSONPath each; a real server reads of
JSONPath what is read here: members, escaped dots, an index, and the choice of a list's element by one of its members.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from gitops_mc.sandbox.apiserver.answers import encode

Obj: TypeAlias = dict[str, Any]
Cell: TypeAlias = str | int | float | bool | None
Read: TypeAlias = Callable[[Obj, datetime], Cell]
"""A cell of an object at a time. None is an empty cell."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. With a `priority` above 0 it is shown by `-o wide` alone."""

    name: str
    type: str
    read: Read
    description: str = ""
    priority: int = 0
    format: str = ""

    def definition(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def read_name(obj: Obj, _now: datetime) -> Cell:
    return str(obj["metadata"].get("name", ""))


def read_age(obj: Obj, now: datetime) -> Cell:
    return age(obj["metadata"].get("creationTimestamp"), now)


NAME = Column(
    "Name",
    "string",
    read_name,
    "What the object is called; for good, and once in its namespace.",
    format="name",
)
AGE = Column("Age", "date", read_age, "When this object was created, as the time since then.")


def printed(name: str, type_: str, path: str, description: str = "", *, priority: int = 0) -> Column:
    """A column as a CRD declares it. Raises ValueError for a JSONPath that is beyond what a column may have."""
    steps = _steps(path)
    text = description or f"Custom resource definition column (in JSONPath format): {path}"
    cell = _CELLS.get(type_, _string)

    def read(obj: Obj, now: datetime) -> Cell:
        value: Any = obj
        for step in steps:
            value = step(value)
        return None if value is None else cell(value, now)

    return Column(name, type_, read, text, priority)


def _string(value: Any, _now: datetime) -> Cell:
    return value if isinstance(value, str) else encode(value).decode()


def _number(value: Any, _now: datetime) -> Cell:
    return value if isinstance(value, int | float) else None


def _date(value: Any, now: datetime) -> Cell:
    return age(value, now)


_CELLS: dict[str, Callable[[Any, datetime], Cell]] = {
    "string": _string,
    "integer": _number,
    "number": _number,
    "boolean": _number,
    "date": _date,
}

_Step: TypeAlias = Callable[[Any], Any]
_MEMBER = re.compile(r"\.((?:[^.\[\]\\]|\\.)+)")
_INDEX = re.compile(r"\[(\d+)\]")
_CHOICE = re.compile(r"\[\?\(@\.(\w+)\s*==\s*[\"']([^\"']*)[\"']\)\]")


def _steps(path: str) -> tuple[_Step, ...]:
    steps, at = [], 0
    while at < len(path):
        for pattern, make in _STEPS:
            if found := pattern.match(path, at):
                steps.append(make(found))
                at = found.end()
                break
        else:
            raise ValueError(f"the JSONPath {path} cannot be read from {path[at:]} on")
    return tuple(steps)


def _member(found: re.Match[str]) -> _Step:
    name = re.sub(r"\\(.)", r"\1", found[1])
    return lambda value: value.get(name) if isinstance(value, dict) else None


def _element(found: re.Match[str]) -> _Step:
    at = int(found[1])
    return lambda value: value[at] if isinstance(value, list) and at < len(value) else None


def _chosen(found: re.Match[str]) -> _Step:
    key, wanted = found[1], found[2]

    def choose(value: Any) -> Any:
        items = value if isinstance(value, list) else ()
        return next((item for item in items if isinstance(item, dict) and item.get(key) == wanted), None)

    return choose


_STEPS = ((_MEMBER, _member), (_INDEX, _element), (_CHOICE, _chosen))


def age(since: Any, now: datetime) -> str:
    """The time since a timestamp, as kubectl words it."""
    try:
        began = datetime.fromisoformat(str(since)).astimezone(UTC)
    except ValueError:
        return "<unknown>"
    return human(int((now - began).total_seconds()))


def human(seconds: int) -> str:
    """As `HumanDuration` of k8s.io/apimachinery: two units where the greater one is small, else one."""
    if seconds < -1:
        return "<invalid>"
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    for limit, unit, letter, small, small_letter, both_below in _UNITS:
        if seconds < limit * unit:
            whole, rest = divmod(seconds, unit)
            both = whole < both_below and rest // small
            return f"{whole}{letter}{rest // small}{small_letter}" if both else f"{whole}{letter}"
    years, rest = divmod(seconds // _DAY, 365)
    return f"{years}y{rest}d" if years < 8 and rest else f"{years}y"


_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_UNITS = (
    (180, _MINUTE, "m", 1, "s", 10),
    (48, _HOUR, "h", _MINUTE, "m", 8),
    (730, _DAY, "d", _HOUR, "h", 8),
)
"""Up to how many of a unit, and below how many of it the smaller unit is named as well."""
