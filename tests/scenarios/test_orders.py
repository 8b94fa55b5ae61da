"""What a human orders stands until he takes it back: suspended, held, aborted; each judged on the servers' own logs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from gitops_mc.app.looks import Pace
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.model import JsonObject
from gitops_mc.core.rollout.inputs import Abort, Acts
from gitops_mc.core.rollout.moves import Done, Hold, Standing
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios import test_groups as groups
from tests.scenarios.crashes import Killed
from tests.scenarios.rollout_world import FLEET, UNIT, RolloutWorld, machine_config

ONE_WAVE = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: test}
spec:
  rollout:
    waves: [{name: all, clusters: {}, maxConcurrent: 10}]
"""
CLOSE, FAR = Pace(every=timedelta(seconds=5)), Pace(every=timedelta(seconds=30))


def repository(text: str, fleet: str = FLEET, *, both: bool = False) -> dict[str, str]:
    """A config that reboots the workers of three clusters; `both`: and a second one, so that it takes a bracket."""
    files = {
        f"clusters/edge-{n}/app.yaml": machine_config(
            "50-worker-app", files={"/etc/app.conf": f"{text}\n"}, app_service=f"{UNIT}# {text}\n"
        )
        for n in (1, 2, 3)
    }
    more = machine_config("60-worker-more", files={"/etc/more.conf": f"{text}\n"})
    second = {f"clusters/edge-{n}/more.yaml": more for n in (1, 2, 3)} if both else {}
    return {"fleet.yaml": fleet, **files, **second}


def rolled(fleet: str = FLEET, workers: int = 3, *, both: bool = False) -> RolloutWorld:
    """A world that stands at the first content, with the second one in Git."""
    world = RolloutWorld(
        spec=simple_fleet("edge-1", "edge-2", "edge-3", workers=workers),
        files=repository("one", fleet, both=both),
        pace=CLOSE,
    )
    assert isinstance(world.run(), Done)
    world.files.update(repository("two", fleet, both=both))
    return world


def pool(world: RolloutWorld, cluster: str, name: str = "worker") -> JsonObject:
    found = world.fleet.person(cluster).get("machineconfigpools", name)
    assert found is not None
    return found


def paused(world: RolloutWorld, cluster: str, name: str = "worker") -> bool:
    return bool(pool(world, cluster, name)["spec"].get("paused"))


def spec(world: RolloutWorld, config: str) -> JsonObject:
    found = world.fleet.person("edge-1").get("machineconfigs", config)
    assert found is not None
    return dict(found["spec"])


def one_node_done(world: RolloutWorld, cluster: str) -> bool:
    return sum(world.reboots(cluster).values()) % 3 == 1


def count_all(world: RolloutWorld) -> dict[str, int]:
    return {name: len(world.writes(name)) for name in world.fleet.servers}


def rests(world: RolloutWorld, acts: Acts, hours: float) -> None:
    """A process looks on for a time, whatever it says: closely while nodes may still move, then now and then."""
    begin = world.clock.now()
    executor = world.executor()
    for look in executor.rollout(world.git(), acts):
        world.looks.append(look)
        passed = world.clock.now() - begin
        if passed >= timedelta(hours=hours):
            return
        executor.pace = CLOSE if passed < timedelta(minutes=30) else FAR


# ------------------------------------------------------------------------------------------------------- suspended

SUSPENDED = Acts(suspended="mei: storage is being moved")


def test_suspended_in_mid_step_nothing_is_written_and_it_goes_on_where_it_was() -> None:
    world = rolled()
    world.run(until=lambda _: one_node_done(world, "edge-1"))
    before = count_all(world)
    rests(world, SUSPENDED, hours=4)
    assert count_all(world) == before
    assert sum(world.reboots("edge-1").values()) % 3 == 0, "nodes that were sent go on by themselves"
    assert world.cluster_memory("edge-1").failure is None
    assert isinstance(world.last.decision.outlook, Hold)
    assert "suspended (mei: storage is being moved)" in world.last.decision.outlook.reasons[0]
    assert world.last.decision.outlook.acts == ("resume the rollout",)
    assert world.standing("edge-2") is Standing.HELD
    assert "mei" in world.view("edge-2").reason
    assert isinstance(world.run(), Done)


@pytest.mark.slow
def test_suspended_with_an_open_bracket_it_stays_open_however_long_and_is_closed_on_resume() -> None:
    world = rolled(both=True)
    world.run(until=lambda look: paused(world, "edge-1"))
    before = count_all(world)
    rests(world, SUSPENDED, hours=4)
    assert count_all(world) == before
    assert paused(world, "edge-1")
    assert world.cluster_memory("edge-1").failure is None, "four hours are more than a stall"
    assert isinstance(world.run(), Done)
    assert not paused(world, "edge-1")


@pytest.mark.slow
def test_a_node_that_stands_still_while_suspended_does_not_stall() -> None:
    world = rolled()
    world.run(until=lambda _: one_node_done(world, "edge-1"))
    stuck = next(
        n for n in world.fleet.nodes("edge-1") if "-w" in n and world.reboots("edge-1").get(n, 0) != 2
    )
    world.fleet.person("edge-1").cordon(stuck)
    rests(world, SUSPENDED, hours=4)
    assert world.cluster_memory("edge-1").failure is None
    world.fleet.person("edge-1").uncordon(stuck)
    assert isinstance(world.run(), Done)


def test_what_failed_before_stays_failed_while_suspended() -> None:
    world = RolloutWorld(files=repository("one"))
    world.faults.set(FaultId.NODE_DEGRADED)
    assert isinstance(world.run(), Done)
    world.files.update(repository("BROKEN"))
    world.run()
    assert world.standing("edge-1") is Standing.FAILED
    rests(world, SUSPENDED, hours=0.5)
    assert world.cluster_memory("edge-1").failure is not None
    assert world.standing("edge-1") is Standing.FAILED


# ------------------------------------------------------------------------------------------------------------ held

HELD = Acts(held={"edge-2": "tom: its disks are being replaced"})


def test_a_held_cluster_is_left_alone_among_others_and_waited_for() -> None:
    world = rolled(ONE_WAVE)
    before = len(world.writes("edge-2"))
    outlook = world.run(HELD)
    assert isinstance(outlook, Hold), outlook
    assert len(world.writes("edge-2")) == before
    assert world.standing("edge-1") is world.standing("edge-3") is Standing.PASSED
    assert world.standing("edge-2") is Standing.HELD
    assert "edge-2 is held (tom: its disks are being replaced)" in world.view("edge-2").reason
    assert outlook.acts == ("take the hold of edge-2 back",)
    assert isinstance(world.run(), Done)


def test_a_held_cluster_that_is_sick_is_waited_for_and_counts_against_no_limit() -> None:
    world = rolled(ONE_WAVE)
    world.fleet.person("edge-2").pause("worker")
    world.clock.wait_for(60)
    world.run(HELD)
    assert world.standing("edge-2") is Standing.HELD


@pytest.mark.slow
def test_a_cluster_held_in_mid_step_ends_the_step_and_begins_no_other() -> None:
    def both(text: str) -> dict[str, str]:
        roles = {
            f"clusters/edge-1/{role}{n}.yaml": machine_config(
                f"5{n}-{role}-app", role, files={f"/etc/app{n}.conf": f"{text}\n"}
            )
            for role in ("worker", "master")
            for n in (1, 2)
        }
        return {"fleet.yaml": FLEET, **roles}

    world = RolloutWorld(spec=simple_fleet("edge-1"), files=both("one"))
    assert isinstance(world.run(), Done)
    world.files.update(both("two"))
    old_worker, old_master = (spec(world, f"51-{role}-app") for role in ("worker", "master"))
    world.run(until=lambda _: paused(world, "edge-1"))
    acts = Acts(held={"edge-1": "tom"})
    outlook = world.run(acts)
    assert isinstance(outlook, Hold), outlook
    assert not paused(world, "edge-1"), "the bracket was closed"
    assert spec(world, "51-worker-app") != old_worker
    assert spec(world, "51-master-app") == old_master, "the next step was not begun"
    assert isinstance(world.run(), Done)


# --------------------------------------------------------------------------------------------------------- aborted

ABORTED = Acts(aborted=Abort("alarms in the shop", by="mei"))
MARK = "gitops-mc.io/aborted"


def aborted(world: RolloutWorld, cluster: str, name: str = "worker") -> JsonObject | None:
    text = (pool(world, cluster, name)["metadata"].get("annotations") or {}).get(MARK)
    return None if text is None else dict(json.loads(text))


def nodes_begun(world: RolloutWorld, cluster: str, since: datetime) -> int:
    """How many times a node was sent to another config."""
    sent = "machineconfiguration.alauda.io/desiredConfig"
    writes = [
        w for w in world.fleet.servers[cluster].writes if w.resource.startswith("nodes") and w.time > since
    ]
    return sum(
        (w.before or {}).get("metadata", {}).get("annotations", {}).get(sent)
        != (w.after or {}).get("metadata", {}).get("annotations", {}).get(sent)
        for w in writes
    )


def stopped_in_mid_roll(acts: Acts = ABORTED) -> RolloutWorld:
    world = rolled()
    world.run(until=lambda _: one_node_done(world, "edge-1"))
    rests(world, acts, hours=1)
    return world


def test_an_abort_in_mid_roll_pauses_the_pool_and_no_node_begins_after_it() -> None:
    world = rolled()
    world.run(until=lambda _: one_node_done(world, "edge-1"))
    before = count_all(world)
    begun = world.clock.now()
    rests(world, ABORTED, hours=4)
    (pause,) = world.writes("edge-1")[before["edge-1"] :]
    assert (pause.resource.partition(".")[0], pause.name, pause.verb) == (
        "machineconfigpools",
        "worker",
        "patch",
    )
    assert aborted(world, "edge-1") == {
        "abort": "gitops-mc",
        "by": "mei",
        "why": "alarms in the shop",
        "content": world.cluster_memory("edge-1").started,
        "paused": False,
    }
    assert nodes_begun(world, "edge-1", pause.time) == 0
    assert nodes_begun(world, "edge-1", begun) <= 1
    assert {n: len(world.writes(n)) for n in ("edge-2", "edge-3")} == {
        n: before[n] for n in ("edge-2", "edge-3")
    }
    assert world.cluster_memory("edge-1").failure is None
    assert isinstance(world.last.decision.outlook, Hold)
    assert "aborted by mei (alarms in the shop)" in world.last.decision.outlook.reasons[0]


def test_a_pool_of_an_aborted_rollout_is_given_back_as_it_was_on_resume_and_the_rollout_ends() -> None:
    world = stopped_in_mid_roll()
    assert paused(world, "edge-1")
    assert isinstance(world.run(), Done)
    assert aborted(world, "edge-1") is None
    assert "paused" not in pool(world, "edge-1")["spec"] or not paused(world, "edge-1")
    assert set(world.reboots("edge-1").values()) == {2}, "no node reboots more often"


def test_an_abort_never_touches_a_pool_that_another_has_paused_nor_does_its_end() -> None:
    world = rolled()
    world.run(until=lambda _: one_node_done(world, "edge-1"))
    world.fleet.person("edge-1").pause("worker")
    before = count_all(world)
    rests(world, ABORTED, hours=1)
    assert count_all(world) == before
    world.run(hours=1)
    assert count_all(world) == before
    assert paused(world, "edge-1")
    assert aborted(world, "edge-1") is None


@pytest.mark.slow
def test_what_somebody_lets_run_again_in_spite_of_an_abort_is_not_paused_again() -> None:
    world = stopped_in_mid_roll()
    world.fleet.person("edge-1").unpause("worker")
    before = count_all(world)
    rests(world, ABORTED, hours=1)
    assert count_all(world) == before
    assert isinstance(world.run(), Done)
    assert aborted(world, "edge-1") is None
    assert not paused(world, "edge-1")


def test_with_let_finish_nodes_go_on_to_the_end_and_nothing_is_written() -> None:
    world = rolled()
    world.run(until=lambda _: one_node_done(world, "edge-1"))
    before = count_all(world)
    rests(world, Acts(aborted=Abort("enough for today", let_finish=True)), hours=2)
    assert count_all(world) == before
    assert set(world.reboots("edge-1").values()) == {2}
    assert world.standing("edge-1") is Standing.PASSED
    assert world.standing("edge-2") is Standing.HELD
    assert isinstance(world.run(), Done)


def test_an_open_bracket_stays_open_through_an_abort_and_is_ended_on_resume() -> None:
    world = rolled(both=True)
    world.run(until=lambda _: paused(world, "edge-1"))
    before = count_all(world)
    rests(world, ABORTED, hours=3)
    assert count_all(world) == before
    assert paused(world, "edge-1")
    assert aborted(world, "edge-1") is None
    assert isinstance(world.run(), Done)
    assert not paused(world, "edge-1")
    assert set(world.reboots("edge-1").values()) == {2}


@dataclass
class DiesAfterTheFirstIsClosed:
    """A process that ends when it has closed the bracket of one pool, and not of the others."""

    inner: Transport

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        answer = self.inner.send(cluster, request, timeout=timeout)
        body = request.body or b""
        if answer.status == 200 and b"gitops-mc.io~1bracket" in body and b'"remove"' in body:
            raise Killed
        return answer


@pytest.mark.slow
def test_where_a_bracket_is_half_closed_an_abort_stops_what_runs_and_no_node_reboots_more_often() -> None:
    world = groups.world()
    assert isinstance(world.run(), Done)
    world.files = groups.second()
    world.wrap = DiesAfterTheFirstIsClosed
    with pytest.raises(Killed):
        world.run()
    world.wrap = lambda transport: transport
    before = world.reboots("edge-1")
    rests(world, ABORTED, hours=2)
    pools = {
        name: (paused(world, "edge-1", name), aborted(world, "edge-1", name) is not None) for name in POOLS
    }
    assert all(is_paused for is_paused, _ in pools.values()), pools
    assert [by_abort for _, by_abort in pools.values()].count(True) == 1, "the others are the step's"
    assert isinstance(world.run(), Done)
    assert not any(paused(world, "edge-1", name) or aborted(world, "edge-1", name) for name in POOLS)
    more = {node: n - before.get(node, 0) for node, n in world.reboots("edge-1").items()}
    assert set(more.values()) <= {0, 1}


POOLS = ("gpu", "infra", "worker")


@pytest.mark.slow
def test_an_abort_of_one_cluster_stops_no_other() -> None:
    world = rolled(ONE_WAVE)
    world.run(until=lambda _: one_node_done(world, "edge-1"))
    acts = Acts(aborted_clusters={"edge-1": Abort("its shop has alarms", by="tom")})
    outlook = world.run(acts)
    assert isinstance(outlook, Hold), outlook
    assert outlook.acts == ("resume edge-1",)
    assert aborted(world, "edge-1") is not None
    assert world.standing("edge-2") is world.standing("edge-3") is Standing.PASSED
    assert "edge-1 was aborted by tom" in world.view("edge-1").reason
    assert isinstance(world.run(), Done)


def test_newer_content_gets_in_on_resume_before_the_pool_runs_again() -> None:
    world = stopped_in_mid_roll()
    world.files.update(repository("three"))
    resumed = world.clock.now()
    assert isinstance(world.run(), Done)
    wrote = next(w.time for w in world.writes("edge-1") if w.name == "50-worker-app" and w.time > resumed)
    ran = next(w.time for w in world.writes("edge-1") if w.name == "worker" and w.time > resumed)
    assert wrote < ran
    assert sorted(world.reboots("edge-1").values()) == [2, 2, 3], "two went straight to the newest"


@pytest.mark.slow
def test_newer_content_in_a_bracket_gets_in_on_resume_and_no_node_starts_on_half_of_it() -> None:
    world = rolled(both=True)
    world.run(until=lambda _: one_node_done(world, "edge-1"))
    rests(world, ABORTED, hours=1)
    assert aborted(world, "edge-1") is not None
    world.files.update(repository("three", both=True))
    assert isinstance(world.run(), Done)
    assert aborted(world, "edge-1") is None
    assert not paused(world, "edge-1")
    assert sorted(world.reboots("edge-1").values()) == [2, 2, 3]


@pytest.mark.slow
def test_newer_content_for_another_pool_waits_until_what_was_aborted_has_gone_on() -> None:
    world = stopped_in_mid_roll()
    for n in (1, 2, 3):
        world.files[f"clusters/edge-{n}/master.yaml"] = machine_config(
            "50-master-app", "master", files={"/etc/m.conf": "1\n"}
        )
    assert isinstance(world.run(), Done)
    assert set(world.reboots("edge-1").values()) >= {2}
    assert aborted(world, "edge-1") is None


@pytest.mark.slow
def test_a_failed_cluster_that_is_aborted_stays_failed_and_takes_its_repair_on_resume() -> None:
    world = RolloutWorld(files=repository("one"))
    world.faults.set(FaultId.NODE_DEGRADED)
    assert isinstance(world.run(), Done)
    world.files.update(repository("BROKEN"))
    world.run()
    rests(world, ABORTED, hours=1)
    assert aborted(world, "edge-1") is not None
    assert world.standing("edge-1") is Standing.FAILED
    world.files.update(repository("three"))
    assert isinstance(world.run(), Done)
    assert aborted(world, "edge-1") is None


@pytest.mark.slow
def test_a_fresh_process_without_memory_asks_before_it_lets_an_aborted_pool_run() -> None:
    world = stopped_in_mid_roll()
    world.store.state = None
    before = count_all(world)
    outlook = world.run(hours=1)
    assert isinstance(outlook, Hold), outlook
    assert count_all(world) == before
    assert "which an abort has paused" in world.view("edge-1").reason
    assert isinstance(world.run(Acts(approved=frozenset({"edge-1", "edge-2", "edge-3"}))), Done)
    assert aborted(world, "edge-1") is None
