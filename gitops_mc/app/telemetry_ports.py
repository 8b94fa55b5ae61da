"""What telling needs of the outside world: a log, metrics, Kubernetes Events; and the words that are told."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Protocol

from gitops_mc.app.log_events import LogEvent
from gitops_mc.app.looks import Look
from gitops_mc.core.custom.shown import Pulled
from gitops_mc.core.model import Commit
from gitops_mc.core.render.happening import Happening
from gitops_mc.core.render.polls import Poll


class FleetMode(StrEnum):
    """Whether a fleet is worked on."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    ELSEWHERE = "active elsewhere"
    """`activeOn` names another installation: here it is only read."""


class Credential(StrEnum):
    """What may expire."""

    GATEWAY = "gateway"
    GIT = "git"
    KUBECONFIG = "kubeconfig"
    """Of several, the one that expires first."""


class Lease(Protocol):
    """How it stands with the lease."""

    @property
    def leads(self) -> bool: ...

    @property
    def holder(self) -> str: ...

    @property
    def transitions(self) -> int: ...

    @property
    def trouble(self) -> str: ...


class PollerView(Protocol):
    """What a poll brought."""

    @property
    def pulled(self) -> Pulled: ...

    @property
    def before(self) -> Commit:
        """What was followed by the process before this one; empty: nothing."""
        ...


class EventLog(Protocol):
    def tell(self, event: LogEvent) -> None:
        """Write an event. Never raises."""
        ...

    def crashed(self, where: str, error: BaseException) -> None:
        """An exception that nobody expected. Never raises."""
        ...


class Measures(Protocol):
    """Metrics; every call is short, and in memory."""

    def looked(self, fleet: str, look: Look) -> None: ...

    def stepped(self, fleet: str, seconds: float) -> None: ...

    def polled(self, fleet: str, poll: Poll, at: datetime | None) -> None: ...

    def troubled(self, fleet: str) -> None: ...

    def led(self, lease: Lease) -> None: ...

    def moded(self, fleet: str, mode: FleetMode) -> None: ...

    def expires(self, fleet: str, credential: Credential, at: datetime | None) -> None: ...

    def webhook(self, fleet: str, code: int) -> None: ...

    def forgotten(self, fleet: str) -> None: ...


class Herald(Protocol):
    """Kubernetes Events."""

    def offer(self, fleet: str, found: tuple[Happening, ...], at: datetime) -> None:
        """Take them up, to be written later by a job of their own; in memory, and at most so many."""
        ...


class Board(Protocol):
    """What forges show beside commits."""

    def looked(self, fleet: str, look: Look) -> None:
        """A pass has been decided, and the whole fleet is without fault. Takes it up, to be brought to the forge by a job."""
        ...

    def polled(self, fleet: str, poller: PollerView) -> None:
        """The source answered."""
        ...

    def left(self, fleet: str) -> None:
        """It is gone, or another installation acts for it."""
        ...
