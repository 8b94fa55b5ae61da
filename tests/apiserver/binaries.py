"""The real API server and its etcd, built once from the pinned modules beside this file and kept in the user's cache.

The folder's name is a checksum of everything that decides what is built, so a new pin is a new folder and an old one is
never taken for it. A build that dies leaves nothing under that name.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.apiserver.processes import tethered

HERE = Path(__file__).parent
SOURCES = ("go.mod", "go.sum", "etcd/main.go")
PACKAGES = ("./etcd", "k8s.io/kubernetes/cmd/kube-apiserver", "k8s.io/kubernetes/cmd/kubectl")
GET_GO = (
    "Get it from https://go.dev/dl/ (or apt-get install golang-go; 1.21 or newer fetches the release that go.mod asks "
    "for by itself), put it on the PATH, and run `make test-apiserver` again."
)


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


class NotBuiltError(Exception):
    """There is no API server to run; says why, and what to do about it."""


def built() -> Binaries | None:
    """The binaries of these sources, if they stand in the cache."""
    folder = _cache() / _checksum()
    return Binaries(folder, kubernetes_version()) if folder.is_dir() else None


def build() -> Binaries:
    """The binaries, built now where they are not there: about five minutes and 2 GB of memory on two cores.

    Raises NotBuiltError.
    """
    if (ready := built()) is not None:
        return ready
    go = shutil.which("go")
    if go is None:
        raise NotBuiltError(f"Go is not on the PATH, so no API server can be built. {GET_GO}")
    cache = _cache()
    cache.mkdir(parents=True, exist_ok=True)
    with _alone(cache):
        if (ready := built()) is not None:  # somebody else has built it while this one waited
            return ready
        _build_into(cache / _checksum(), go)
    return Binaries(cache / _checksum(), kubernetes_version())


def kubernetes_version() -> str:
    found = re.search(r"^\s*k8s\.io/kubernetes (v\S+)", (HERE / "go.mod").read_text(), flags=re.MULTILINE)
    assert found is not None, "go.mod pins k8s.io/kubernetes"
    return found[1]


def _build_into(folder: Path, go: str) -> None:
    for left_over in folder.parent.glob("building-*"):  # by a build that was killed; nobody else builds now
        shutil.rmtree(left_over)
    work = Path(tempfile.mkdtemp(prefix="building-", dir=folder.parent))
    command = [go, "build", "-trimpath", "-ldflags", _linked(), "-o", f"{work}/", *PACKAGES]
    _tell(f"building kube-apiserver {kubernetes_version()}, kubectl and etcd into {folder}")
    begun = time.monotonic()
    env = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false"}
    done = subprocess.run(
        tethered(["nice", "-n", "10", *command]),
        cwd=HERE,
        env=env,
        check=False,
        text=True,
        capture_output=True,
    )
    if done.returncode:
        shutil.rmtree(work)
        told = "\n".join(done.stderr.splitlines()[-20:])
        raise NotBuiltError(
            f"the API server could not be built; go said:\n{told}\n"
            "The modules come from the Go module proxy (GOPROXY names it): can this machine reach it?"
        )
    (work / "built-with").write_text(_said([go, "version"]))
    work.rename(folder)
    _tell(f"built in {time.monotonic() - begun:.0f} s")


def _linked() -> str:
    """Linker flags: no debug tables, and the version that Kubernetes' own build scripts put in."""
    version = kubernetes_version()
    major, minor, _ = version.removeprefix("v").split(".", 2)
    told = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(["-s -w", *(f"-X {p}.{key}={value}" for p in packages for key, value in told.items())])


def _checksum() -> str:
    digest = hashlib.sha256()
    for name in SOURCES:
        digest.update((HERE / name).read_bytes())
    digest.update(f"{PACKAGES} {_linked()} {sys.platform} {platform.machine()}".encode())
    return digest.hexdigest()[:16]


def _cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "gitops-mc" / "apiserver"


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """Only one process builds at a time; the lock ends with its holder."""
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _said(command: list[str]) -> str:
    return subprocess.run(command, check=True, text=True, capture_output=True).stdout


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
