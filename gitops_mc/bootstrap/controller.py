"""Connects the controller to the outside: global, repositories, clusters, and the end of the process."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
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
from gitops_mc.app.controller.running import Controller
from gitops_mc.app.log_events import ControllerStarted, ControllerStopped, Level
from gitops_mc.app.ports import Clock, Transport
from gitops_mc.app.use_cases.installation import made_identity
from gitops_mc.bootstrap import GatewayAccess, KubeconfigAccess, clock_of
from gitops_mc.bootstrap.attic import Attic
from gitops_mc.bootstrap.hooks import Hooks
from gitops_mc.bootstrap.means import Data, ProcessMeans, Way
from gitops_mc.bootstrap.observing import Observing
from gitops_mc.core.errors import UsageError

_SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
EXIT_LOST: Final = 1
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
    way = home_transport(options.home)
    home = observing.measured(way)
    jitter = random.Random().random  # noqa: S311 - spreads retries, guards nothing
    unguarded = ClusterApi(home, clock, jitter=jitter, patience=_QUICK)
    machine = SystemClock(stop)
    lease_api = ClusterApi(home, machine, jitter=jitter, patience=_QUICK)
    leadership = Leadership(
        lease_api, machine, options.namespace, options.lease, options.identity, options.terms
    )

    def guard(inner: Transport) -> Transport:
        may_write = lambda: leadership.may_write() and not stop.is_set()  # noqa: E731 - beside its only use
        return LeaderOnly(inner, may_write, ended, options.terms.call)

    def ended() -> None:
        if not stop.is_set():
            observing.telemetry.lost("a write was about to be sent without the lease")
            _end_at_once()

    own = ClusterApi(Renewing(guard(home), leadership), clock, jitter=jitter, patience=_QUICK)
    identity = made_identity(unguarded, lambda: os.urandom(16).hex())
    data = Data(unguarded, options.namespace)
    hooks = Hooks(data, unguarded, time.monotonic, observing.telemetry.hooked)
    shelf = Shelf(options.cache, options.namespace)

    def open_loop(name: str) -> FleetLoop:
        files = PrivateFiles(folder / name)
        own_way = home_transport(options.home)
        means = ProcessMeans(
            identity=identity,
            shelf=shelf,
            unprotected=options.unprotected,
            home=observing.measured(own_way, name),
            leave_home=own_way.close,
            guard=guard,
            clock=clock,
            data=data,
            files=files,
            expires=observing.telemetry.expires,
        )
        counted = guard(observing.measured(way, name))  # what is kept of a Fleet counts as its own
        kept = ClusterApi(Renewing(counted, leadership), clock, jitter=jitter, patience=_QUICK)
        objects = FleetObjects(kept, options.namespace, name)
        return FleetLoop(objects, means, clock, observing.telemetry)

    def followed(name: str) -> Path | None:
        loop = made.loops.get(name)
        return loop.means.followed if loop and isinstance(loop.means, ProcessMeans) else None

    leads = lambda: leadership.leads  # noqa: E731 - beside its only use
    attic = Attic(shelf, unguarded, options.unprotected, leads, followed, time.monotonic)

    def upkeep(names: frozenset[str]) -> None:
        hooks.refresh(names)
        attic.sweep(names)

    made = Controller(
        own,
        clock,
        options.namespace,
        leadership,
        open_loop,
        observing.telemetry,
        unguarded,
        upkeep,
    )
    leading = LeaderOnly(home, leadership.may_write, ended, options.terms.call)
    events = ClusterApi(leading, clock, jitter=jitter, patience=_QUICK)
    observing.attach(made, lambda text: _redacted(made, text), events)
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
        way.close()


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
