"""Kinds that are defined at run time, by a CustomResourceDefinition: from what it declares to a row of the table.

A definition is refused if it asks for something that would then not be done: rules in CEL that are not in the table,
defaults, several versions, conversion, a scale subresource, and words of a schema that are not read here. Formats are taken
and not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gitops_mc.sandbox.apiserver.answers import Cause, StatusError, invalid
from gitops_mc.sandbox.apiserver.columns import AGE, NAME, Column, printed
from gitops_mc.sandbox.apiserver.resources import RESOURCES, Generation, Resource, Scope, Status
from gitops_mc.sandbox.apiserver.rules_in_cel import RULES
from gitops_mc.sandbox.apiserver.schema import METADATA, STRING, Check, Schema

_GROUP = "apiextensions.k8s.io"
DEFINITIONS = f"customresourcedefinitions.{_GROUP}"
_OWN = frozenset(resource.id for resource in RESOURCES)
_KIND = "CustomResourceDefinition"
_OPEN, _NUMBER = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"
_RULES = "x-kubernetes-validations"
_LIST, _KEYS, _MAP = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
_TYPES = ("object", "array", "string", "integer", "boolean")
_PLAIN: Mapping[str, str] = {
    "description": "description",
    "nullable": "nullable",
    "maxItems": "max_items",
    "maxLength": "max_length",
    "minLength": "min_length",
    "pattern": "pattern",
    "minimum": "minimum",
}
"""Words that are a member of Schema as they stand."""
_READ = frozenset(
    {*_PLAIN, "type", "properties", "required", "items", "additionalProperties", "enum", "format", "anyOf"}
    | {_OPEN, _NUMBER, _LIST, _KEYS, _MAP, _RULES}
)
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]


class _UnreadableError(Exception):
    def __init__(self, place: str, told: str) -> None:
        super().__init__(told)
        self.place = place
        self.told = told


def resource_of(definition: dict[str, Any]) -> Resource:
    """The kind that a definition stands for. Raises 422 for one that is wrong, or beyond this server."""
    try:
        return _resource(definition)
    except _UnreadableError as error:
        name = str((definition.get("metadata") or {}).get("name", ""))
        raise _refused(name, error.place, error.told) from error


def _refused(name: str, place: str, told: str) -> StatusError:
    cause = Cause("FieldValueInvalid", place, f"Invalid value: {told}")
    return invalid(_KIND, _GROUP, name, [(cause, f"{place}: {cause.message}")])


def _resource(definition: dict[str, Any]) -> Resource:
    spec = _object(definition.get("spec"), "spec")
    names, version = _object(spec.get("names"), "spec.names"), _only_version(spec)
    group, plural, kind = (_text(*row) for row in ((spec, "group"), (names, "plural"), (names, "kind")))
    if definition["metadata"].get("name") != f"{plural}.{group}":
        raise _UnreadableError("metadata.name", "must be spec.names.plural+'.'+spec.group")
    if "." not in group or group.endswith(".k8s.io"):
        raise _UnreadableError("spec.group", f"{group} is none for custom resources")
    if names.get("listKind", f"{kind}List") != f"{kind}List":
        raise _UnreadableError("spec.names.listKind", f"only {kind}List is served here")
    if names.get("singular", kind.lower()) != kind.lower():
        raise _UnreadableError("spec.names.singular", f"only {kind.lower()} is served here")
    if spec.get("scope") not in ("Cluster", "Namespaced"):
        raise _UnreadableError("spec.scope", "must be Cluster or Namespaced")
    subresources = _object(version.get("subresources") or {}, "subresources")
    if set(subresources) - {"status"}:
        raise _UnreadableError("subresources", "only status is served here")
    return Resource(
        api_version=f"{group}/{_text(version, 'name')}",
        kind=kind,
        plural=plural,
        scope=Scope(spec["scope"]),
        schema=_root(version),
        status=Status.SUBRESOURCE if "status" in subresources else Status.NONE,
        generation=Generation.ALL_BUT_METADATA,
        short_names=tuple(names.get("shortNames") or ()),
        fields=tuple(str(row["jsonPath"]).lstrip(".") for row in version.get("selectableFields") or ()),
        categories=tuple(names.get("categories") or ()),
        columns=_columns(version),
    )


def _only_version(spec: dict[str, Any]) -> dict[str, Any]:
    versions = spec.get("versions")
    if not isinstance(versions, list) or len(versions) != 1:
        raise _UnreadableError("spec.versions", "exactly one version is served here")
    version = _object(versions[0], "spec.versions[0]")
    if not (version.get("served") and version.get("storage")):
        raise _UnreadableError("spec.versions[0]", "it must be served and stored")
    return version


def _columns(version: dict[str, Any]) -> tuple[Column, ...]:
    declared = version.get("additionalPrinterColumns")
    if not declared:
        return (NAME, AGE)
    try:
        return (NAME, *map(_column, declared))
    except (KeyError, ValueError) as error:
        raise _UnreadableError("spec.versions[0].additionalPrinterColumns", str(error)) from error


def _column(row: dict[str, Any]) -> Column:
    found = printed(
        row["name"], row["type"], row["jsonPath"], row.get("description", ""), priority=row.get("priority", 0)
    )
    return replace(found, format=row.get("format", ""))


def _root(version: dict[str, Any]) -> Schema:
    where = "spec.versions[0].schema.openAPIV3Schema"
    declared = _object((version.get("schema") or {}).get("openAPIV3Schema"), where)
    found = _schema(declared, where)
    if found.type != "object":
        raise _UnreadableError(f"{where}.type", "must be object at the root")
    own = {"apiVersion": STRING, "kind": STRING, "metadata": METADATA}
    return replace(found, fields={**found.fields, **own})


def _schema(declared: Any, where: str) -> Schema:
    node = _object(declared, where)
    if unread := sorted(set(node) - _READ):
        raise _UnreadableError(f"{where}.{unread[0]}", "this word of a schema is not carried out here")
    if node.get(_NUMBER):
        if node.get("anyOf", _INT_OR_STRING) != _INT_OR_STRING:
            raise _UnreadableError(f"{where}.anyOf", "only that of a number or a string is read here")
        return Schema(type="int-or-string", **_limits(node))
    type_ = node.get("type")
    if type_ is None and node.get(_OPEN):
        return Schema(type="any", description=str(node.get("description", "")))
    if type_ not in _TYPES or "anyOf" in node:
        raise _UnreadableError(f"{where}.type", f"{type_!r} is none that is read here")
    return _of_type(node, type_, where)


def _of_type(node: dict[str, Any], type_: Any, where: str) -> Schema:
    properties = _object(node.get("properties") or {}, f"{where}.properties")
    more, items = node.get("additionalProperties"), node.get("items")
    if isinstance(more, bool):
        raise _UnreadableError(f"{where}.additionalProperties", "must be a schema here")
    if any(not isinstance(value, str) for value in node.get("enum") or ()):
        raise _UnreadableError(f"{where}.enum", "only strings are read here")
    return Schema(
        type=type_,
        fields={name: _schema(child, f"{where}.properties[{name}]") for name, child in properties.items()},
        required=tuple(node.get("required") or ()),
        values=None if more is None else _schema(more, f"{where}.additionalProperties"),
        items=None if items is None else _schema(items, f"{where}.items"),
        keys=tuple(node.get(_KEYS) or ()) if node.get(_LIST) == "map" else (),
        is_set=node.get(_LIST) == "set",
        atomic=node.get(_MAP) == "atomic",
        open=bool(node.get(_OPEN)),
        enum=tuple(node.get("enum") or ()),
        checks=tuple(_check(rule, f"{where}.{_RULES}") for rule in node.get(_RULES) or ()),
        **_limits(node),
    )


def _check(declared: Any, where: str) -> Check:
    rule = _object(declared, where)
    if set(rule) - {"rule", "message"} or rule.get("rule") not in RULES:
        raise _UnreadableError(where, f"no rule of the table: {rule.get('rule')}")
    return Check(_text(rule, "message"), RULES[rule["rule"]])


def _limits(node: dict[str, Any]) -> dict[str, Any]:
    return {member: node[word] for word, member in _PLAIN.items() if word in node}


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _UnreadableError(where, "an object is required")
    return value


def _text(node: dict[str, Any], key: str) -> str:
    value = node.get(key)
    if not isinstance(value, str) or not value:
        raise _UnreadableError(f"spec...{key}", "a name is required")
    return value


def served(definition: dict[str, Any], stamp: str) -> dict[str, Any]:
    """The definition with the status of one whose kind is served. Raises 422 where it cannot be.

    A real server's controllers do this a moment later.
    """
    resource = resource_of(definition)
    name = definition["metadata"]["name"]
    if resource.id in _OWN:
        raise _refused(name, "metadata.name", f"{name} is a kind that this server brings along")
    standing = definition.get("status") or {}
    if standing.get("storedVersions") == [resource.version]:
        return definition
    accepted = {
        "listKind": f"{resource.kind}List",
        "singular": resource.kind.lower(),
        **definition["spec"]["names"],
    }
    conditions = [
        _condition("NamesAccepted", "NoConflicts", "no conflicts found", stamp),
        _condition("Established", "InitialNamesAccepted", "the initial names have been accepted", stamp),
    ]
    status = {"acceptedNames": accepted, "conditions": conditions, "storedVersions": [resource.version]}
    return {**definition, "status": status}


def _condition(kind: str, reason: str, message: str, stamp: str) -> dict[str, Any]:
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": stamp,
    }
