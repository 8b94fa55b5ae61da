"""No new write is begun once the end is asked for; reads go on, so that it can be said what stands open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.errors import UnreachableError


@dataclass(frozen=True, slots=True)
class ReadOnlyOnce:
    """A transport that carries reads alone as soon as `stopping` says so. What has been sent is not called back."""

    inner: Transport
    stopping: Callable[[], bool]

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        """As the port promises; a write that is not sent counts as one that met nobody."""
        if request.method != "GET" and self.stopping():
            raise UnreachableError(
                f"{cluster}: {request.method} {request.path} was not sent: the end was asked for"
            )
        return self.inner.send(cluster, request, timeout=timeout)
