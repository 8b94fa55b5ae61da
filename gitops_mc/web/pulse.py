"""The heartbeats of the loops. Times are seconds on a clock that never jumps (`time.monotonic`), given by the caller."""

from __future__ import annotations

import threading
from dataclasses import dataclass


class Pulse:
    """When one loop was last seen alive."""

    __slots__ = ("_at",)

    def __init__(self, at: float) -> None:
        self._at = at

    def beat(self, at: float) -> None:
        self._at = at

    def age(self, now: float) -> float:
        """Seconds since the last beat; never negative."""
        return max(0.0, now - self._at)


@dataclass(frozen=True, slots=True)
class Oldest:
    """The loop that has been silent for longest."""

    loop: str
    seconds: float


class Pulses:
    """The pulses of all loops of a process. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pulses: dict[str, Pulse] = {}

    def begin(self, loop: str, at: float) -> Pulse:
        """A loop begins; it counts from now on, until `end`."""
        pulse = Pulse(at)
        with self._lock:
            self._pulses[loop] = pulse
        return pulse

    def end(self, loop: str) -> None:
        """It has ended on purpose, and is missed by nobody."""
        with self._lock:
            self._pulses.pop(loop, None)

    def oldest(self, now: float) -> Oldest | None:
        """None where no loop runs."""
        with self._lock:
            ages = [Oldest(loop, pulse.age(now)) for loop, pulse in self._pulses.items()]
        return max(ages, key=lambda oldest: oldest.seconds, default=None)
