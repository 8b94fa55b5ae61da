"""Paths into an object as the API server's ownership sees them, and an object's leaves by path.

Lists are atomic (owned and replaced whole) but for the node-disruption policy's `files` and `units`, whose items are
merged by key; maps merge by key but for selectors, which are atomic. `MachineConfig.spec.config` has no schema below
it: there, too, maps merge and lists are atomic (measured on a real kube-apiserver 1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from gitops_mc.core.diff.changes import ABSENT, FieldValue
from gitops_mc.core.model import JsonObject, Kind, canonical_json, metadata


class Item(NamedTuple):
    """One item of a list that is merged by key."""

    key: str
    value: str


Path: TypeAlias = tuple[str | Item, ...]
"""From the object's root, for instance `("spec", "nodeDisruptionPolicy", "files", Item("path", "/etc/a"))`."""

Leaves: TypeAlias = Mapping[Path, Any]

LABELS: Path = ("metadata", "labels")
ANNOTATIONS: Path = ("metadata", "annotations")
PAUSED: Path = ("spec", "paused")

KEYED_LISTS: Mapping[Kind, Mapping[Path, str]] = {
    Kind.MACHINE_CONFIGURATION: {
        ("spec", "nodeDisruptionPolicy", "files"): "path",
        ("spec", "nodeDisruptionPolicy", "units"): "name",
    }
}
_ATOMIC_MAPS: Mapping[Kind, frozenset[Path]] = {
    Kind.MACHINE_CONFIG_POOL: frozenset({("spec", "machineConfigSelector"), ("spec", "nodeSelector")}),
}

_REQUIRED_MAPS: Mapping[Kind, frozenset[Path]] = {Kind.MACHINE_CONFIG: frozenset({("spec", "config")})}


def leaves_of(kind: Kind, body: Mapping[str, Any]) -> dict[Path, Any]:
    """Labels, annotations and spec, leaf by leaf. Nulls and empty maps that merge say nothing and are left out."""
    meta = metadata(dict(body))
    roots = (
        (LABELS, meta.get("labels")),
        (ANNOTATIONS, meta.get("annotations")),
        (("spec",), body.get("spec")),
    )
    return {path: value for root, part in roots for path, value in _walk(kind, part, root)}


def _walk(kind: Kind, value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and path not in _ATOMIC_MAPS.get(kind, ()):
        for key, inner in value.items():
            yield from _walk(kind, inner, (*path, key))
    elif (keyed := _keyed(kind, value, path)) is not None:
        for item, inner in keyed:
            yield from _walk(kind, inner, (*path, item))
    elif value is not None:
        yield path, value


def members_of(leaves: Iterable[Path], body: Any) -> set[Path]:
    """Every path that a body says anything about: its leaves, and all maps, lists and keyed items around them, maps
    with nothing in them included.
    """
    found = {path[:length] for path in leaves for length in range(1, len(path) + 1)}
    return found | set(_empty_maps(body.get("spec"), ("spec",)))


def _empty_maps(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, dict):
        yield path
        for key, inner in value.items():
            yield from _empty_maps(inner, (*path, key))


def _keyed(kind: Kind, value: Any, path: Path) -> list[tuple[Item, Any]] | None:
    """The items of a list that is merged by key, or None for anything else."""
    key = KEYED_LISTS.get(kind, {}).get(path)
    if key is None or not isinstance(value, list):
        return None
    if not all(isinstance(entry, dict) and isinstance(entry.get(key), str) for entry in value):
        return None
    return [(Item(key, entry[key]), entry) for entry in value]


def vanishes_whole(kind: Kind, path: Path) -> bool:
    """Whether a thing that its owner drops is removed with all that stands in it, whoever owns that.

    So it is (measured on a real kube-apiserver 1.36) with keyed items, and with maps that have no schema, unless
    another manager owns the thing itself: one that has only changed a field inside does not.
    """
    free_form = kind is Kind.MACHINE_CONFIG and path[:2] == ("spec", "config") and len(path) > 2
    return free_form or isinstance(path[-1], Item)


def item_of(path: Path) -> Path | None:
    """The path of the keyed item that a leaf stands in, or None."""
    for position, step in enumerate(path):
        if isinstance(step, Item):
            return path[: position + 1]
    return None


def items_of(leaves: Iterable[Path]) -> tuple[Path, ...]:
    """Paths of the keyed items among some leaves, each once, in their order."""
    return tuple(dict.fromkeys(item for path in leaves if (item := item_of(path)) is not None))


def in_order_of(model: Leaves, leaves: Leaves) -> Leaves:
    """The same leaves with their keyed items in the order of the model's; items that it lacks come after them."""
    rank = {item: position for position, item in enumerate(items_of(model))}
    return dict(sorted(leaves.items(), key=lambda leaf: rank.get(item_of(leaf[0]) or (), len(rank))))


def same(left: FieldValue, right: FieldValue) -> bool:
    """Equal as JSON: 1 and True differ."""
    if left is ABSENT or right is ABSENT:
        return left is right
    return canonical_json(left) == canonical_json(right)


def shown(path: Path) -> str:
    """Dotted, keyed items in brackets: `spec.nodeDisruptionPolicy.files[/etc/a].actions`."""
    text = ""
    for step in path:
        text += f"[{step.value}]" if isinstance(step, Item) else (f".{step}" if text else step)
    return text


def value_at(body: Any, path: Path) -> FieldValue:
    """The value at a path, or ABSENT."""
    for step in path:
        if isinstance(step, Item):
            found = [e for e in body if isinstance(e, dict) and e.get(step.key) == step.value]
            body = found[0] if isinstance(body, list) and found else ABSENT
        else:
            body = body.get(step, ABSENT) if isinstance(body, dict) else ABSENT
        if body is ABSENT:
            return ABSENT
    return body


def with_value(body: Any, path: Path, value: FieldValue) -> Any:
    """A copy of a JSON value with one leaf set; missing maps, lists and keyed items on the way are made. ABSENT takes
    the field away.
    """
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, Item):
        entries = list(body) if isinstance(body, list) else []
        at = next((i for i, entry in enumerate(entries) if entry.get(step.key) == step.value), len(entries))
        entries[at : at + 1] = [
            with_value(entries[at] if at < len(entries) else {step.key: step.value}, rest, value)
        ]
        return entries
    mapping = dict(body) if isinstance(body, dict) else {}
    if value is ABSENT and not rest:
        return {name: inner for name, inner in mapping.items() if name != step}
    return {**mapping, step: with_value(mapping.get(step), rest, value)}


def said_only(kind: Kind, spec: JsonObject) -> JsonObject:
    """A copy of a spec without what says nothing in a manifest: nulls, and empty maps that merge. Lists, selectors and
    the map that a kind has to have stay as they are.

    Sent, a null would own its field, and forced empty it; an empty map of whose fields we have owned the last would be
    made null, which the schema refuses (measured on real kube-apiservers 1.35 and 1.36.3).
    """
    said: JsonObject = _said(kind, spec, ("spec",))
    return said


def _said(kind: Kind, value: Any, path: Path) -> Any:
    kept = {*_ATOMIC_MAPS.get(kind, ()), *_REQUIRED_MAPS.get(kind, ())}
    if not isinstance(value, dict) or path in _ATOMIC_MAPS.get(kind, ()):
        return value
    inner = {key: _said(kind, item, (*path, key)) for key, item in value.items() if item is not None}
    return {key: item for key, item in inner.items() if item != {} or (*path, key) in kept}
