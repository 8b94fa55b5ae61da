"""From an API server's answer to the error tree: translated once, here, so that every transport fails alike."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

from gitops_mc.core.errors import (
    AlreadyExistsError,
    ApiCause,
    ApiError,
    ApplyConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    MalformedApplyError,
    NotFoundError,
    ServerError,
    StaleError,
    ThrottledError,
    UnauthorizedError,
    UnreachableError,
)

if TYPE_CHECKING:
    from datetime import datetime

    from gitops_mc.app.ports import Request, Response
    from gitops_mc.core.errors import GitopsMcError
    from gitops_mc.core.model import JsonObject

_CONFLICT_MANAGER = re.compile(r'^conflict with ("(?:[^"\\]|\\.)*")')
_TYPED_PATCH = "failed to create typed patch object"
_TEST_FAILED = re.compile(r"\btest(ing value|ing path)?\b.*\bfailed\b", re.IGNORECASE | re.DOTALL)
_MESSAGE_LIMIT = 2000
_A_DAY = 86_400
_CHECK_ADDRESS = (
    "check the gateway's address and the cluster's name; something between here and the API server answered"
)


class PatchTests(Enum):
    """Whether the request is a JSON patch that tests values before it changes them."""

    NONE = "none"
    SOME = "some"


@dataclass(frozen=True, slots=True)
class Status:
    """What a Kubernetes `Status` body says; all empty when the body is none."""

    reason: str = ""
    message: str = ""
    causes: tuple[ApiCause, ...] = ()
    retry_after: float | None = None
    about: str = ""
    """What it is about: `<plural>/<name>`."""


def decode(body: bytes) -> JsonObject | None:
    """A JSON object, or None when the bytes are anything else (cut short, HTML, a list, absurdly nested)."""
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def is_object(value: object) -> bool:
    """Whether an API server can have sent this as an object: it has a name, and its labels and annotations are texts."""
    match value:
        case {"metadata": {"name": str() as name, **more}} if name:
            return _are_texts(more.get("labels")) and _are_texts(more.get("annotations"))
        case _:
            return False


def _are_texts(value: object) -> bool:
    return value is None or (isinstance(value, dict) and all(isinstance(v, str) for v in value.values()))


def status_of(body: bytes) -> Status | None:
    """The Status in a body, or None when the answer does not come from a Kubernetes API."""
    value = decode(body)
    if value is None or value.get("kind") != "Status":
        return None
    details = value.get("details")
    details = details if isinstance(details, dict) else {}
    causes = details.get("causes")
    causes = causes if isinstance(causes, list) else []
    seconds = details.get("retryAfterSeconds")
    return Status(
        reason=str(value.get("reason") or ""),
        message=str(value.get("message") or "")[:_MESSAGE_LIMIT],
        causes=tuple(_cause(c) for c in causes if isinstance(c, dict)),
        retry_after=float(min(seconds, _A_DAY)) if isinstance(seconds, int | float) and seconds > 0 else None,
        about=_about(details),
    )


def _about(details: JsonObject) -> str:
    match details:
        case {"kind": str() as plural, "name": str() as name} if plural and name:
            return f"{plural}/{name}"
        case _:
            return ""


def _cause(cause: JsonObject) -> ApiCause:
    message = str(cause.get("message") or "")
    found = _CONFLICT_MANAGER.match(message)
    return ApiCause(
        reason=str(cause.get("reason") or ""),
        field=str(cause.get("field") or ""),
        message=message,
        manager=_unquoted(found.group(1)) if found else "",
    )


def _unquoted(text: str) -> str:
    """A string as Go's %q writes it; nearly always a JSON string, too."""
    try:
        return str(json.loads(text))
    except ValueError:
        return text[1:-1]


def object_of(cluster: str, request: Request, response: Response, kind: str) -> JsonObject:
    """The JSON object of a 2xx answer, of this kind: a name, a pattern (`*List`), or `*` for any.

    Anything else under a 2xx (a login page, half a body, a proxy's own JSON) is no answer of the API:
    UnreachableError, so that a write counts as "effect unknown".
    """
    value = decode(response.body)
    if value is None:
        raise _foreign(cluster, request, response)
    if not fnmatchcase(str(value.get("kind", "")), kind):
        raise UnreachableError(
            f"{where(cluster, request)}: the answer is no {kind.removeprefix('*')}: "
            "it does not come from a Kubernetes API",
            hint=_CHECK_ADDRESS,
        )
    return value


def error_of(
    cluster: str, request: Request, response: Response, now: datetime, tests: PatchTests = PatchTests.NONE
) -> GitopsMcError:
    """The error for an answer outside 2xx."""
    found = status_of(response.body)
    status = found or Status()
    if 300 <= response.status < 400 or (response.status == HTTPStatus.NOT_FOUND and found is None):
        return _foreign(cluster, request, response)
    kind = _kind_of(response.status, status, tests)
    detail = status.message or (
        f"no message from the API ({_content_type(response)}, {len(response.body)} bytes)"
    )
    return kind(
        f"{where(cluster, request)}: {response.status} {_reason(response.status, status)}: {detail}",
        status=response.status,
        reason=status.reason,
        causes=status.causes,
        retry_after=_retry_after(response, status, now),
        hint=_HINTS.get(kind, _HINTS_BY_STATUS.get(response.status, "")),
    )


def is_plain(response: Response) -> bool:
    """An answer without a Status."""
    return status_of(response.body) is None


def not_found_as_asked(request: Request, response: Response) -> bool:
    """Whether a 404 is an API server's word on the very object that was asked for: its Status names it.

    Any other may come from a proxy that cannot find the cluster, and proxies built on Kubernetes' own libraries say that
    with a Status, too (`clusters "edge-01" not found`): it is not absence until the API root has answered. A real API
    server's own 404 for a group or kind it does not serve has no Status (`404 page not found`).
    """
    found = status_of(response.body)
    return found is not None and bool(found.about) and unquote(request.path).endswith(f"/{found.about}")


def where(cluster: str, request: Request) -> str:
    return f"{cluster}: {request.method} {request.path}"


def _kind_of(code: int, status: Status, tests: PatchTests) -> type[ApiError]:
    if code == HTTPStatus.CONFLICT:
        return _conflict_kind(status)
    if tests is PatchTests.SOME and _is_failed_test(code, status):
        return StaleError
    if code == HTTPStatus.INTERNAL_SERVER_ERROR and _TYPED_PATCH in status.message:
        return MalformedApplyError
    if code >= 500:
        return ServerError
    return _KINDS.get(code, ApiError)


def _conflict_kind(status: Status) -> type[ApiError]:
    if status.reason == "AlreadyExists":
        return AlreadyExistsError
    if any(c.reason == "FieldManagerConflict" for c in status.causes):
        return ApplyConflictError
    return StaleError


def _is_failed_test(code: int, status: Status) -> bool:
    """Whether a JSON patch failed on its `test`.

    kube-apiserver answers 422 Invalid without causes and with a general sentence ("the server rejected our request
    due to an error in our request"), the same for any operation that does not fit; a value that its schema refuses
    always has causes. Servers of 2018 said 500 with the library's "Testing value /a failed" (kubernetes#68202), and
    aggregated APIs may say so still.
    """
    if code == HTTPStatus.UNPROCESSABLE_ENTITY:
        return not status.causes
    return code >= 400 and not status.causes and bool(_TEST_FAILED.search(status.message))


_KINDS: dict[int, type[ApiError]] = {
    HTTPStatus.BAD_REQUEST: InvalidError,
    HTTPStatus.UNAUTHORIZED: UnauthorizedError,
    HTTPStatus.FORBIDDEN: ForbiddenError,
    HTTPStatus.NOT_FOUND: NotFoundError,
    HTTPStatus.GONE: GoneError,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: InvalidError,
    HTTPStatus.UNPROCESSABLE_ENTITY: InvalidError,
    HTTPStatus.TOO_MANY_REQUESTS: ThrottledError,
}

_HINTS: dict[type[ApiError], str] = {
    UnauthorizedError: "renew the token; its file, or Secret, is read again when it changes",
    ForbiddenError: "grant the right to the token's user, or use another token; `gitops-mc doctor` lists what is needed",
    StaleError: "it changed since it was read; the next pass reads it again",
    ApplyConflictError: "another manager owns these fields; remove them from one side, or name the manager in the "
    "annotation gitops-mc.io/adopt-from",
    MalformedApplyError: "the object has a field its schema does not know; correct it in the repository",
}

_HINTS_BY_STATUS: dict[int, str] = {
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "the server does not take this kind of patch; server-side apply needs Kubernetes 1.22",
    HTTPStatus.METHOD_NOT_ALLOWED: "the gateway or the API does not allow this method",
    HTTPStatus.NOT_ACCEPTABLE: "the server cannot answer in the form asked for",
}


def _foreign(cluster: str, request: Request, response: Response) -> UnreachableError:
    if 300 <= response.status < 400:
        target = response.headers.get("location", "").partition("?")[0]
        return UnreachableError(
            f"{where(cluster, request)}: redirected to {target or 'another place'} instead of an answer",
            hint="give the final address of the gateway; a redirect to a login page means the token is not accepted",
        )
    what = "is cut short or not JSON" if response.body.lstrip()[:1] == b"{" else "is not JSON"
    return UnreachableError(
        f"{where(cluster, request)}: the answer with status {response.status} {what} "
        f"({_content_type(response)}, {len(response.body)} bytes): it does not come from a Kubernetes API",
        hint=_CHECK_ADDRESS,
    )


def _content_type(response: Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip() or "no content type"


def _reason(code: int, status: Status) -> str:
    if status.reason:
        return status.reason
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return "unknown status"


def _retry_after(response: Response, status: Status, now: datetime) -> float | None:
    """Seconds, from the header or from the Status."""
    asked = seconds_asked(response.headers.get("retry-after", ""), now)
    return status.retry_after if asked is None else asked


def seconds_asked(header: str, now: datetime) -> float | None:
    """What Retry-After asks for (RFC 9110, section 10.2.3: seconds, or a date); None: nothing, or nothing that can be read."""
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
