"""`paused` in a pool's manifest: it takes effect last, and is taken back only where it was ours."""

from __future__ import annotations

from gitops_mc.core.model import JsonObject
from gitops_mc.core.rollout.moves import Done
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config
from tests.scenarios.test_groups import pool

CONFIG = machine_config("50-worker-a", files={"/etc/a.conf": "1\n"}, a_service=UNIT)
CHANGED = machine_config("50-worker-a", files={"/etc/a.conf": "2\n"}, a_service=UNIT + "# 2\n")


def world() -> RolloutWorld:
    files = {"clusters/edge-1/a.yaml": CONFIG, "clusters/edge-1/pool.yaml": pool("infra")}
    made = RolloutWorld(spec=simple_fleet("edge-1"), files=files)
    made.fleet.person("edge-1").label_node("edge-1-w1", **{"node-role.kubernetes.io/infra": ""})
    assert isinstance(made.run(), Done)
    return made


def infra(w: RolloutWorld) -> JsonObject:
    found = w.fleet.person("edge-1").get("machineconfigpools", "infra")
    assert found is not None
    return found


def test_a_manifest_that_pauses_its_pool_does_so_after_the_writes_and_frees_it_again() -> None:
    w = world()
    before = w.reboots("edge-1")
    w.files["clusters/edge-1/pool.yaml"] = pool("infra", paused=True)
    w.files["clusters/edge-1/a.yaml"] = CHANGED
    w.run(hours=1)
    assert infra(w)["spec"]["paused"] is True
    assert "its manifest says so" in w.view("edge-1").reason
    assert w.reboots("edge-1")["edge-1-w1"] == before["edge-1-w1"]
    assert w.reboots("edge-1")["edge-1-w2"] == before["edge-1-w2"] + 1
    w.files["clusters/edge-1/pool.yaml"] = pool("infra", paused=False)
    outlook = w.run(hours=2)
    assert isinstance(outlook, Done), outlook
    assert infra(w)["spec"]["paused"] is False
    assert w.reboots("edge-1")["edge-1-w1"] == before["edge-1-w1"] + 1


def test_a_manifest_that_says_false_does_not_unpause_what_a_person_paused() -> None:
    w = world()
    w.fleet.person("edge-1").pause("infra")
    w.files["clusters/edge-1/pool.yaml"] = pool("infra", paused=False)
    w.run(hours=1)
    assert infra(w)["spec"]["paused"] is True
    assert "not by us" in w.view("edge-1").reason
