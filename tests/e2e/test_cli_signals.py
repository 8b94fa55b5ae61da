"""The first signal asks for an orderly end, the second one ends at once."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.e2e.program import plain_environment

PATIENT = """
import threading
from gitops_mc.cli.stopping import stop_on_signals
with stop_on_signals() as stop:
    print("ready", flush=True)
    stop.wait(30)
    print("stopping", flush=True)
    threading.Event().wait(30)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_stops_and_the_second_one_ends_at_once(number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PATIENT], stdout=subprocess.PIPE, text=True, env=plain_environment()
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert process.stdout.readline() == "stopping\n"
    process.send_signal(number)
    process.communicate(timeout=10)
    assert process.returncode == 130
