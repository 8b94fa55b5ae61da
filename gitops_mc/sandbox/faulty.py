"""A transport that goes wrong as the fault board says: darkness, latency, refusals, time-outs."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType

from gitops_mc.app.ports import Clock, Request, Response, Transport
from gitops_mc.core.errors import UnreachableError
from gitops_mc.core.model import JsonObject
from gitops_mc.sandbox.faults import Fault, FaultBoard, FaultId

_REASONS: Mapping[int, tuple[str, str]] = MappingProxyType(
    {
        400: ("BadRequest", "admission webhook does not support dry run"),
        401: ("Unauthorized", "Unauthorized"),
        403: ("Forbidden", "forbidden: the user may not do this"),
        409: ("Conflict", "the object has been modified; please apply your changes to the latest version"),
        422: ("Invalid", "the object is invalid"),
        429: ("TooManyRequests", "too many requests, please try again later"),
        500: ("InternalError", "Internal error occurred: etcdserver: request timed out"),
        503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    }
)
BAD_GATEWAY = Response(
    502, b"<html><h1>502 Bad Gateway</h1></html>", MappingProxyType({"content-type": "text/html"})
)
"""What a gateway in front of an API server says by itself: no JSON, no Status."""

_RETRY_AFTER = "1"
"""Seconds, as the header of a 429 says."""


class FaultyTransport:
    """A Transport around another. Waiting happens on the clock, so that it costs whoever waits."""

    def __init__(self, inner: Transport, faults: FaultBoard, clock: Clock, *, seed: int = 0) -> None:
        self._inner = inner
        self._faults = faults
        self._clock = clock
        self._random = random.Random(seed)  # noqa: S311 - jitter, not a secret
        self._matched: Counter[int] = Counter()

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if (unavailable := self._answer_in_the_dark(cluster, timeout)) is not None:
            return unavailable
        self._take_time(cluster, timeout)
        if ("dryRun", "All") in request.query:
            for fault in self._faults.active(FaultId.DRY_RUN_REFUSED, cluster, self._clock.now()):
                return _refusal(fault.number("status"))
        if self._hit(FaultId.TIMEOUT_BEFORE, cluster, request):
            raise self._timed_out(cluster, timeout)
        refused = self._hit(FaultId.HTTP_ERROR, cluster, request)
        if refused is not None:
            return _refusal(refused.number("status"))
        response = self._inner.send(cluster, request, timeout=timeout)
        if self._hit(FaultId.TIMEOUT_AFTER, cluster, request):
            raise self._timed_out(cluster, timeout)
        return response

    def _answer_in_the_dark(self, cluster: str, timeout: float) -> Response | None:
        """Nothing while the path is there; else the gateway's own answer, or UnreachableError."""
        for fault in self._faults.active(FaultId.GATEWAY_GONE, cluster, self._clock.now()):
            match fault.text("how"):
                case "bad-gateway":
                    return BAD_GATEWAY
                case "refused":
                    raise UnreachableError(f"cluster {cluster}: connection refused")
                case _:
                    raise self._timed_out(cluster, timeout)
        return None

    def _take_time(self, cluster: str, timeout: float) -> None:
        for fault in self._faults.active(FaultId.LATENCY, cluster, self._clock.now()):
            seconds = float(fault.parameters["seconds"])
            seconds += self._random.random() * float(fault.parameters["jitter"])
            if seconds >= timeout:
                raise self._timed_out(cluster, timeout)
            self._wait(seconds)
            return

    def _hit(self, fault_id: FaultId, cluster: str, request: Request) -> Fault | None:
        """The fault of this kind that this very call falls under; counts the calls that match."""
        for fault in self._faults.active(fault_id, cluster, self._clock.now()):
            if fault.matches("method", request.method) and fault.matches("path", request.path):
                self._matched[fault.serial] += 1
                position = self._matched[fault.serial] - fault.number("nth")
                if 0 <= position < fault.number("times"):
                    return fault
        return None

    def _timed_out(self, cluster: str, timeout: float) -> UnreachableError:
        self._wait(timeout)
        return UnreachableError(f"cluster {cluster}: no answer within {timeout:g} s")

    def _wait(self, seconds: float) -> None:
        self._clock.wait(self._clock.now() + timedelta(seconds=seconds))


def _refusal(status: int) -> Response:
    reason, message = _REASONS.get(status, ("InternalError", f"status {status}"))
    body: JsonObject = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": status,
    }
    headers = {"content-type": "application/json"}
    if status == 429:
        headers["retry-after"] = _RETRY_AFTER
    return Response(status, json.dumps(body).encode(), MappingProxyType(headers))
