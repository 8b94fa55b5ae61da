"""The clock of a machine that is set forward and back while the world goes on at its own pace."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from gitops_mc.app.ports import Clock


class MachineClock:
    """A Clock port on a machine whose clock differs from the world's by `shift`, which may change at any moment.

    It keeps the contract of the real one: it never runs back while a process lives (one that is set back shows in the
    next process), and no wait is longer than it was to be.
    """

    def __init__(self, world: Clock, shift: Callable[[], timedelta]) -> None:
        self._world = world
        self._shift = shift
        self._ahead = shift()

    def now(self) -> datetime:
        self._ahead = max(self._ahead, self._shift())
        return self._world.now() + self._ahead

    def wait(self, until: datetime) -> None:
        self._world.wait(self._world.now() + (until - self.now()))
