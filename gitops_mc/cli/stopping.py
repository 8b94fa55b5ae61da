"""SIGINT and SIGTERM: the first one asks for an orderly end, the second one ends at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from gitops_mc.core.errors import EXIT_INTERRUPTED

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """An event that the first signal sets. Only in the main thread."""
    stop = threading.Event()
    seen: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if seen:
            os._exit(EXIT_INTERRUPTED)
        seen.append(number)
        # in a thread of its own: the one that is interrupted here may be holding the event's lock
        threading.Thread(target=stop.set, daemon=True).start()

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
