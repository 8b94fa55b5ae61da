"""Answers of an API server: objects, and `Status` bodies for everything that went wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import msgspec

from gitops_mc.app.ports import JSON, Response

MOST_BYTES = 3 * 1024 * 1024
"""Of a request body, as kube-apiserver limits it."""
JSON_HEADERS = MappingProxyType({"content-type": "application/json"})


def encode(value: Any) -> bytes:
    """Compact JSON. Keys keep their order; list elements do as well."""
    return msgspec.json.encode(value)


def ok(value: Any, status: int = 200) -> Response:
    return Response(status, encode(value), JSON_HEADERS)


_TRUE = ("1", "t", "T", "true", "True", "TRUE")


def readable(answer: Response, query: Sequence[tuple[str, str]]) -> Response:
    """The answer on many lines, if the query asks for `pretty`."""
    asked = next((value for key, value in query if key == "pretty"), "")
    if asked not in _TRUE or not answer.headers.get("content-type", "").startswith(JSON):
        return answer
    body = json.dumps(json.loads(answer.body), indent=2, ensure_ascii=False).encode()
    return Response(answer.status, body, answer.headers)


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of `details.causes`."""

    reason: str
    field: str
    message: str


class StatusError(Exception):
    """A request that is answered with a `Status` of failure. `reason` is None where a real server sends none."""

    def __init__(
        self,
        code: int,
        reason: str | None,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        causes: Sequence[Cause] = (),
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.causes = tuple(causes)
        self.headers = headers or {}

    def status(self) -> dict[str, Any]:
        details = dict(self.details or {})
        if self.causes:
            details["causes"] = [
                {"reason": c.reason, "message": c.message} | ({"field": c.field} if c.field else {})
                for c in self.causes
            ]
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason is not None:
            body["reason"] = self.reason
        if details or self.details is not None:
            body["details"] = details
        body["code"] = self.code
        return body

    def response(self) -> Response:
        headers = JSON_HEADERS if not self.headers else {**JSON_HEADERS, **self.headers}
        return Response(self.code, encode(self.status()), headers)


def details_of(name: str, group: str, kind: str, **more: str) -> dict[str, Any]:
    """`details` of a Status; what is empty is left out."""
    return {k: v for k, v in {"name": name, "group": group, "kind": kind, **more}.items() if v}


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def method_not_allowed() -> StatusError:
    return StatusError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", details={}
    )


def path_not_found() -> StatusError:
    """What a server says of a path that none of its built-in group versions has."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", details={})


TEXT_HEADERS = MappingProxyType({"content-type": "text/plain; charset=utf-8"})


def no_such_api() -> Response:
    """What a server says of an API it does not serve, and of unknown kinds in the group of a CRD: no Status, but text."""
    return Response(404, b"404 page not found\n", TEXT_HEADERS)


def unauthorized() -> StatusError:
    return StatusError(401, "Unauthorized", "Unauthorized")


def gone(message: str) -> StatusError:
    return StatusError(410, "Expired", message)


def too_large() -> StatusError:
    limit = f"Request entity too large: limit is {MOST_BYTES}"
    return StatusError(413, "RequestEntityTooLarge", limit)


def invalid(kind: str, group: str, name: str, causes: Sequence[tuple[Cause, str]]) -> StatusError:
    """422. Each cause comes with the text it adds to the message; several stand in brackets, as in Go's aggregate."""
    texts = [text for _, text in causes]
    joined = texts[0] if len(texts) == 1 and len(causes) == 1 else "[" + ", ".join(texts) + "]"
    qualified = f"{kind}.{group}" if group else kind
    return StatusError(
        422,
        "Invalid",
        f'{qualified} "{name}" is invalid: {joined}',
        details=details_of(name, group, kind),
        causes=[cause for cause, _ in causes],
    )
