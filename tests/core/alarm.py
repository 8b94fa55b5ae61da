"""An end for what would have none."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class TooLong(Exception):  # noqa: N818 - what an alarm says
    pass


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """The engine of regular expressions looks at signals now and then."""

    def end(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
