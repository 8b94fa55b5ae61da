"""What a Fleet's spec leads to: its repository, and ways to its clusters, with the credentials that it names."""

from __future__ import annotations

import random
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from gitops_mc.adapters.certificates import are_certificates
from gitops_mc.adapters.git_access import Access as GitAccess
from gitops_mc.adapters.git_access import Called, Credentials, Trust, credentials_of, key_of, token_of
from gitops_mc.adapters.git_address import Unprotected, address_of
from gitops_mc.adapters.git_remote import RemoteSource
from gitops_mc.adapters.git_shelf import Shelf
from gitops_mc.adapters.kube import GatewayTransport
from gitops_mc.adapters.kube_config_file import current_token
from gitops_mc.adapters.kube_embedded import embedded
from gitops_mc.adapters.named_files import NamedFile
from gitops_mc.adapters.private_files import PrivateFiles
from gitops_mc.adapters.system import ThreadWorkers
from gitops_mc.app.api import RESOURCES, ClusterApi
from gitops_mc.app.controller.sources import Poller
from gitops_mc.app.executor import Executor
from gitops_mc.app.ports import Clock, Transport
from gitops_mc.app.stopping import ReadOnlyOnce
from gitops_mc.app.telemetry_ports import Credential
from gitops_mc.bootstrap.ways import ByCluster, OwnWay, Way
from gitops_mc.core.custom.fleet_spec import FleetSpec, GatewayRef, GitSource, Ref
from gitops_mc.core.errors import MemoryStoreError, NotFoundError, UsageError
from gitops_mc.core.expiry import Claimed, claimed
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject

_CALLS_AT_ONCE: Final = 32
_MADE_BY: Final[Mapping[str, str]] = {"Secret": "secret generic", "ConfigMap": "configmap"}
"""How kubectl makes one."""
_PUT_A_TOKEN: Final = "put nothing but a bearer token there"  # noqa: S105 - a hint
_GATEWAY: Final = "gateway-"
_KUBECONFIG: Final = "kubeconfig-"


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

    def certificates(self, ref: Ref) -> bytes:
        """What `ca.crt` of a ConfigMap holds. Raises UsageError where that is nothing: none is not the system's."""
        found = self.config(Ref(ref.name, "ca.crt")).get("ca.crt", b"")
        if not are_certificates(found):
            raise UsageError(
                f"ConfigMap {ref.name} has no certificates under ca.crt that can be read",
                hint=self.made("ConfigMap", ref.name, "ca.crt"),
            )
        return found

    def value(self, ref: Ref) -> bytes:
        """One key of a Secret. Raises UsageError where it is not there."""
        held = self.secret(ref)
        if ref.key not in held:
            there = ", ".join(sorted(held)) or "none"
            raise UsageError(f"Secret {ref.name} has no key {ref.key}", hint=f"its keys: {there}")
        return held[ref.key]

    def made(self, kind: str, name: str, key: str) -> str:
        """The command that makes one."""
        return f"kubectl -n {self.namespace} create {_MADE_BY[kind]} {name} --from-file={key}=FILE"

    def _read(self, kind: str, ref: Ref) -> JsonObject:
        try:
            return self.api.get(GLOBAL_CLUSTER, RESOURCES[kind], ref.name, namespace=self.namespace)
        except NotFoundError as error:
            raise UsageError(
                f"{kind} {ref.name} is not in namespace {self.namespace}",
                hint=self.made(kind, ref.name, ref.key or "KEY"),
            ) from error


def git_access(data: Data, said: GitSource) -> GitAccess:
    """What it takes to be let in to the repository of a Fleet, as it stands in Secrets and ConfigMaps now. Raises GitopsMcError."""
    credentials, called = _git_credentials(data, said)
    ca = data.certificates(said.ca) if said.ca else b""
    trust = None
    if said.signers is not None:
        keys = data.config(said.signers)
        trust = Trust(
            gpg=keys.get("gpg", b""), ssh=keys.get("ssh", b""), held_by=f"ConfigMap {said.signers.name}"
        )
    return GitAccess(credentials, ca, said.known_hosts.encode(), trust, called)


def _git_credentials(data: Data, said: GitSource) -> tuple[Credentials | None, Called]:
    called = Called(
        ca=f"the certificates under ca.crt of ConfigMap {said.ca.name}" if said.ca else "",
        known_hosts="spec.source.knownHosts of the Fleet",
        trust=f"the keys in ConfigMap {said.signers.name}" if said.signers else "",
    )
    if said.credentials is None:
        return None, called
    secret, name = data.secret(said.credentials), said.credentials.name
    under = f"under {key_of(secret)} of Secret {name}"
    return credentials_of(secret, f"Secret {name}"), replace(
        called, credentials=f"the credentials {under}", key=f"the key {under}"
    )


@dataclass(slots=True)
class ProcessMeans:
    """What a Fleet's spec leads to."""

    identity: str
    shelf: Shelf
    unprotected: frozenset[Unprotected]
    home: Transport
    """Unguarded."""
    leave_home: Callable[[], object]
    """Drops the connections of `home`, which nobody else uses."""
    guard: Callable[[Transport], Transport]
    clock: Clock
    data: Data
    files: PrivateFiles
    expires: Callable[[str, Credential, Claimed | None], object]
    """Hears of a Fleet (`<namespace>/<name>`), of a credential, and what that says of its life; None: nothing."""
    _source: RemoteSource | None = None
    """What was made last."""
    _ways: list[Way] = field(default_factory=list)
    """Transports that were made for the clusters of the spec, to be closed with the next ones."""
    _own: dict[str, OwnWay] = field(default_factory=dict)
    """Those of clusters with a kubeconfig."""
    _ends: dict[str, tuple[bytes, Claimed | None]] = field(default_factory=dict)
    """By file: the kubeconfig that was looked at last, and when its token expires. To read hundreds takes a while."""

    @property
    def followed(self) -> Path | None:
        """Where what the Fleet follows has been fetched to; None as long as nothing has been."""
        return self._source.cache if self._source is not None and self._source.brought else None

    def close(self) -> None:
        """Drop every connection."""
        for way in (*self._ways, *self._own.values()):
            way.close()
        self._ways.clear()
        self._own.clear()
        self.leave_home()

    def poller(self, spec: FleetSpec) -> Poller:
        """As the port promises."""
        said = spec.source
        address = address_of(said.url, self.unprotected)
        self._source = source = RemoteSource(
            said.url,
            self.shelf.place(spec.name, address.url, said.ref),
            lambda: self._git_access(spec),
            ref=said.ref,
            folder=said.path,
            unprotected=self.unprotected,
        )
        jitter = random.Random().random  # noqa: S311 - spreads polls, guards nothing
        return Poller(source, said.interval, self.clock, ThreadWorkers(1), jitter)

    def executor(self, spec: FleetSpec) -> Executor:
        """As the port promises."""
        transport = self.guard(self._clusters(spec))
        jitter = random.Random().random  # noqa: S311 - spreads retries, guards nothing
        api = ClusterApi(transport, self.clock, jitter=jitter)
        return Executor(api, self.clock, ThreadWorkers(_CALLS_AT_ONCE), _NoStore())

    def looking(self, spec: FleetSpec) -> Transport:
        """A way to the clusters for whoever only looks, with connections of its own; until `close`. Raises GitopsMcError."""
        return ReadOnlyOnce(self._clusters(spec), lambda: True)

    def tend(self, spec: FleetSpec) -> None:
        """Take over what has been renewed in Secrets. Raises GitopsMcError where one cannot be read."""
        self._written(spec)

    def _git_access(self, spec: FleetSpec) -> GitAccess:
        access = git_access(self.data, spec.source)
        self.expires(spec.title, Credential.GIT, claimed(token_of(access.credentials)))
        return access

    def _clusters(self, spec: FleetSpec) -> Transport:
        """Global is reached as the controller reaches it, unless a kubeconfig says otherwise: the gateway's token needs no
        right there.
        """
        said = spec.clusters
        for own in self._own.values():
            own.close()
        self._own = ways = {
            cluster: OwnWay(cluster, _kubeconfig_called(ref))
            for cluster, ref in (said.kubeconfigs or {}).items()
        }
        files = self._written(spec)
        gateway = None
        if said.gateway is not None:
            gateway = self._gateway(said.gateway, files)
        for way in self._ways:
            way.close()
        self._ways = [] if gateway is None else [gateway]
        if gateway is None:
            return ByCluster(ways, self.home) if ways else self.home
        return ByCluster({GLOBAL_CLUSTER: self.home, **ways}, gateway)

    def _gateway(self, said: GatewayRef, files: Mapping[str, Path]) -> GatewayTransport:
        token, ca = _files_of(said.url)
        in_secret = NamedFile(
            files[token], f"the token under {said.token.key} of Secret {said.token.name}", _PUT_A_TOKEN
        )
        if said.ca is None:
            return GatewayTransport(said.url, in_secret)
        there = f"ca.crt of ConfigMap {said.ca.name}"
        return GatewayTransport(
            said.url,
            in_secret,
            NamedFile(files[ca], there, self.data.made("ConfigMap", said.ca.name, "ca.crt")),
        )

    def _written(self, spec: FleetSpec) -> dict[str, Path]:
        """Secrets as files that only this process may read: transports read them again when they change."""
        said = spec.clusters
        found: dict[str, bytes] = {}
        if said.gateway is not None:
            token, ca = _files_of(said.gateway.url)
            found[token] = self.data.value(said.gateway.token)
            if said.gateway.ca is not None:
                found[ca] = self.data.certificates(said.gateway.ca)
        found |= dict(self._kubeconfigs(said.kubeconfigs or {}))
        files = {name: self.files.write(name, content) for name, content in found.items()}
        for cluster, own in self._own.items():
            if not own.problem and (file := files.get(_file_of(cluster))) is not None:
                own.use(file)
        self._tell_ends(spec.title, found, files)
        return files

    def _kubeconfigs(self, refs: Mapping[str, Ref]) -> Iterator[tuple[str, bytes]]:
        """Those that can be used; why another one cannot is said by its cluster's way. Raises what the API raises: then nobody knows."""
        for cluster, ref in refs.items():
            own = self._own.get(cluster) or OwnWay(cluster, _kubeconfig_called(ref))
            try:
                content = embedded(self.data.value(ref), own.called)
            except UsageError as error:
                own.problem = f"{error.message}; {error.hint}" if error.hint else error.message
                continue
            own.problem = ""
            yield _file_of(cluster), content

    def _tell_ends(self, fleet: str, found: Mapping[str, bytes], files: Mapping[str, Path]) -> None:
        token = next((found[n] for n in found if n.startswith(_GATEWAY)), b"").decode("utf-8", "replace")
        self.expires(fleet, Credential.GATEWAY, claimed(token))
        kubeconfigs = {name: content for name, content in found.items() if name.startswith(_KUBECONFIG)}
        self._ends = {
            name: self._ends[name]
            if name in self._ends and self._ends[name][0] == content
            else (content, claimed(current_token(files[name])))
            for name, content in kubeconfigs.items()
        }
        ends = [end for _, end in self._ends.values() if end is not None]
        self.expires(fleet, Credential.KUBECONFIG, min(ends, key=lambda said: said.expires, default=None))


def _files_of(gateway: str) -> tuple[str, str]:
    """Of its token and its certificates: of this address alone, so that calls which are under way to another one never carry them."""
    name = sha256(gateway.encode()).hexdigest()[:16]
    return f"{_GATEWAY}{name}", f"ca-{name}.crt"


def _kubeconfig_called(ref: Ref) -> str:
    return f"the kubeconfig under {ref.key} of Secret {ref.name}"


def _file_of(cluster: str) -> str:
    """Whatever a Fleet calls a cluster is no path."""
    return f"{_KUBECONFIG}{sha256(cluster.encode()).hexdigest()[:16]}"


class _NoStore:
    """The executor of a controller neither loads nor saves: its loop keeps the memory in objects."""

    def load(self) -> JsonObject | None:
        raise MemoryStoreError("the controller's memory stands in objects")

    def save(self, state: JsonObject) -> None:  # noqa: ARG002 - the port's signature
        raise MemoryStoreError("the controller's memory stands in objects")
