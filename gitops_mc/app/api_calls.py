"""One call: sent, bounded in time, repeated where that is safe, its answer turned into an object or an error."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from http import HTTPStatus
from typing import TYPE_CHECKING

from gitops_mc.app.api_errors import (
    PatchTests,
    decode,
    error_of,
    is_plain,
    not_found_as_asked,
    object_of,
    where,
)
from gitops_mc.app.ports import Request, Response
from gitops_mc.core.errors import (
    ApiError,
    GitopsMcError,
    GoneError,
    NotFoundError,
    ThrottledError,
    UnreachableError,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from gitops_mc.app.ports import Clock, Transport
    from gitops_mc.core.model import JsonObject


_NO_API_HINT = "check the gateway's address and the cluster's name; does the gateway know the cluster?"


class Repeat(Enum):
    """When a call may be sent once more."""

    ALWAYS = "always"
    WHEN_REFUSED = "when the server refused it"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one call may take and how often it is tried. Seconds; waits are in the clock's time."""

    timeout: float = 20.0
    """Of one attempt, connecting and reading."""
    attempts: int = 4
    total: float = 45.0
    """No further attempt starts later than this after the first."""
    first_wait: float = 0.25
    longest_wait: float = 5.0
    longest_retry_after: float = 30.0
    """A server that asks for more is not waited for: the error goes to the caller, with what it asked."""
    page: int = 500
    restarts: int = 3
    """Of a list whose continue token expired."""
    largest_answer: int = 256 * 1024 * 1024
    """Bytes; more is an error, not a full memory."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request, and what is known about it that its bytes do not say."""

    request: Request
    kind: str
    """What the answer must be (`*List`: any list): JSON of another kind comes from something between here and the API."""
    repeat: Repeat = Repeat.ALWAYS
    tests: PatchTests = PatchTests.NONE


class Calls:
    """What `ClusterApi` sends its requests through."""

    def __init__(
        self, transport: Transport, clock: Clock, jitter: Callable[[], float], patience: Patience
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._jitter = jitter
        self._patience = patience

    def answer(self, cluster: str, call: Call) -> JsonObject:
        """The JSON object of a 2xx answer. Repeats the call as it allows; raises the last attempt's error."""
        started = self._clock.now()
        for attempt in range(1, self._patience.attempts + 1):
            try:
                return self._once(cluster, call)
            except GitopsMcError as error:
                until = self._next_attempt(error, call.repeat, attempt, started)
                if until is None:
                    raise
            self._clock.wait(until)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _next_attempt(
        self, error: GitopsMcError, repeat: Repeat, attempt: int, started: datetime
    ) -> datetime | None:
        """When to try once more, or None: the error is the answer."""
        refused = isinstance(error, ThrottledError)
        worth_it = error.transient and not isinstance(error, GoneError)
        allowed = repeat is Repeat.ALWAYS or (refused and repeat is Repeat.WHEN_REFUSED)
        if not worth_it or not allowed or attempt >= self._patience.attempts:
            return None
        wait = min(self._patience.longest_wait, self._patience.first_wait * 2.0 ** (attempt - 1))
        wait *= 0.5 + self._jitter() / 2
        asked = error.retry_after if isinstance(error, ApiError) else None
        if asked is not None:
            if asked > self._patience.longest_retry_after:
                return None
            wait += asked
        until = self._clock.now() + timedelta(seconds=wait)
        return until if until <= started + timedelta(seconds=self._patience.total) else None

    def _once(self, cluster: str, call: Call) -> JsonObject:
        request = call.request
        response = self._send(cluster, request)
        if 200 <= response.status < 300:
            return object_of(cluster, request, response, call.kind)
        if response.status == HTTPStatus.NOT_FOUND and not not_found_as_asked(request, response):
            self._prove_api(cluster)
        if response.status == HTTPStatus.NOT_FOUND and is_plain(response):
            raise NotFoundError(
                f"{where(cluster, request)}: 404: the cluster does not serve this API",
                status=response.status,
                reason="NotFound",
                hint="the plugin that brings this API is not installed on the cluster",
            )
        raise error_of(cluster, request, response, self._clock.now(), call.tests)

    def _prove_api(self, cluster: str) -> None:
        """Return if a Kubernetes API answers for this cluster; else raise. A proxy's 404 must never pass for absence."""
        request = Request("GET", "/apis")
        response = self._send(cluster, request)
        if response.status == HTTPStatus.NOT_FOUND:
            raise UnreachableError(
                f"{where(cluster, request)}: 404: no Kubernetes API answers here", hint=_NO_API_HINT
            )
        if response.status != HTTPStatus.OK:
            raise error_of(cluster, request, response, self._clock.now())
        if (decode(response.body) or {}).get("kind") not in ("APIGroupList", "APIGroupDiscoveryList"):
            raise UnreachableError(
                f"{where(cluster, request)}: the answer is no list of API groups: no Kubernetes API answers here",
                hint=_NO_API_HINT,
            )

    def _send(self, cluster: str, request: Request) -> Response:
        response = self._transport.send(cluster, request, timeout=self._patience.timeout)
        if len(response.body) > self._patience.largest_answer:
            raise ApiError(
                f"{where(cluster, request)}: the answer has {len(response.body)} bytes, "
                f"more than the {self._patience.largest_answer} allowed",
                status=response.status,
            )
        return response
