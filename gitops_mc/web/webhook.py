"""`POST /webhook/<namespace>/<fleet>`: a push has happened. It only wakes the poll of that fleet.

Nothing of a body is read but its bytes, for the signature. So a request that is sent again, or by somebody who has learnt the
secret, does what the next poll would have done by itself, and no more often than the rates allow.

| answer | when |
|---|---|
| 202 | the poll has been woken |
| 400 | the body did not come whole, or not within the time |
| 401 | no header proves the secret, or there is no such fleet: the same answer for both |
| 405 | anything but POST |
| 413 | the body is larger than 1 MiB |
| 429 | too many requests in all, or for this fleet; `Retry-After` says when |
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from gitops_mc.app.rate_limit import Bucket, Granted, Rate, take
from gitops_mc.core.numbers import whole_number
from gitops_mc.web.routing import application
from gitops_mc.web.signatures import knows_secret

LARGEST_BODY = 1024 * 1024
"""Bytes. Forges send up to 25 MB for a push of thousands of commits; such a one is noticed by the next poll."""
BODY_WITHIN = 10.0
"""Seconds for the whole body; forges themselves wait about as long for the answer."""
DRAINED = 32 * 1024 * 1024
"""Bytes that are read and thrown away, so that an honest sender gets its answer and no broken connection."""
_OVERALL = Rate(burst=60, seconds_each=0.1)
_FLEET = Rate(burst=10, seconds_each=2.0)


@dataclass(frozen=True, slots=True)
class FleetName:
    """A Fleet object, as the path names it."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Answered(Enum):
    """Every answer there is: its status, and its text."""

    ACCEPTED = (HTTPStatus.ACCEPTED, "accepted")
    BROKEN_OFF = (HTTPStatus.BAD_REQUEST, "the body did not come")
    DENIED = (HTTPStatus.UNAUTHORIZED, "not accepted")
    TOO_LARGE = (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too large")
    TOO_MANY = (HTTPStatus.TOO_MANY_REQUESTS, "too many requests")

    def __init__(self, status: HTTPStatus, text: str) -> None:
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True)
class Rates:
    """How often requests are taken."""

    overall: Rate = _OVERALL
    """Of all requests, before anything of them is read."""
    fleet: Rate = _FLEET
    """Of those that know the secret, so that nobody else can use it up."""


@dataclass(slots=True)
class Webhook:
    """The receiver. Its callables return at once: they are called on the thread that serves."""

    secrets: Callable[[FleetName], tuple[bytes, ...]]
    """Good secrets of a fleet, as they are now; empty for one that is not there or takes no webhook."""
    wake: Callable[[FleetName], None]
    answered: Callable[[FleetName | None, Answered], None]
    """For metrics and log. The name only where the secret was known: any other one is made up by the sender."""
    now: Callable[[], float]
    """Seconds on a clock that never runs back."""
    failed: Callable[[BaseException], None]
    """Hears of a fault of this program."""
    rates: Rates = field(default_factory=Rates)
    body_within: float = BODY_WITHIN
    _overall: Bucket | None = None
    _fleets: dict[FleetName, Bucket] = field(default_factory=dict)

    def app(self) -> Starlette:
        route = Route("/webhook/{namespace}/{name}", self._receive, methods=["POST"])
        return application([route], self.failed)

    async def _receive(self, request: Request) -> Response:
        wait = self._all_full()
        if wait:
            return self._answer(None, Answered.TOO_MANY, wait)
        if _announced(request) > DRAINED:
            return self._answer(None, Answered.TOO_LARGE)
        try:
            async with asyncio.timeout(self.body_within):
                body = await _body(request)
        except (TimeoutError, ClientDisconnect):
            return self._answer(None, Answered.BROKEN_OFF)
        if len(body) > LARGEST_BODY:
            return self._answer(None, Answered.TOO_LARGE)
        fleet = FleetName(request.path_params["namespace"], request.path_params["name"])
        if not knows_secret(request.headers.raw, body, self.secrets(fleet)):
            return self._answer(None, Answered.DENIED)
        wait = self._fleet_full(fleet)
        if wait:
            return self._answer(fleet, Answered.TOO_MANY, wait)
        self.wake(fleet)
        return self._answer(fleet, Answered.ACCEPTED)

    def _all_full(self) -> float:
        """Seconds to wait, or 0."""
        now = self.now()
        taken = take(self._overall or Bucket.full(self.rates.overall, now), self.rates.overall, now)
        self._overall = taken.bucket
        return 0.0 if isinstance(taken, Granted) else taken.wait

    def _fleet_full(self, fleet: FleetName) -> float:
        """Seconds to wait, or 0. Buckets that are full again are forgotten: those of fleets that are gone, too."""
        now, rate = self.now(), self.rates.fleet
        taken = take(self._fleets.get(fleet, Bucket.full(rate, now)), rate, now)
        kept = {n: b for n, b in self._fleets.items() if b.filled(rate, now).tokens < rate.burst}
        self._fleets = {**kept, fleet: taken.bucket}
        return 0.0 if isinstance(taken, Granted) else taken.wait

    def _answer(self, fleet: FleetName | None, answered: Answered, wait: float = 0.0) -> Response:
        self.answered(fleet, answered)
        headers = {"connection": "close"}  # what is left of a body is not waited for
        if wait:
            headers["retry-after"] = str(math.ceil(wait))
        if answered is Answered.DENIED:
            headers["www-authenticate"] = "Bearer"
        return PlainTextResponse(f"{answered.text}\n", answered.status, headers=headers)


def _announced(request: Request) -> int:
    """The size that the request says it has, or 0; the server below has refused what is no number."""
    said = request.headers.get("content-length", "")
    return whole_number(said) or 0


async def _body(request: Request) -> bytes:
    """The body, or as much of it as shows that it is too large."""
    found = bytearray()
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > DRAINED:
            break
        found += piece[: LARGEST_BODY + 1 - len(found)]
    return bytes(found)
