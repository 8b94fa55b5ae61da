"""What every manifest has whatever its kind: apiVersion, kind, metadata, and nothing that the server makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

from gitops_mc.core.manifests.scalars import type_name
from gitops_mc.core.model import (
    ABORT_ANNOTATION,
    APPLIED_ANNOTATION,
    BRACKET_ANNOTATION,
    FLEET_LABEL,
    BodyPath,
    Finding,
    JsonObject,
    Kind,
    Severity,
    is_object_name,
)

_TOP_LEVEL: Final = ("apiVersion", "kind", "metadata", "spec", "status")
_SERVER_MADE: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_OURS: Final = (
    ("labels", FLEET_LABEL),
    ("annotations", APPLIED_ANNOTATION),
    ("annotations", BRACKET_ANNOTATION),
    ("annotations", ABORT_ANNOTATION),
)

Note = Callable[[Finding], None]


def kind_of(value: JsonObject) -> Kind | Finding:
    """The managed kind of an object, or what is wrong with its apiVersion and kind."""
    kind, version = value.get("kind"), value.get("apiVersion")
    if not isinstance(kind, str) or not kind:
        return Finding(("kind",), "manifest-kind", "the kind is missing", f"one of {', '.join(Kind)}")
    try:
        known = Kind(kind)
    except ValueError:
        close = get_close_matches(kind, list(Kind), n=1)
        hint = f"did you mean {close[0]}?" if close else _FOREIGN_KIND_HINT
        return Finding(("kind",), "manifest-kind", f"the kind {kind} is not managed here", hint)
    if version != known.api_version:
        found = "missing" if version is None else f"{version!r}"
        message = f"the apiVersion of {kind} is {found}, not {known.api_version}"
        return Finding(("apiVersion",), "manifest-api-version", message, f"apiVersion: {known.api_version}")
    return known


_FOREIGN_KIND_HINT: Final = f"managed are {', '.join(Kind)}; move the file out of clusters/ and shared/, or add a glob to `ignore` in fleet.yaml"


def check_envelope(value: JsonObject, kind: Kind, note: Note) -> JsonObject:
    """The object as it would be sent: without status and server-made fields. Findings go to `note`."""
    for key in value:
        if key not in _TOP_LEVEL:
            close = get_close_matches(str(key), _TOP_LEVEL[:-1], n=1)
            hint = f"did you mean {close[0]}?" if close else "fields of a manifest stand under spec"
            note(Finding((key,), "manifest-field", f"the field {key} does not exist", hint))
    if value.get("status") is not None:
        note(_dropped(("status",), "status is the operator's to write"))
    body: JsonObject = {"apiVersion": value["apiVersion"], "kind": value["kind"]}
    body["metadata"] = _metadata(value.get("metadata"), kind, note)
    if "spec" in value:
        spec = value["spec"]
        if isinstance(spec, dict):
            body["spec"] = spec
        elif spec is not None:
            note(
                Finding(
                    ("spec",), "manifest-field", f"spec is {type_name(spec)}, not a mapping", _FIELDS_HINT
                )
            )
    return body


_FIELDS_HINT: Final = "write fields below it, indented"


def _metadata(value: Any, kind: Kind, note: Note) -> JsonObject:
    if not isinstance(value, dict):
        what = "missing" if value is None else type_name(value)
        note(Finding(("metadata",), "manifest-name", f"metadata is {what}", "write metadata with a name"))
        return {}
    found: JsonObject = dict(value)
    for key in _SERVER_MADE:
        if found.pop(key, None) is not None:
            note(_dropped(("metadata", key), f"metadata.{key} is made by the API server"))
    if found.pop("namespace", None) is not None:
        message = f"{kind} objects have no namespace; the API server refuses one"
        note(Finding(("metadata", "namespace"), "manifest-namespace", message, "remove it"))
    for key in ("labels", "annotations"):
        if key in found:
            found[key] = _strings(found[key], key, note)
    annotations = found.get("annotations")
    if annotations and annotations.pop(_LAST_APPLIED, None) is not None:
        note(_dropped(("metadata", "annotations", _LAST_APPLIED), "kubectl's own annotation"))
    for group, key in _OURS:
        if key in (found.get(group) or {}):
            message = f"{key} is written by gitops-mc itself"
            note(Finding(("metadata", group, key), "manifest-reserved", message, "remove it"))
            del found[group][key]
    for finding in _name_findings(found, kind):
        note(finding)
    return found


def _name_findings(metadata: JsonObject, kind: Kind) -> Iterator[Finding]:
    """A ModuleInfo's name is temporary; whether it may be missing depends on where the manifest stands."""
    name = metadata.get("name")
    path: BodyPath = ("metadata", "name")
    if name is None:
        if kind is not Kind.MODULE_INFO:
            yield Finding(("metadata",), "manifest-name", "metadata.name is missing", "name the object")
    elif not isinstance(name, str):
        message = f"metadata.name is {type_name(name)}, not a string"
        yield Finding(path, "manifest-name", message, "put the name in quotes")
    elif not is_object_name(name):
        message = f"{name!r} is not a valid name"
        hint = "lower-case letters, digits, `-` and `.`, beginning and ending with a letter or digit, at most 253"
        yield Finding(path, "manifest-name", message, hint)
    if "generateName" in metadata:
        message = "an object whose name is made up at creation cannot be kept in step"
        yield Finding(("metadata", "generateName"), "manifest-name", message, "use metadata.name")


def _strings(value: Any, key: str, note: Note) -> dict[str, str]:
    """Labels or annotations, which the API takes as strings only; anything else is noted and left out."""
    path: BodyPath = ("metadata", key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        note(
            Finding(
                path, "manifest-strings", f"{key} is {type_name(value)}, not a mapping", "write key: value"
            )
        )
        return {}
    strings = {}
    for name, text in value.items():
        if isinstance(text, str):
            strings[name] = text
        else:
            message = f"the value of {name} is {type_name(text)}; {key} are strings"
            note(Finding((*path, name), "manifest-strings", message, "put the value in quotes"))
    return strings


def _dropped(path: BodyPath, why: str) -> Finding:
    return Finding(path, "manifest-server-field", f"{why}; it is not sent", "remove it", Severity.WARNING)
