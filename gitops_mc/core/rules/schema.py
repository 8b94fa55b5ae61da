"""What the platform's schemas declare, as plain tables, and where a body leaves them.

A field outside its schema is not dropped: a server-side apply is refused with ".spec.x: field not declared in
schema" (measured on a real kube-apiserver 1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, TypeAlias

from gitops_mc.core.model import BodyPath, JsonObject, Kind, dotted
from gitops_mc.core.rules.row import Found


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value of one of these JSON types."""

    types: tuple[type, ...]
    words: str


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose elements all have one shape."""

    element: Shape


Shape: TypeAlias = "Leaf | ListOf | MappingProxyType[str, Shape]"

STRING = Leaf((str,), "a string")
BOOLEAN = Leaf((bool,), "true or false")
NUMBER_OR_STRING = Leaf((int, str), "a whole number or a string")
FREE_FORM = Leaf((dict,), "an object")


def _object(**fields: Shape) -> MappingProxyType[str, Shape]:
    return MappingProxyType(fields)


_REQUIREMENT = _object(key=STRING, operator=STRING, values=ListOf(STRING))
_SELECTOR = _object(matchLabels=FREE_FORM, matchExpressions=ListOf(_REQUIREMENT))
_REFERENCE = dict.fromkeys(
    ("apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid"), STRING
)
_SERVICE = _object(serviceName=STRING)
_ACTIONS = ListOf(_object(type=STRING, reload=_SERVICE, restart=_SERVICE))

SPECS: MappingProxyType[Kind, Shape] = MappingProxyType(
    {
        Kind.MACHINE_CONFIG: _object(config=FREE_FORM, kernelArguments=ListOf(STRING)),
        Kind.MACHINE_CONFIG_POOL: _object(
            machineConfigSelector=_SELECTOR,
            nodeSelector=_SELECTOR,
            maxUnavailable=NUMBER_OR_STRING,
            paused=BOOLEAN,
            configuration=_object(**_REFERENCE, source=ListOf(_object(**_REFERENCE))),
        ),
        Kind.MACHINE_CONFIGURATION: _object(
            defaultNodeDisruptionPolicySpecAction=_object(files=_ACTIONS, units=_ACTIONS),
            nodeDisruptionPolicy=_object(
                files=ListOf(_object(path=STRING, actions=_ACTIONS)),
                units=ListOf(_object(name=STRING, actions=_ACTIONS)),
                sshkey=_object(actions=_ACTIONS),
            ),
        ),
        Kind.MODULE_INFO: _object(
            config=FREE_FORM,
            entrypoint=STRING,
            selectedCluster=FREE_FORM,
            valuesOverride=FREE_FORM,
            version=STRING,
        ),
    }
)


def _children(value: Any, shape: Shape, path: BodyPath) -> Iterator[tuple[Any, Shape, BodyPath]]:
    """The declared parts of a value, one level down."""
    if isinstance(shape, ListOf) and isinstance(value, list):
        for index, element in enumerate(value):
            yield element, shape.element, (*path, index)
    elif isinstance(shape, MappingProxyType) and isinstance(value, dict):
        for key, inner in shape.items():
            if value.get(key) is not None:
                yield value[key], inner, (*path, key)


def _undeclared(value: Any, shape: Shape, path: BodyPath) -> Iterator[tuple[BodyPath, tuple[str, ...]]]:
    """Fields outside the schema, each with the names that are declared beside it."""
    if isinstance(shape, MappingProxyType) and isinstance(value, dict):
        for key in value:
            if key not in shape:
                yield (*path, key), tuple(shape)
    for child, inner, where in _children(value, shape, path):
        yield from _undeclared(child, inner, where)


def _wrongly_typed(value: Any, shape: Shape, path: BodyPath) -> Iterator[tuple[BodyPath, str]]:
    match shape:
        case Leaf(types, words):
            if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
                yield path, words
        case ListOf():
            if not isinstance(value, list):
                yield path, "a list"
        case _:
            if not isinstance(value, dict):
                yield path, "an object"
    for child, inner, where in _children(value, shape, path):
        yield from _wrongly_typed(child, inner, where)


def _spec_shape(body: JsonObject) -> Shape | None:
    kind = body.get("kind")
    return next((shape for known, shape in SPECS.items() if known.value == kind), None)


def unknown_fields(body: JsonObject) -> Found:
    """Fields of spec that the schema does not declare, in the words of a server's answer."""
    shape = _spec_shape(body)
    if shape is None:
        return
    for path, known in _undeclared(body.get("spec"), shape, ("spec",)):
        close = get_close_matches(str(path[-1]), known, n=1)
        yield (
            path,
            f".{dotted(path)}: field not declared in schema",
            f"did you mean {close[0]}?" if close else f"the schema declares {', '.join(known)}",
        )


def wrong_types(body: JsonObject) -> Found:
    """Values of another type than the schema's."""
    shape = _spec_shape(body)
    if shape is None or body.get("spec") is None:
        return
    for path, words in _wrongly_typed(body["spec"], shape, ("spec",)):
        yield path, f"{dotted(path)} must be {words}", f"write {words}"
