"""What is deleted, and above all what is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from gitops_mc.core.model import Commit
from gitops_mc.core.plan import ClusterPlan
from gitops_mc.core.rollout.inputs import Acts, Fleet
from gitops_mc.core.rollout.moves import Done, Halted, Hold, Standing
from gitops_mc.sandbox.apiserver import AcceptedWrite
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config, manifest, module, policy

PRUNE = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: test}
spec:
  prune: {enabled: true, maxDeletes: 2}
"""
NO_PRUNE = PRUNE.replace("enabled: true", "enabled: false")
ROLE = "machineconfiguration.alauda.io/role"


@dataclass
class AnyRepository(RolloutWorld):
    """Hands the engine what was read, problems of the whole fleet included: it has to hold by itself."""

    def git(self, commit: str = "") -> Fleet:
        state = self.desired()
        return Fleet(state.policy, state.clusters, Commit(commit or str(len(self.looks))))


def file(number: int, text: str = "1\n") -> str:
    return machine_config(f"5{number}-worker-f", files={f"/etc/f{number}.conf": text})


def made(count: int = 6, fleet: str = NO_PRUNE) -> AnyRepository:
    """Two clusters, each with so many configs, rolled out."""
    world = AnyRepository(spec=simple_fleet("edge-1", "edge-2", workers=1))
    world.files["fleet.yaml"] = fleet
    for cluster in ("edge-1", "edge-2"):
        world.files |= {f"clusters/{cluster}/f{n}.yaml": file(n) for n in range(count)}
    assert isinstance(world.run(), Done)
    return world


def configs(world: RolloutWorld, cluster: str = "edge-1") -> set[str]:
    found = world.fleet.person(cluster).list_all("machineconfigs")
    return {
        c["metadata"]["name"] for c in found if not c["metadata"]["name"].startswith(("00-", "rendered-"))
    }


def deletions(world: RolloutWorld, cluster: str = "edge-1") -> list[AcceptedWrite]:
    return [w for w in world.writes(cluster) if w.after is None or w.verb == "delete"]


def plan_of(world: RolloutWorld, cluster: str = "edge-1") -> ClusterPlan:
    found = world.view(cluster).plan
    assert found is not None
    return found


def without(world: RolloutWorld, *numbers: int, clusters: tuple[str, ...] = ("edge-1", "edge-2")) -> None:
    for cluster in clusters:
        for n in numbers:
            del world.files[f"clusters/{cluster}/f{n}.yaml"]


def test_what_is_gone_from_git_stays_as_an_orphan_where_prune_is_not_enabled() -> None:
    world = made()
    without(world, 0)
    assert isinstance(world.run(), Done)
    assert deletions(world) == []
    assert [(str(o.key), "prune is not enabled" in o.reason) for o in plan_of(world).kept] == [
        ("edge-1/MachineConfig/50-worker-f", True)
    ]
    assert "/etc/f0.conf" in world.fleet.machine("edge-1", "edge-1-w1").files
    world.files["clusters/edge-1/more.yaml"] = file(9)
    assert isinstance(world.run(), Done)
    assert deletions(world) == []
    assert [str(o.key) for o in plan_of(world).kept] == ["edge-1/MachineConfig/50-worker-f"]


def test_within_its_limits_prune_deletes_exactly_what_is_gone() -> None:
    world = made(fleet=PRUNE)
    reboots = world.reboots("edge-1")
    without(world, 0, 3, clusters=("edge-1",))
    assert isinstance(world.run(), Done)
    assert configs(world) == {f"5{n}-worker-f" for n in (1, 2, 4, 5)}
    assert [w.name for w in deletions(world)] == ["50-worker-f", "53-worker-f"]
    assert deletions(world, "edge-2") == []
    assert world.reboots("edge-1") == reboots
    assert set(world.fleet.machine("edge-1", "edge-1-w1").files) >= {"/etc/f1.conf"}
    assert "/etc/f0.conf" not in world.fleet.machine("edge-1", "edge-1-w1").files


def test_beyond_its_limits_nothing_is_deleted_and_the_numbers_are_told() -> None:
    world = made(fleet=PRUNE)
    before = len(world.writes("edge-1"))
    without(world, 0, 1, 2)
    world.run(hours=1)
    assert world.standing("edge-1") is Standing.BLOCKED
    told = world.view("edge-1").reason
    assert "3 objects would be deleted" in told
    assert "maxDeletes (2)" in told
    assert len(world.writes("edge-1")) == before


def test_more_than_half_of_what_we_own_is_refused_whatever_the_limit() -> None:
    world = made(fleet=PRUNE.replace("maxDeletes: 2", "maxDeletes: 50"))
    before = len(world.writes("edge-1"))
    without(world, 0, 1, 2, 3)
    world.run(hours=1)
    assert world.standing("edge-1") is Standing.BLOCKED
    assert "more than half of the 6 objects" in world.view("edge-1").reason
    assert len(world.writes("edge-1")) == before


@pytest.mark.parametrize(
    ("before", "after"),
    [(NO_PRUNE, PRUNE), (PRUNE, PRUNE.replace("maxDeletes: 2", "maxDeletes: 3"))],
    ids=["prune enabled", "limit raised"],
)
def test_a_loosened_limit_holds_from_the_next_commit_on(before: str, after: str) -> None:
    world = made(fleet=before)
    gone = (0, 1, 2) if before == PRUNE else (0,)
    world.files["fleet.yaml"] = after
    without(world, *gone)
    world.run(hours=1)
    assert deletions(world) == []
    for cluster in ("edge-1", "edge-2"):
        world.files[f"clusters/{cluster}/f5.yaml"] = file(5, "2\n")
    assert isinstance(world.run(hours=2), Done)
    assert [w.name for w in deletions(world)] == [f"5{n}-worker-f" for n in gone]


def test_orphans_go_once_prune_lets_them_by_the_same_limits_and_wave_after_wave() -> None:
    world = made()
    without(world, 0)
    assert isinstance(world.run(), Done)
    world.files["fleet.yaml"] = PRUNE
    assert isinstance(world.run(), Done)
    assert deletions(world) == [], "the commit that enables it"
    world.files["README.md"] = "the next commit"
    assert isinstance(world.run(), Done)
    first, second = deletions(world), deletions(world, "edge-2")
    assert [w.name for w in (*first, *second)] == ["50-worker-f", "50-worker-f"]
    assert first[0].time < second[0].time
    writes = len(world.writes("edge-1"))
    assert isinstance(world.run(), Done)
    assert len(world.writes("edge-1")) == writes


def test_orphans_beyond_the_limit_of_files_stay_and_the_numbers_are_told() -> None:
    world = made(count=3)
    many = machine_config("60-worker-many", files={f"/etc/many/{n}": "1\n" for n in range(5)})
    world.files["clusters/edge-1/many.yaml"] = many
    assert isinstance(world.run(), Done)
    del world.files["clusters/edge-1/many.yaml"]
    assert isinstance(world.run(), Done)
    world.files["fleet.yaml"] = PRUNE
    assert isinstance(world.run(), Done)
    world.files["README.md"] = "the next commit"
    world.run(hours=1)
    assert deletions(world) == []
    assert world.standing("edge-1") is Standing.BLOCKED
    assert "5 files and units would leave pool worker" in world.view("edge-1").reason


@dataclass
class Folder(AnyRepository):
    """A source without commits."""

    def git(self, commit: str = "") -> Fleet:
        state = self.desired()
        return Fleet(state.policy, state.clusters, Commit(commit))


def test_in_a_folder_a_loosened_limit_holds_from_the_next_change_on() -> None:
    world = Folder(spec=simple_fleet("edge-1", workers=1))
    world.files["fleet.yaml"] = NO_PRUNE
    world.files |= {f"clusters/edge-1/f{n}.yaml": file(n) for n in range(4)}
    assert isinstance(world.run(), Done)
    world.files["fleet.yaml"] = PRUNE
    without(world, 0, clusters=("edge-1",))
    assert isinstance(world.run(), Done)
    assert isinstance(world.run(), Done)
    assert deletions(world) == []
    world.files["clusters/edge-1/f1.yaml"] = file(1, "2\n")
    assert isinstance(world.run(), Done)
    assert [w.name for w in deletions(world)] == ["50-worker-f"]


def test_a_tightened_limit_holds_at_once() -> None:
    world = made(fleet=PRUNE)
    world.files["fleet.yaml"] = NO_PRUNE
    without(world, 0)
    assert isinstance(world.run(), Done)
    assert deletions(world) == []


def marked(number: int, prune: str) -> str:
    found = json.loads(file(number))
    found["metadata"]["annotations"] = {"gitops-mc.io/prune": prune}
    return json.dumps(found)


def test_prune_disabled_on_the_live_object_keeps_it_and_says_so() -> None:
    world = made(fleet=PRUNE)
    world.files["clusters/edge-1/f0.yaml"] = marked(0, "disabled")
    assert isinstance(world.run(), Done)
    without(world, 0, clusters=("edge-1",))
    assert isinstance(world.run(), Done)
    assert deletions(world) == []
    assert any("disabled" in o.reason for o in plan_of(world).kept)


def test_machine_config_is_removed_only_after_a_commit_that_confirms_it() -> None:
    world = AnyRepository(spec=simple_fleet("edge-1", workers=1, machine_config=None))
    world.files |= {"fleet.yaml": PRUNE, "clusters/edge-1/m.yaml": module("edge-1")}
    world.files |= {f"clusters/edge-1/f{n}.yaml": file(n) for n in range(3)}
    assert isinstance(world.run(), Done)
    text = world.files.pop("clusters/edge-1/m.yaml")
    assert isinstance(world.run(), Done)
    assert deletions(world, "global") == []
    assert any("confirmed" in o.reason for o in plan_of(world).kept)
    confirmed = json.loads(text)
    confirmed["metadata"]["annotations"] = {"gitops-mc.io/prune": "confirmed"}
    world.files["clusters/edge-1/m.yaml"] = json.dumps(confirmed)
    assert isinstance(world.run(), Done)
    assert deletions(world, "global") == [], "the commit that confirms deletes nothing yet"
    del world.files["clusters/edge-1/m.yaml"]
    world.run(hours=1)
    assert [w.resource.partition(".")[0] for w in deletions(world, "global")] == ["moduleinfoes"]


def test_protected_and_foreign_objects_are_never_deleted() -> None:
    world = AnyRepository(spec=simple_fleet("edge-1", workers=1))
    theirs = json.loads(machine_config("70-worker-theirs", files={"/etc/theirs.conf": "1\n"}))
    theirs["spec"]["config"]["storage"]["files"][0]["contents"] = {"source": "data:,1"}
    world.fleet.person("edge-1").apply("machineconfigs", theirs)
    world.clock.wait_for(600)
    pools = {
        name: manifest(
            "MachineConfigPool",
            name,
            {
                "machineConfigSelector": {"matchLabels": {ROLE: name}},
                "nodeSelector": {
                    "matchLabels": {f"node-role.kubernetes.io/{node}": ""},
                },
                "maxUnavailable": 1,
            },
            {"gitops-mc.io/adopt-from": "machine-config-controller"},
        )
        for name, node in (("worker", "worker"),)
    }
    world.files |= {"fleet.yaml": PRUNE.replace("maxDeletes: 2", "maxDeletes: 50")}
    world.files |= {f"clusters/edge-1/p-{n}.yaml": text for n, text in pools.items()}
    world.files["clusters/edge-1/policy.yaml"] = policy({"/etc/f0.conf": "a.service"})
    world.files |= {f"clusters/edge-1/f{n}.yaml": file(n) for n in range(8)}
    assert isinstance(world.run(Acts(approved=frozenset({"edge-1"}))), Done), world.view("edge-1").reason
    for name in ("p-worker", "policy"):
        del world.files[f"clusters/edge-1/{name}.yaml"]
    assert isinstance(world.run(), Done)
    assert deletions(world) == []
    person = world.fleet.person("edge-1")
    assert person.get("machineconfigpools", "worker") is not None
    assert person.get("machineconfigurations", "cluster") is not None
    assert person.get("machineconfigs", "70-worker-theirs") is not None


def test_the_revert_of_content_that_failed_deletes_what_that_made_without_prune() -> None:
    world = made(count=1)
    world.faults.set(FaultId.NODE_DEGRADED, cluster="edge-1")
    kept = world.files["clusters/edge-1/f0.yaml"]
    bad = machine_config("60-worker-bad", files={"/etc/bad.conf": "BROKEN\n"}, bad_service=UNIT)
    world.files["clusters/edge-1/bad.yaml"] = bad
    assert isinstance(world.run(), Halted)
    assert configs(world) == {"50-worker-f", "60-worker-bad"}
    del world.files["clusters/edge-1/bad.yaml"]
    assert world.files["clusters/edge-1/f0.yaml"] == kept
    outlook = world.run()
    assert isinstance(outlook, Done), outlook
    assert configs(world) == {"50-worker-f"}
    assert [w.name for w in deletions(world)] == ["60-worker-bad"]


def test_a_config_that_is_still_rolling_is_not_deleted_before_its_pool_has_settled() -> None:
    world = made(count=4, fleet=PRUNE)
    theirs = json.loads(file(9))
    theirs["spec"]["config"]["systemd"] = {
        "units": [{"name": "x.service", "enabled": True, "contents": UNIT}]
    }
    theirs["spec"]["config"]["storage"]["files"][0]["contents"] = {"source": "data:,1"}
    world.fleet.person("edge-1").apply("machineconfigs", theirs)
    world.clock.wait_for(20)
    without(world, 0, clusters=("edge-1",))
    world.run(hours=1)
    assert deletions(world) == []
    assert world.standing("edge-1") is Standing.BLOCKED
    world.clock.wait_for(600)
    assert isinstance(world.run(), Done)
    assert [w.name for w in deletions(world)] == ["50-worker-f"]
    assert world.reboots("edge-1") == {"edge-1-w1": 1}, "for their unit alone"


# ------------------------------------------------------------------------------------- a source that says too little


def nothing(world: RolloutWorld) -> None:
    world.files.clear()


def only_fleet(world: RolloutWorld) -> None:
    world.files = {"fleet.yaml": world.files["fleet.yaml"]}


def folder_emptied(world: RolloutWorld) -> None:
    world.files = {k: v for k, v in world.files.items() if "edge-1" not in k}
    world.files["clusters/edge-1/README.md"] = "nothing here"


def folder_gone(world: RolloutWorld) -> None:
    world.files = {k: v for k, v in world.files.items() if "edge-1" not in k}


def folder_renamed(world: RolloutWorld) -> None:
    world.files = {k.replace("edge-1", "edge-one"): v for k, v in world.files.items()}


def half_gone(world: RolloutWorld) -> None:
    without(world, 0, 1, 2, 3)


def syntax_error(world: RolloutWorld) -> None:
    without(world, 0)
    world.files["clusters/edge-1/f1.yaml"] = "kind: [MachineConfig\n"


def fleet_file_broken(world: RolloutWorld) -> None:
    without(world, 0)
    world.files["fleet.yaml"] = "spec: [\n"


def conflict_markers(world: RolloutWorld) -> None:
    without(world, 0)
    world.files["clusters/edge-1/f1.yaml"] = f"<<<<<<< HEAD\n{file(1)}\n=======\n>>>>>>> x\n"


@pytest.mark.parametrize(
    "slip",
    [
        nothing,
        only_fleet,
        folder_emptied,
        folder_gone,
        folder_renamed,
        half_gone,
        syntax_error,
        fleet_file_broken,
        conflict_markers,
    ],
)
def test_a_source_that_says_too_little_deletes_nothing(slip: Callable[[RolloutWorld], None]) -> None:
    world = made(fleet=PRUNE)
    before = configs(world)
    writes = len(world.writes("edge-1"))
    good = dict(world.files)
    slip(world)
    outlook = world.run(hours=1)
    assert deletions(world) == []
    assert len(world.writes("edge-1")) == writes
    assert configs(world) == before
    assert isinstance(outlook, Done | Hold), "it says that it is over, or for whom it waits"
    world.files = good
    assert isinstance(world.run(), Done), "and when it is mended, it goes on"
    assert deletions(world) == []
