"""`stringData` of a Secret, as core/v1's conversion has it: written into `data`, over what stands there, and never kept."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from gitops_mc.sandbox.apiserver.answers import bad_request
from gitops_mc.sandbox.apiserver.resources import Resource


def with_data(resource: Resource, body: dict[str, Any]) -> dict[str, Any]:
    """The body as it is kept; that of any other kind as it is. Raises StatusError for values that are no strings."""
    if resource.id != "secrets" or "stringData" not in body:
        return body
    said = body["stringData"] or {}
    if not isinstance(said, dict) or not all(isinstance(value, str) for value in said.values()):
        raise bad_request(
            'Secret in version "v1" cannot be handled as a Secret: json: cannot unmarshal into Go struct field '
            "Secret.stringData of type string"
        )
    kept = {name: value for name, value in body.items() if name != "stringData"}
    if not said:
        return kept
    coded = {name: b64encode(value.encode()).decode() for name, value in said.items()}
    return {**kept, "data": {**(body.get("data") or {}), **coded}}
