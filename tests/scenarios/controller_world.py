"""The controller and a whole fleet in one process on virtual time: commits are pushed, people use kubectl."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from gitops_mc.app.api import ClusterApi
from gitops_mc.app.controller.fleet_loop import FleetLoop
from gitops_mc.app.controller.lease import LeaderOnly, Leadership, LeadershipLostError, Renewing
from gitops_mc.app.controller.objects import FleetObjects
from gitops_mc.app.controller.running import Controller, Tempo
from gitops_mc.app.controller.sources import Poller
from gitops_mc.app.executor import Executor
from gitops_mc.app.looks import Look
from gitops_mc.app.ports import JSON, MERGE_PATCH, Request, Transport
from gitops_mc.core.custom.fleet_spec import FleetSpec
from gitops_mc.core.errors import UsageError
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN
from gitops_mc.sandbox.virtual import VirtualWorkers
from tests.scenarios.pushed import Place, Server
from tests.scenarios.rollout_world import FLEET as FLEET_FILE
from tests.scenarios.rollout_world import RolloutWorld
from tests.scenarios.shifted_clock import MachineClock

NAMESPACE = "gitops-mc"
CRDS = Path(__file__).parents[2] / "deploy" / "crds"
API = "gitops-mc.io/v1alpha1"
FLEETS = f"/apis/{API}/namespaces/{NAMESPACE}/fleets"
ROLLOUTS = f"/apis/{API}/namespaces/{NAMESPACE}/clusterrollouts"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HERE = "installation-1"
TEMPO = Tempo(busy=timedelta(seconds=5), quiet=timedelta(seconds=30), fleets=timedelta(seconds=60))


class ProcessEnded(BaseException):
    """What stands for the end of a process."""


class NoStore:
    """The controller keeps its memory in objects; the executor is given no store."""

    def load(self) -> JsonObject | None:
        raise AssertionError("the controller's executor loads nothing")

    def save(self, state: JsonObject) -> None:
        raise AssertionError("the controller's executor saves nothing")


@dataclass
class Heard:
    """A watcher and attendant that notes what it hears."""

    looks: list[Look] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    def looked(self, fleet: str, look: Look) -> None:
        self.looks.append(look)

    def polled(self, fleet: str, poller: Poller) -> None:
        pass

    def ordered(self, fleet: str, said: tuple[str, ...]) -> None:
        self.said += said

    def troubled(self, fleet: str, reason: str) -> None:
        self.troubles.append(reason)

    def stumbled(self, fleet: str, error: Exception) -> None:
        self.errors.append(error)

    def stepped(self, fleet: str, seconds: float) -> None:
        pass

    def moded(self, fleet: str, mode: object) -> None:
        pass

    def beside(self, fleet: str) -> dict[str, Any]:
        return {}

    def beat(self, at: Any) -> None:
        pass

    def led(self, leadership: Leadership) -> None:
        pass

    def listed(self, fleets: frozenset[str]) -> None:
        pass

    def failed(self, fleet: str, error: BaseException) -> None:
        self.errors.append(error)


@dataclass
class WorldMeans:
    """What a Fleet's spec leads to in this world: the repository that is pushed to, and the fleet's servers."""

    world: ControllerWorld
    transport: Transport
    identity: str = HERE
    places: dict[str, Place] = field(default_factory=dict)
    """Where this process keeps what it fetches, as the real one does: by address and ref."""

    def poller(self, spec: FleetSpec) -> Poller:
        self.tend(spec)
        workers = VirtualWorkers(self.world.rollout.clock)
        place = self.places.setdefault(f"{spec.source.url} {spec.source.ref}", Place())
        source = self.world.elsewhere.get(spec.source.url, self.world.git).clone(place)
        return Poller(source, spec.source.interval, self.world.machine, workers, random.Random(0).random)

    def tend(self, spec: FleetSpec) -> None:
        if self.world.secrets_gone:
            raise UsageError(self.world.secrets_gone)

    def close(self) -> None:
        pass

    def executor(self, spec: FleetSpec) -> Executor:
        self.tend(spec)
        world = self.world.rollout
        api = ClusterApi(self.transport, self.world.machine, jitter=random.Random(0).random)
        workers = VirtualWorkers(world.clock, seed=world.order)
        return Executor(api, self.world.machine, workers, NoStore(), pace=world.pace)


@dataclass
class Replica:
    """One process of the controller."""

    controller: Controller
    heard: Heard
    ended: bool = False


@dataclass
class ControllerWorld:
    """Push commits, use kubectl, and let time go on."""

    rollout: RolloutWorld = field(default_factory=RolloutWorld)
    spec: JsonObject = field(default_factory=dict)
    heard: Heard = field(default_factory=Heard)
    """What the last process heard."""
    elsewhere: dict[str, Server] = field(default_factory=dict)
    """Other repositories, by URL."""
    listens: Callable[[], Heard] = Heard
    """Who listens to the next process."""
    tempo: Tempo = TEMPO
    secrets_gone: str = ""
    """Why nothing can be made of the Fleet's spec at this moment."""

    def __post_init__(self) -> None:
        self.git = Server()
        self.born = 0
        self.alive: Replica | None = None
        self.machine = MachineClock(self.rollout.clock, lambda: self.rollout.shift)
        for file in sorted(CRDS.glob("*.yaml")):
            self.kubectl("POST", f"{_DEFINITIONS}", yaml.safe_load(file.read_text()))
        self.kubectl("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        source = {"url": "https://git.example/fleet.git"}
        body = {"metadata": {"name": "prod"}, "spec": {"source": source, **self.spec}}
        self.kubectl("POST", FLEETS, {"apiVersion": API, "kind": "Fleet", **body})

    # ------------------------------------------------------------------------------------------------------- people

    def push(self, files: Mapping[str, str]) -> str:
        """A commit of these files; fleet.yaml is the one of rollouts where none is given."""
        return self.git.push({"fleet.yaml": FLEET_FILE, **files})

    def kubectl(self, method: str, path: str, body: Any = None, content_type: str = JSON) -> JsonObject:
        """One call of somebody who may do everything on global."""
        data = b"" if body is None else json.dumps(body).encode()
        request = Request(method, path, (("fieldManager", "kubectl"),), data, content_type, token=ADMIN_TOKEN)
        response = self.rollout.fleet.servers[GLOBAL_CLUSTER].handle(request)
        answer: JsonObject = json.loads(response.body)
        assert response.status < 300, answer
        return answer

    def annotate(self, cluster: str, verb: str, value: str) -> None:
        """`kubectl annotate`, on a ClusterRollout, or on the Fleet where no cluster is named."""
        path = f"{ROLLOUTS}/{cluster}" if cluster else f"{FLEETS}/prod"
        notes = {"metadata": {"annotations": {f"gitops-mc.io/{verb}": value}}}
        self.kubectl("PATCH", path, notes, MERGE_PATCH)

    def edit(self, cluster: str, spec: JsonObject) -> None:
        """`kubectl patch --type merge` of a spec."""
        path = f"{ROLLOUTS}/{cluster}" if cluster else f"{FLEETS}/prod"
        self.kubectl("PATCH", path, {"spec": spec}, MERGE_PATCH)

    def fleet(self) -> JsonObject:
        return self.kubectl("GET", f"{FLEETS}/prod")

    def lease(self) -> JsonObject:
        """The Lease; empty where there is none yet."""
        found = self.kubectl("GET", LEASES)["items"]
        return found[0] if found else {}

    def of(self, cluster: str) -> JsonObject:
        """A ClusterRollout."""
        return self.kubectl("GET", f"{ROLLOUTS}/{cluster}")

    def standing(self, cluster: str) -> str:
        return str(self.of(cluster)["status"]["standing"])

    def ready(self, cluster: str = "") -> str:
        """The reason of the condition Ready."""
        body = self.of(cluster) if cluster else self.fleet()
        return str(next(c for c in body["status"]["conditions"] if c["type"] == "Ready")["reason"])

    # ---------------------------------------------------------------------------------------------------- processes

    def process(self, identity: str = "one") -> Replica:
        """A fresh process: nothing but what stands in objects, and on the Git server, outlives it."""
        heard = self.heard = self.listens()
        clock, machine = self.rollout.clock, self.machine
        wrapped = self.rollout.wrap(self.rollout.fleet.transport(clock))
        lease_api = ClusterApi(wrapped, machine, jitter=random.Random(2).random)
        leadership = Leadership(lease_api, machine, NAMESPACE, "gitops-mc", identity)
        guarded = LeaderOnly(wrapped, leadership.may_write, _end)
        api = ClusterApi(Renewing(guarded, leadership), machine, jitter=random.Random(3).random)
        means = WorldMeans(self, guarded)

        def open_loop(name: str) -> FleetLoop:
            return FleetLoop(FleetObjects(api, NAMESPACE, name), means, machine, heard)

        controller = Controller(
            api, machine, NAMESPACE, leadership, open_loop, heard, lease_api, _no_upkeep, self.tempo
        )
        return Replica(controller, heard)

    def run(
        self,
        replica: Replica | None = None,
        *,
        hours: float = 12.0,
        until: Callable[[ControllerWorld], bool] | None = None,
    ) -> Replica:
        """Let a process (a fresh one) run until something is so, or until the time is over, which is a failure where
        something was waited for.
        """
        replica = replica or self.process()
        deadline = self.rollout.clock.now() + timedelta(hours=hours)
        self.heard = replica.heard
        while self.rollout.clock.now() < deadline:
            replica.controller.tick()
            assert not replica.heard.errors, replica.heard.errors
            if until is not None and until(self):
                return replica
            replica.controller.clock.wait(replica.controller.next_turn())
        assert until is None, (self.fleet().get("status"), replica.heard.troubles[-3:])
        return replica

    def live(self, *, hours: float, until: Callable[[ControllerWorld], bool] | None = None) -> int:
        """A process that ends is followed by the next one ten seconds later, as a Deployment does it. How many have ended."""
        deadline = self.rollout.clock.now() + timedelta(hours=hours)
        ended = 0
        while self.rollout.clock.now() < deadline:
            if self.alive is None:
                self.born += 1
                self.alive = self.process(f"life-{self.born}")
            try:
                left = (deadline - self.rollout.clock.now()).total_seconds() / 3600
                self.run(self.alive, hours=left, until=until)
            except (ProcessEnded, LeadershipLostError):
                ended += 1
                self.alive = None
                self.rollout.clock.wait_for(10)
                continue
            return ended
        assert until is None, (self.fleet().get("status"), self.heard.troubles[-3:])
        return ended

    def end(self) -> None:
        """The process that lives ends by itself, and gives the lease up."""
        if self.alive is not None:
            self.alive.controller.leadership.give_up()
        self.alive = None

    def outlook(self) -> str:
        return str((self.fleet().get("status") or {}).get("outlook", ""))


def _no_upkeep(_names: frozenset[str]) -> None:
    """There are no webhooks in this world."""


def _end() -> None:
    raise ProcessEnded
