"""What the loop of a Fleet needs of whoever connects it, and whom it tells."""

from __future__ import annotations

from typing import Protocol

from gitops_mc.app.controller.sources import Poller
from gitops_mc.app.executor import Executor
from gitops_mc.app.looks import Look
from gitops_mc.app.telemetry_ports import FleetMode
from gitops_mc.core.custom.fleet_spec import FleetSpec
from gitops_mc.core.model import JsonObject


class Watcher(Protocol):
    """Hears what happens: logs, metrics, Kubernetes events. Never raises, never waits."""

    def looked(self, fleet: str, look: Look) -> None: ...

    def polled(self, fleet: str, poller: Poller) -> None: ...

    def ordered(self, fleet: str, said: tuple[str, ...]) -> None: ...

    def troubled(self, fleet: str, reason: str) -> None: ...

    def stumbled(self, fleet: str, error: Exception) -> None:
        """A fault of this program, to be reported; the pass has gone on without what met it."""
        ...

    def stepped(self, fleet: str, seconds: float) -> None: ...

    def moded(self, fleet: str, mode: FleetMode) -> None: ...

    def beside(self, fleet: str) -> JsonObject:
        """Members of the Fleet's status that show how it stands with what is told of it."""
        ...


class Means(Protocol):
    """What a Fleet's spec leads to. Made again when the spec changes in what it is made from."""

    identity: str
    """Of this installation."""

    def poller(self, spec: FleetSpec) -> Poller:
        """Raises GitopsMcError for what cannot be."""
        ...

    def close(self) -> None:
        """The loop is over: nothing that was made for it is used any more."""
        ...

    def tend(self, spec: FleetSpec) -> None:
        """Called now and then: credentials that have been renewed are taken over. Raises GitopsMcError."""
        ...

    def executor(self, spec: FleetSpec) -> Executor:
        """The loop gives it its `past`. Raises GitopsMcError."""
        ...
