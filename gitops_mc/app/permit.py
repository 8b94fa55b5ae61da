"""Whether a job that is under way may still write: orders stop it before its next call, wherever it is."""

from __future__ import annotations

from dataclasses import dataclass, field

from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.errors import GitopsMcError


class OrderedToStopError(GitopsMcError):
    """A write was not sent: an order came in between. The next decision knows of it."""


@dataclass(slots=True)
class Permit:
    """Given to jobs as they begin. Once revoked it stays so; any thread."""

    revoked: bool = False


@dataclass(slots=True)
class Permits:
    """The permit that a job gets which begins now."""

    current: Permit = field(default_factory=Permit)

    def revoke(self) -> None:
        """Jobs under way send no write any more, no second try either, but for a call that is on the wire; those that begin from now
        on may.
        """
        former, self.current = self.current, Permit()
        former.revoked = True


@dataclass(frozen=True, slots=True)
class Permitted:
    """A transport that carries writes as long as a permit holds."""

    inner: Transport
    permit: Permit

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        """As the port promises. Raises OrderedToStopError."""
        if request.method != "GET" and self.permit.revoked:
            raise OrderedToStopError(
                f"{request.method} {request.path} was not sent: an order came in between"
            )
        return self.inner.send(cluster, request, timeout=timeout)
