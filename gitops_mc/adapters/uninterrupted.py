"""Work that is done whole: whoever interrupts it is heard when it is over."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_HELD_BACK: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """SIGINT and SIGTERM that come meanwhile take effect after it, as they would have, be it done or failed. For what takes
    moments. In the main thread alone; another one hears no signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in _HELD_BACK}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for heard in dict.fromkeys(came):
            signal.raise_signal(heard)
