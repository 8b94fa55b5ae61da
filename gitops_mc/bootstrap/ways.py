"""Ways to the clusters of a Fleet: one for all, and those of clusters that have one of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gitops_mc.adapters.kube import KubeconfigTransport
from gitops_mc.adapters.kube_embedded import HINT
from gitops_mc.adapters.named_files import NamedFile
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.errors import UnreachableError


class Way(Transport, Protocol):
    """A transport with connections that are kept alive."""

    def close(self) -> None:
        """Drop them."""
        ...


@dataclass(frozen=True, slots=True)
class ByCluster:
    """Clusters with a way of their own, and one for all others."""

    ways: Mapping[str, Transport]
    other: Transport

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        """As the port promises."""
        return self.ways.get(cluster, self.other).send(cluster, request, timeout=timeout)


@dataclass(slots=True)
class OwnWay:
    """The way to one cluster by a kubeconfig of its own, in a Secret. What is wrong with that is wrong with this cluster alone: it
    does not answer, and says why; the others go on, and it does, too, once the Secret is put right.
    """

    cluster: str
    called: str
    """The Secret and its key, in words."""
    problem: str = ""
    """Why there is no way now."""
    _inner: KubeconfigTransport | None = None

    def use(self, file: Path) -> None:
        """The kubeconfig is there, in this file, which is read again when it changes. Raises UsageError."""
        if self._inner is None:
            self._inner = KubeconfigTransport(NamedFile(file, self.called, HINT), {self.cluster: ""})
        self.problem = ""

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        """As the port promises. Raises UnreachableError where there is no way."""
        if self.problem or self._inner is None:
            raise UnreachableError(
                f"{cluster} cannot be reached: {self.problem or 'its kubeconfig was not read yet'}"
            )
        return self._inner.send(cluster, request, timeout=timeout)

    def close(self) -> None:
        """Drop its connections."""
        if self._inner is not None:
            self._inner.close()
