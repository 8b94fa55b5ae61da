"""Serving one application on one address, in a thread, for as long as the process lives or until it is stopped.

Probes and webhook are served apart, each on a port of its own: whoever ties up all connections of the webhook, which may be
open to the world, must not make the kubelet believe that the controller is dead.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from gitops_mc.core.errors import UsageError

IDLE_LIMIT = 15.0
"""Seconds that a connection may take for the head of a request, or between two requests."""
AT_ONCE = 128
"""Connections; beyond them a request is answered 503."""
_LARGEST_HEAD = 64 * 1024
_HARD_STOP = 1.0


@dataclass(frozen=True, slots=True)
class Running:
    """An application that is served. `url` has no trailing slash."""

    url: str
    port: int
    stop: Callable[[float], None]
    """Take no new requests, finish those that run within so many seconds, and free the port."""


def serve(app: ASGIApp, address: str, port: int, *, idle_limit: float = IDLE_LIMIT) -> Running:
    """Serve on this IP address and port; port 0 takes a free one. Raises UsageError when they cannot be had."""
    listening = _listening(address, port)
    bound = listening.getsockname()[1]
    server = uvicorn.Server(_config(app, idle_limit))
    thread = threading.Thread(target=server.run, args=([listening],), name=f"web-{bound}", daemon=True)
    thread.start()

    def stop(within: float) -> None:
        server.should_exit = True
        thread.join(within)
        server.force_exit = True
        thread.join(_HARD_STOP)
        listening.close()

    host = f"[{address}]" if ":" in address else address
    return Running(f"http://{host}:{bound}", bound, stop)


def _config(app: ASGIApp, idle_limit: float) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_protocol(idle_limit),
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",  # what a client does wrong is its business, and nothing it sends is logged
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=AT_ONCE,
        h11_max_incomplete_event_size=_LARGEST_HEAD,
        timeout_keep_alive=int(idle_limit),
    )


def _protocol(idle_limit: float) -> type[asyncio.Protocol]:
    """HTTP on connections that do something: uvicorn alone waits for the head of a request without end."""

    class Impatient(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._seen: object = self  # no request
            self._look()

        def _look(self) -> None:
            """Close what has asked for nothing since the last look, and is being answered nothing."""
            cycle: RequestResponseCycle | None = self.cycle
            busy = cycle is not None and not cycle.response_complete
            if self.transport.is_closing():
                return
            if cycle is self._seen and not busy:
                self.transport.close()
                return
            self._seen = cycle
            self.loop.call_later(idle_limit, self._look)

    return Impatient


def _listening(address: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    except ValueError as error:
        raise UsageError(
            f"{address!r} is no IP address to listen on", hint="0.0.0.0 is all of them"
        ) from error
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address, port))
        listening.listen(256)
    except OSError as error:
        listening.close()
        raise UsageError(
            f"port {port} of {address} cannot be had: {error.strerror}", hint="choose another port"
        ) from error
    return listening
