"""The controller as deploy/ installs it on real API servers: the objects applied by kubectl, the process with the token of
its ServiceAccount, the clusters behind a gateway.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

from gitops_mc.adapters.system import ScaledClock
from gitops_mc.app.ports import JSON, Request
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject
from gitops_mc.sandbox.apiserver import User
from gitops_mc.sandbox.behind import Server
from gitops_mc.sandbox.fleet import FleetSpec, SandboxFleet, simple_fleet
from gitops_mc.sandbox.gateway import start
from gitops_mc.sandbox.running import run_in_thread
from gitops_mc.sandbox.site import ClusterSpec
from tests.adapters.git_servers import CA
from tests.adapters.kube_peers import TLS
from tests.apiserver.carrier import RealServer
from tests.apiserver.clusters import RealClusters
from tests.apiserver.ground import check, real_ground
from tests.apiserver.processes import Child
from tests.apiserver.rights import ADMIN, GATEWAY
from tests.deploy.controller import NAMESPACE, running
from tests.deploy.recording import Recording
from tests.deploy.rendering import DEPLOY
from tests.scenarios.rollout_world import GROUND

SPEED = 60
EDGES = ("edge-1", "edge-2")
_WITHIN = 90.0
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:gitops-mc"
_OF_OURS = (
    "fleets.gitops-mc.io",
    "clusterrollouts.gitops-mc.io",
    "leases",
    "events",
    "secrets",
    "configmaps",
)
_IN_CLUSTER = (
    "import sys; from pathlib import Path; import gitops_mc.bootstrap.controller as c; "
    "c._SERVICE_ACCOUNT = Path(sys.argv.pop(1)); from gitops_mc.cli import main; main()"
)
"""The program as it runs in a pod, but for the folder that the kubelet mounts, which no test can make."""


@dataclass(frozen=True, slots=True)
class Administrator:
    """Somebody with kubectl and all rights on one cluster."""

    program: Path
    kubeconfig: Path

    def said(self, *words: str, stdin: str = "") -> str:
        """What it prints, word for word. It has to end well."""
        code, out, err = self.tried(*words, stdin=stdin)
        assert code == 0, f"kubectl {' '.join(words)}: {err}{out}"
        return out

    def tried(self, *words: str, stdin: str = "") -> tuple[int, str, str]:
        done = subprocess.run(
            [str(self.program), f"--kubeconfig={self.kubeconfig}", *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def read(self, *words: str) -> JsonObject:
        found: JsonObject = json.loads(self.said("-n", NAMESPACE, "get", *words, "-o", "json"))
        return found

    def apply(self, body: JsonObject) -> None:
        self.said("apply", "--server-side", "--validate=strict", "-f", "-", stdin=json.dumps(body))


def administrator(clusters: RealClusters, cluster: str, folder: Path) -> Administrator:
    server, name = clusters.servers[cluster], f"{cluster}.kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "c",
                "cluster": {"server": server.url, "certificate-authority": str(server.ca_file)},
            }
        ],
        "users": [{"name": "u", "user": {"token": ADMIN.token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": NAMESPACE}}],
        "current-context": "x",
    }
    (folder / name).write_text(yaml.safe_dump(config))
    return Administrator(clusters.kubectl, folder / name)


def install(clusters: RealClusters, folder: Path) -> Administrator:
    """Apply deploy/base to global and deploy/workload to the others, and take away what an earlier test has left of ours."""
    clusters.start(GLOBAL_CLUSTER, *EDGES)
    here = administrator(clusters, GLOBAL_CLUSTER, folder)
    here.said("apply", "--validate=strict", "-k", str(DEPLOY / "base"))
    here.said("wait", "--for=condition=Established", "--timeout=30s", "-f", str(DEPLOY / "crds"))
    for kind in _OF_OURS:
        here.said("-n", NAMESPACE, "delete", kind, "--all", "--wait=false")
    here.said("-n", "cpaas-system", "delete", "configmap", "gitops-mc-installation", "--ignore-not-found")
    for name in EDGES:
        administrator(clusters, name, folder).said("apply", "-k", str(DEPLOY / "workload"))
    return here


@dataclass
class Installed:
    """A platform with the controller installed, and a fleet of clusters that it may follow."""

    admin: Administrator
    fleet: SandboxFleet
    gateway: str
    recording: Recording
    folder: Path
    front: str
    """Address of global's API server, for the controller."""
    token: str
    """Of the controller's ServiceAccount."""

    @contextmanager
    def controller(self, **environment: str) -> Iterator[Child]:
        """The process, as it runs in its pod."""
        account = self.folder / "serviceaccount"
        account.mkdir(exist_ok=True)
        (account / "token").write_text(self.token)
        (account / "ca.crt").write_bytes(CA)
        at = urlsplit(self.front)
        pod = {
            "KUBERNETES_SERVICE_HOST": str(at.hostname),
            "KUBERNETES_SERVICE_PORT": str(at.port),
            "GITOPS_MC_IDENTITY": "gitops-mc-0",
            "GITOPS_MC_NAMESPACE": NAMESPACE,
        }
        program = (sys.executable, "-c", _IN_CLUSTER, str(account), "controller")
        with running(self.folder, program=program, environment={**pod, **environment}) as child:
            yield child

    def secret(self, name: str, data: Mapping[str, str]) -> None:
        meta = {"name": name, "namespace": NAMESPACE}
        self.admin.apply({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": dict(data)})

    def follow(self, source: JsonObject) -> None:
        """A Fleet of this source, called prod."""
        self.secret("fleet-gateway", {"token": GATEWAY.token})
        gateway = {"url": self.gateway, "tokenRef": {"name": "fleet-gateway", "key": "token"}}
        self.admin.apply(
            {
                "apiVersion": "gitops-mc.io/v1alpha1",
                "kind": "Fleet",
                "metadata": {"name": "prod", "namespace": NAMESPACE},
                "spec": {"source": {"interval": "5s", **source}, "clusters": {"gateway": gateway}},
            }
        )

    def outlook(self, commit: str) -> str:
        """What the Fleet says once it follows this commit."""
        status = self.admin.read("fleet", "prod").get("status") or {}
        return str(status.get("outlook")) if (status.get("source") or {}).get("commit") == commit else ""

    def until(self, so: Callable[[], bool], child: Child) -> None:
        end = time.monotonic() + _WITHIN
        while not so():
            assert child.process.poll() is None, child.last_words()
            if time.monotonic() > end:
                told = self.admin.said("-n", NAMESPACE, "describe", "fleet,clusterrollout")
                raise AssertionError(f"{told}\n{child.last_words()}")
            time.sleep(0.3)


@contextmanager
def installed(clusters: RealClusters, folder: Path) -> Iterator[Installed]:
    """global and two clusters, each with a master and a worker; the fleet's time runs fast, the controller's does not."""
    admin = install(clusters, folder)
    with real_ground(clusters) as used:
        stop = threading.Event()
        clock = ScaledClock(SPEED, start=GROUND.get().begin, stop=stop)
        edges = simple_fleet(*EDGES, workers=1)
        version = edges.publications[0].version
        here = ClusterSpec(GLOBAL_CLUSTER, masters=1, workers=0, machine_config=version)
        fleet = SandboxFleet(
            FleetSpec((here, *edges.clusters)), clock.now, make_server=GROUND.get().make_server
        )
        thread = run_in_thread(fleet, clock, stop)
        account = admin.said("-n", NAMESPACE, "create", "token", "gitops-mc").strip()
        for server in used:
            if server.cluster == GLOBAL_CLUSTER:
                server.admit(account, User(ACCOUNT))
            else:
                server.admit(GATEWAY.token, User(GATEWAY.user))
        recording = Recording(fleet.servers, {GATEWAY.token: "gateway", account: "controller"})
        gateway = start(recording)
        try:
            with fronted(recording[GLOBAL_CLUSTER]) as front:
                yield Installed(admin, fleet, gateway.url, recording, folder, front, account)
        finally:
            stop.set()
            thread.join(10)
            gateway.stop()
        assert fleet.failures == ()
    check(used)


@contextmanager
def fronted(server: Server) -> Iterator[str]:
    """An address over TLS at which a server answers, so that what is written through it is seen by the fleet's operators."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def _any(self) -> None:
            path, _, query = self.path.partition("?")
            request = Request(
                self.command,
                path,
                tuple(parse_qsl(query, keep_blank_values=True)),
                self.rfile.read(int(self.headers.get("content-length", 0))),
                self.headers.get("content-type", JSON),
                self.headers.get("accept", JSON),
                self.headers.get("authorization", "").removeprefix("Bearer "),
            )
            answer = server.handle(request)
            self.send_response(answer.status)
            for name, value in {**answer.headers, "content-length": str(len(answer.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        do_GET = do_POST = do_PATCH = do_DELETE = _any  # noqa: N815 - the library's names

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "here.pem")
    listening.socket = context.wrap_socket(listening.socket, server_side=True)
    threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"https://127.0.0.1:{listening.server_address[1]}"
    finally:
        listening.shutdown()
        listening.server_close()


def allowed(server: RealServer, token: str, attributes: Mapping[str, str]) -> bool:
    """What a SelfSubjectAccessReview under this token says."""
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": dict(attributes)},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answer = server.handle(Request("POST", path, body=server.encode(body), token=token))
    assert answer.status == 201, answer.body
    return bool(json.loads(answer.body)["status"]["allowed"])
