"""What is wrong with a kubeconfig, in plain words: the client's loader says it in Python's. Nothing of the file is shown
but the names of its contexts and clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitops_mc.adapters.named_files import NamedFile, kubeconfig_file
from gitops_mc.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

_PARTS = ("contexts", "clusters", "users")
_SHOWN = 12
"""Contexts told by name; a kubeconfig of a whole fleet has hundreds."""


def check_kubeconfig(file: NamedFile) -> None:
    """Raises UsageError for a file that is no kubeconfig at all; its contexts are looked at when they are used."""
    _document(file)


def current_token(path: Path) -> str:
    """The token that stands in the file for the user of its current context; empty where that one has other credentials, or the
    file is damaged.
    """
    try:
        document = _document(kubeconfig_file(path))
    except UsageError:
        return ""
    context = _inner(_entry(document, "contexts", document.get("current-context")), "context")
    token = _inner(_entry(document, "users", context.get("user")), "user").get("token")
    return token if isinstance(token, str) else ""


def shown(context: str) -> str:
    """A context in messages; `""` is the one that the file calls current."""
    return f"context {context}" if context else "the current context"


def unusable(file: NamedFile, context: str, error: Exception | None) -> UsageError:
    """Why this context cannot be used, after the client's loader has failed with `error`, or found no address."""
    try:
        fault = _fault(_document(file), context)
    except UsageError as told:
        return told
    # the text of any other error could show a piece of the file
    fault = fault or (f"its certificates or token: {error.strerror}" if isinstance(error, OSError) else "")
    option = f" --context {context}" if context else ""
    return UsageError(
        f"{shown(context)} of {file} cannot be used: {fault or 'an entry of it is incomplete or damaged'}",
        hint=f"look at it with: {file.tried}{option} version" if file.tried else file.hint,
    )


def document_of(text: str, called: str, hint: str) -> dict[str, Any]:
    """A kubeconfig's lists. Raises UsageError, with `hint`, where it has none, and shows nothing of it."""
    from yaml import YAMLError, safe_load  # noqa: PLC0415 - only where a kubeconfig is used

    why = ""
    try:
        found = safe_load(text)
    except (YAMLError, ValueError, RecursionError):
        found, why = None, "it is not YAML"  # the parser's error shows a piece of the file
    if not why and not isinstance(found, dict):
        why = "it is no kubeconfig"
    missing = [p for p in _PARTS if not isinstance(found, dict) or not isinstance(found.get(p), list)]
    if missing:
        why = why or f"it is no kubeconfig, it has no list of {missing[0]}"
        raise UsageError(f"{called} cannot be used: {why}", hint=hint)
    return dict(found)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the current context leads to. It is damaged data as long as nobody has looked at it."""

    name: str
    cluster: dict[str, Any]
    user: dict[str, Any]


def chosen(document: dict[str, Any], called: str, hint: str) -> Chosen:
    """Raises UsageError where it leads to no server."""
    fault = _fault(document, "")
    if fault:
        raise UsageError(f"{shown('')} of {called} cannot be used: {fault}", hint=hint)
    name = document["current-context"]
    context = _inner(_entry(document, "contexts", name), "context")
    return Chosen(
        name,
        _inner(_entry(document, "clusters", context.get("cluster")), "cluster"),
        _inner(_entry(document, "users", context.get("user")), "user"),
    )


def _document(file: NamedFile) -> dict[str, Any]:
    try:
        text = file.path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UsageError(f"{file} is not there", hint=file.hint) from error
    except UnicodeDecodeError:
        text = "\0"  # no YAML either
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}", hint=file.hint) from error
    return document_of(text, file.called, file.hint)


def _fault(document: dict[str, Any], context: str) -> str:
    """What the context lacks; empty when it is none of this."""
    contexts = _named(document, "contexts")
    wanted = context or document.get("current-context")
    if not isinstance(wanted, str) or not wanted:
        return "the file names no current-context"
    if wanted not in contexts:
        names = [str(name) for name in contexts]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        known = ", ".join(names[:_SHOWN]) + more if names else "none"
        if not context:
            return f"it is {wanted}, and there is no such context (there are: {known})"
        return (
            f"there is no such context (there are: {known}); name a cluster's with --context CLUSTER=CONTEXT"
        )
    name = _inner(contexts[wanted], "context").get("cluster")
    clusters = _named(document, "clusters")
    if not isinstance(name, str):
        return "it names no cluster"
    if name not in clusters:
        return f"its cluster {name} is not among the clusters of the file"
    if not _inner(clusters[name], "cluster").get("server"):
        return f"its cluster {name} has no server"
    return ""


def _entry(document: dict[str, Any], part: str, name: object) -> dict[str, Any]:
    return _named(document, part).get(name, {}) if isinstance(name, str) else {}


def _inner(entry: dict[str, Any], part: str) -> dict[str, Any]:
    found = entry.get(part)
    return found if isinstance(found, dict) else {}


def _named(document: dict[str, Any], part: str) -> dict[object, dict[str, Any]]:
    entries = [entry for entry in document[part] if isinstance(entry, dict)]
    return {entry["name"]: entry for entry in entries if isinstance(entry.get("name"), str)}
