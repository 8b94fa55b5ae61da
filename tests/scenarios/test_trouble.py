"""Trouble on nodes and modules while we roll: what fails fast, what is waited out, what is named, and what then goes on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from gitops_mc.app.looks import Pace
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import Done, Halted, Standing
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import FleetSpec, simple_fleet
from gitops_mc.sandbox.moduleinfo import Publication
from tests.scenarios.rollout_world import FLEET, UNIT, RolloutWorld, machine_config, module

ONE, TWO = (
    machine_config("50-worker-app", files={"/etc/app.conf": f"{text}\n"}, app_service=f"{UNIT}# {text}\n")
    for text in ("one", "two")
)
BAD = machine_config("50-worker-app", files={"/etc/app.conf": "BROKEN\n"}, app_service=UNIT)
MASTER = machine_config("50-master-app", role="master", files={"/etc/master.conf": "1\n"})
SLOW = Pace(every=timedelta(seconds=30))


def made(*names: str, config: str = ONE, workers: int = 2) -> RolloutWorld:
    world = RolloutWorld(spec=simple_fleet(*names, workers=workers), pace=SLOW)
    put(world, config, *names)
    return world


def put(world: RolloutWorld, config: str, *names: str) -> None:
    world.files |= {f"clusters/{name}/app.yaml": config for name in names}


def test_a_passing_degraded_is_no_failure() -> None:
    world = made("edge-1")
    world.pace = Pace()
    world.faults.set(FaultId.DEGRADED_FLAP, seconds=20.0, times=2)
    assert isinstance(world.run(), Done)
    assert all(c.failure is None for look in world.looks for c in look.memory.clusters.values())


def test_degraded_fails_after_its_debounce_and_not_only_at_the_stall() -> None:
    world = made("edge-1")
    world.pace = Pace()
    world.faults.set(FaultId.NODE_DEGRADED, node="edge-1-w2")
    put(world, BAD, "edge-1")
    outlook = world.run()
    assert isinstance(outlook, Halted)
    degraded = min(
        (e for e in world.fleet.node_log("edge-1", "edge-1-w2").events if "degraded" in e.what.value),
        key=lambda e: e.at,
    )
    assert timedelta(seconds=60) <= world.clock.now() - degraded.at <= timedelta(minutes=5)
    for word in ("edge-1", "pool worker", "edge-1-w2"):
        assert word in outlook.reason


def test_a_node_that_never_returns_fails_at_the_stall_by_name_and_with_what_to_do() -> None:
    world = made("edge-1", "edge-2")
    world.faults.set(FaultId.NODE_NEVER_RETURNS, cluster="edge-1", node="edge-1-w1")
    outlook = world.run()
    assert isinstance(outlook, Halted), outlook
    for word in ("edge-1", "pool worker", "edge-1-w1", "kubectl"):
        assert word in outlook.reason
    assert world.writes("edge-2") == ()
    assert timedelta(minutes=75) <= world.clock.now() - world.start <= timedelta(minutes=95)


def test_a_drain_that_is_stuck_lets_newer_content_in() -> None:
    """The bad commit's rolling never ends, and must not keep the commit out that repairs it."""
    world = made("edge-1")
    assert isinstance(world.run(), Done)
    stuck = world.faults.set(FaultId.DRAIN_STUCK, node="edge-1-w1")
    put(world, TWO, "edge-1")
    outlook = world.run()
    assert isinstance(outlook, Halted)
    assert "edge-1-w1" in outlook.reason
    world.faults.clear(stuck)
    put(world, ONE, "edge-1")
    written = len(world.writes("edge-1"))
    world.run()
    assert len(world.writes("edge-1")) == written + 1, "the repair was let in"
    world.clock.wait_for(600)
    assert isinstance(world.run(), Done)
    assert world.memory().halt is None


def test_an_unchanged_pool_that_is_not_settled_stops_the_changed_one() -> None:
    world = made("edge-1")
    world.files["clusters/edge-1/master.yaml"] = MASTER
    assert isinstance(world.run(), Done)
    world.fleet.person("edge-1").cordon("edge-1-w1")
    world.clock.wait_for(60)
    before = len(world.writes("edge-1"))
    world.files["clusters/edge-1/master.yaml"] = MASTER.replace("1\\n", "2\\n")
    world.run(hours=1)
    assert world.standing("edge-1") is Standing.BLOCKED
    assert "pool worker" in world.view("edge-1").reason
    assert len(world.writes("edge-1")) == before


def test_a_pool_that_breaks_between_two_steps_keeps_the_second_from_being_written() -> None:
    world = made("edge-1")
    world.pace = Pace(every=timedelta(seconds=20))
    world.files["clusters/edge-1/master.yaml"] = MASTER
    person = world.fleet.person("edge-1")
    world.fleet.at(world.start + timedelta(seconds=80), lambda: person.cordon("edge-1-w2"))
    world.run(hours=0.5)
    assert [w.name for w in world.writes("edge-1")] == ["50-worker-app"]
    assert "edge-1-w2" in world.view("edge-1").reason
    person.uncordon("edge-1-w2")
    assert isinstance(world.run(), Done)


def test_what_timed_out_and_comes_up_later_writes_nothing_until_a_human_releases_it() -> None:
    spec = simple_fleet("edge-1", "edge-2", workers=1)
    publications = (*spec.publications, Publication("logcenter", "v1.0.0"))
    world = RolloutWorld(spec=FleetSpec(spec.clusters, publications), pace=SLOW)
    for name in ("edge-1", "edge-2"):
        world.files[f"clusters/{name}/logcenter.yaml"] = module(name, "v1.0.0", "logcenter")
    stuck = world.faults.set(FaultId.MODULE_STUCK, module="logcenter")
    outlook = world.run()
    assert isinstance(outlook, Halted)
    assert "logcenter" in outlook.reason
    writes = len(world.writes("global"))
    world.faults.clear(stuck)
    world.clock.wait_for(600)
    assert isinstance(world.run(hours=1), Halted), "the halt stays"
    assert world.standing("edge-1") is Standing.PASSED, "passed late"
    assert len(world.writes("global")) == writes

    def release(memory: FleetMemory) -> FleetMemory:
        return replace(memory, halt=None)

    world.remember(release)
    assert isinstance(world.run(), Done)
    assert len(world.writes("global")) == writes + 1


@dataclass
class Deaf:
    """Refuses deletions with a status."""

    inner: Transport
    status: int

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if request.method == "DELETE":
            told = b'{"kind":"Status","status":"Failure","reason":"Forbidden","message":"not allowed"}'
            return Response(self.status, told)
        return self.inner.send(cluster, request, timeout=timeout)


def test_a_deletion_that_is_refused_stays_ours_to_do() -> None:
    world = RolloutWorld(spec=simple_fleet("edge-1", workers=1))
    world.files["fleet.yaml"] = FLEET + "  prune: {enabled: true}\n"
    world.files |= {
        f"clusters/edge-1/f{n}.yaml": machine_config(f"5{n}-worker-f", files={f"/etc/f{n}": "1\n"})
        for n in range(4)
    }
    assert isinstance(world.run(), Done)
    del world.files["clusters/edge-1/f0.yaml"]
    world.wrap = lambda transport: Deaf(transport, 403)
    world.run(hours=1)
    assert "50-worker-f" in world.view("edge-1").reason
    assert {e.name for e in world.cluster_memory("edge-1").inventory} >= {"50-worker-f"}
    assert world.fleet.person("edge-1").get("machineconfigs", "50-worker-f") is not None

    def release(memory: FleetMemory) -> FleetMemory:
        edge = replace(memory.cluster("edge-1"), failure=None)
        return replace(memory.with_cluster("edge-1", edge), halt=None)

    world.remember(release)
    world.wrap = lambda transport: transport
    assert isinstance(world.run(), Done)
    assert world.fleet.person("edge-1").get("machineconfigs", "50-worker-f") is None


def test_a_server_that_lets_no_write_through_is_a_fault_with_its_own_words_after_a_while() -> None:
    world = made("edge-1")
    world.faults.set(
        FaultId.HTTP_ERROR,
        cluster="edge-1",
        status=503,
        method="PATCH",
        path="*machineconfigs*",
        times=10_000,
    )
    outlook = world.run(hours=2)
    assert not isinstance(outlook, Done)
    assert world.looks[-1].at < world.looks[0].at + timedelta(hours=1)
    assert "no write has gone through since" in world.view("edge-1").reason
    assert "503" in world.view("edge-1").reason or "injected" in world.view("edge-1").reason


def test_a_step_that_the_operator_never_renders_ends_as_a_failure_that_says_which_pool_stands_still() -> None:
    world = made("edge-1")
    assert isinstance(world.run(), Done)
    put(world, TWO, "edge-1")
    world.files["clusters/edge-1/more.yaml"] = machine_config(
        "60-worker-more", files={"/etc/more.conf": "1\n"}
    )
    world.pace = Pace(every=timedelta(seconds=30))

    def opened_and_rendered(look: object) -> bool:
        pool = world.fleet.person("edge-1").get("machineconfigpools", "worker")
        return pool is not None and pool["spec"].get("paused") is True

    world.run(until=opened_and_rendered)
    world.faults.set(FaultId.LATE_RENDER, seconds=100_000.0)
    person = world.fleet.person("edge-1")
    pool = person.get("machineconfigpools", "worker")
    assert pool is not None
    person.edit(
        "machineconfigpools", "worker", {"spec": {"configuration": {"name": "rendered-worker-moved"}}}
    )
    outlook = world.run(hours=4)
    assert isinstance(outlook, Halted), outlook
    assert "stands open since" in outlook.reason
    assert "pool worker of edge-1" in outlook.reason
