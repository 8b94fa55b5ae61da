from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from gitops_mc.app.ports import Request, Response
from gitops_mc.core.errors import UnreachableError
from gitops_mc.sandbox.client import Touch
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import SandboxFleet, simple_fleet
from gitops_mc.sandbox.running import run_in_thread
from gitops_mc.sandbox.virtual import VirtualClock, VirtualWorkers
from tests.sandbox.platform_world import EDGE, World, config

UNIT = config("50-worker-unit", units={"a.service": "[Unit]"})
POOLS = Request("GET", "/apis/machineconfiguration.alauda.io/v1alpha1/machineconfigpools")
NAMES = [f"edge-{n}" for n in range(10)]


def rolled(seed: int = 0) -> World:
    world = World(simple_fleet(*NAMES, workers=5), seed=seed)
    for name in NAMES:
        world.fleet.person(name).apply("machineconfigs", UNIT)
    world.run(3600)
    return world


def test_ten_clusters_roll_side_by_side_and_every_worker_reboots_once() -> None:
    world = rolled()
    assert world.fleet.failures == ()
    expected = {node: int("-w" in node[1]) for node in world.fleet.reboots()}
    assert world.fleet.reboots() == expected
    assert sum(expected.values()) == 50


def test_two_runs_write_the_same_things_at_the_same_times() -> None:
    def log(world: World) -> list[tuple[object, ...]]:
        return [
            (w.time, w.user, w.verb, w.resource, w.name, w.after)
            for server in world.fleet.servers.values()
            for w in server.writes
        ]

    assert log(rolled()) == log(rolled())


def test_a_cluster_that_is_not_preinstalled_has_no_machine_kinds_while_others_have() -> None:
    spec = simple_fleet("a", "b")
    bare = replace(spec.clusters[1], machine_config=None)
    world = World(replace(spec, clusters=(spec.clusters[0], bare)))
    assert world.pool(cluster="a")["status"]["machineCount"] == 2
    assert world.fleet.person("b").get("machineconfigpools", "worker") is None
    assert set(world.fleet.servers) == {"global", "a", "b"}


def test_an_idle_fleet_writes_nothing_and_is_next_due_when_something_is_planned() -> None:
    world = World()
    world.run(60)
    before = [len(server.writes) for server in world.fleet.servers.values()]
    world.run(24 * 3600)
    assert [len(server.writes) for server in world.fleet.servers.values()] == before
    planned = world.clock.now() + timedelta(hours=1)
    world.fleet.at(planned, lambda: world.edge.cordon("edge-w1"))
    assert world.fleet.step(world.clock.now()) == planned
    world.run(3600)
    assert world.node("edge-w1")["spec"]["unschedulable"] is True


class Broken:
    name = "broken"
    interests: frozenset[tuple[str, str]] = frozenset()

    def notice(self, touch: Touch) -> None:
        """It is interested in nothing."""

    def step(self, now: datetime) -> datetime:
        raise RuntimeError("out of order")


def test_an_actor_that_fails_is_noted_tried_again_and_stops_no_other() -> None:
    world = World()
    world.fleet.enlist(Broken(), EDGE, "broken")
    world.edge.apply("machineconfigs", UNIT)
    world.run(25)
    assert [str(f.error) for f in world.fleet.failures] == ["out of order"] * 3
    assert {f.actor for f in world.fleet.failures} == {"broken"}
    world.run(600)
    assert world.condition("Updated") == "True"


def test_the_window_of_a_fault_wakes_who_it_concerns() -> None:
    world = World()
    world.edge.apply("machineconfigs", config("50-worker-a", files={"/a": "1"}))
    world.run(120)
    begin = world.clock.now() + timedelta(minutes=5)
    world.faults.set(FaultId.DRIFT, start=begin, end=begin + timedelta(minutes=1))
    world.run(302)
    assert world.condition("Degraded") == "True"
    world.run(61)
    assert world.condition("Degraded") == "False"


def test_a_write_log_is_read_by_user() -> None:
    world = World()
    assert world.fleet.writes(EDGE) == ()
    world.edge.cordon("edge-w1")
    assert [(w.verb, w.name) for w in world.fleet.writes(EDGE, user="person")] == [("patch", "edge-w1")]


def test_kubectl_leaves_its_manager_and_what_it_applied() -> None:
    world = World()
    made = world.edge.apply("machineconfigs", UNIT)
    assert [m["manager"] for m in made["metadata"]["managedFields"]] == ["kubectl-client-side-apply"]
    assert "kubectl.kubernetes.io/last-applied-configuration" in made["metadata"]["annotations"]
    again = world.edge.apply("machineconfigs", config("50-worker-unit", files={"/a": "1"}))
    assert set(again["spec"]["config"]) == {"ignition", "storage"}
    edited = world.edge.edit("machineconfigs", "50-worker-unit", {"spec": {"kernelArguments": ["a"]}})
    assert "kubectl-edit" in {m["manager"] for m in edited["metadata"]["managedFields"]}


def test_a_dark_cluster_delays_no_other() -> None:
    clock = VirtualClock()
    fleet = SandboxFleet(simple_fleet("dark", "good"), clock.now, seed=1)
    clock.drive(fleet)
    transport, workers = fleet.transport(clock), VirtualWorkers(clock)
    fleet.faults.set(FaultId.GATEWAY_GONE, cluster="dark")
    fleet.person("good").apply("machineconfigs", UNIT)
    jobs = {name: partial(transport.send, name, POOLS, timeout=10) for name in ("dark", "good")}
    start, answers = clock.now(), []
    while clock.now() < start + timedelta(minutes=10):
        answers.append(workers.map(jobs, within=2))
        clock.wait_for(2)
    good = [answer["good"] for answer in answers]
    assert all(isinstance(response, Response) for response in good)
    dark = [answer["dark"] for answer in answers if "dark" in answer]
    assert all(isinstance(error, UnreachableError) for error in dark)
    assert len(good) > 3 * len(dark) > 0
    assert sum(fleet.reboots().values()) == 2


class SteppedClock(VirtualClock):
    """Virtual time that ends the run once it has passed a moment."""

    def __init__(self, stop: threading.Event, seconds: float) -> None:
        super().__init__()
        self._stop = stop
        self._end = self.now() + timedelta(seconds=seconds)

    def wait(self, until: datetime) -> None:
        super().wait(until)
        if self.now() >= self._end:
            self._stop.set()


def test_beside_a_clock_of_its_own_the_fleet_runs_in_a_thread_until_it_is_stopped() -> None:
    stop = threading.Event()
    clock = SteppedClock(stop, 600)
    world = World()
    world.edge.apply("machineconfigs", UNIT)
    thread = run_in_thread(world.fleet, clock, stop)
    thread.join(timeout=10)
    assert not thread.is_alive()
    assert world.condition("Updated") == "True"
