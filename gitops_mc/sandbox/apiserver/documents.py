"""Answers to paths that name no object: what the server is, what it serves, and what the caller may do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gitops_mc.app.ports import Request, Response
from gitops_mc.sandbox.apiserver import discovery, openapi
from gitops_mc.sandbox.apiserver.access import User, forbidden, forbidden_path
from gitops_mc.sandbox.apiserver.answers import (
    TEXT_HEADERS,
    StatusError,
    method_not_allowed,
    no_such_api,
    ok,
    path_not_found,
)
from gitops_mc.sandbox.apiserver.resources import Resource
from gitops_mc.sandbox.apiserver.reviews import open_to, review

_HEALTH = (("healthz",), ("livez",), ("readyz",))


def answer(served: Sequence[Resource], user: User, request: Request) -> Response:
    """The document at a path. Raises what a real server does where there is none."""
    if (found := review(user, request)) is not None:
        return found
    parts = tuple(part for part in request.path.split("/") if part)
    if parts[:1] in _HEALTH and parts[1:] in ((), ("ping",)):
        _check_path(user, request)
        return _healthy(parts[0], request)
    found = _document(served, parts, request)
    if found is None:
        return _nothing_there(served, user, parts, request)
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()
    return found


def _document(served: Sequence[Resource], parts: tuple[str, ...], request: Request) -> Response | None:
    match parts:
        case ["version"]:
            return ok(discovery.VERSION)
        case ["api"]:
            return discovery.core_versions(served, request.accept)
        case ["apis"]:
            return discovery.groups(served, request.accept)
        case ["apis", group]:
            return _found(discovery.group(served, group))
        case ["api", version]:
            return _found(discovery.resources(served, version))
        case ["apis", group, version]:
            return _found(discovery.resources(served, f"{group}/{version}"))
        case ["openapi", "v3"]:
            return ok(openapi.index(tuple(served)))
        case ["openapi", "v3", "api", version]:
            return _found(openapi.document(tuple(served), version))
        case ["openapi", "v3", "apis", group, version]:
            return _found(openapi.document(tuple(served), f"{group}/{version}"))
        case _:
            return None


def _found(document: dict[str, Any] | None) -> Response | None:
    return None if document is None else ok(document)


def _healthy(which: str, request: Request) -> Response:
    verbose = any(key == "verbose" for key, _ in request.query)
    text = f"[+]ping ok\n{which} check passed\n" if verbose else "ok"
    return Response(200, text.encode(), TEXT_HEADERS)


def _nothing_there(
    served: Sequence[Resource], user: User, parts: tuple[str, ...], request: Request
) -> Response:
    """Access is looked at before the path is. Then text, or, in the group of built-in kinds, a Status."""
    api_version, rest = _split(parts)
    group = api_version.rpartition("/")[0]
    if rest:
        _check_access(user, group, rest, request.method)
    else:
        _check_path(user, request)
    if api_version and group in discovery.built_in_groups(served):
        raise path_not_found()
    if parts[:2] == ("openapi", "v3"):
        return Response(404, b"", {})
    resource = next((r for r in served if (r.api_version, r.plural) == (api_version, *rest[:1])), None)
    if resource is not None:
        raise _no_such_subresource(resource, rest)
    return no_such_api()


def _check_path(user: User, request: Request) -> None:
    if not open_to(user, request.path, request.method.lower()):
        raise forbidden_path(user, request.path, request.method.lower())


def _split(parts: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The group version of a path and what follows it, its namespace left out."""
    match parts:
        case ["api", version, *rest]:
            api_version = version
        case ["apis", group, version, *rest]:
            api_version = f"{group}/{version}"
        case _:
            return "", ()
    return api_version, tuple(rest[2:] if rest[:1] == ["namespaces"] and len(rest) > 2 else rest)


_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def _check_access(user: User, group: str, rest: tuple[str, ...], method: str) -> None:
    resource, name, subresource = (*rest, "", "")[:3]
    asked = f"{resource}/{subresource}" if subresource else resource
    verb = "list" if method == "GET" and not name else _VERBS.get(method, method.lower())
    if not user.may(verb, group, asked):
        raise forbidden(user, verb, group=group, resource=asked, namespace="", name=name)


def _no_such_subresource(resource: Resource, rest: tuple[str, ...]) -> StatusError:
    name = rest[1] if len(rest) > 1 else ""
    return StatusError(
        404,
        "NotFound",
        f'{resource.id} "{name}" not found',
        details={
            k: v for k, v in (("name", name), ("group", resource.group), ("kind", resource.plural)) if v
        },
    )
