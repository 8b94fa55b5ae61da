"""Reviews of the caller's own access: who am I, may I do this, what may I do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gitops_mc.app.ports import Request, Response
from gitops_mc.sandbox.apiserver import protobuf
from gitops_mc.sandbox.apiserver.access import User
from gitops_mc.sandbox.apiserver.answers import Cause, bad_request, invalid, method_not_allowed, ok
from gitops_mc.sandbox.apiserver.protobuf import Message
from gitops_mc.sandbox.apiserver.requests import object_in

_RESOURCE = Message(
    {1: "namespace", 2: "verb", 3: "group", 4: "version", 5: "resource", 6: "subresource", 7: "name"}
)
_PATH = Message({1: "path", 2: "verb"})
_ACCESS = Message(
    messages={
        2: (
            "spec",
            Message(messages={1: ("resourceAttributes", _RESOURCE), 2: ("nonResourceAttributes", _PATH)}),
        )
    }
)
_RULES = Message(messages={2: ("spec", Message({1: "namespace"}))})

_OPEN_TO_ALL = (
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
)
"""Paths that every known user may get, as the roles system:discovery and system:public-info-viewer have it."""


def _access(user: User, spec: Mapping[str, Any]) -> dict[str, Any]:
    asked, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (asked is None) is (path is None):
        told = "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"
        cause = Cause("FieldValueInvalid", "spec.resourceAttributes", told)
        raise invalid("", "authorization.k8s.io", "", [(cause, f"{cause.field}: {told}")])
    if asked is None:
        allowed = open_to(user, str((path or {}).get("path", "")), str((path or {}).get("verb", "")))
    else:
        resource, subresource = str(asked.get("resource", "")), str(asked.get("subresource", ""))
        full = f"{resource}/{subresource}" if subresource else resource
        allowed = user.may(str(asked.get("verb", "")), str(asked.get("group", "")), full)
    return {"allowed": allowed} | ({"reason": f"the rules of user {user.name}"} if allowed else {})


def open_to(user: User, path: str, verb: str) -> bool:
    """Whether the user may use a path that names no resource: the known ones to read, others with all rights alone."""
    if user.may("*", "*", "*"):
        return True
    known = any(path == p or (p.endswith("*") and path.startswith(p[:-1])) for p in _OPEN_TO_ALL)
    return known and verb == "get"


def _rules(user: User, spec: Mapping[str, Any]) -> dict[str, Any]:
    """All rules: they hold in every namespace."""
    if not spec.get("namespace"):
        raise bad_request("no namespace on request")
    rows = [
        {"verbs": list(rule.verbs), "apiGroups": list(rule.groups), "resources": list(rule.resources)}
        for rule in user.rules
    ]
    reviews = (("authorization.k8s.io", ("selfsubjectaccessreviews", "selfsubjectrulesreviews")),)
    mine = (*reviews, ("authentication.k8s.io", ("selfsubjectreviews",)))
    rows += [{"verbs": ["create"], "apiGroups": [group], "resources": list(names)} for group, names in mine]
    return {
        "resourceRules": rows,
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": list(_OPEN_TO_ALL)}],
        "incomplete": False,
    }


def _who(user: User, _spec: Mapping[str, Any]) -> dict[str, Any]:
    return {"userInfo": {"username": user.name, "groups": ["system:authenticated"]}}


class _Review(NamedTuple):
    kind: str
    message: Message
    answer: Callable[[User, Mapping[str, Any]], dict[str, Any]]


_REVIEWS: Mapping[str, _Review] = {
    "/apis/authentication.k8s.io/v1/selfsubjectreviews": _Review("SelfSubjectReview", Message(), _who),
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": _Review(
        "SelfSubjectAccessReview", _ACCESS, _access
    ),
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews": _Review(
        "SelfSubjectRulesReview", _RULES, _rules
    ),
}


def review(user: User, request: Request) -> Response | None:
    """The answer to a review; None if the path is that of none. Every known user may ask about itself."""
    asked = _REVIEWS.get(request.path)
    if asked is None:
        return None
    if request.method != "POST":
        raise method_not_allowed()
    binary = request.content_type.partition(";")[0].strip() == protobuf.MEDIA_TYPE
    body = protobuf.decoded(request.body, asked.message) if binary else object_in(request)
    spec = body.get("spec")
    answer = {
        "kind": asked.kind,
        "apiVersion": request.path.removeprefix("/apis/").rpartition("/")[0],
        "metadata": {},
        "spec": spec,
        "status": asked.answer(user, spec or {}),
    }
    return ok({key: value for key, value in answer.items() if value is not None}, 201)
