"""Connects the controller to the outside: global, repositories, clusters, and the end of the process."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, NoReturn, TextIO, TypeAlias

from gitops_mc import __version__
from gitops_mc.adapters.git_address import Unprotected
from gitops_mc.adapters.git_private import sweep_private
from gitops_mc.adapters.git_shelf import Shelf
from gitops_mc.adapters.git_store import read_no_configuration
from gitops_mc.adapters.kube import GatewayTransport, KubeconfigTransport, Others, ServerTransport
from gitops_mc.adapters.own_folder import temporary_folder
from gitops_mc.adapters.private_files import PrivateFiles
from gitops_mc.adapters.system import SystemClock
from gitops_mc.adapters.telemetry_log import take_over
from gitops_mc.app.api import ClusterApi, Patience
from gitops_mc.app.controller.fleet_loop import FleetLoop
from gitops_mc.app.controller.lease import LeaderOnly, Leadership, LeadershipLostError, Renewing, Terms
from gitops_mc.app.controller.objects import FleetObjects
from gitops_mc.app.controller.previews_shown import PreviewsShown
from gitops_mc.app.controller.running import Controller
from gitops_mc.app.log_events import ControllerStarted, ControllerStopped, Level
from gitops_mc.app.ports import Clock, Transport
from gitops_mc.app.use_cases.installation import made_identity
from gitops_mc.bootstrap import GatewayAccess, KubeconfigAccess, clock_of
from gitops_mc.bootstrap.attic import Attic
from gitops_mc.bootstrap.forges import Forges
from gitops_mc.bootstrap.hooks import Hooks
from gitops_mc.bootstrap.means import Data, ProcessMeans
from gitops_mc.bootstrap.observing import Observing
from gitops_mc.bootstrap.preview_making import PreviewMaker, Watched, looking
from gitops_mc.bootstrap.pulls import PullCaches, PullDesks
from gitops_mc.bootstrap.ways import Way
from gitops_mc.core.errors import UsageError

_SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
EXIT_LOST: Final = 1
_PREVIEWS: Final = ".previews"
"""No Fleet is called so."""
_CLOSING: Final = 2.0
"""Seconds that probes, webhook and Events have to end in."""
STOPS_WITHIN: Final = 9.0
"""Seconds from the signal to the end, whatever hangs."""
_QUICK: Final = Patience(timeout=10.0, attempts=2, total=15.0)
"""For our own objects and the lease: what does not answer is asked again on the next pass."""


@dataclass(frozen=True, slots=True)
class InCluster:
    """The API server that this process runs under is global's; its ServiceAccount is who we are there."""


Home: TypeAlias = GatewayAccess | KubeconfigAccess | InCluster
"""How the controller reaches global."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    home: Home
    namespace: str
    identity: str
    """Of this process, for the lease: the pod's name."""
    cache: Path
    """A folder of this process alone; what is fetched of repositories stands there."""
    lease: str = "gitops-mc"
    terms: Terms = field(default_factory=Terms)
    probes: tuple[str, int] | None = None
    """Address and port of /healthz, /readyz and /metrics."""
    webhook: tuple[str, int] | None = None
    unprotected: frozenset[Unprotected] = frozenset()
    level: Level = Level.INFO
    """Of the log: what is below it is not written."""


def home_transport(home: Home) -> Way:
    """Raises UsageError."""
    match home:
        case GatewayAccess(url, token_file, ca_file):
            return GatewayTransport(url, token_file, ca_file)
        case KubeconfigAccess(path, contexts):
            return KubeconfigTransport(path, contexts, others=Others.NAMED_LIKE_THEM)
        case InCluster():
            return _in_cluster()


def _in_cluster() -> Way:
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise UsageError(
            "this process does not run in a cluster",
            hint="give --kubeconfig FILE, or --gateway URL and --token-file FILE",
        )
    bracketed = f"[{host}]" if ":" in host else host
    return ServerTransport(
        f"https://{bracketed}:{port}", _SERVICE_ACCOUNT / "token", _SERVICE_ACCOUNT / "ca.crt"
    )


def _end_at_once() -> NoReturn:
    """Nothing that this process would still do is wanted: no handler, no flush, no answer."""
    os._exit(EXIT_LOST)


@contextmanager
def _credentials_folder() -> Iterator[Path]:
    """Where credentials stand as files; those of processes that were killed are removed. Raises UsageError."""
    hint = "credentials are kept there as files: name a folder for temporary files in the environment, TMPDIR"
    with temporary_folder("credentials", hint) as folder:
        sweep_private()
        yield folder


@contextmanager
def controller(
    options: Options, clock: Clock, observing: Observing, stop: threading.Event
) -> Iterator[Controller]:
    """The controller, connected, until the end of the `with`. Raises GitopsMcError for what cannot be right.

    Once `stop` is set no write is sent any more, but for Events, and for the lease that is given up.
    """
    read_no_configuration()
    with _credentials_folder() as folder, _connected(options, clock, observing, stop, folder) as made:
        yield made


@contextmanager
def _connected(
    options: Options, clock: Clock, observing: Observing, stop: threading.Event, folder: Path
) -> Iterator[Controller]:
    """The same, with credentials in a folder."""
    wires = _Wires(options, clock, observing, stop, folder)
    reading = wires.reading
    data = Data(reading, options.namespace)
    hooks = Hooks(data, reading, time.monotonic, observing.telemetry.hooked)
    means = partial(wires.means, made_identity(reading, lambda: os.urandom(16).hex()), data)

    def upkeep(names: frozenset[str]) -> None:
        hooks.refresh()
        attic.sweep(names)

    made = Controller(
        wires.kept(),
        clock,
        options.namespace,
        wires.leadership,
        lambda name: FleetLoop(
            FleetObjects(wires.kept(name), options.namespace, name),
            means(name),
            clock,
            observing.telemetry,
            previewed=wires.shown,
        ),
        observing.telemetry,
        reading,
        upkeep,
    )
    attic = wires.attic(made)
    observing.attach(made, lambda text: _redacted(made, text), wires.events(), data)
    observing.tell_forges(Forges(data, folder / "forges", made.fleet), wires.may_write)
    wires.show_previews(made, means, data)
    try:
        if options.probes is not None:
            observing.serve_probes(*options.probes)
        if options.webhook is not None:
            observing.serve_webhook(*options.webhook, hooks.of, made.wake)
        yield made
    finally:
        stop.set()
        for loop in made.loops.values():
            loop.close()
        observing.close(_CLOSING)
        wires.way.close()


class _Wires:
    """The ways to the API servers, and who may write on which."""

    def __init__(
        self, options: Options, clock: Clock, observing: Observing, stop: threading.Event, folder: Path
    ) -> None:
        self._options, self._clock, self._observing, self._stop = options, clock, observing, stop
        self._folder = folder
        self._shelf = Shelf(options.cache, options.namespace)
        self._jitter = random.Random().random  # noqa: S311 - spreads retries, guards nothing
        self.way = home_transport(options.home)
        self._home = observing.measured(self.way)
        self.reading = self._api(self._home)
        """Unguarded: for what only reads, for the identity, and for a standby's knock."""
        self.shown = PreviewsShown()
        machine = SystemClock(stop)
        lease_api = ClusterApi(self._home, machine, jitter=self._jitter, patience=_QUICK)
        self.leadership = Leadership(
            lease_api, machine, options.namespace, options.lease, options.identity, options.terms
        )

    def kept(self, fleet: str = "") -> ClusterApi:
        """For the thread that leads: our own objects; those of a Fleet count as its own."""
        counted = self._observing.measured(self.way, fleet) if fleet else self._home
        return self._api(Renewing(self._guarded(counted), self.leadership))

    def events(self) -> ClusterApi:
        """Events are still written when the end has been asked for."""
        return self._api(
            LeaderOnly(self._home, self.leadership.may_write, self._ended, self._options.terms.call)
        )

    def show_previews(self, made: Controller, means: Callable[[str, str], ProcessMeans], data: Data) -> None:
        """From now on pull requests show previews."""
        shelf = Shelf(self._options.cache / "pulls", self._options.namespace)
        caches = PullCaches(shelf, data, self._options.unprotected)
        caches.sweep()

        def watched(title: str) -> Watched | None:
            loop = made.loops.get(title.rpartition("/")[2])
            if loop is None:
                return None
            return Watched(loop.objects, None if loop.poller is None else loop.poller.source)

        maker = PreviewMaker(
            watched,
            caches,
            lambda spec, seen: looking(means(spec.name, _PREVIEWS), spec, seen),
            self._clock.now,
        )
        desks = PullDesks(Forges(data, self._folder / _PREVIEWS / "forges", made.fleet), caches)
        self._observing.show_previews(desks, maker, self.shown, self.may_write, self._jitter)

    def means(self, identity: str, data: Data, fleet: str, below: str = "") -> ProcessMeans:
        """What the spec of a Fleet leads to; its credentials stand as files below a folder of this name. Raises UsageError."""
        way = home_transport(self._options.home)
        return ProcessMeans(
            identity=identity,
            shelf=self._shelf,
            unprotected=self._options.unprotected,
            home=self._observing.measured(way, fleet),
            leave_home=way.close,
            guard=self._guarded,
            clock=self._clock,
            data=data,
            files=PrivateFiles(self._folder / below / fleet),
            expires=self._observing.telemetry.expires,
        )

    def attic(self, made: Controller) -> Attic:
        """Of the caches that this process has."""

        def followed(name: str) -> Path | None:
            loop = made.loops.get(name)
            return loop.means.followed if loop and isinstance(loop.means, ProcessMeans) else None

        def leads() -> bool:
            return self.leadership.leads

        return Attic(self._shelf, self.reading, self._options.unprotected, leads, followed, time.monotonic)

    def _api(self, transport: Transport) -> ClusterApi:
        return ClusterApi(transport, self._clock, jitter=self._jitter, patience=_QUICK)

    def _guarded(self, inner: Transport) -> Transport:
        return LeaderOnly(inner, self.may_write, self._ended, self._options.terms.call)

    def may_write(self) -> bool:
        """Whether this process leads, and nobody has asked for its end."""
        return self.leadership.may_write() and not self._stop.is_set()

    def _ended(self) -> None:
        if not self._stop.is_set():
            self._observing.telemetry.lost("a write was about to be sent without the lease")
            _end_at_once()


def _redacted(made: Controller, text: str) -> str:
    for loop in tuple(made.loops.values()):
        text = loop.redact(text)
    return text


def run_controller(options: Options, stream: TextIO, stop: threading.Event) -> None:
    """Until `stop` is set. Raises GitopsMcError for what cannot be right; where the lease is lost the process ends at once."""
    clock = _clock_of(options.home, stop)
    observing = Observing(stream, clock, options.namespace, options.identity, options.level)
    begun = time.monotonic()
    take_over(observing.log)
    ended = threading.Event()
    threading.Thread(target=_end_in_time, args=(stop, ended), name="end", daemon=True).start()
    try:
        with controller(options, clock, observing, stop) as made:
            observing.log.tell(ControllerStarted(version=__version__, identity=options.identity))
            try:
                made.run(stop.is_set)
            except LeadershipLostError as error:
                observing.telemetry.lost(error.message)
                _end_at_once()
    finally:
        ended.set()  # of an error, too: its exit code is told, and nobody who called this is ended
    seconds = round(time.monotonic() - begun, 1)
    observing.log.tell(ControllerStopped(reason="the end was asked for", seconds=seconds))


def _end_in_time(stop: threading.Event, ended: threading.Event) -> None:
    """Whoever asked for the end gets it: a call that hangs does not keep the process; another one takes the lease then."""
    stop.wait()
    if not ended.wait(STOPS_WITHIN):
        os._exit(0)


def _clock_of(home: Home, stop: threading.Event) -> Clock:
    """The machine's time, or that of a sandbox."""
    match home:
        case InCluster():
            return SystemClock(stop)
        case GatewayAccess() | KubeconfigAccess():
            return clock_of(home, stop)
