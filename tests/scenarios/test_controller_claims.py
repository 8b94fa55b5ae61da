"""Clusters that are not this Fleet's: what is said of them, and what the others do meanwhile."""

from __future__ import annotations

from gitops_mc.app.ports import MERGE_PATCH
from gitops_mc.core.model import JsonObject
from tests.app.fleet_desk import NAMES, files
from tests.scenarios.controller_world import ROLLOUTS, ControllerWorld, Replica
from tests.scenarios.rollout_world import FLEET


def world(fleet: str = FLEET) -> ControllerWorld:
    made = ControllerWorld()
    made.push(files("one", fleet))
    return made


def claim(made: ControllerWorld, *clusters: str) -> None:
    kind = {"apiVersion": "gitops-mc.io/v1alpha1", "kind": "ClusterRollout"}
    for name in clusters:
        labels = {"gitops-mc.io/fleet": "other"}
        body = {"metadata": {"name": name, "labels": labels}, "spec": {"fleet": "other", "cluster": name}}
        made.kubectl("POST", ROLLOUTS, {**kind, **body})


def conditions(made: ControllerWorld) -> dict[str, JsonObject]:
    found = made.fleet()["status"]["conditions"]
    return {c["type"]: c for c in found}


def test_a_fleet_whose_clusters_are_all_claimed_is_stalled_and_says_by_whom() -> None:
    made = world()
    claim(made, *NAMES)
    replica = made.run(hours=0.1)
    stalled = conditions(made)["Stalled"]
    assert (stalled["status"], stalled["reason"]) == ("True", "NeedsSomebody")
    assert (
        "edge-1, edge-2, edge-3: each is blocked: Fleet gitops-mc/other has claimed it" in stalled["message"]
    )
    assert "kubectl -n gitops-mc delete clusterrollout edge-1 edge-2 edge-3" in stalled["message"]
    assert "gateway" not in stalled["message"]
    assert "gitops-mc skip" not in stalled["message"]  # it would be asked for on an object of the other Fleet
    made.run(replica, hours=1)
    assert not any(made.rollout.writes(name) for name in NAMES)


def test_the_clusters_that_are_left_roll_on_and_the_fleet_is_stalled_at_the_end() -> None:
    made = world(FLEET.replace("  rollout:\n", "  rollout:\n    maxUnreachable: 1\n"))
    claim(made, "edge-3")
    replica = made.run(until=lambda w: "hold" in w.outlook())
    assert made.rollout.writes("edge-2")
    assert not made.rollout.writes("edge-3")
    assert conditions(made)["Stalled"]["status"] == "True"
    assert "edge-3 is blocked: Fleet gitops-mc/other has claimed it" in conditions(made)["Stalled"]["message"]
    made.kubectl("DELETE", f"{ROLLOUTS}/edge-3")
    made.run(replica, until=lambda w: w.outlook() == "done")


def test_a_claim_without_a_label_ends_with_its_object_and_needs_no_restart() -> None:
    made = world()
    kind = {"apiVersion": "gitops-mc.io/v1alpha1", "kind": "ClusterRollout"}
    spec = {"fleet": "other", "cluster": "edge-3"}
    made.kubectl("POST", ROLLOUTS, {**kind, "metadata": {"name": "edge-3"}, "spec": spec})
    replica = made.run(until=lambda w: "hold" in w.outlook())
    assert "Fleet gitops-mc/other has claimed it" in conditions(made)["Stalled"]["message"]
    made.kubectl("DELETE", f"{ROLLOUTS}/edge-3")
    made.run(replica, until=lambda w: w.outlook() == "done")


def test_what_is_remembered_and_cannot_be_understood_is_a_hold_and_no_fault_of_the_gateway() -> None:
    made = world()
    replica: Replica = made.run(until=lambda w: w.outlook() == "done")
    kept = {name: made.of(name)["status"] for name in NAMES}
    for name in NAMES:
        odd = {**kept[name], "memory": {**kept[name]["memory"], "version": 99}}
        made.kubectl("PATCH", f"{ROLLOUTS}/{name}/status", {"status": odd}, MERGE_PATCH)
    made.push(files("two"))
    fresh = made.run(hours=0.1)
    stalled = conditions(made)["Stalled"]
    assert stalled["status"] == "True"
    assert "gateway" not in stalled["message"]
    assert "its ClusterRollout cannot be understood" in stalled["message"]
    assert "kubectl -n gitops-mc edit clusterrollout edge-1" in stalled["message"]
    for name in NAMES:
        made.kubectl("PATCH", f"{ROLLOUTS}/{name}/status", {"status": kept[name]}, MERGE_PATCH)
    made.run(fresh, until=lambda w: w.outlook() == "done")
    assert not replica.heard.errors
