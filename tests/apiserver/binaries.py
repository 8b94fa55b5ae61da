"""The real API server and its etcd, built once from the pinned modules beside this file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.apiserver.building import NotBuiltError, Recipe, pinned

__all__ = ["Binaries", "NotBuiltError", "build", "built", "kubernetes_version"]

HERE = Path(__file__).parent
PACKAGES = ("./etcd", "k8s.io/kubernetes/cmd/kube-apiserver", "k8s.io/kubernetes/cmd/kubectl")


@dataclass(frozen=True, slots=True)
class Binaries:
    """What has been built."""

    folder: Path
    version: str
    """Of Kubernetes, as the server says it: `v1.36.3`."""

    @property
    def kube_apiserver(self) -> Path:
        return self.folder / "kube-apiserver"

    @property
    def kubectl(self) -> Path:
        return self.folder / "kubectl"

    @property
    def etcd(self) -> Path:
        return self.folder / "etcd"


def built() -> Binaries | None:
    """The binaries of these sources, if they stand in the cache."""
    folder = _recipe().built()
    return None if folder is None else Binaries(folder, kubernetes_version())


def build() -> Binaries:
    """The binaries, built now where they are not there: about five minutes and 2 GB of memory on two cores.

    Raises NotBuiltError.
    """
    return Binaries(_recipe().build(), kubernetes_version())


def kubernetes_version() -> str:
    return pinned(HERE, "k8s.io/kubernetes")


def _recipe() -> Recipe:
    version = kubernetes_version()
    return Recipe(
        name="apiserver",
        what="the API server",
        told=f"kube-apiserver {version}, kubectl and etcd",
        sources=HERE,
        more_sources=("etcd/main.go",),
        packages=PACKAGES,
        linked=_linked(version),
        again="make test-apiserver",
    )


def _linked(version: str) -> str:
    """Linker flags: no debug tables, and the version that Kubernetes' own build scripts put in."""
    major, minor, _ = version.removeprefix("v").split(".", 2)
    told = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(["-s -w", *(f"-X {p}.{key}={value}" for p in packages for key, value in told.items())])
