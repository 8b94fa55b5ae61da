"""Real clusters' API servers on loopback: one etcd, and one kube-apiserver per cluster under a prefix of its own."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import urllib3
import yaml

from gitops_mc.app.ports import JSON, MERGE_PATCH, Request
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject
from tests.apiserver import rights
from tests.apiserver.binaries import Binaries
from tests.apiserver.carrier import RealServer
from tests.apiserver.processes import Child, StartError, free_port, on_free_ports, start

_READY_WITHIN = 60.0
_SERVED_WITHIN = 30.0
"""From a definition's creation until its kind is served."""
_LOOK_AGAIN = 0.05
_KEY_BITS = 2048
DEFINITIONS = Path(__file__).parent / "crds"
_CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_MACHINE_GROUP = "machineconfiguration.alauda.io"


class RealClusters:
    """The API servers by cluster name, on one etcd. Use it from the main thread: the processes end with the thread that
    started them.
    """

    def __init__(self, binaries: Binaries, folder: Path) -> None:
        """Starts etcd. `folder` keeps data, certificates and logs. Raises StartError."""
        self.version = binaries.version
        self.servers: dict[str, RealServer] = {}
        self._binaries = binaries
        self._folder = folder
        self._children: list[Child] = []
        etcd, etcd_port = on_free_ports(partial(_etcd, binaries, folder))
        self._children.append(etcd)
        self._shared = _Shared(etcd_port, _token_file(folder), _service_account_key(folder))

    def start(self, *names: str) -> float:
        """Start these side by side, those that run already left alone, and wait until they serve what the platform's
        clusters serve before anything is installed. Returns how many seconds that took. Raises StartError.
        """
        begun = time.monotonic()
        started = {name: self._start(name) for name in names if name not in self.servers}
        for name in tuple(started):
            server = on_free_ports(partial(self._up, name, started))
            _furnish(server)
            self.servers[name] = server
        return time.monotonic() - begun

    def _start(self, name: str) -> tuple[Child, RealServer]:
        port, certificates = free_port(), self._folder / name
        command = _command(self._binaries, name, port, self._shared, certificates)
        child = start(f"kube-apiserver-{name}", command, self._folder / f"{name}.log")
        self._children.append(child)
        return child, RealServer(name, f"https://127.0.0.1:{port}", certificates / "apiserver.crt")

    def _up(self, name: str, started: dict[str, tuple[Child, RealServer]]) -> RealServer:
        """The one that was started, or where that has failed here before, another one in its place."""
        child, server = started.pop(name) if name in started else self._start(name)
        try:
            child.await_ready(partial(_ready, server), _READY_WITHIN)
        except StartError:
            self._children.remove(child)
            child.stop()
            server.close()
            raise
        return server

    def stop(self) -> None:
        for server in self.servers.values():
            server.close()
        for child in reversed(self._children):
            child.stop()

    @property
    def data(self) -> Path:
        """Where etcd keeps its data."""
        return self._folder / "etcd"

    def kill(self, *names: str) -> None:
        """End these clusters' API servers by SIGKILL; without a name: etcd."""
        for child in self._named(names):
            child.process.kill()
            child.process.wait()

    def revive(self, *names: str) -> None:
        """Start again what was killed, as it was, and wait until the API servers are ready. Raises StartError."""
        again = [(child, child.again()) for child in self._named(names)]
        self._children = [next((new for old, new in again if old is c), c) for c in self._children]
        for name, (_, child) in zip(names, again, strict=False):
            child.await_ready(partial(_ready, self.servers[name]), _READY_WITHIN)

    @property
    def kubectl(self) -> Path:
        """The one that was built with the servers."""
        return self._binaries.kubectl

    def _named(self, names: tuple[str, ...]) -> list[Child]:
        wanted = {f"kube-apiserver-{name}" for name in names} or {"etcd"}
        return sorted((c for c in self._children if c.name in wanted), key=lambda c: c.name)

    def last_words(self) -> str:
        """The end of every process' log, for the report of a test that failed."""
        return "\n".join(child.last_words() for child in self._children)

    def processes(self) -> Mapping[str, int]:
        """Process ids by name."""
        return {child.name: child.process.pid for child in self._children}

    def memory(self) -> Mapping[str, int]:
        """MiB that each process holds."""
        found = {}
        for name, pid in self.processes().items():
            status = Path(f"/proc/{pid}/status").read_text()
            kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
            found[name] = int(kib) // 1024
        return found


@dataclass(frozen=True, slots=True)
class _Shared:
    """What all API servers have in common."""

    etcd_port: int
    tokens: Path
    key: Path


def _etcd(binaries: Binaries, folder: Path) -> tuple[Child, int]:
    """It, ready, and its port."""
    port = free_port()
    client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{free_port()}"
    command = [
        str(binaries.etcd),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]
    child = start("etcd", command, folder / "etcd.log")
    pool = urllib3.PoolManager(retries=False)

    def healthy() -> bool:
        try:
            return pool.request("GET", f"{client}/health", timeout=1).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    try:
        child.await_ready(healthy, _READY_WITHIN)
    except StartError:
        child.stop()
        raise
    return child, port


def _command(binaries: Binaries, name: str, port: int, shared: _Shared, certificates: Path) -> list[str]:
    """Everything is served as by default: switching APIs off changes answers that are compared here."""
    return [
        str(binaries.kube_apiserver),
        f"--etcd-servers=http://127.0.0.1:{shared.etcd_port}",
        f"--etcd-prefix=/{name}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={certificates}",  # it makes its own certificate there
        "--authorization-mode=RBAC",
        f"--token-auth-file={shared.tokens}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={shared.key}",
        f"--service-account-signing-key-file={shared.key}",
        "--service-cluster-ip-range=10.96.0.0/24",
        "--endpoint-reconciler-type=none",
        "--profiling=false",
    ]


def _token_file(folder: Path) -> Path:
    file = folder / "tokens.csv"
    file.touch(mode=0o600)
    file.write_text("".join(f"{line}\n" for line in rights.token_lines()))
    return file


def _service_account_key(folder: Path) -> Path:
    """What service account tokens are signed with; nobody here uses one, but the server wants it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise StartError("openssl is not on the PATH; the API server's service account key is made with it")
    file = folder / "service-accounts.key"
    subprocess.run(
        [openssl, "genrsa", "-out", str(file), str(_KEY_BITS)], check=True, capture_output=True, timeout=60
    )
    return file


def _ready(server: RealServer) -> bool:
    try:
        return server.ready()
    except (urllib3.exceptions.HTTPError, ssl.SSLError, FileNotFoundError):
        return False


# -------------------------------------------------------------------------------------- what a cluster begins with


def _furnish(server: RealServer) -> None:
    """What stands on a cluster of the platform before anybody does anything: namespaces, rights, definitions."""
    for body in (_namespace("cpaas-system"), *rights.roles(server.cluster)):
        server.create(body)
    install(server, *(d for d in definitions() if _from_the_start(d, server.cluster)))


def _namespace(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def definitions() -> tuple[JsonObject, ...]:
    return tuple(yaml.safe_load(file.read_text()) for file in sorted(DEFINITIONS.glob("*.yaml")))


def machine_definitions() -> tuple[JsonObject, ...]:
    """What the machine-config plugin brings along."""
    return tuple(d for d in definitions() if d["spec"]["group"] == _MACHINE_GROUP)


def _from_the_start(definition: JsonObject, cluster: str) -> bool:
    group = definition["spec"]["group"]
    if group == _MACHINE_GROUP:
        return False
    return group == "operator.alauda.io" or cluster == GLOBAL_CLUSTER


def install(server: RealServer, *wanted: JsonObject) -> None:
    """Create definitions and wait until their kinds are served. One that is there already stays."""
    for definition in wanted:
        request = Request("POST", _CRD_PATH, body=server.encode(definition), content_type=JSON)
        answer = server.as_admin(request)
        if answer.status not in (201, 409):
            raise StartError(f"{definition['metadata']['name']}: {answer.body.decode()}")
    end = time.monotonic() + _SERVED_WITHIN
    for definition in wanted:
        spec = definition["spec"]
        path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
        while server.as_admin(Request("GET", path, query=(("limit", "1"),))).status != 200:
            if time.monotonic() > end:
                raise StartError(f"{path} of {server.cluster} is not served after {_SERVED_WITHIN:.0f} s")
            time.sleep(_LOOK_AGAIN)


# ----------------------------------------------------------------------------------------- back to the beginning

_SYSTEM = "/namespaces/cpaas-system"
_LEFT_BEHIND = (
    "/apis/cluster.alauda.io/v1alpha1/moduleinfoes",
    "/apis/cluster.alauda.io/v1alpha1/moduleconfigs",
    "/apis/cluster.alauda.io/v1alpha1/moduleplugins",
    "/apis/platform.tkestack.io/v1/clusters",
    f"/apis/operator.alauda.io/v1alpha1{_SYSTEM}/appreleases",
    f"/apis/apps/v1{_SYSTEM}/deployments",
    f"/apis/apps/v1{_SYSTEM}/daemonsets",
    "/api/v1/nodes",
)


def clear(server: RealServer) -> None:
    """Take away what a fleet has made there, the machine APIs among it, and wait until it is gone."""
    for path in _LEFT_BEHIND:
        answer = server.as_admin(Request("GET", path))
        for item in json.loads(answer.body)["items"] if answer.status == 200 else ():
            _delete(server, path, item)
    for definition in machine_definitions():
        server.as_admin(Request("DELETE", f"{_CRD_PATH}/{definition['metadata']['name']}"))
    end = time.monotonic() + _SERVED_WITHIN
    while any(_is_there(server, d) for d in machine_definitions()):
        if time.monotonic() > end:
            raise StartError(
                f"the machine APIs of {server.cluster} are still served after {_SERVED_WITHIN:.0f} s"
            )
        time.sleep(_LOOK_AGAIN)


def _delete(server: RealServer, path: str, item: JsonObject) -> None:
    meta = item["metadata"]
    if meta.get("finalizers"):
        body = server.encode({"metadata": {"finalizers": None}})
        server.as_admin(Request("PATCH", f"{path}/{meta['name']}", body=body, content_type=MERGE_PATCH))
    now = server.encode({"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
    server.as_admin(Request("DELETE", f"{path}/{meta['name']}", body=now))


def _is_there(server: RealServer, definition: JsonObject) -> bool:
    spec = definition["spec"]
    path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
    named = f"{_CRD_PATH}/{definition['metadata']['name']}"
    return any(server.as_admin(Request("GET", p)).status != 404 for p in (named, path))
