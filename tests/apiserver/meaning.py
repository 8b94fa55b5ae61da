"""What a custom resource definition means, so that two that are written differently can be compared.

Left out is what changes nothing for a client: descriptions, order, defaults that are written out, and how a validation
rule is put (its message stays, and stands for it; what it refuses is compared on a server).
"""

from __future__ import annotations

from typing import Any

from gitops_mc.sandbox.apiserver.resources import Resource
from gitops_mc.sandbox.apiserver.schema import METADATA, Schema

_AS_IT_IS = (
    "type",
    "format",
    "nullable",
    "pattern",
    "minimum",
    "maxLength",
    "minLength",
    "maxItems",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
    "x-kubernetes-map-type",
    "x-kubernetes-list-map-keys",
)
_SERVED = ("apiVersion", "kind", "metadata")
"""Members of every object; a definition may say them or not."""
Meaning = dict[str, Any]
"""By path (`spec.nodeDisruptionPolicy.files[].path`), what holds there."""


def of_definition(definition: dict[str, Any]) -> Meaning:
    """Of the one version that is served."""
    spec = definition["spec"]
    (version,) = spec["versions"]
    names = spec["names"]
    found: Meaning = {
        "(names)": {key: names.get(key) for key in ("kind", "listKind", "plural", "singular", "shortNames")},
        "(group)": (spec["group"], version["name"], spec["scope"]),
        "(served)": (version["served"], version["storage"]),
        "(subresources)": sorted(version.get("subresources") or {}),
        "(columns)": [
            (c["name"], c["type"], c["jsonPath"], c.get("priority", 0))
            for c in version.get("additionalPrinterColumns") or ()
        ],
    }
    schema = version["schema"]["openAPIV3Schema"]
    for name, below in schema["properties"].items():
        if name not in _SERVED:
            _walk(below, name, found)
    found["(required)"] = sorted(schema.get("required") or ())
    return found


def _walk(schema: dict[str, Any], path: str, found: Meaning) -> None:
    here = {key: schema[key] for key in _AS_IT_IS if schema.get(key) not in (None, False)}
    if "x-kubernetes-int-or-string" in here:
        here.pop("type", None)
    if schema.get("type") == "array":
        here["list"] = schema.get("x-kubernetes-list-type", "atomic")
    for key in ("required", "enum"):
        if schema.get(key):
            here[key] = sorted(schema[key])
    if rules := schema.get("x-kubernetes-validations"):
        here["rules"] = sorted(" ".join(rule["message"].split()) for rule in rules)
    found[path] = here
    for name, below in (schema.get("properties") or {}).items():
        _walk(below, f"{path}.{name}", found)
    if schema.get("items"):
        _walk(schema["items"], f"{path}[]", found)
    if isinstance(schema.get("additionalProperties"), dict):
        _walk(schema["additionalProperties"], f"{path}.*", found)


def of_resource(resource: Resource) -> Meaning:
    """What the embedded server knows of a kind, in the same terms; formats and rules on former values it does not know."""
    definition = {
        "spec": {
            "group": resource.group,
            "scope": resource.scope.value,
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                "shortNames": list(resource.short_names) or None,
            },
            "versions": [
                {
                    "name": resource.version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}} if resource.has_status else {},
                    "schema": {"openAPIV3Schema": _written(resource.schema)},
                }
            ],
        }
    }
    return of_definition(definition)


def _written(schema: Schema) -> dict[str, Any]:
    """A shape of the embedded server as a definition writes it."""
    written: dict[str, Any] = {
        "nullable": schema.nullable,
        "required": list(schema.required),
        "enum": list(schema.enum),
        "pattern": schema.pattern,
        "minimum": schema.minimum,
        "maxLength": schema.max_length,
        "minLength": schema.min_length,
        "maxItems": schema.max_items,
        "x-kubernetes-preserve-unknown-fields": schema.open or schema.type == "any",
        "x-kubernetes-validations": [{"message": check.message} for check in schema.checks],
        "properties": {
            name: _written(below) for name, below in schema.fields.items() if below is not METADATA
        },
        "items": _written(schema.items) if schema.items else None,
        "additionalProperties": _written(schema.values) if schema.values else None,
    }
    match schema.type:
        case "int-or-string":
            written["x-kubernetes-int-or-string"] = True
        case "any":
            pass
        case kind:
            written["type"] = kind
    if schema.atomic:
        written["x-kubernetes-map-type"] = "atomic"
    if schema.keys:
        written |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(schema.keys)}
    if schema.is_set:
        written["x-kubernetes-list-type"] = "set"
    return written


def differences(left: Meaning, right: Meaning) -> dict[str, tuple[Any, Any]]:
    """By path, what both say where they do not say the same."""
    return {
        path: (left.get(path), right.get(path))
        for path in sorted({*left, *right})
        if left.get(path) != right.get(path)
    }
