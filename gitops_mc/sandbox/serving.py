"""A fleet behind its gateway, with the files that let others in: a token file and a kubeconfig."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from gitops_mc.app.ports import Clock
from gitops_mc.core.errors import UsageError
from gitops_mc.sandbox.behind import Behind
from gitops_mc.sandbox.faults import FaultBoard, parse_fault
from gitops_mc.sandbox.fleet import MACHINE_CONFIG_VERSION, FleetSpec, SandboxFleet
from gitops_mc.sandbox.gateway import SandboxTime, start, write_kubeconfig
from gitops_mc.sandbox.options import SandboxOptions
from gitops_mc.sandbox.running import run_in_thread
from gitops_mc.sandbox.site import ClusterSpec

TOKEN_FILE = "token"  # noqa: S105 - a file's name
KUBECONFIG = "kubeconfig"
_JOIN_WITHIN = 5.0


@dataclass(frozen=True, slots=True)
class Serving:
    """A sandbox that runs."""

    fleet: SandboxFleet
    url: str
    clusters: tuple[str, ...]
    token_file: Path
    kubeconfig: Path
    stop: Callable[[], None]
    """Ends gateway and fleet; the files stay."""


def serve(
    options: SandboxOptions, clock: Clock, speed: float, folder: Path, stop: threading.Event
) -> Serving:
    """Start it. `clock` runs `speed` times as fast as the machine's, and must return from `wait` once `stop` is set.

    Raises UsageError for what cannot be had: a fault nobody knows, a port that is taken.
    """
    names = tuple(f"edge-{n}" for n in range(1, options.clusters + 1))
    board = FaultBoard()
    for text in options.faults:
        parse_fault(board, _with_cluster(text), clock.now())
    fleet = SandboxFleet(
        FleetSpec(tuple(_spec(n, options) for n in names)), clock.now, faults=board, seed=options.seed
    )
    token_file, kubeconfig = folder / TOKEN_FILE, folder / KUBECONFIG
    _private(token_file, fleet.token)
    served = Behind(fleet.servers, lambda inner: fleet.faulty(inner, clock))
    try:
        gateway = start(served, options.port, SandboxTime(clock.now, speed))
    except OSError as error:
        raise UsageError(
            f"port {options.port} of 127.0.0.1 cannot be had: {error.strerror}",
            hint="leave --port out: a free one is taken",
        ) from error
    everything = tuple(fleet.servers)
    write_kubeconfig(kubeconfig, gateway.url, everything, fleet.token)
    thread = run_in_thread(fleet, clock, stop)

    def end() -> None:
        stop.set()
        gateway.stop()
        thread.join(_JOIN_WITHIN)

    return Serving(fleet, gateway.url, everything, token_file, kubeconfig, end)


def _spec(name: str, options: SandboxOptions) -> ClusterSpec:
    installed = any(fnmatchcase(name, glob) for glob in options.install_on)
    return ClusterSpec(
        name,
        masters=1,
        workers=options.nodes - 1,
        machine_config=MACHINE_CONFIG_VERSION if installed else None,
    )


def _with_cluster(text: str) -> str:
    """`late-render:seconds=60@edge-1` as the fault board spells it."""
    fault, at, cluster = text.rpartition("@")
    if not at:
        return text
    return f"{fault}{',' if ':' in fault else ':'}cluster={cluster}"


def _private(file: Path, text: str) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
