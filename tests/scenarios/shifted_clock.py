"""The clock of a machine that is set forward and back while the world goes on at its own pace."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from gitops_mc.app.ports import Clock


@dataclass
class ShiftedClock:
    """A Clock port that shows another time than `inner`: by `shift`, which may be changed at any moment.

    A wait that is under way when the clock jumps ends when it would have ended without the jump, as one on a monotonic
    clock does.
    """

    inner: Clock
    shift: timedelta = timedelta()

    def now(self) -> datetime:
        return self.inner.now() + self.shift

    def wait(self, until: datetime) -> None:
        self.inner.wait(until - self.shift)
