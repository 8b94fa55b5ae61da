"""Copies of a process, made by fork: an exact snapshot of a whole world in a millisecond, nothing in it to be copied by hand.

The world is one thread on virtual time, so a fork has all of it: fleet, clock, random numbers, half a rollout on the
stack. The copy goes on where the call was, and dies there; what becomes of it is sent home as one line of JSON.
"""

from __future__ import annotations

import gc
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

PATIENCE = 300
"""Seconds after which a copy that does not end is a failure."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one death."""

    label: str
    failure: str = ""
    """Empty: all is well."""
    leaves: str = ""
    """Digest of what the death left behind."""
    log: str = ""
    """Digest of everything that was written until the end, with times."""


@dataclass
class Copies:
    """The copies of this process that run, never more than `at_once`."""

    at_once: int
    verdicts: list[Verdict] = field(default_factory=list)
    home: int | None = None
    """In a copy: where it says what became of it."""
    _running: list[tuple[int, int, str]] = field(default_factory=list)

    def fork(self, label: str) -> bool:
        """Whether this is the copy; the first process goes on at once."""
        while len(self._running) >= self.at_once:
            self._await_oldest()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(PATIENCE)
            os.close(reading)
            for _, descriptor, _ in self._running:
                os.close(descriptor)
            self._running, self.verdicts, self.home, self.at_once = [], [], writing, 1
            return True
        os.close(writing)
        self._running.append((child, reading, label))
        return False

    def gathered(self) -> list[Verdict]:
        """All verdicts, when the last copy has ended."""
        while self._running:
            self._await_oldest()
        return self.verdicts

    def report(self, verdict: Verdict) -> None:
        """In a copy: the last thing it does."""
        assert self.home is not None
        told = json.dumps([asdict(v) for v in (*self.gathered(), verdict)]).encode()
        with os.fdopen(self.home, "wb") as out:
            out.write(told)
        os._exit(0)

    def abandon(self) -> None:
        """End the copies that run still."""
        for child, reading, _ in self._running:
            os.kill(child, signal.SIGKILL)
            os.close(reading)
            os.waitpid(child, 0)
        self._running.clear()

    def _await_oldest(self) -> None:
        child, reading, label = self._running.pop(0)
        with os.fdopen(reading, "rb") as told:
            data = told.read()
        _, status = os.waitpid(child, 0)
        if not data:
            ended = os.waitstatus_to_exitcode(status)
            self.verdicts.append(Verdict(label, f"the copy ended with {ended} and said nothing"))
            return
        self.verdicts += [Verdict(**v) for v in json.loads(data)]


@contextmanager
def snapshots() -> Iterator[None]:
    """What exists at this moment is left alone by the garbage collector, so that copies share its memory."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
