"""What the reader of fleet.yaml takes, found out by asking it: every field, and what it answers to values that it does not take."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from gitops_mc.core.fleetfile import API_VERSION, KIND, read_fleet_file
from gitops_mc.core.manifests.flaws import Flaw

_ODD: Final = "zzzzzzzz"
"""A field, and a value, that nothing is like."""
SELECTOR: Final = "selector"
"""What a selector of clusters takes; its members are the same everywhere."""
_SELECTOR_MEMBERS: Final = ("matchLabels", "matchExpressions", "names", "except")
_BESIDE: Final = {"spec.clusters[]": {"name": "a"}, "spec.shared[]": {"path": "shared/a"}}
"""What has to stand beside a field for it to be looked at."""
_ITEM: Final = "[]"


@dataclass(frozen=True, slots=True)
class Asked:
    """One field of fleet.yaml. `takes`: in words."""

    path: str
    takes: str
    required: bool


def fields_of_fleet_yaml() -> tuple[Asked, ...]:
    """Every field, in the order in which the reader knows them."""
    return (Asked("metadata.name", "text, a DNS label", required=False), *_inside("spec", required=False))


def _inside(path: str, *, required: bool) -> Iterator[Asked]:
    """The field with all below it."""
    known, needed = _members(path)
    if known == _SELECTOR_MEMBERS:
        yield Asked(path, SELECTOR, required)
    elif known:
        if path != "spec":
            yield Asked(path, "list of mappings" if path.endswith(_ITEM) else "mapping", required)
        for name in known:
            below = f"{path}.{name}"
            yield from _inside(below, required=name in needed)
    elif not path.endswith(_ITEM) and _is_list(path):
        inner = list(_inside(path + _ITEM, required=required))
        yield from inner if len(inner) > 1 else [Asked(path + _ITEM, f"list of {inner[0].takes}", required)]
    else:
        yield Asked(path, _takes(path), required)


def members_of_a_selector() -> tuple[Asked, ...]:
    """The fields below one, by their names alone."""
    path = "spec.rollout.waves[].clusters"
    found = [field for name in _SELECTOR_MEMBERS for field in _inside(f"{path}.{name}", required=False)]
    return tuple(replace(field, path=field.path.removeprefix(f"{path}.")) for field in found)


def _members(path: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """The fields of a mapping, and those that it must have; none where it is no mapping of fixed fields."""
    flaws = _answers(path, {_ODD: 1})
    hints = [flaw.hint for flaw in flaws if f"the field {_ODD} does not exist" in flaw.message]
    missing = [m[1] for flaw in flaws if (m := re.fullmatch(r"the field (\w+) is missing", flaw.message))]
    if not hints:
        return (), frozenset()
    return tuple(hints[0].removeprefix("known here: ").split(", ")), frozenset(missing)


def _is_list(path: str) -> bool:
    return any("not a list" in flaw.message for flaw in _answers(path, 1))


def _takes(path: str) -> str:
    """What a leaf takes, by what it says to what it does not take."""
    odd: tuple[Any, ...] = (1, 0, {}, _ODD, "", "0s")
    messages = [flaw.message for value in odd for flaw in _answers(path, value)]
    text = "\n".join(messages)
    if found := re.search(r"is not one of (.+)", text):
        return " or ".join(f"`{word}`" for word in found[1].split(", "))
    if "is no duration" in text:
        return f"duration, {_least(path)}"
    if "neither a number nor a percentage" in text:
        return f"number or percentage, from {_first_number(path)}"
    if "not true or false" in text:
        return "`true` or `false`"
    if "not a whole number" in text:
        return f"whole number, from {_first_number(path)}"
    if "not a mapping" in text:
        return "mapping of text to text"
    return "text"


def _least(path: str) -> str:
    """The least duration, with its limit upwards."""
    for span in ("0s", "1s", "1m"):
        if not [flaw for flaw in _answers(path, span) if "is not between" in flaw.message]:
            return f"from {span} to 365d"
    raise ValueError(f"{path} takes neither 0s nor 1s nor 1m")


def _first_number(path: str) -> int:
    return next(n for n in range(3) if not [f for f in _answers(path, n) if "less than" in f.message])


def _answers(path: str, value: Any) -> list[Flaw]:
    """What the reader says of that field where `value` stands there."""
    document: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND}
    _put(document, re.findall(r"\w+|\[\]", path), value)
    for around, beside in _BESIDE.items():
        if path.startswith(f"{around}."):
            (entry,) = document["spec"][around.removeprefix("spec.").removesuffix(_ITEM)]
            entry.update({k: v for k, v in beside.items() if k not in entry})
    return list(read_fleet_file(json.dumps(document).encode()).flaws)


def _put(document: Any, path: list[str], value: Any) -> None:
    first, *rest = path
    inner: Any = [] if rest[:1] == [_ITEM] else {}
    if first == _ITEM:
        document.append(value if not rest else inner)
        below = document[-1]
    else:
        document[first] = value if not rest else inner
        below = document[first]
    if rest:
        _put(below, rest, value)
