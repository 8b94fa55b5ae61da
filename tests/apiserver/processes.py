"""Child processes that end with the process that started them, however that ends."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_TETHER = """\
import ctypes, os, signal, sys
PR_SET_PDEATHSIG = 1
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit("the process that wanted this has gone")
os.execvp(sys.argv[2], sys.argv[2:])
"""
_STOP_WITHIN = 5.0
_LAST_LINES = 30
_LOOK_AGAIN = 0.05
_PORTS = range(15_000, 30_000)
"""Below those that Linux gives to outgoing connections (32768 and above), or one of these could take it first."""


_TAKEN = "address already in use"
_PORTS_TRIED = 5


class StartError(Exception):
    """A process did not come up; says what its log said last."""


class PortTakenError(StartError):
    """It did not come up because somebody else listens where it wanted to."""


def tethered(command: Sequence[str]) -> list[str]:
    """The command, such that the kernel kills it when the thread that starts it ends. Start it from the main thread."""
    return [sys.executable, "-I", "-S", "-c", _TETHER, str(os.getpid()), *command]


@dataclass(frozen=True, slots=True)
class Child:
    """A process that runs, and what it says."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def again(self) -> Child:
        """The same command once more, with the same log; what runs now has to have ended."""
        with self.log.open("ab") as stream:
            process = subprocess.Popen(
                self.process.args,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        return Child(self.name, process, self.log)

    def stop(self) -> None:
        """Ask it to end, and kill it where it does not."""
        self.process.terminate()
        try:
            self.process.wait(_STOP_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        return "\n".join([f"--- {self.name} ({self.log}), its last lines:", *lines])

    def await_ready(self, ready: Callable[[], bool], within: float) -> None:
        """Wait until it is ready. Raises StartError when it ends first (PortTakenError where it says so), or is not ready
        after `within` seconds.
        """
        end = time.monotonic() + within
        while not ready():
            if self.process.poll() is not None:
                told = f"{self.name} ended with {self.process.returncode}\n{self.last_words()}"
                raise PortTakenError(told) if _TAKEN in told.lower() else StartError(told)
            if time.monotonic() > end:
                raise StartError(f"{self.name} is not ready after {within:.0f} s\n{self.last_words()}")
            time.sleep(_LOOK_AGAIN)


def start(name: str, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> Child:
    """Start it in a process group of its own, so that Ctrl-C at a terminal leaves it to whoever started it."""
    with log.open("wb") as stream:
        process = subprocess.Popen(
            tethered(command),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=dict(env) if env is not None else None,
            process_group=0,
        )
    return Child(name, process, log)


_given: set[int] = set()


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on, and that was not given out here before. Somebody else may take it
    before it is used: what listens on it is started by `on_free_ports`.
    """
    for port in random.sample(_PORTS, 100):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in _given:
            _given.add(port)
            return port
    raise StartError("no port of 127.0.0.1 is free between 15000 and 30000")


def on_free_ports(start_up: Callable[[], T]) -> T:
    """What `start_up` brings, which takes ports of its own on every call, and awaits what listens there. Where one of them
    was taken meanwhile it is called again, a few times.
    """
    for _ in range(_PORTS_TRIED - 1):
        try:
            return start_up()
        except PortTakenError:
            continue
    return start_up()
