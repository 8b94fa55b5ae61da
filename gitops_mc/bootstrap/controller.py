"""Connects the controller to the outside: global, repositories, clusters, and the end of the process."""

from __future__ import annotations

import os
import random
import tempfile
import threading
import time
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final, NoReturn, TextIO, TypeAlias

from gitops_mc import __version__
from gitops_mc.adapters.git_access import Access as GitAccess
from gitops_mc.adapters.git_access import Trust, credentials_of
from gitops_mc.adapters.git_address import Unprotected
from gitops_mc.adapters.git_remote import RemoteSource
from gitops_mc.adapters.kube import GatewayTransport, KubeconfigTransport, ServerTransport
from gitops_mc.adapters.private_files import PrivateFiles
from gitops_mc.adapters.system import SystemClock, ThreadWorkers
from gitops_mc.adapters.telemetry_log import take_over
from gitops_mc.app.api import RESOURCES, ClusterApi, Patience
from gitops_mc.app.controller.fleet_loop import FleetLoop
from gitops_mc.app.controller.lease import LeaderOnly, Leadership, LeadershipLostError, Terms
from gitops_mc.app.controller.objects import FLEET, FleetObjects
from gitops_mc.app.controller.running import Controller
from gitops_mc.app.controller.sources import Poller
from gitops_mc.app.executor import Executor
from gitops_mc.app.log_events import ControllerStarted, ControllerStopped
from gitops_mc.app.ports import Clock, Request, Response, Transport
from gitops_mc.bootstrap import GatewayAccess, KubeconfigAccess, clock_of
from gitops_mc.bootstrap.observing import Observing
from gitops_mc.core.custom.fleet_spec import Clusters, FleetSpec, Ref, fleet_spec
from gitops_mc.core.errors import (
    AlreadyExistsError,
    GitopsMcError,
    MemoryStoreError,
    NotFoundError,
    UsageError,
)
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject, name_of

_SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_CALLS_AT_ONCE: Final = 32
_INSTALLATION: Final = "gitops-mc-installation"
_INSTALLATION_NAMESPACE: Final = "cpaas-system"
"""Not mirrored to a standby (ACP docs, "Global cluster disaster recovery"), so each side has an identity of its own."""
EXIT_LOST: Final = 1
HOOKS_READ_EVERY: Final = 60.0
"""Seconds."""
_CLOSING: Final = 5.0
"""Seconds that probes, webhook and Events have to end in."""
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


def home_transport(home: Home) -> Transport:
    """Raises UsageError."""
    match home:
        case GatewayAccess(url, token_file, ca_file):
            return GatewayTransport(url, token_file, ca_file)
        case KubeconfigAccess(path, contexts):
            return KubeconfigTransport(path, {GLOBAL_CLUSTER: GLOBAL_CLUSTER, **contexts})
        case InCluster():
            return _in_cluster()


def _in_cluster() -> Transport:
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


@dataclass(frozen=True, slots=True)
class ByCluster:
    """Clusters with a way of their own, and one for all others."""

    ways: Mapping[str, Transport]
    other: Transport

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        """As the port promises."""
        return self.ways.get(cluster, self.other).send(cluster, request, timeout=timeout)


@dataclass(slots=True)
class Data:
    """Secrets and ConfigMaps of one namespace."""

    api: ClusterApi
    namespace: str

    def secret(self, ref: Ref) -> dict[str, bytes]:
        """Raises UsageError where it is not there, or no base64; never shows a value."""
        body = self._read("Secret", ref)
        try:
            return {str(k): b64decode(v, validate=True) for k, v in (body.get("data") or {}).items()}
        except (Base64Error, TypeError, ValueError):
            raise UsageError(f"Secret {ref.name} holds a value that is no base64") from None

    def config(self, ref: Ref) -> dict[str, bytes]:
        """Of a ConfigMap."""
        return {str(k): str(v).encode() for k, v in (self._read("ConfigMap", ref).get("data") or {}).items()}

    def value(self, ref: Ref) -> bytes:
        """One key of a Secret. Raises UsageError where it is not there."""
        found = self.secret(ref).get(ref.key)
        if found is None:
            raise UsageError(f"Secret {ref.name} has no key {ref.key}")
        return found

    def _read(self, kind: str, ref: Ref) -> JsonObject:
        try:
            return self.api.get(GLOBAL_CLUSTER, RESOURCES[kind], ref.name, namespace=self.namespace)
        except NotFoundError as error:
            raise UsageError(
                f"{kind} {ref.name} is not in namespace {self.namespace}",
                hint=f"kubectl -n {self.namespace} create {kind.lower()} ... {ref.name}",
            ) from error


@dataclass(slots=True)
class ProcessMeans:
    """What a Fleet's spec leads to."""

    options: Options
    identity: str
    home: Transport
    """Unguarded: for reading."""
    guard: Callable[[Transport], Transport]
    clock: Clock
    data: Data
    files: PrivateFiles
    _open: list[Callable[[], object]] = field(default_factory=list)

    def poller(self, spec: FleetSpec) -> Poller:
        """As the port promises."""
        said = spec.source
        key = sha256(f"{spec.namespace}/{spec.name} {said.url} {said.ref}".encode()).hexdigest()[:16]
        source = RemoteSource(
            said.url,
            self.options.cache / f"{spec.name}-{key}",
            lambda: self._git_access(spec),
            ref=said.ref,
            folder=said.path,
            unprotected=self.options.unprotected,
        )
        jitter = random.Random().random  # noqa: S311 - spreads polls, guards nothing
        return Poller(source, said.interval, self.clock, ThreadWorkers(1), jitter)

    def executor(self, spec: FleetSpec) -> Executor:
        """As the port promises."""
        transport = self.guard(self._clusters(spec.clusters))
        jitter = random.Random().random  # noqa: S311 - spreads retries, guards nothing
        api = ClusterApi(transport, self.clock, jitter=jitter)
        return Executor(api, self.clock, ThreadWorkers(_CALLS_AT_ONCE), _NoStore())

    def tend(self, spec: FleetSpec) -> None:
        """Take over what has been renewed in Secrets. Raises GitopsMcError where one cannot be read."""
        self._written(spec.clusters)

    def _git_access(self, spec: FleetSpec) -> GitAccess:
        said = spec.source
        credentials = credentials_of(self.data.secret(said.credentials)) if said.credentials else None
        ca = self.data.config(said.ca).get("ca.crt", b"") if said.ca else b""
        trust = None
        if said.signers is not None:
            keys = self.data.config(said.signers)
            trust = Trust(gpg=keys.get("gpg", b""), ssh=keys.get("ssh", b""))
        return GitAccess(credentials, ca, said.known_hosts.encode(), trust)

    def _clusters(self, said: Clusters) -> Transport:
        """Global is reached as the controller reaches it, unless a kubeconfig says otherwise: the gateway's token needs no
        right there.
        """
        files = self._written(said)
        ways: dict[str, Transport] = {
            cluster: KubeconfigTransport(files[f"kubeconfig-{cluster}"], {cluster: ""})
            for cluster in said.kubeconfigs or {}
        }
        if said.gateway is None:
            return ByCluster(ways, self.home) if ways else self.home
        gateway = GatewayTransport(said.gateway.url, files["token"], files.get("ca.crt"))
        return ByCluster({GLOBAL_CLUSTER: self.home, **ways}, gateway)

    def _written(self, said: Clusters) -> dict[str, Path]:
        """Secrets as files that only this process may read: transports read them again when they change."""
        found: dict[str, bytes] = {}
        if said.gateway is not None:
            found["token"] = self.data.value(said.gateway.token)
            if said.gateway.ca is not None:
                found["ca.crt"] = self.data.config(said.gateway.ca).get("ca.crt", b"")
        found |= {f"kubeconfig-{c}": self.data.value(ref) for c, ref in (said.kubeconfigs or {}).items()}
        return {name: self.files.write(name, content) for name, content in found.items()}


class _NoStore:
    """The executor of a controller neither loads nor saves: its loop keeps the memory in objects."""

    def load(self) -> JsonObject | None:
        raise MemoryStoreError("the controller's memory stands in objects")

    def save(self, state: JsonObject) -> None:  # noqa: ARG002 - the port's signature
        raise MemoryStoreError("the controller's memory stands in objects")


def installation_identity(api: ClusterApi) -> str:
    """Of this global cluster: kept in a ConfigMap that no mirror takes along, made on first use. Raises GitopsMcError."""
    what = RESOURCES["ConfigMap"]
    try:
        found = api.get(GLOBAL_CLUSTER, what, _INSTALLATION, namespace=_INSTALLATION_NAMESPACE)
    except NotFoundError:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": _INSTALLATION, "namespace": _INSTALLATION_NAMESPACE},
            "data": {"identity": os.urandom(16).hex()},
        }
        try:
            found = api.create(GLOBAL_CLUSTER, what, body, namespace=_INSTALLATION_NAMESPACE)
        except AlreadyExistsError:  # replicas begin together, and one of them is first
            found = api.get(GLOBAL_CLUSTER, what, _INSTALLATION, namespace=_INSTALLATION_NAMESPACE)
    identity = str((found.get("data") or {}).get("identity") or "")
    if not identity:
        raise UsageError(
            f"ConfigMap {_INSTALLATION} in {_INSTALLATION_NAMESPACE} names no identity",
            hint="delete it; the controller makes it anew, and takeover names it in the Fleet",
        )
    return identity


def _end_at_once() -> NoReturn:
    """Nothing that this process would still do is wanted: no handler, no flush, no answer."""
    os._exit(EXIT_LOST)


class Hooks:
    """Secrets of webhooks, read again now and then: the server of the webhook only looks."""

    def __init__(self, data: Data, api: ClusterApi) -> None:
        self._data = data
        self._api = api
        self._known: dict[str, tuple[bytes, ...]] = {}
        self._read_at = float("-inf")

    def of(self, fleet: str) -> tuple[bytes, ...]:
        """The good secrets of a Fleet; none where it has no webhook."""
        return self._known.get(fleet, ())

    def refresh(self, _names: frozenset[str]) -> None:
        """Look again, where the last look is HOOKS_READ_EVERY old. What cannot be read stays as it was."""
        now = time.monotonic()
        if now - self._read_at < HOOKS_READ_EVERY:
            return
        self._read_at = now
        with suppress(GitopsMcError):
            fleets = self._api.list(GLOBAL_CLUSTER, FLEET, namespace=self._data.namespace)
            self._known = {name_of(body): self._of(body) for body in fleets}

    def _of(self, body: JsonObject) -> tuple[bytes, ...]:
        name = name_of(body)
        try:
            ref = fleet_spec(body).webhook
            found = self._data.secret(ref) if ref is not None else {}
        except GitopsMcError:
            return self._known.get(name, ())
        return tuple(found[key] for key in ("secret", "next") if found.get(key))


@contextmanager
def controller(
    options: Options, clock: Clock, observing: Observing, stop: threading.Event
) -> Iterator[Controller]:
    """The controller, connected, until the end of the `with`. Raises GitopsMcError for what cannot be right.

    Once `stop` is set no write is sent any more.
    """
    home = observing.measured(home_transport(options.home))
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

    own = ClusterApi(guard(home), clock, jitter=jitter, patience=_QUICK)
    identity = installation_identity(unguarded)
    data = Data(unguarded, options.namespace)
    hooks = Hooks(data, unguarded)
    with tempfile.TemporaryDirectory(prefix="gitops-mc-") as folder:

        def open_loop(name: str) -> FleetLoop:
            files = PrivateFiles(Path(folder) / name)
            measured = observing.measured(home_transport(options.home), name)
            means = ProcessMeans(options, identity, measured, guard, clock, data, files)
            objects = FleetObjects(own, options.namespace, name)
            return FleetLoop(objects, means, clock, observing.telemetry)

        made = Controller(
            own,
            clock,
            options.namespace,
            leadership,
            open_loop,
            observing.telemetry,
            unguarded,
            hooks.refresh,
        )
        observing.attach(made, lambda text: _redacted(made, text))
        if options.probes is not None:
            observing.serve_probes(*options.probes)
        if options.webhook is not None:
            observing.serve_webhook(*options.webhook, hooks.of, made.wake)
        try:
            yield made
        finally:
            stop.set()
            for loop in made.loops.values():
                loop.close()
            observing.close(_CLOSING)


def _redacted(made: Controller, text: str) -> str:
    for loop in tuple(made.loops.values()):
        text = loop.redact(text)
    return text


def run_controller(options: Options, stream: TextIO, stop: threading.Event) -> None:
    """Until `stop` is set. Raises GitopsMcError for what cannot be right; where the lease is lost the process ends at once."""
    clock = _clock_of(options.home, stop)
    observing = Observing(stream, clock, options.namespace, options.identity)
    begun = time.monotonic()
    take_over(observing.log)
    with controller(options, clock, observing, stop) as made:
        observing.log.tell(ControllerStarted(version=__version__, identity=options.identity))
        try:
            made.run(stop.is_set)
        except LeadershipLostError as error:
            observing.telemetry.lost(error.message)
            _end_at_once()
    seconds = round(time.monotonic() - begun, 1)
    observing.log.tell(ControllerStopped(reason="the end was asked for", seconds=seconds))


def _clock_of(home: Home, stop: threading.Event) -> Clock:
    """The machine's time, or that of a sandbox."""
    match home:
        case InCluster():
            return SystemClock(stop)
        case GatewayAccess() | KubeconfigAccess():
            return clock_of(home, stop)
