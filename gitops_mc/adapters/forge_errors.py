"""What a forge's answer means that is not a good one, whoever's forge it is: translated once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

from gitops_mc.app.api_errors import seconds_asked
from gitops_mc.core.errors import (
    ApiError,
    ForbiddenError,
    GitopsMcError,
    InvalidError,
    NotFoundError,
    ServerError,
    StaleError,
    ThrottledError,
    UnauthorizedError,
)
from gitops_mc.core.redact.credentials import without_credentials
from gitops_mc.core.render.lines import one_line

TIMEOUT: Final = 10
"""Seconds for a connection to a forge, and again for the whole of an answer."""
_LONGEST: Final = 300
_LONGEST_WAIT: Final = 86_400.0
_RIGHTS: Final = "give it a token that may set commit statuses on this project"


@contextmanager
def translated(host: str) -> Iterator[None]:
    """What the library of a forge makes of an answer that no forge gives is no bug of ours; it is not shown, for it may quote the
    request. Raises InvalidError.
    """
    try:
        yield
    except GitopsMcError:
        raise
    except Exception as error:  # noqa: BLE001 - each library has exceptions of its own for it, and lets others through
        raise not_the_api(host, 200, type(error).__name__) from None


def answered(host: str, status: int, headers: Mapping[str, str], told: Any) -> ApiError:
    """What an answer means that is not a good one. `told`: its body, decoded; None: it was no JSON."""
    said = _message(told)
    text = f"{host} answered {status}{f': {said}' if said else ''}"
    waits = _wait(headers)
    if status == 429 or (status == 403 and _limited(headers, said)):
        return ThrottledError(text, status=status, retry_after=waits)
    match status:
        case 401:
            return UnauthorizedError(text, status=status, hint=_RIGHTS)
        case 403:
            return ForbiddenError(text, status=status, hint=_RIGHTS)
        case 404:
            hint = f"is the project called so, does it have the commit, and may the token see both? {_RIGHTS}"
            return NotFoundError(text, status=status, hint=hint)
        case 409:
            return StaleError(text, status=status)
        case _ if 300 <= status < 400:
            hint = "the project was renamed or moved, or spec.forge.url is not the forge's: name both as they are now"
            return InvalidError(
                f"{text}: it is elsewhere, and no token is sent there", status=status, hint=hint
            )
        case _ if 400 <= status < 500:
            return InvalidError(text, status=status)
        case _ if status >= 500 or told is not None:
            return ServerError(text, status=status, retry_after=waits)
        case _:
            return not_the_api(host, status)


def not_the_api(host: str, status: int, why: str = "") -> InvalidError:
    """Something answered that is no forge, or not at this place."""
    text = f"what answers at {host} is not the API of the forge{f' ({why})' if why else ''}"
    return InvalidError(text, status=status, hint="check spec.forge.url, and spec.forge.type")


def too_long(host: str, longest: int) -> InvalidError:
    """Of an answer that nobody reads to its end."""
    text = f"{host} answered with more than {longest >> 20} MiB"
    return InvalidError(text, status=200, hint="check spec.forge.url, and spec.forge.type")


@contextmanager
def needing(rights: str) -> Iterator[None]:
    """What the forge refuses to do for this token is told with what the token needs for that."""
    try:
        yield
    except (UnauthorizedError, ForbiddenError) as error:
        error.hint = rights
        raise
    except NotFoundError as error:
        error.hint = f"is the project called so, and may the token see it? {rights}"
        raise


def number_of(status: Mapping[str, Any]) -> int:
    """What a forge counts its statuses by, the newest last; 0: an answer that does not say."""
    number = status.get("id")
    return number if isinstance(number, int) else 0


def _message(told: Any) -> str:
    """GitHub: `message`, and `errors` with a message each; GitLab: `message`, a text or by field, or `error`; Gitea: `message`."""
    if not isinstance(told, dict):
        return ""
    parts = [told.get("message") or told.get("error") or ""]
    errors = told.get("errors")
    parts += errors if isinstance(errors, list) else []
    texts = [str(p.get("message") or p.get("code") or "") if isinstance(p, dict) else str(p) for p in parts]
    if isinstance(parts[0], dict):
        texts[0] = json.dumps(parts[0], ensure_ascii=False)
    return without_credentials(one_line("; ".join(t for t in texts if t)))[:_LONGEST]


def _limited(headers: Mapping[str, str], said: str) -> bool:
    """GitHub tells of its limits with 403, too (docs.github.com, "Rate limits for the REST API")."""
    spent = headers.get("x-ratelimit-remaining") == "0"
    return spent or "retry-after" in headers or "rate limit" in said.lower()


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that the forge asks to wait: by Retry-After, or until its limit is new (GitHub, GitLab: seconds since 1970)."""
    asked = seconds_asked(headers.get("retry-after", ""), datetime.now(UTC))
    if asked is not None:
        return _bounded(asked)
    spent = "0" in {headers.get("x-ratelimit-remaining"), headers.get("ratelimit-remaining")}
    reset = headers.get("x-ratelimit-reset") or headers.get("ratelimit-reset") or ""
    return _bounded(float(reset) - time.time()) if spent and reset.isdecimal() else None


def _bounded(seconds: float) -> float:
    return min(_LONGEST_WAIT, max(0.0, seconds))
