"""Somebody at the command line while the controller of a whole fleet runs, in one process on virtual time."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gitops_mc.app.api import ClusterApi
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.app.use_cases.fleet_objects import FleetPlace
from gitops_mc.app.use_cases.fleet_orders import ask
from gitops_mc.app.use_cases.installation import INSTALLATION, INSTALLATION_NAMESPACE
from gitops_mc.core.custom.requests import Verb
from gitops_mc.core.custom.wishes import Answer, Wish
from gitops_mc.sandbox.faults import FaultId
from tests.scenarios.controller_world import HERE, NAMESPACE, ControllerWorld, Replica
from tests.scenarios.rollout_world import FLEET, UNIT, machine_config

LEASE = "gitops-mc"
MINUTE = timedelta(minutes=1)
NAMES = ("edge-1", "edge-2", "edge-3")
ASKING = FLEET.replace("clusters: {}\n", "clusters: {}\n        approval: manual\n")


@dataclass
class Turns:
    """The world's time for one who waits: meanwhile the controller has its turns, and `meanwhile` what else goes on."""

    world: ControllerWorld
    replica: Replica | None
    meanwhile: list[Callable[[], None]] = field(default_factory=list)

    def now(self) -> datetime:
        return self.world.rollout.clock.now()

    def wait(self, until: datetime) -> None:
        if self.meanwhile:
            self.meanwhile.pop(0)()
        if self.replica is not None:
            self.replica.controller.tick()
            assert not self.replica.heard.errors, self.replica.heard.errors
        self.world.rollout.clock.wait(until)


@dataclass(frozen=True)
class Narrowed:
    """The way of somebody with fewer rights."""

    inner: Transport
    forbidden: tuple[str, ...]

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if any(f"/{plural}/" in request.path for plural in self.forbidden):
            body = {
                "kind": "Status",
                "status": "Failure",
                "reason": "Forbidden",
                "code": 403,
                "message": "no",
            }
            return Response(403, json.dumps({"apiVersion": "v1", **body}).encode())
        return self.inner.send(cluster, request, timeout=timeout)


@dataclass
class Desk:
    """Asks, and tells what became of it."""

    world: ControllerWorld
    replica: Replica | None = None
    who: str = "mei"
    forbidden: tuple[str, ...] = ()
    """Plurals of what this person may not read."""

    def __post_init__(self) -> None:
        self.turns = Turns(self.world, self.replica)
        api = ClusterApi(
            Narrowed(self.world.rollout.fleet.transport(self.world.rollout.clock), self.forbidden),
            self.world.machine,
            jitter=random.Random(5).random,
        )
        self.place = FleetPlace(api, self.turns, NAMESPACE, "prod")

    def wish(self, verb: Verb, cluster: str = "", reason: str = "why not", **members: str) -> Wish:
        return Wish(verb, self.who, reason, cluster, members)

    def ask(self, *wishes: Wish, within: timedelta = MINUTE) -> list[Answer]:
        return [answer for _, answer in ask(self.place, wishes, within, LEASE)]


def config(text: str) -> str:
    return machine_config("50-worker-app", files={"/etc/app.conf": f"{text}\n"}, app_service=UNIT)


def files(text: str, fleet: str = FLEET) -> dict[str, str]:
    return {f"clusters/{name}/app.yaml": config(text) for name in NAMES} | {"fleet.yaml": fleet}


def waiting() -> Desk:
    """The canary has passed, the second wave waits for its approval."""
    world = ControllerWorld()
    world.push(files("one", ASKING))
    identified(world)
    return Desk(world, world.run(until=lambda w: w.outlook() == "hold"))


def halted() -> Desk:
    """Everything has passed once; then the canary failed with newer content."""
    world = ControllerWorld()
    world.push(files("one"))
    identified(world)
    replica = world.run(until=lambda w: w.outlook() == "done")
    world.rollout.faults.set(FaultId.NODE_DEGRADED, marker="breaks")
    world.push(files("breaks"))
    return Desk(world, world.run(replica, until=lambda w: w.outlook() == "halted"))


def identified(world: ControllerWorld, identity: str = HERE) -> None:
    name = {"name": INSTALLATION, "namespace": INSTALLATION_NAMESPACE}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": {"identity": identity}}
    world.kubectl("POST", f"/api/v1/namespaces/{INSTALLATION_NAMESPACE}/configmaps", body)
