"""What moves the sandbox: actors, driven by time and woken by writes."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from gitops_mc.sandbox.client import Touch


class Actor(Protocol):
    """One operator, node, platform controller or person. Only a client of the API: it has no other way in.

    `interests` are the (resource, name) pairs whose writes wake it; the name `*` stands for all.
    """

    @property
    def name(self) -> str: ...

    @property
    def interests(self) -> frozenset[tuple[str, str]]: ...

    def notice(self, touch: Touch) -> None:
        """A write it is interested in was accepted; `step` follows soon."""
        ...

    def step(self, now: datetime) -> datetime:
        """Do what is due, and answer when to be called next at the latest. Called too early it does nothing."""
        ...
