"""Connects what the controller tells of itself to the outside: stderr, two ports, and Kubernetes Events."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TextIO

from gitops_mc import __version__
from gitops_mc.adapters.post import ApprisePost
from gitops_mc.adapters.system import ThreadWorkers
from gitops_mc.adapters.telemetry_events import KubernetesEvents, reference
from gitops_mc.adapters.telemetry_log import Log, form_for
from gitops_mc.adapters.telemetry_metrics import Metrics
from gitops_mc.adapters.telemetry_transport import MeasuredTransport
from gitops_mc.app.api import ClusterApi
from gitops_mc.app.controller.commits_told import CommitsTold
from gitops_mc.app.controller.previews_shown import PreviewsShown
from gitops_mc.app.controller.previews_told import PreviewsTold
from gitops_mc.app.controller.running import Controller
from gitops_mc.app.forge_ports import OpenForge
from gitops_mc.app.log_events import Level
from gitops_mc.app.notifying import Notifier
from gitops_mc.app.ports import Clock, Transport
from gitops_mc.app.pull_ports import MakePreview, OpenPullDesk
from gitops_mc.app.telemetry import Telemetry
from gitops_mc.bootstrap.forges import ForgeJobs
from gitops_mc.bootstrap.means import Data
from gitops_mc.bootstrap.pulls import LiveDigests, PullBoard
from gitops_mc.core.model import JsonObject
from gitops_mc.web.probes import Leading, Probes, Readiness, Standby, Starting
from gitops_mc.web.pulse import Pulse, Pulses
from gitops_mc.web.serving import Running, serve
from gitops_mc.web.webhook import Answered, FleetName, Webhook

_EVENTS: Final = "(events)"
_SENT_AT_ONCE: Final = 8
"""Destinations that messages go to."""
_LOOP: Final = "controller"
_NO_WAIT: Final = 0.0
_FAREWELL: Final = 2.0
"""Seconds that Events get to be written in, once the end has been asked for."""


@dataclass(slots=True)
class Observing:
    """What hears of a controller. Made before it, since it hears of everything; `attach` it as soon as it is there."""

    stream: TextIO
    clock: Clock
    namespace: str
    identity: str
    level: Level = Level.INFO
    pulses: Pulses = field(default_factory=Pulses)
    log: Log = field(init=False)
    metrics: Metrics = field(init=False)
    telemetry: Telemetry = field(init=False)
    """The controller's watcher and attendant."""
    _pulse: Pulse = field(init=False)
    _redact: Callable[[str], str] = str
    _events: KubernetesEvents | None = None
    _notifier: Notifier | None = None
    _forges: list[ForgeJobs] = field(default_factory=list)
    _workers: ThreadWorkers = field(default_factory=lambda: ThreadWorkers(1))
    _senders: ThreadWorkers = field(default_factory=lambda: ThreadWorkers(_SENT_AT_ONCE))
    """Of their own, and each destination by itself: a chat service that hangs keeps no Event and nobody else waiting."""
    _serving: list[Running] = field(default_factory=list)

    def __post_init__(self) -> None:
        now = self.clock.now
        self.log = Log(self.stream, now, redact=self._clean, form=form_for(self.stream), level=self.level)
        self.metrics = Metrics(__version__, now)
        self._pulse = self.pulses.begin(_LOOP, time.monotonic())
        self.telemetry = Telemetry(
            self.log, self.metrics, now, self._beat, identity=self.identity, namespace=self.namespace
        )

    def measured(self, transport: Transport, fleet: str = "") -> Transport:
        """A transport whose requests are counted for a Fleet, by name, or for the controller itself. Below the guard that asks
        the lease: what is not sent is not counted.
        """
        title = f"{self.namespace}/{fleet}" if fleet else ""
        return MeasuredTransport(transport, title, self.metrics, time.monotonic)

    def attach(
        self, controller: Controller, redact: Callable[[str], str], events: ClusterApi, data: Data
    ) -> None:
        """From now on Events are written, on the objects that the loops have read, and people are told; what waits when the end is
        asked for, before the lease is given up. `redact` knows what is sensitive in all fleets; it, `events` and `data` are asked
        from any thread.
        """
        self._redact = redact
        controller.farewell = lambda: self._flush(_FAREWELL)

        def references(fleet: str, cluster: str) -> JsonObject | None:
            loop = controller.loops.get(fleet.partition("/")[2])
            if loop is None:
                return None
            body = loop.objects.rollouts.get(cluster) if cluster else loop.objects.fleet
            return reference(body) if body else None

        self._notifier = self.telemetry.notifier = Notifier(
            body_of=controller.fleet,
            secret=data.value,
            post=ApprisePost(),
            now=self.clock.now,
            redact=self._clean,
            log=self.log,
            counts=self.metrics,
        )
        self._events = self.telemetry.herald = KubernetesEvents(
            events,
            references,
            self.log,
            self.metrics,
            now=self.clock.now,
            instance=self.identity,
            redact=self._clean,
        )

    def tell_forges(self, open_forge: OpenForge, may: Callable[[], bool]) -> None:
        """From now on commits have statuses on the forges of the Fleets that name one, while `may`. Any thread."""
        board = CommitsTold(open_forge, may, self.telemetry.forged, self._clean, self.clock.now)
        self.telemetry.board = board
        self._forges.append(ForgeJobs(board, self.log.crashed))

    def show_previews(
        self,
        desks: OpenPullDesk,
        make: MakePreview,
        shown: PreviewsShown,
        may: Callable[[], bool],
        jitter: Callable[[], float],
    ) -> None:
        """From now on the pull requests of the Fleets that want it show previews, while `may`. Any thread."""
        live = LiveDigests()
        board = PreviewsTold(
            desks,
            make,
            live,
            shown.add,
            may,
            self.telemetry.previewed,
            lambda fleet, error: self.log.crashed(f"a preview of {fleet}", error),
            self._clean,
            self.clock.now,
            jitter,
        )
        self.telemetry.previews = PullBoard(board, live, shown)
        self._forges.append(ForgeJobs(board, self.log.crashed))

    def serve_probes(self, address: str, port: int) -> Running:
        """`/healthz`, `/readyz`, `/metrics`. Raises UsageError."""
        probes = Probes(self.pulses, self._readiness, self.metrics.registry, time.monotonic, self._failed)
        return self._served(serve(probes.app(), address, port))

    def serve_webhook(
        self,
        address: str,
        port: int,
        secrets: Callable[[str], tuple[bytes, ...]],
        wake: Callable[[str], object],
    ) -> Running:
        """The webhook. `secrets` and `wake` take a Fleet's name and return at once. Raises UsageError."""

        def secrets_of(fleet: FleetName) -> tuple[bytes, ...]:
            return secrets(fleet.name) if fleet.namespace == self.namespace else ()

        def answered(fleet: FleetName | None, answer: Answered) -> None:
            self.telemetry.webhook("" if fleet is None else str(fleet), int(answer.status))

        def woken(fleet: FleetName) -> None:
            wake(fleet.name)

        webhook = Webhook(secrets_of, woken, answered, time.monotonic, self._failed)
        return self._served(serve(webhook.app(), address, port))

    def close(self, within: float) -> None:
        """Stop serving, and let what waits be written; within so many seconds."""
        end = time.monotonic() + within
        self._flush(within / 2)
        self._events = self._notifier = None
        self._workers.close()
        self._senders.close()
        while self._forges:
            self._forges.pop().close()
        for running in self._serving:
            running.stop(max(0.0, end - time.monotonic()))

    def _flush(self, within: float) -> None:
        """Let the Events that wait be written, and people be told; those that are not by then still wait."""
        if (notifier := self._notifier) is not None:
            notifier.hurry()
            self._tell_people(notifier)
        if (events := self._events) is not None:
            self._workers.map({}, within=within / 2)  # one that runs began before the last of them were there
            self._workers.map({_EVENTS: events.flush}, within=within / 2)
        if notifier is not None:
            self._senders.map({}, within=within / 2)

    def _served(self, running: Running) -> Running:
        self._serving.append(running)
        return running

    def _beat(self) -> None:
        self._pulse.beat(time.monotonic())
        events = self._events
        if events is not None:
            self._workers.map({_EVENTS: events.flush}, within=_NO_WAIT)
        if self._notifier is not None:
            self._tell_people(self._notifier)
        for forges in tuple(self._forges):
            forges.run()

    def _tell_people(self, notifier: Notifier) -> None:
        jobs = {f"{fleet}/{name}": partial(notifier.send, fleet, name) for fleet, name in notifier.due()}
        self._senders.map(jobs, within=_NO_WAIT)

    def _clean(self, text: str) -> str:
        return self._redact(text)

    def _failed(self, error: BaseException) -> None:
        self.log.crashed("an answer over HTTP", error)

    def _readiness(self) -> Readiness:
        telemetry = self.telemetry
        if telemetry.trouble and not telemetry.leads:
            return Starting(telemetry.trouble)
        if telemetry.fleets is None:
            return Starting("the Fleets have not been listed yet")
        return Leading(len(telemetry.fleets)) if telemetry.leads else Standby(telemetry.holder)
