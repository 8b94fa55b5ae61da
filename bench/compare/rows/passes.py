"""Passes of the controller over a fleet in which nothing changes, against the same requests made bare."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

from bench.compare.canned import fleet_of, model, served
from bench.compare.measuring import Aim, Figure, Row, in_turns
from gitops_mc.adapters.kube import GatewayTransport
from gitops_mc.adapters.system import SystemClock, ThreadWorkers
from gitops_mc.app.api import ClusterApi
from gitops_mc.app.executor import Executor
from gitops_mc.app.looks import Pace
from gitops_mc.app.ports import Request, Response
from gitops_mc.core.model import JsonObject
from gitops_mc.core.rollout.inputs import NO_ACTS, Fleet
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import Done

THREADS: Final = 32
ALWAYS: Final = Pace(timedelta(hours=1), timedelta(minutes=30), timedelta(minutes=30))
"""Every cluster is read on every pass, and waited for."""
OBJECTS: Final = 10


class Heard:
    """A Transport that remembers what was sent, while it is asked to."""

    def __init__(self, inner: GatewayTransport) -> None:
        self.inner, self.sent, self.listens = inner, defaultdict[str, list[Request]](list), False

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if self.listens:
            self.sent[cluster].append(request)
        return self.inner.send(cluster, request, timeout=timeout)


@dataclass
class NoStore:
    """Nothing has to outlive this."""

    memory: JsonObject | None = field(default=None)

    def load(self) -> JsonObject | None:
        return self.memory

    def save(self, state: JsonObject) -> None:
        self.memory = state


@dataclass
class Standing:
    """A controller's engine that has looked at its fleet, and finds nothing to do."""

    executor: Executor
    heard: Heard
    workers: ThreadWorkers
    fleet: Fleet
    memory: FleetMemory

    def look(self) -> None:
        look = self.executor.decide(self.fleet, self.memory, NO_ACTS)
        assert isinstance(look.decision.outlook, Done), look.decision.outlook
        self.memory = look.memory
        self.executor.go_on(look)

    def bare(self) -> None:
        """What a pass asks for, by as many threads."""
        jobs = {name: partial(self._send, name, requests) for name, requests in self.heard.sent.items()}
        for name, result in self.workers.map(jobs, within=600).items():
            assert not isinstance(result, BaseException), (name, result)

    def _send(self, cluster: str, requests: list[Request]) -> None:
        for request in requests:
            assert self.heard.inner.send(cluster, request, timeout=60).status == 200


@contextmanager
def standing(clusters: int, folder: Path) -> Iterator[Standing]:
    one = model(OBJECTS)
    fleet, memory = fleet_of(one, clusters)
    clock = SystemClock(threading.Event())
    with served(one, clusters, folder) as (url, token):
        heard = Heard(GatewayTransport(url, token, connections=THREADS))
        workers = ThreadWorkers(THREADS)
        executor = Executor(
            ClusterApi(heard, clock, jitter=lambda: 0.5), clock, workers, NoStore(), pace=ALWAYS
        )
        executor.begin(fleet)
        found = Standing(executor, heard, workers, fleet, memory)
        for _ in range(2):  # gates have to hold for a while before a fleet counts as done
            found.memory = executor.decide(fleet, found.memory, NO_ACTS).memory
        try:
            yield found
        finally:
            workers.close()


def _idle(folder: Path) -> Iterator[Figure]:
    for clusters in (100, 200, 1_000):
        with standing(clusters, folder) as found:
            found.look()
            found.heard.listens = True
            found.look()
            found.heard.listens = False
            requests = sum(map(len, found.heard.sent.values()))
            ours, bare = in_turns(found.look, found.bare, turns=5)
            yield Figure(
                f"{clusters:,} clusters", ours, bare, note=f"{requests / clusters:.2f} requests a cluster"
            )


ROWS: Final = (
    Row("idle", "pass with no change", "the same requests made bare, by as many threads", Aim(1.3), _idle),
)
