"""The fleet on real or scaled time, beside whoever uses it: a thread that steps it when something is due."""

from __future__ import annotations

import threading
from datetime import timedelta

from gitops_mc.app.ports import Clock
from gitops_mc.sandbox.virtual import Stepper

LOOK_AT_LEAST_EVERY = timedelta(seconds=0.5)
"""Of the clock's time: writes of others are seen within this."""


def run_in_thread(fleet: Stepper, clock: Clock, stop: threading.Event) -> threading.Thread:
    """Step the fleet until `stop` is set; the thread is started and ends soon after that. It blocks in the clock alone."""

    def run() -> None:
        while not stop.is_set():
            now = clock.now()
            clock.wait(min(fleet.step(now), now + LOOK_AT_LEAST_EVERY))

    thread = threading.Thread(target=run, name="sandbox-fleet", daemon=True)
    thread.start()
    return thread
