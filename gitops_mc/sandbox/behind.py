"""What the gateway serves: API servers without sockets, as they are, or behind a transport that goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias

from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.errors import UnreachableError
from gitops_mc.sandbox.apiserver import AcceptedWrite, User

_TIMED_OUT = (
    b"<html><head><title>504 Gateway Time-out</title></head><body>504 Gateway Time-out</body></html>\n"
)


class WatchLines(Protocol):
    """A watch that is being read. It ends once `closed`, after what `poll` still gives."""

    closed: bool

    def poll(self) -> tuple[bytes, ...]: ...
    def close(self) -> None: ...


class Server(Protocol):
    """One API server, without sockets."""

    def handle(self, request: Request) -> Response: ...
    def open_watch(self, request: Request) -> Response | WatchLines:
        """The watch, or the answer that refuses it."""
        ...


class FleetServer(Server, Protocol):
    """The API server of one cluster of a fleet: what its operators, nodes and people talk to."""

    cluster: str

    def grant(self, token: str, user: User) -> None:
        """Accept a token, or change what its user may do."""
        ...

    def install_machine_apis(self) -> None:
        """Serve the machine kinds, as the plugin's CRDs do. Until then they answer 404."""
        ...

    @property
    def writes(self) -> tuple[AcceptedWrite, ...]:
        """All accepted, persisted writes so far, but those of the server itself."""
        ...

    def writes_after(self, seq: int) -> tuple[AcceptedWrite, ...]:
        """The accepted writes with a higher `seq`."""
        ...


MakeServer: TypeAlias = Callable[[str, Callable[[], datetime]], FleetServer]
"""Makes the server of a cluster, by its name; the function tells the fleet's time."""


@dataclass(frozen=True, slots=True)
class Behind(Mapping[str, Server]):
    """The same servers behind a transport that goes wrong on purpose; watches are opened past it.

    `wrap` is given a transport to `servers` that keeps each caller's token. What it cannot reach is answered with 504.
    """

    servers: Mapping[str, Server]
    wrap: Callable[[Transport], Transport]
    timeout: float = 20.0
    """Seconds of patience that the transport is told; after them a real gateway gives up, too."""
    _carrier: Transport = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_carrier", self.wrap(_Straight(self.servers)))

    def __getitem__(self, cluster: str) -> Server:
        return _Carried(cluster, self.servers[cluster], self._carrier, self.timeout)

    def __iter__(self) -> Iterator[str]:
        return iter(self.servers)

    def __len__(self) -> int:
        return len(self.servers)


@dataclass(frozen=True, slots=True)
class _Straight:
    servers: Mapping[str, Server]

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:  # noqa: ARG002  # the port's
        return self.servers[cluster].handle(request)


@dataclass(frozen=True, slots=True)
class _Carried:
    cluster: str
    server: Server
    carrier: Transport
    timeout: float

    def handle(self, request: Request) -> Response:
        try:
            return self.carrier.send(self.cluster, request, timeout=self.timeout)
        except UnreachableError:
            return Response(504, _TIMED_OUT, {"content-type": "text/html"})

    def open_watch(self, request: Request) -> Response | WatchLines:
        return self.server.open_watch(request)
