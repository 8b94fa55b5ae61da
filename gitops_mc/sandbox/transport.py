"""The Transport port straight into embedded servers: no sockets, no threads, the same bytes as over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gitops_mc.app.ports import Request, Response
from gitops_mc.core.errors import UnreachableError
from gitops_mc.sandbox.behind import Server


@dataclass(frozen=True, slots=True)
class DirectTransport:
    """Carries requests to the servers of a fleet under one token, as the platform's gateway does.

    `servers` is read at every call: a cluster that leaves it becomes unreachable. Servers answer at once, so no call
    ever reaches its `timeout`.
    """

    servers: Mapping[str, Server]
    token: str = field(repr=False)

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:  # noqa: ARG002  # the port's
        """Raises UnreachableError for a cluster that the fleet does not have."""
        server = self.servers.get(cluster)
        if server is None:
            raise UnreachableError(f"cluster {cluster} cannot be reached: the gateway knows no such cluster")
        return server.handle(replace(request, token=self.token))
