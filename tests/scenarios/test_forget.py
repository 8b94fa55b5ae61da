"""A cluster that is forgotten: its memory goes, our marks go, nothing is deleted."""

from __future__ import annotations

import random

import pytest

from gitops_mc.app.act import take_marks_off
from gitops_mc.app.api import ClusterApi
from gitops_mc.app.observe import ClusterReader, Interest
from gitops_mc.app.use_cases.forgetting import unmark as take_off
from gitops_mc.app.use_cases.planning import Session
from gitops_mc.core.errors import GitopsMcError
from gitops_mc.core.model import JsonObject
from gitops_mc.core.rollout import acts
from gitops_mc.core.rollout.forgetting import left_paused, unmarking
from gitops_mc.core.rollout.inputs import Abort, Acts
from gitops_mc.core.rollout.memory import FleetMemory, to_json
from gitops_mc.core.rollout.moves import Done, Hold, Standing
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.virtual import VirtualWorkers
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config, policy

FLEET_LABEL, APPLIED = "gitops-mc.io/fleet", "gitops-mc.io/applied"


def passed() -> RolloutWorld:
    world = RolloutWorld()
    for n in (1, 2, 3):
        world.files |= {
            f"clusters/edge-{n}/app.yaml": machine_config(
                "50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT
            ),
            f"clusters/edge-{n}/policy.yaml": policy({"/etc/app.conf": "a.service"}),
        }
    assert isinstance(world.run(), Done)
    return world


def unmark(world: RolloutWorld, cluster: str, fleet: str = "test") -> int:
    """Carry the move out; how many objects it wrote."""
    api = ClusterApi(world.fleet.transport(world.clock), world.clock, jitter=random.Random(0).random)
    live = ClusterReader(api, cluster, world.clock).read(None, Interest())
    assert left_paused(live) == ()
    move = unmarking(world.memory(), cluster, live, fleet)
    if move is None:
        return 0
    outcome = take_marks_off(api, move)
    assert not outcome.trouble
    return len(outcome.written)


def forget(world: RolloutWorld, cluster: str) -> None:
    def act(memory: FleetMemory) -> FleetMemory:
        result = acts.forget(memory, cluster, acts.By("mei", world.clock.now()))
        assert isinstance(result, acts.Changed)
        return result.memory

    world.remember(act)


def objects(world: RolloutWorld, cluster: str) -> list[JsonObject]:
    person = world.fleet.person(cluster)
    kinds = ("machineconfigs", "machineconfigpools", "machineconfigurations")
    return [body for kind in kinds for body in person.list_all(kind)]


def marked(world: RolloutWorld, cluster: str) -> list[str]:
    metas = [body["metadata"] for body in objects(world, cluster)]
    ours = [
        m for m in metas if FLEET_LABEL in (m.get("labels") or {}) or APPLIED in (m.get("annotations") or {})
    ]
    return [m["name"] for m in ours]


def test_our_marks_go_and_every_object_and_its_spec_stays() -> None:
    world = passed()
    before = {b["metadata"]["name"]: b["spec"] for b in objects(world, "edge-2")}
    assert marked(world, "edge-2") == ["50-worker-app", "cluster"]
    assert unmark(world, "edge-2") == 2
    assert marked(world, "edge-2") == []
    assert {b["metadata"]["name"]: b["spec"] for b in objects(world, "edge-2")} == before
    assert unmark(world, "edge-2") == 0, "a second time there is nothing to do"
    assert not [w for w in world.writes("edge-2") if w.verb == "delete"]


def test_what_another_fleet_has_marked_since_stays_marked() -> None:
    world = passed()
    person = world.fleet.person("edge-2")
    person.edit("machineconfigs", "50-worker-app", {"metadata": {"labels": {FLEET_LABEL: "other"}}})
    assert unmark(world, "edge-2") == 1
    assert marked(world, "edge-2") == ["50-worker-app"]


def test_a_folder_that_is_gone_is_no_longer_shown_once_its_cluster_is_forgotten() -> None:
    world = passed()
    for name in ("app", "policy"):
        del world.files[f"clusters/edge-3/{name}.yaml"]
    assert isinstance(world.run(), Done)
    assert world.standing("edge-3") is Standing.GONE
    unmark(world, "edge-3")
    forget(world, "edge-3")
    assert isinstance(world.run(), Done)
    assert "edge-3" not in {c.cluster for c in world.last.decision.clusters}
    assert "edge-3" not in world.memory().clusters
    assert marked(world, "edge-3") == []


def test_a_cluster_that_is_forgotten_and_in_git_still_is_met_as_for_the_first_time() -> None:
    world = passed()
    forget(world, "edge-2")
    world.files["clusters/edge-2/app.yaml"] = machine_config(
        "50-worker-app", files={"/etc/app.conf": "two\n"}
    )
    before = len(world.writes("edge-2"))
    outlook = world.run()
    assert isinstance(outlook, Hold), outlook
    assert world.standing("edge-2") is Standing.APPROVAL
    assert len(world.writes("edge-2")) == before
    assert isinstance(world.run(Acts(approved=frozenset({"edge-2"}))), Done)


def test_a_cluster_built_anew_under_its_old_name_gets_everything_once_it_is_forgotten() -> None:
    world, other = passed(), passed()
    state = to_json(other.memory())
    fresh = RolloutWorld(files=dict(world.files))
    fresh.store.save(state)
    fresh.clock.wait(other.clock.now())
    outlook = fresh.run(hours=1)
    assert isinstance(outlook, Done)
    assert "left alone" in outlook.reason, "what it wrote is gone, and it makes nothing again by itself"
    for n in (1, 2, 3):
        forget(fresh, f"edge-{n}")
    assert isinstance(fresh.run(), Done)
    assert marked(fresh, "edge-1") == ["50-worker-app", "cluster"]


def test_a_cluster_that_does_not_answer_is_not_forgotten_by_halves() -> None:
    world = passed()
    api = ClusterApi(world.fleet.transport(world.clock), world.clock, jitter=random.Random(0).random)
    session = Session(api, world.clock, VirtualWorkers(world.clock), world.executor())
    gone = world.faults.set(FaultId.GATEWAY_GONE, cluster="edge-2")
    with pytest.raises(GitopsMcError, match="edge-2 cannot be read"):
        take_off(session, world.memory(), "edge-2", "test")
    world.faults.clear(gone)
    assert take_off(session, world.memory(), "edge-2", "test") == (
        "our marks are taken off 2 objects of edge-2",
    )
    assert marked(world, "edge-2") == []


def test_a_pool_that_a_step_of_ours_keeps_paused_is_named_and_stays_paused() -> None:
    world = passed()
    for name in ("app", "more"):
        world.files[f"clusters/edge-1/{name}.yaml"] = machine_config(
            f"50-worker-{name}", files={"/etc/x": name}
        )
    world.run(until=lambda _: _paused(world))
    api = ClusterApi(world.fleet.transport(world.clock), world.clock, jitter=random.Random(0).random)
    session = Session(api, world.clock, VirtualWorkers(world.clock), world.executor())
    told = take_off(session, world.memory(), "edge-1", "test")
    assert any("pool worker of edge-1 stand paused by us" in sentence for sentence in told)
    assert _paused(world)


def test_a_pool_that_an_abort_keeps_paused_is_named_too() -> None:
    world = passed()
    world.files["clusters/edge-1/app.yaml"] = machine_config("50-worker-app", app_service=UNIT)
    world.run(until=lambda look: bool(look.written))
    world.run(Acts(aborted=Abort("alarms", "mei")), until=lambda _: _paused(world))
    live = ClusterReader(world.executor().api, "edge-1", world.clock).read(None, Interest())
    assert left_paused(live) == ("worker",)


def _paused(world: RolloutWorld) -> bool:
    pool = world.fleet.person("edge-1").get("machineconfigpools", "worker")
    return pool is not None and bool(pool["spec"].get("paused"))
