"""`/healthz`, `/readyz` and `/metrics`, for the kubelet and for Prometheus. Read only, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from gitops_mc.web.pulse import Pulses
from gitops_mc.web.routing import application

SILENT_LIMIT = 120.0
"""Seconds. A pass takes a few, and its single calls are bounded; who is silent for longer hangs."""
_OK, _UNAVAILABLE = 200, 503


@dataclass(frozen=True, slots=True)
class Leading:
    """It has listed the fleets, and works on them."""

    fleets: int


@dataclass(frozen=True, slots=True)
class Standby:
    """It has listed the fleets, and another one leads."""

    leader: str


@dataclass(frozen=True, slots=True)
class Starting:
    """The first list of fleets has not succeeded, or nobody can lead as things stand."""

    reason: str


Readiness: TypeAlias = Leading | Standby | Starting


@dataclass(frozen=True, slots=True)
class Probes:
    """What the answers are made of; every callable returns at once."""

    pulses: Pulses
    readiness: Callable[[], Readiness]
    registry: CollectorRegistry
    now: Callable[[], float]
    """Seconds on the clock that the pulses are on."""
    failed: Callable[[BaseException], None]
    """Hears of a fault of this program."""
    limit: float = SILENT_LIMIT

    def app(self) -> Starlette:
        routes = [
            Route("/healthz", self._health, methods=["GET"]),
            Route("/readyz", self._ready, methods=["GET"]),
            Route("/metrics", self._metrics, methods=["GET"]),
        ]
        return application(routes, self.failed)

    async def _health(self, _: Request) -> Response:
        oldest = self.pulses.oldest(self.now())
        if oldest is None:
            return _told("no loop has begun", _UNAVAILABLE)
        if oldest.seconds > self.limit:
            told = (
                f"{oldest.loop}: no sign of life for {oldest.seconds:.0f} s; the limit is {self.limit:.0f} s"
            )
            return _told(told, _UNAVAILABLE)
        return _told("alive", _OK)

    async def _ready(self, _: Request) -> Response:
        readiness = self.readiness()
        match readiness:
            case Leading():
                return _told(f"ready: leads, fleets: {readiness.fleets}", _OK)
            case Standby():
                return _told(f"ready: on standby; the leader is {readiness.leader or 'not known'}", _OK)
            case Starting():
                return _told(f"not ready: {readiness.reason}", _UNAVAILABLE)
            case _:
                assert_never(readiness)

    async def _metrics(self, request: Request) -> Response:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        body = await run_in_threadpool(encode, self.registry)
        return Response(body, media_type=None, headers={"content-type": content_type})


def _told(text: str, status: int) -> Response:
    return PlainTextResponse(f"{text}\n", status, headers={"cache-control": "no-store"})
