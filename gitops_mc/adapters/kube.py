"""The Transport port over the official Kubernetes client's connections.

The client brings what is hard to get right (kubeconfig, credential plugins, TLS set-up); requests and answers go through
its urllib3 pool as bytes, because its typed calls parse and re-encode bodies and refuse a JSON patch given as bytes.
Its retries and redirects are off. Proxies named in the environment are not used; give `proxy`, or `proxy-url` in the
kubeconfig.
"""

from __future__ import annotations

import threading
from enum import Enum
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from gitops_mc.adapters.kube_config_file import check_kubeconfig, shown, unusable
from gitops_mc.adapters.kube_token import Stamp, TokenFile, checked_token
from gitops_mc.adapters.kube_wire import LARGEST_ANSWER, Wire, configuration
from gitops_mc.adapters.named_files import NamedFile, ca_file, kubeconfig_file, token_file
from gitops_mc.core.errors import UsageError
from gitops_mc.core.model import GLOBAL_CLUSTER

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gitops_mc.app.ports import Request, Response


class _WithToken:
    """Calls with a bearer token from a file, over one pool."""

    def __init__(self, token: Path | NamedFile, wire: Wire) -> None:
        self._token = TokenFile(token if isinstance(token, NamedFile) else token_file(token))
        self._token.value()
        self._wire = wire

    def _carry(self, call: str, url: str, request: Request, timeout: float) -> Response:
        """A 401 is answered once by reading the token file again, if that brings another token."""
        token = self._token.value()
        answer = self._wire.carry(call, url, request, f"Bearer {token}", timeout=timeout)
        if answer.status != 401:
            return answer
        renewed = self._token.read_again()
        if renewed == token:
            return answer
        return self._wire.carry(call, url, request, f"Bearer {renewed}", timeout=timeout)

    def close(self) -> None:
        """Drop the connections kept alive."""
        self._wire.close()


class GatewayTransport(_WithToken):
    """Every cluster under one address: `<url>/kubernetes/<cluster>/...` (ACP docs: the global cluster's gateway)."""

    def __init__(
        self,
        url: str,
        token: Path | NamedFile,
        ca: Path | NamedFile | None = None,
        *,
        connections: int = 32,
        proxy: str = "",
        largest_answer: int = LARGEST_ANSWER,
    ) -> None:
        """`connections` are kept alive and shared by all clusters; `ca` None: the system's CAs.

        The token file is read now, when it has changed, and after a 401. Raises UsageError.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username:
            raise UsageError(
                f"the gateway's address {parts.scheme}://{parts.hostname}: give https://<host>[:port]",
                hint="the address of the platform; clusters are below /kubernetes/<cluster>",
            )
        self._url = url.rstrip("/")
        super().__init__(token, _wire(self._url, ca, connections, proxy, largest_answer))

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        """As the port promises."""
        url = f"{self._url}/kubernetes/{quote(cluster, safe='')}{request.path}"
        return self._carry(f"{cluster}: {request.method} {request.path}", url, request, timeout)


class ServerTransport(_WithToken):
    """Global alone, by the address of its API server: what a process in that cluster has."""

    def __init__(self, url: str, token: Path, ca: Path, *, connections: int = 8, proxy: str = "") -> None:
        """The token file is read now, when it has changed, and after a 401. Raises UsageError."""
        self._url = url.rstrip("/")
        super().__init__(token, _wire(self._url, ca, connections, proxy, LARGEST_ANSWER))

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        """As the port promises. Raises UsageError for any other cluster."""
        if cluster != GLOBAL_CLUSTER:
            raise UsageError(
                f"no way to cluster {cluster} is known",
                hint="name the platform's gateway, or a kubeconfig for each cluster, in spec.clusters of the Fleet",
            )
        url = f"{self._url}{request.path}"
        return self._carry(f"{cluster}: {request.method} {request.path}", url, request, timeout)


def _wire(url: str, ca: Path | NamedFile | None, connections: int, proxy: str, largest: int) -> Wire:
    if ca is None:
        return Wire(configuration(url, None, connections, proxy), "the system's CAs", largest)
    file = ca if isinstance(ca, NamedFile) else ca_file(ca)
    if not file.path.is_file():
        raise UsageError(f"{file} is not there", hint=file.hint)
    return Wire(configuration(url, file.path, connections, proxy), f"the CAs in {file}", largest)


class Others(Enum):
    """Clusters that no context is named for."""

    NOT_REACHED = "not reached"
    NAMED_LIKE_THEM = "by the context that is named like them"


class KubeconfigTransport:
    """A context of one kubeconfig per cluster, each with its own address, CA and credentials.

    A context is set up on first use, and again when the kubeconfig changes or the server answers 401.
    """

    def __init__(
        self,
        kubeconfig: Path | NamedFile,
        contexts: Mapping[str, str],
        *,
        others: Others = Others.NOT_REACHED,
        connections: int = 8,
        largest_answer: int = LARGEST_ANSWER,
    ) -> None:
        """`contexts` by cluster name, `""`: the file's current one; `connections` are kept alive per cluster. Raises UsageError."""
        self._kubeconfig = kubeconfig if isinstance(kubeconfig, NamedFile) else kubeconfig_file(kubeconfig)
        check_kubeconfig(self._kubeconfig)
        self._contexts = dict(contexts)
        self._others = others
        self._connections = connections
        self._largest = largest_answer
        self._open: dict[str, _Context] = {}
        self._lock = threading.Lock()

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        """As the port promises; after a 401 the context is read again once, if that brings other credentials."""
        call = f"{cluster}: {request.method} {request.path}"
        context = self._context(cluster)
        used = context.authorization()
        answer = context.wire.carry(call, context.url + request.path, request, used, timeout=timeout)
        if answer.status != 401:
            return answer
        self._forget(cluster, context)
        context = self._context(cluster)
        renewed = context.authorization()
        if renewed == used:
            return answer
        return context.wire.carry(call, context.url + request.path, request, renewed, timeout=timeout)

    def close(self) -> None:
        """Drop the connections kept alive."""
        with self._lock:
            for context in self._open.values():
                context.wire.close()
            self._open.clear()

    def _forget(self, cluster: str, context: _Context) -> None:
        with self._lock:
            if self._open.get(cluster) is context:
                del self._open[cluster]

    def _context(self, cluster: str) -> _Context:
        named = self._contexts.get(cluster, cluster if self._others is Others.NAMED_LIKE_THEM else None)
        if named is None:
            known = ", ".join(sorted(self._contexts)) or "none"
            raise UsageError(
                f"no kubeconfig context is named for cluster {cluster} (named: {known})",
                hint=f"add a context of {self._kubeconfig} for it",
            )
        stamp = Stamp.of(self._kubeconfig.path)
        with self._lock:
            found = self._open.get(cluster)
        if found is not None and stamp in (None, found.stamp):
            return found
        # outside the lock: a credential plugin may take its time, and must not keep the other clusters waiting
        made = _Context(self._kubeconfig, named, stamp, self._connections, self._largest)
        with self._lock:
            self._open[cluster] = made
        return made


class _Context:
    """One context of a kubeconfig: address, pool, and credentials that may expire and be renewed by a plugin."""

    def __init__(
        self, kubeconfig: NamedFile, context: str, stamp: Stamp | None, connections: int, largest: int
    ) -> None:
        from kubernetes.config import ConfigException, kube_config  # noqa: PLC0415 - half a second, only where it is used
        from yaml import YAMLError  # noqa: PLC0415 - what the client's loader raises

        self.stamp = stamp
        self._named = f"{shown(context)} of {kubeconfig}"
        self._hint = kubeconfig.hint
        self._lock = threading.Lock()
        self._settings = configuration("", None, connections, "")
        try:
            kube_config.load_kube_config(  # type: ignore[no-untyped-call]
                config_file=str(kubeconfig.path),
                context=context or None,
                client_configuration=self._settings,
                persist_config=False,
            )
        except (
            ConfigException,
            YAMLError,
            OSError,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
        ) as error:
            # a damaged kubeconfig surfaces as any of these
            raise unusable(kubeconfig, context, error) from None
        self.url = self._settings.host.rstrip("/")
        if not self.url:
            raise unusable(kubeconfig, context, None)
        self.wire = Wire(self._settings, f"the CA of {self._named}", largest)

    def authorization(self) -> str:
        """Value of the Authorization header, or `""` (client certificates). Runs the credential plugin when it has expired."""
        with self._lock:
            settings = self._settings.auth_settings()
        found = settings.get("BearerToken", {}).get("value") or ""
        return checked_token(found, f"the token of {self._named}", self._hint) if found else ""
