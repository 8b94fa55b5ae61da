"""How long it takes from a push to the first write on a cluster, by its parts: with a webhook, and with the poll alone.

The controller as it is run, its webhook and its gateway on loopback, against an embedded fleet on real time; the repository is on this disk.

.venv/bin/python bench/controller.py
"""

from __future__ import annotations

import io
import json
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from gitops_mc.adapters.system import SystemClock
from gitops_mc.app.log_events import Level
from gitops_mc.app.ports import JSON, Request
from gitops_mc.bootstrap import GatewayAccess
from gitops_mc.bootstrap.controller import Options, controller
from gitops_mc.bootstrap.observing import Observing
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, AcceptedWrite
from gitops_mc.sandbox.options import SandboxOptions
from gitops_mc.sandbox.serving import Serving, serve

ROOT = Path(__file__).parents[1]
ROUNDS = 3
INTERVAL = 10
"""Seconds between two polls, where no webhook comes."""
SECRET = "bench"
GROUP = "/apis/gitops-mc.io/v1alpha1/namespaces/gitops-mc"
PAUSE = threading.Event()
"""Never set: waiting for it is a pause."""
PATIENCE = 180.0
FLEET = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
spec:
  rollout:
    waves: [{name: all, clusters: {}, maxConcurrent: 100}]
  gates:
    pool: {settle: 5s}
"""
PARTS = ("woken, or polled", "read", "decided and kept", "written")


@dataclass
class Bench:
    """One process, its fleet, and its repository."""

    serving: Serving
    repository: Path
    hook: str
    log: list[dict[str, Any]] = field(default_factory=list)
    poller: Callable[[], Any] = lambda: None

    def call(self, method: str, path: str, body: Any = None, kind: str = JSON) -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        request = Request(method, path, (("fieldManager", "bench"),), data, kind, token=ADMIN_TOKEN)
        answer = self.serving.fleet.servers["global"].handle(request)
        assert answer.status < 300, answer.body
        return json.loads(answer.body)

    def push(self, number: int) -> None:
        text = config(number)
        (self.repository / "fleet.yaml").write_text(FLEET)
        for name in self.serving.clusters:
            if name != "global":
                file = self.repository / "clusters" / name / "app.yaml"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
        git(self.repository, "add", "-A")
        git(self.repository, "commit", "-q", "-m", f"round {number}")

    def wake(self) -> None:
        request = urllib.request.Request(self.hook, data=b"{}", headers={"authorization": f"Bearer {SECRET}"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert answer.status < 300

    def known(self) -> bool:
        """Whether the webhook takes what it is sent: secrets are read once a minute."""
        try:
            self.wake()
        except urllib.error.HTTPError:
            return False
        return True

    def writes(self, server: str, since: datetime) -> list[AcceptedWrite]:
        log = self.serving.fleet.servers[server].writes
        return [w for w in log if w.user == "gitops-mc" and w.time >= since]

    def passed(self) -> bool:
        """Whether the newest commit has reached every cluster."""
        status = self.call("GET", f"{GROUP}/fleets/prod").get("status") or {}
        head = git(self.repository, "rev-parse", "HEAD")
        return bool(status.get("outlook") == "done" and status.get("source", {}).get("commit") == head)


def config(number: int) -> str:
    """A file whose change reboots nobody."""
    source = b64encode(f"round {number}\n".encode()).decode()
    return f"""\
apiVersion: machineconfiguration.alauda.io/v1alpha1
kind: MachineConfig
metadata:
  name: 50-worker-app
  labels: {{machineconfiguration.alauda.io/role: worker}}
spec:
  config:
    ignition: {{version: 3.4.0}}
    storage:
      files: [{{path: /etc/app.conf, mode: 0644, contents: {{source: "data:;base64,{source}"}}}}]
"""


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=bench", "-c", "user.email=bench@localhost", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port: int = held.getsockname()[1]
    return port


def until(what: Callable[[], object], told: str) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > end:
            raise SystemExit(f"not within {PATIENCE:.0f} seconds: {told}")
        PAUSE.wait(0.05)


@contextmanager
def running(interval: int) -> Iterator[Bench]:
    """The process, with the Fleet that it follows; it ends with the block."""
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="gitops-mc-bench-") as name:
        folder = Path(name)
        serving = serve(SandboxOptions(clusters=3, nodes=2), SystemClock(stop), 1.0, folder, stop)
        repository, port = folder / "repository", free_port()
        repository.mkdir()
        git(repository, "init", "-q", "-b", "main")
        bench = Bench(serving, repository, f"http://127.0.0.1:{port}/webhook/gitops-mc/prod")
        bench.push(0)
        _objects(bench, interval)
        with _controller(bench, folder, port, stop):
            until(bench.passed, "the first commit has reached every cluster")
            until(bench.known, "the webhook knows its secret")
            yield bench
            stop.set()
        serving.stop()


@contextmanager
def _controller(bench: Bench, folder: Path, port: int, stop: threading.Event) -> Iterator[None]:
    clock = SystemClock(stop)
    (folder / "cache").mkdir()
    options = Options(
        GatewayAccess(bench.serving.url, bench.serving.token_file, None),
        "gitops-mc",
        "bench",
        folder / "cache",
        webhook=("127.0.0.1", port),
        unprotected=frozenset({"file"}),
    )
    observing = Observing(Lines(bench.log), clock, "gitops-mc", "bench", level=Level.DEBUG)
    with controller(options, clock, observing, stop) as made:
        bench.poller = lambda: made.loops["prod"].poller
        thread = threading.Thread(target=made.run, args=(stop.is_set,), daemon=True)
        thread.start()
        yield
        thread.join(timeout=20)


class Lines(io.StringIO):
    """A stream that takes JSON lines apart."""

    def __init__(self, into: list[dict[str, Any]]) -> None:
        super().__init__()
        self.into = into

    def write(self, text: str) -> int:
        self.into += [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return len(text)


def _objects(bench: Bench, interval: int) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for file in sorted((ROOT / "deploy" / "crds").glob("*.yaml")):
        body = yaml.safe_load(file.read_text())
        if body.get("kind") == "CustomResourceDefinition":
            bench.call("POST", definitions, body)
    bench.call("POST", "/api/v1/namespaces", {"metadata": {"name": "gitops-mc"}})
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "hook"},
        "data": {"secret": b64encode(SECRET.encode()).decode()},
    }
    bench.call("POST", "/api/v1/namespaces/gitops-mc/secrets", secret)
    source = {"url": f"file://{bench.repository}", "interval": f"{interval}s"}
    spec = {"source": source, "webhook": {"secretRef": {"name": "hook"}}}
    kind = {"apiVersion": "gitops-mc.io/v1alpha1", "kind": "Fleet", "metadata": {"name": "prod"}}
    bench.call("POST", f"{GROUP}/fleets", {**kind, "spec": spec})


def one_round(bench: Bench, number: int, *, hook: bool) -> list[float]:
    """Seconds of each part, the whole last."""
    bench.push(number)
    commit = git(bench.repository, "rev-parse", "HEAD")
    pushed, lines = datetime.now(UTC), len(bench.log)
    if hook:
        bench.wake()

    def first_write() -> AcceptedWrite | None:
        clusters = [name for name in bench.serving.clusters if name != "global"]
        found = [w for name in clusters for w in bench.writes(name, pushed)]
        return min(found, key=lambda w: w.time, default=None)

    until(first_write, "the first write")
    write = first_write()
    assert write is not None
    own = [w for w in bench.writes("global", pushed) if "gitops-mc.io" in w.resource and w.time <= write.time]
    kept = max((w.time for w in own), default=write.time)
    polls = [x for x in bench.log[lines:] if x["event"] == "poll-done" and commit.startswith(x["revision"])]
    asked = max(pushed, bench.poller().pulled.polled or pushed)
    read = datetime.fromisoformat(polls[0]["time"]) if polls else asked
    until(bench.passed, "the commit has reached every cluster")
    marks = [pushed, asked, read, kept, write.time]
    parts = [(b - a).total_seconds() for a, b in pairwise(marks)]
    return [*parts, (write.time - pushed).total_seconds()]


def main() -> None:
    rows = []
    for told, interval, hook in (("webhook", 3600, True), (f"poll every {INTERVAL} s", INTERVAL, False)):
        with running(interval) as bench:
            rounds = [one_round(bench, number, hook=hook) for number in range(1, ROUNDS + 1)]
        rows.append((told, rounds))
    print(
        f"{'seconds, median of ' + str(ROUNDS):28}"
        + "".join(f"{part:>20}" for part in (*PARTS, "push to write"))
    )
    for told, rounds in rows:
        middle = [sorted(column)[ROUNDS // 2] for column in zip(*rounds, strict=True)]
        print(f"{told:28}" + "".join(f"{seconds:20.2f}" for seconds in middle))


if __name__ == "__main__":
    main()
