"""OpenAPI v3, made of the very schemas that objects are validated with: what `kubectl explain` and its checks read.

A rule of a schema that is more than a type or a limit is Python in here, and CEL in a CRD: it is not shown. Built-in
kinds show what of them is declared, and say that they are open; that they can be patched strategically is left out, for
kubectl would then take these shapes for whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from gitops_mc.app.ports import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH
from gitops_mc.sandbox.apiserver.answers import encode
from gitops_mc.sandbox.apiserver.resources import Resource
from gitops_mc.sandbox.apiserver.schema import METADATA, STRING, Schema, struct

Json = dict[str, Any]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_GVK = "x-kubernetes-group-version-kind"
_OPEN = "x-kubernetes-preserve-unknown-fields"
_LIST_META = struct(**dict.fromkeys(("continue", "resourceVersion", "selfLink"), STRING))


@lru_cache(maxsize=64)
def index(served: tuple[Resource, ...]) -> Json:
    """`/openapi/v3`: where the document of each group version is. The hash changes with its content."""
    paths = {}
    for api_version in sorted({r.api_version for r in served}):
        where = f"apis/{api_version}" if "/" in api_version else f"api/{api_version}"
        content = hashlib.sha256(encode(document(served, api_version))).hexdigest().upper()
        paths[where] = {"serverRelativeURL": f"/openapi/v3/{where}?hash={content}"}
    return {"paths": paths}


@lru_cache(maxsize=256)
def document(served: tuple[Resource, ...], api_version: str) -> Json | None:
    """The schemas and operations of one group version; None if it is not served."""
    mine = [r for r in served if r.api_version == api_version]
    if not mine:
        return None
    schemas = {
        f"{_META}.ObjectMeta": shape(METADATA),
        f"{_META}.ListMeta": shape(_LIST_META),
    }
    paths: Json = {}
    for resource in mine:
        schemas |= _schemas(resource)
        paths |= _paths(resource)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


# ------------------------------------------------------------------------------------------------------------ schemas


def shape(schema: Schema) -> Json:
    """One node of a schema, and all below it."""
    found: Json = {"description": schema.description} if schema.description else {}
    found |= _TYPES.get(schema.type, {"type": schema.type})
    found |= {name: read for name, member in _LIMITS if (read := getattr(schema, member)) is not None}
    if schema.enum:
        found["enum"] = list(schema.enum)
    if schema.nullable:
        found["nullable"] = True
    if schema.fields:
        found["properties"] = {name: _member(child) for name, child in schema.fields.items()}
    if schema.required:
        found["required"] = list(schema.required)
    if schema.values is not None:
        found["additionalProperties"] = shape(schema.values)
    if schema.open:
        found[_OPEN] = True
    if schema.atomic:
        found["x-kubernetes-map-type"] = "atomic"
    if schema.type == "array":
        found |= _list(schema)
    return found


_TYPES: Mapping[str, Json] = {
    "any": {_OPEN: True},
    "int-or-string": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
}
_LIMITS = (
    ("maxItems", "max_items"),
    ("maxLength", "max_length"),
    ("minLength", "min_length"),
    ("pattern", "pattern"),
    ("minimum", "minimum"),
)


def _member(schema: Schema) -> Json:
    if schema is not METADATA:
        return shape(schema)
    return {
        "description": "Name, labels, annotations, and what the server keeps of the object.",
        "allOf": [_reference(f"{_META}.ObjectMeta")],
    }


def _list(schema: Schema) -> Json:
    """A list that says nothing of its kind is atomic."""
    found: Json = {"items": shape(schema.items) if schema.items is not None else {}}
    if schema.keys:
        return found | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(schema.keys)}
    return found | {"x-kubernetes-list-type": "set"} if schema.is_set else found


def _schemas(resource: Resource) -> Json:
    whole = shape(resource.schema)
    whole[_GVK] = [_kind(resource)]
    items = {"type": "array", "items": _reference(_name(resource))}
    listed = {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"allOf": [_reference(f"{_META}.ListMeta")]},
            "items": items,
        },
        _GVK: [_kind(resource, "List")],
    }
    return {_name(resource): whole, f"{_name(resource)}List": listed}


def _name(resource: Resource) -> str:
    """Built-in kinds are called by their Go packages, custom ones by their group backwards."""
    if resource.built_in:
        group = resource.group.partition(".")[0] or "core"
        return f"io.k8s.api.{group}.{resource.version}.{resource.kind}"
    return ".".join((*reversed(resource.group.split(".")), resource.version, resource.kind))


def _kind(resource: Resource, suffix: str = "") -> Json:
    return {"group": resource.group, "version": resource.version, "kind": f"{resource.kind}{suffix}"}


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


# -------------------------------------------------------------------------------------------------------------- paths

_READING = ("pretty", "resourceVersion")
_LISTING = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "pretty",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
)
_WRITING = ("dryRun", "fieldManager", "fieldValidation", "pretty")
_COLLECTION = (
    ("get", "list", _LISTING, ()),
    ("post", "post", _WRITING, (JSON,)),
    ("delete", "deletecollection", ("dryRun", *_LISTING), (JSON,)),
)
_OBJECT = (
    ("get", "get", _READING, ()),
    ("put", "put", _WRITING, (JSON,)),
    ("patch", "patch", (*_WRITING, "force"), (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)),
    ("delete", "delete", ("dryRun", "pretty"), (JSON,)),
)
_STATUS = tuple(row for row in _OBJECT if row[0] != "delete")
_INTEGERS = ("limit", "timeoutSeconds")
_SWITCHES = ("allowWatchBookmarks", "force", "sendInitialEvents", "watch")


def _paths(resource: Resource) -> Json:
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.api_version}"
    within = f"{root}/namespaces/{{namespace}}" if resource.namespaced else root
    collection = f"{within}/{resource.plural}"
    found = {
        collection: _operations(resource, _COLLECTION),
        f"{collection}/{{name}}": _operations(resource, _OBJECT),
    }
    if resource.namespaced:
        found[f"{root}/{resource.plural}"] = _operations(resource, _COLLECTION[:1])
    if resource.has_status:
        found[f"{collection}/{{name}}/status"] = _operations(resource, _STATUS)
    return found


def _operations(
    resource: Resource, rows: Sequence[tuple[str, str, tuple[str, ...], tuple[str, ...]]]
) -> Json:
    return {
        method: {
            "tags": [resource.plural],
            "x-kubernetes-action": action,
            _GVK: _kind(resource),
            "parameters": [_parameter(name) for name in parameters],
            **_body(resource, takes),
            "responses": {"200": {"description": "OK", "content": _content(resource, (JSON,))}},
        }
        for method, action, parameters, takes in rows
    }


def _parameter(name: str) -> Json:
    kind = "integer" if name in _INTEGERS else "boolean" if name in _SWITCHES else "string"
    return {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}


def _body(resource: Resource, takes: tuple[str, ...]) -> Json:
    return {"requestBody": {"content": _content(resource, takes)}} if takes else {}


def _content(resource: Resource, media_types: tuple[str, ...]) -> Json:
    return {media_type: {"schema": _reference(_name(resource))} for media_type in media_types}
