"""The controller as it runs, told of by everything at once: what stands in its namespace afterwards, and in its log."""

from __future__ import annotations

import io
import json
from collections import Counter
from typing import Any

from gitops_mc.adapters.telemetry_events import KubernetesEvents, reference
from gitops_mc.adapters.telemetry_log import Log
from gitops_mc.adapters.telemetry_metrics import Metrics
from gitops_mc.app.controller.fleet_loop import FleetLoop
from gitops_mc.app.controller.running import Attendant, Controller
from gitops_mc.app.controller.seams import Watcher
from gitops_mc.app.telemetry import Telemetry
from gitops_mc.core.model import JsonObject
from gitops_mc.sandbox.faults import FaultId
from tests.scenarios.controller_world import NAMESPACE, ControllerWorld, Replica
from tests.scenarios.rollout_world import FLEET as FLEET_FILE
from tests.scenarios.rollout_world import UNIT, machine_config

EVENTS = f"/api/v1/namespaces/{NAMESPACE}/events"
TITLE = f"{NAMESPACE}/prod"
ASKING = FLEET_FILE.replace("clusters: {}\n", "clusters: {}\n        approval: manual\n")


def config(text: str) -> str:
    return machine_config("50-worker-app", files={"/etc/app.conf": f"{text}\n"}, app_service=UNIT)


def three(text: str, **more: str) -> dict[str, str]:
    return {f"clusters/edge-{n}/app.yaml": config(text) for n in (1, 2, 3)} | more


class Watched:
    """A controller's process that reports to the product's own telemetry, as bootstrap connects them."""

    def __init__(self, world: ControllerWorld, stream: io.StringIO) -> None:
        self.world = world
        self.stream = stream
        self.replica: Replica = world.process()
        controller = self.controller = self.replica.controller
        clock = world.machine
        log = Log(stream, clock.now)
        self.metrics = Metrics("1", clock.now)
        self.events = KubernetesEvents(
            controller.api, self._reference, log, self.metrics, now=clock.now, instance="one", redact=str
        )
        self.telemetry = Telemetry(
            log,
            self.metrics,
            clock.now,
            self.events.flush,
            identity="one",
            namespace=NAMESPACE,
            herald=self.events,
        )
        watcher: Watcher = self.telemetry
        attendant: Attendant = self.telemetry
        made = controller.open_loop

        def open_loop(name: str) -> FleetLoop:
            loop = made(name)
            loop.watcher = watcher
            return loop

        controller.open_loop = open_loop
        controller.attendant = attendant

    def _reference(self, fleet: str, cluster: str) -> JsonObject | None:
        controller: Controller = self.controller
        loop = controller.loops.get(fleet.partition("/")[2])
        if loop is None:
            return None
        body = loop.objects.rollouts.get(cluster) if cluster else loop.objects.fleet
        return reference(body) if body else None

    def run(self, outlook: str) -> None:
        self.world.run(self.replica, until=lambda w: w.outlook() == outlook)
        self.events.flush()

    @property
    def events_of(self) -> Counter[tuple[str, str, str]]:
        """Kind, name and reason of every Event, with how often."""
        found: Counter[tuple[str, str, str]] = Counter()
        for event in self.world.kubectl("GET", EVENTS)["items"]:
            about = event["involvedObject"]
            found[about["kind"], about["name"], event["reason"]] += event["count"]
        return found

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def logged(self, event: str) -> int:
        return sum(line["event"] == event for line in self.lines)

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"gitops_mc_{name}", {"fleet": TITLE, **labels})


def test_a_push_its_approval_and_its_end_stand_on_the_objects_and_in_the_log() -> None:
    world = ControllerWorld()
    world.push({**three("one"), "fleet.yaml": ASKING})
    watched = Watched(world, io.StringIO())
    watched.run("hold")
    assert watched.events_of["Fleet", "prod", "WaveNeedsApproval"] == 1
    assert watched.value("wave_state", wave="rest", state="needs approval") == 1
    world.annotate("", "approve", "{wave: rest, by: mei, reason: looked at the canary}")
    watched.run("done")
    for name in ("edge-1", "edge-2", "edge-3"):
        assert watched.events_of["ClusterRollout", name, "Started"] == 1
        assert watched.events_of["ClusterRollout", name, "Passed"] == 1
    assert watched.events_of["Fleet", "prod", "Ordered"] == 1
    assert watched.events_of["Fleet", "prod", "RolloutDone"] == 1
    assert watched.value("rollout_progress_ratio") == 1
    assert (watched.value("polls_total", result="good") or 0) >= 1
    assert [watched.logged(name) for name in ("lease_taken", "ordered", "cluster_passed", "crashed")] == [
        1,
        1,
        3,
        0,
    ]
    assert (watched.telemetry.fleets, watched.telemetry.leads) == (frozenset({"prod"}), True)


def test_an_event_names_the_object_by_the_uid_that_kubectl_describe_looks_for() -> None:
    world = ControllerWorld()
    world.push(three("one"))
    watched = Watched(world, io.StringIO())
    watched.run("done")
    uids = {("Fleet", "prod"): world.fleet()["metadata"]["uid"]}
    uids |= {("ClusterRollout", f"edge-{n}"): world.of(f"edge-{n}")["metadata"]["uid"] for n in (1, 2, 3)}
    for event in world.kubectl("GET", EVENTS)["items"]:
        about = event["involvedObject"]
        assert about["uid"] == uids[about["kind"], about["name"]]


def test_a_bad_commit_is_told_when_it_fails_and_when_its_repair_is_through() -> None:
    world = ControllerWorld()
    world.rollout.faults.set(FaultId.NODE_DEGRADED)
    world.push(three("one"))
    watched = Watched(world, io.StringIO())
    watched.run("done")
    world.push(three("BROKEN"))
    watched.run("halted")
    assert watched.value("halted") == 1
    assert watched.events_of["ClusterRollout", "edge-1", "Failed"] == 1
    assert watched.events_of["Fleet", "prod", "Halted"] == 1
    assert watched.events_of["Fleet", "prod", "RevisionFound"] == 1
    world.push(three("repaired"))
    watched.run("done")
    assert watched.value("halted") == 0
    assert watched.events_of["Fleet", "prod", "HaltLifted"] == 1
    assert watched.logged("crashed") == 0


def test_a_fleet_that_is_deleted_leaves_no_series_behind() -> None:
    world = ControllerWorld()
    world.push(three("one"))
    watched = Watched(world, io.StringIO())
    watched.run("done")
    world.kubectl("DELETE", f"/apis/gitops-mc.io/v1alpha1/namespaces/{NAMESPACE}/fleets/prod")
    world.run(watched.replica, hours=0.1)
    assert watched.logged("fleet_forgotten") == 1
    assert watched.value("halted") is None
