"""The controller, end to end on virtual time: pushes, orders by kubectl, restarts, and what stands in its objects."""

from __future__ import annotations

from base64 import b64encode
from datetime import timedelta

import pytest

from gitops_mc.app.executor import Executor
from gitops_mc.app.ports import MERGE_PATCH
from gitops_mc.core.custom.fleet_spec import FleetSpec
from gitops_mc.core.errors import UsageError
from gitops_mc.core.model import GLOBAL_CLUSTER
from gitops_mc.core.rollout.moves import Done
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.controller_world import API, FLEETS, HERE, ROLLOUTS, ControllerWorld, WorldMeans
from tests.scenarios.rollout_world import FLEET, UNIT, RolloutWorld, machine_config, module

CONFIG = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
BAD = machine_config("50-worker-app", files={"/etc/app.conf": "breaks\n"}, app_service=UNIT)
GOOD = machine_config("50-worker-app", files={"/etc/app.conf": "three\n"}, app_service=UNIT)
ELSEWHERE = f"/apis/{API}/namespaces/elsewhere/clusterrollouts"
NAMES = ("edge-1", "edge-2", "edge-3")
ASKING = FLEET.replace("clusters: {}\n", "clusters: {}\n        approval: manual\n")


def three(config: str = CONFIG, **more: str) -> dict[str, str]:
    return {f"clusters/{name}/app.yaml": config for name in NAMES} | more


def done(world: ControllerWorld) -> bool:
    return world.outlook() == "done"


def pushed(config: str = CONFIG, fleet: str = FLEET) -> ControllerWorld:
    """A world whose first commit has reached every cluster, or as far as it goes."""
    world = ControllerWorld()
    world.push({**three(config), "fleet.yaml": fleet})
    return world


def reboots(world: ControllerWorld) -> dict[str, int]:
    return {n: c for (_, n), c in world.rollout.fleet.reboots().items() if c}


def wrote(world: ControllerWorld, cluster: str, text: str) -> bool:
    """Whether a file with this text was written there."""
    coded = b64encode(f"{text}\n".encode()).decode()
    return any(coded in str(w.after) for w in world.rollout.writes(cluster))


def test_a_commit_that_is_pushed_reaches_every_cluster_and_the_fleet_becomes_ready() -> None:
    world = pushed()
    world.run(until=done)
    assert world.ready() == "Done"
    assert {world.standing(name) for name in NAMES} == {"passed"}
    assert reboots(world) == {f"{name}-w{n}": 1 for name in NAMES for n in (1, 2)}
    assert world.fleet()["status"]["progress"] == "3/3"
    assert {world.of(name)["status"]["commit"] for name in NAMES} == {world.git.head}


def test_the_fleet_says_that_it_is_done_within_seconds_of_the_last_cluster_that_passed() -> None:
    world = pushed()
    replica = world.run(
        until=lambda w: bool(w.heard.looks) and isinstance(w.heard.looks[-1].decision.outlook, Done)
    )
    world.run(replica, hours=15 / 3600)
    assert world.outlook() == "done"
    assert world.ready() == "Done"


def test_the_next_commit_is_followed_without_anybody_doing_anything() -> None:
    world = pushed()
    replica = world.run(until=done)
    commit = world.push(three(GOOD))
    world.run(replica, until=lambda w: w.fleet()["status"]["source"]["commit"] == commit and done(w))
    assert all(wrote(world, name, "three") for name in NAMES)


def test_a_new_fleet_is_looked_after_within_a_few_busy_passes() -> None:
    world = pushed()
    clock = world.rollout.clock
    begun = clock.now()
    world.git.before = lambda: clock.wait(clock.now() + timedelta(seconds=1))
    world.run(until=lambda w: bool(w.heard.looks))
    assert clock.now() - begun <= timedelta(seconds=15)
    assert world.heard.troubles == []


def test_what_git_has_said_is_looked_at_with_the_next_busy_pass_even_where_nothing_is_awaited() -> None:
    world = ControllerWorld()
    clock = world.rollout.clock
    world.git.before = lambda: clock.wait(clock.now() + timedelta(seconds=1))
    world.push(three())
    replica = world.run(until=done)
    poller = replica.controller.loops["prod"].poller
    assert poller is not None
    commit = world.push(three(GOOD))
    world.run(replica, until=lambda _: poller.asking)
    world.run(replica, hours=6 / 3600)
    assert poller.pulled.commit == commit


def test_a_wave_waits_for_its_approval_and_goes_on_with_it() -> None:
    world = pushed(fleet=ASKING)
    replica = world.run(until=lambda w: w.outlook() == "hold")
    assert world.ready() == "NeedsSomebody"
    assert world.standing("edge-1") == "passed"
    assert not world.rollout.writes("edge-2")
    world.annotate("", "approve", "{wave: rest, by: mei, reason: looked at the canary}")
    world.run(replica, until=done)
    history = world.fleet()["status"]["history"]
    assert [(act["who"], act["what"], act["why"]) for act in history] == [
        ("mei", "approve rest", "looked at the canary")
    ]
    assert "annotations" not in world.fleet()["metadata"]


def test_an_approval_is_void_once_the_contents_change() -> None:
    world = pushed(fleet=ASKING)
    replica = world.run(until=lambda w: w.outlook() == "hold")
    world.annotate("", "approve", "{wave: rest}")
    world.push({**three(GOOD), "fleet.yaml": ASKING})
    world.run(replica, hours=3, until=lambda w: w.outlook() == "hold" and w.standing("edge-1") == "passed")
    later = world.run(replica, hours=1)
    assert not wrote(world, "edge-2", "three")
    assert world.outlook() == "hold", later.heard.troubles


# ------------------------------------------------------------------------------------------------- failure and repair


def failed() -> ControllerWorld:
    world = pushed()
    replica = world.run(until=done)
    world.rollout.faults.set(FaultId.NODE_DEGRADED, marker="breaks")
    world.push(three(BAD))
    world.run(replica, until=lambda w: w.outlook() == "halted")
    return world


def test_what_fails_halts_the_fleet_and_stays_held_through_commits_that_change_nothing() -> None:
    world = failed()
    held = world.of("edge-1")["spec"]["held"]
    assert held["cause"] == "config"
    assert world.fleet()["spec"]["halt"]["clusters"] == ["edge-1"]
    before = len(world.rollout.writes("edge-1"))
    commit = world.push(three(BAD, **{"README.md": "hello\n"}))
    world.run(hours=2)
    assert world.fleet()["status"]["source"]["commit"] == commit
    assert len(world.rollout.writes("edge-1")) == before
    assert world.of("edge-1")["spec"]["held"]["content"] == held["content"]
    assert not any(wrote(world, name, "breaks") for name in NAMES[1:])


def test_newer_content_that_repairs_goes_through_the_halt_and_ends_it() -> None:
    world = failed()
    world.push(three(GOOD))
    world.run(until=done)
    assert "halt" not in world.fleet()["spec"]
    assert "held" not in world.of("edge-1")["spec"]
    assert {world.standing(name) for name in NAMES} == {"passed"}


def test_a_restored_backup_without_status_still_knows_what_is_held() -> None:
    world = failed()
    before = len(world.rollout.writes("edge-1"))
    for path in (f"{FLEETS}/prod/status", *(f"{ROLLOUTS}/{name}/status" for name in NAMES)):
        world.kubectl("PATCH", path, {"status": None}, MERGE_PATCH)
    world.run(hours=1.5)
    assert len(world.rollout.writes("edge-1")) == before
    assert not any(wrote(world, name, "breaks") for name in NAMES[1:])


# ------------------------------------------------------------------------------------------------------------ orders


def test_suspended_by_kubectl_patch_nothing_is_written_and_resumed_it_goes_on() -> None:
    world = pushed()
    world.edit("", {"suspend": True, "suspendReason": "storage is being moved"})
    replica = world.run(hours=2)
    assert not any(world.rollout.writes(name) for name in NAMES)
    world.edit("", {"suspend": None})
    world.run(replica, until=done)


def test_suspend_and_resume_can_be_asked_for_and_stand_in_spec() -> None:
    world = pushed()
    replica = world.run(until=lambda w: w.standing("edge-1") == "passed" if w.outlook() else False)
    world.annotate("", "suspend", "a storm is coming")
    world.run(replica, hours=0.1)
    written = {name: len(world.rollout.writes(name)) for name in NAMES}
    assert world.fleet()["spec"]["suspend"] is True
    world.run(replica, hours=3)
    assert {name: len(world.rollout.writes(name)) for name in NAMES} == written
    world.annotate("", "resume", "it is over")
    world.run(replica, until=done)


def test_a_held_cluster_begins_nothing_until_it_is_released() -> None:
    world = pushed()
    world.run(hours=0.01)
    world.annotate("edge-1", "hold", "{reason: disks are being swapped, by: mei}")
    replica = world.run(hours=2)
    assert not world.rollout.writes("edge-1")
    assert world.of("edge-1")["spec"]["hold"] == {"reason": "disks are being swapped", "by": "mei"}
    assert "disks are being swapped" in world.of("edge-1")["status"]["reason"]
    world.annotate("edge-1", "release", "swapped")
    world.run(replica, until=done)
    assert "hold" not in world.of("edge-1")["spec"]


def test_a_request_that_is_not_understood_is_taken_off_and_told() -> None:
    world = pushed()
    replica = world.run(until=done)
    world.annotate("edge-1", "excuse", "{nodes: edge-1-w1}")
    world.annotate("edge-2", "unskip", "no reason")
    world.run(replica, hours=0.1)
    told = [act["why"] for act in world.fleet()["status"]["history"]]
    assert any("node is missing" in why for why in told)
    assert any("edge-2 is not skipped" in why for why in told)
    assert "annotations" not in world.of("edge-1")["metadata"]
    assert "annotations" not in world.of("edge-2")["metadata"]


@pytest.mark.parametrize(("cluster", "verb"), [("", "suspend"), ("edge-1", "hold"), ("edge-1", "skip")])
@pytest.mark.parametrize("value", ["x" * 1025, "{by: " + "x" * 254 + "}"])
def test_what_no_object_could_keep_is_refused_and_stops_nothing(cluster: str, verb: str, value: str) -> None:
    world = pushed()
    replica = world.run(until=done)
    world.annotate(cluster, verb, value)
    world.annotate("edge-2", "hold", "x" * 1024)
    world.run(replica, hours=0.1)
    assert "characters, at most" in world.fleet()["status"]["history"][0]["why"]
    assert world.of("edge-2")["spec"]["hold"]["reason"] == "x" * 1024
    assert not replica.heard.troubles


def test_the_longest_reason_suspends() -> None:
    world = pushed()
    replica = world.run(until=done)
    world.annotate("", "suspend", "{by: " + "m" * 253 + ", reason: " + "x" * 1024 + "}")
    world.run(replica, hours=0.1)
    assert world.fleet()["spec"]["suspend"] is True


def test_a_cluster_that_has_left_git_is_forgotten_with_our_marks_and_nothing_is_deleted() -> None:
    world = pushed()
    replica = world.run(until=done)
    files = {path: text for path, text in three().items() if "edge-3" not in path}
    world.push(files)
    world.run(replica, until=lambda w: w.ready("edge-3") == "GoneFromGit")
    world.annotate("edge-3", "forget", "{reason: it was sold, by: mei}")
    world.run(replica, hours=0.2)
    listed = world.kubectl("GET", ROLLOUTS)["items"]
    assert [body["metadata"]["name"] for body in listed] == ["edge-1", "edge-2"]
    left = world.rollout.fleet.person("edge-3").get("machineconfigs", "50-worker-app")
    assert left is not None
    assert "gitops-mc.io/fleet" not in left["metadata"]["labels"]
    assert world.fleet()["status"]["history"][-1]["what"] == "forget edge-3"


def test_a_failed_cluster_goes_back_when_somebody_asks_for_it_and_what_failed_stays_held() -> None:
    world = failed()
    world.annotate("edge-1", "rollback", "{reason: no repair in sight, by: mei}")
    world.run(hours=1)
    assert world.of("edge-1")["spec"]["rolledBack"]["by"] == "mei"
    node = world.rollout.fleet.person("edge-1").get("nodes", "edge-1-w1")
    assert node is not None
    assert node["metadata"]["annotations"]["machineconfiguration.alauda.io/state"] == "Done"
    before = len(world.rollout.writes("edge-1"))
    for path in (f"{FLEETS}/prod/status", *(f"{ROLLOUTS}/{name}/status" for name in NAMES)):
        world.kubectl("PATCH", path, {"status": None}, MERGE_PATCH)
    world.run(hours=1)
    assert len(world.rollout.writes("edge-1")) == before, "a restored backup knows what is held"
    world.push(three(GOOD))
    world.annotate("edge-1", "approve", "the memory was lost")
    world.annotate("edge-2", "approve", "the memory was lost")
    world.annotate("edge-3", "approve", "the memory was lost")
    world.run(until=done)


def test_what_failed_is_tried_again_when_somebody_asks_for_it() -> None:
    world = failed()
    world.rollout.faults.clear_all()
    world.rollout.clock.wait_for(75)  # by then the node has tried again
    world.annotate("edge-1", "retry", "the disk is new")
    world.run(until=done)
    assert all(wrote(world, name, "breaks") for name in NAMES)


# ------------------------------------------------------------------------------------------------------- repository


def test_while_git_is_down_what_was_read_goes_on_and_its_age_is_told() -> None:
    world = pushed()
    replica = world.run(until=lambda w: bool(w.rollout.writes("edge-1")))
    world.git.down = "the Git server does not answer"
    world.run(replica, hours=6, until=lambda w: w.fleet()["status"].get("progress") == "3/3")
    assert world.ready() == "Repository"
    assert world.fleet()["status"]["source"]["problem"] == "the Git server does not answer"
    world.git.down = ""
    world.run(replica, hours=1, until=done)


def test_a_process_that_begins_while_git_is_down_follows_what_was_followed_and_nothing_older() -> None:
    world = pushed()
    first = world.git.head
    replica = world.run(until=done)
    second = world.push(three(GOOD))
    world.run(replica, until=lambda w: bool(w.rollout.writes("edge-1")) and wrote(w, "edge-1", "three"))
    world.git.down = "the Git server does not answer"
    world.git.folder = {first}
    world.run(hours=0.5)
    assert not wrote(world, "edge-2", "three"), "what was followed is not there, so nothing is"
    world.git.folder = {first, second}
    world.run(hours=3, until=lambda w: w.fleet()["status"].get("progress") == "3/3")
    assert all(wrote(world, name, "three") for name in NAMES)


@pytest.mark.parametrize("slow", [0, 45], ids=["at rest", "while it is being asked"])
def test_a_source_that_is_edited_is_followed_on_without_a_restart(slow: int) -> None:
    world = pushed()
    replica = world.run(until=done)
    world.git.before = lambda: world.rollout.clock.wait_for(slow)
    asking = replica.controller.loops["prod"]
    if slow:
        world.run(replica, until=lambda _: asking.poller is not None and asking.poller.asking)
    world.edit("", {"source": {"interval": "20s"}})
    world.run(replica, hours=0.1)
    commit = world.push(three(GOOD))
    world.run(replica, until=lambda w: done(w) and w.fleet()["status"]["source"]["commit"] == commit)
    assert "problem" not in world.fleet()["status"]["source"]


def test_a_fleet_file_with_problems_is_not_followed_not_even_by_a_process_that_begins_with_it() -> None:
    world = pushed()
    replica = world.run(until=lambda w: bool(w.rollout.writes("edge-1")))
    world.push({**three(GOOD), "fleet.yaml": FLEET + "    oops: 1\n"})
    world.run(replica, hours=0.2)
    assert "fleet.yaml:" in world.fleet()["status"]["source"]["problem"]
    world.run(hours=6, until=lambda w: w.fleet()["status"].get("progress") == "3/3")
    assert not any(wrote(world, name, "three") for name in NAMES)
    world.push(three(GOOD))
    world.run(until=done)


def test_a_commit_that_nobody_has_signed_is_not_followed() -> None:
    world = pushed()
    replica = world.run(until=done)
    world.git.unsigned.add(world.push(three(GOOD)))
    world.run(replica, hours=1)
    assert "nobody has signed it" in world.fleet()["status"]["source"]["problem"]
    assert not any(wrote(world, name, "three") for name in NAMES)


# ---------------------------------------------------------------------------------------------------------- objects


def test_a_rollout_object_that_lost_its_label_is_found_again_with_all_that_it_remembers() -> None:
    world = pushed()
    world.run(until=done)
    before = world.of("edge-1")["status"]["memory"]
    world.kubectl("PATCH", f"{ROLLOUTS}/edge-1", {"metadata": {"labels": None}}, MERGE_PATCH)
    world.run(hours=0.5)
    after = world.of("edge-1")
    assert after["metadata"]["labels"] == {"gitops-mc.io/fleet": "prod"}
    assert after["status"]["memory"]["inventory"] == before["inventory"]
    assert set(reboots(world).values()) == {1}


def test_a_rollout_object_deleted_while_the_controller_runs_is_made_again_from_what_it_knows() -> None:
    world = pushed()
    replica = world.run(until=done)
    before = world.of("edge-1")["status"]["memory"]
    world.kubectl("DELETE", f"{ROLLOUTS}/edge-1")
    world.run(replica, hours=0.5)
    assert world.of("edge-1")["status"]["memory"]["inventory"] == before["inventory"]


def test_a_cluster_that_another_fleet_has_claimed_is_not_touched() -> None:
    world = pushed()
    body = {"metadata": {"name": "edge-2"}, "spec": {"fleet": "other", "cluster": "edge-2"}}
    kind = {"apiVersion": "gitops-mc.io/v1alpha1", "kind": "ClusterRollout"}
    world.kubectl("POST", ROLLOUTS, {**kind, **body})
    world.run(hours=1)
    assert not world.rollout.writes("edge-2")
    assert world.of("edge-2")["spec"]["fleet"] == "other"
    assert world.rollout.writes("edge-1")


def test_a_claim_that_only_shows_when_the_memory_is_to_be_kept_stops_that_very_pass() -> None:
    """A step without pools may begin on the first look: nothing is written for a cluster whose memory is not ours to keep."""
    world = ControllerWorld(RolloutWorld(spec=simple_fleet("edge-1", machine_config=None)))
    world.push({"clusters/edge-1/module.yaml": module("edge-1")})
    spec = {"fleet": "other", "cluster": "edge-1"}
    kind = {"apiVersion": "gitops-mc.io/v1alpha1", "kind": "ClusterRollout"}
    world.kubectl("POST", ROLLOUTS, {**kind, "metadata": {"name": "edge-1"}, "spec": spec})
    world.run(hours=1)
    ours = [w for w in world.rollout.writes(GLOBAL_CLUSTER) if w.resource.startswith("moduleinfoes")]
    assert not ours
    world.kubectl("DELETE", f"{ROLLOUTS}/edge-1")
    world.run(until=done)


def test_what_is_asked_on_an_object_that_cannot_be_written_waits_and_is_not_told_again_and_again() -> None:
    world = pushed()
    world.run(until=done)
    status = world.of("edge-1")["status"]
    status["memory"]["version"] = 99
    world.kubectl("PATCH", f"{ROLLOUTS}/edge-1/status", {"status": status}, MERGE_PATCH)
    world.annotate("edge-1", "unskip", "by mistake")
    replica = world.run(hours=0.3)
    assert "gitops-mc.io/unskip" in world.of("edge-1")["metadata"]["annotations"]
    assert not replica.heard.said
    assert "history" not in world.fleet()["status"]


def test_a_cluster_that_a_fleet_of_another_namespace_has_claimed_before_is_not_touched() -> None:
    world = pushed()
    world.kubectl("POST", "/api/v1/namespaces", {"metadata": {"name": "elsewhere"}})
    labels = {"gitops-mc.io/fleet": "older"}
    body = {"metadata": {"name": "edge-2", "labels": labels}, "spec": {"fleet": "older", "cluster": "edge-2"}}
    kind = {"apiVersion": "gitops-mc.io/v1alpha1", "kind": "ClusterRollout"}
    world.kubectl("POST", ELSEWHERE, {**kind, **body})
    world.rollout.clock.wait_for(5)
    replica = world.run(hours=1)
    assert not world.rollout.writes("edge-2")
    assert world.rollout.writes("edge-1")
    assert any("elsewhere/older" in view.reason for view in replica.heard.looks[-1].decision.clusters)
    world.kubectl("DELETE", f"{ELSEWHERE}/edge-2")
    world.run(replica, until=done)


def test_a_later_claim_of_another_namespace_changes_nothing() -> None:
    world = pushed()
    replica = world.run(until=done)
    world.kubectl("POST", "/api/v1/namespaces", {"metadata": {"name": "elsewhere"}})
    labels = {"gitops-mc.io/fleet": "newer"}
    body = {"metadata": {"name": "edge-2", "labels": labels}, "spec": {"fleet": "newer", "cluster": "edge-2"}}
    kind = {"apiVersion": "gitops-mc.io/v1alpha1", "kind": "ClusterRollout"}
    world.kubectl("POST", ELSEWHERE, {**kind, **body})
    commit = world.push(three(GOOD))
    world.run(replica, until=lambda w: w.fleet()["status"]["source"]["commit"] == commit and done(w))
    assert wrote(world, "edge-2", "three")


def test_memory_that_cannot_be_understood_shuts_its_cluster_and_is_never_written_over() -> None:
    world = pushed()
    world.run(until=done)
    status = world.of("edge-1")["status"]
    status["memory"]["version"] = 99
    world.kubectl("PATCH", f"{ROLLOUTS}/edge-1/status", {"status": status}, MERGE_PATCH)
    world.push(three(GOOD))
    world.run(hours=1)
    assert world.of("edge-1")["status"]["memory"]["version"] == 99
    assert not wrote(world, "edge-1", "three")


def test_deleting_the_fleet_touches_nothing_and_making_it_again_goes_on() -> None:
    world = pushed()
    replica = world.run(until=done)
    body = world.fleet()
    world.kubectl("DELETE", f"{FLEETS}/prod")
    world.push(three(GOOD))
    world.run(replica, hours=1)
    assert not any(wrote(world, name, "three") for name in NAMES)
    fresh = {k: body[k] for k in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "prod"}}
    world.kubectl("POST", FLEETS, fresh)
    world.run(replica, hours=3)
    assert done(world)
    assert all(wrote(world, name, "three") for name in NAMES)


def test_every_stored_object_stays_small() -> None:
    config = {f"clusters/edge-1/c{n}.yaml": machine_config(f"5{n:02}-worker-x") for n in range(100)}
    world = ControllerWorld()
    world.push({**three(), **config})
    world.run(until=done)
    for body in (world.fleet(), *(world.of(name) for name in NAMES)):
        assert len(str(body)) < 64 * 1024, body["metadata"]["name"]


# ---------------------------------------------------------------------------------------------------- who may act


def test_an_installation_that_may_not_act_writes_nothing_even_where_it_lacks_the_credentials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_secret(means: WorldMeans, spec: FleetSpec) -> Executor:
        raise UsageError("Secret gateway is not in namespace gitops-mc")

    monkeypatch.setattr(WorldMeans, "executor", no_secret)
    world = ControllerWorld(spec={"activeOn": "somewhere-else"})
    world.push(three())
    before = world.fleet()
    replica = world.run(hours=0.2)
    assert world.fleet() == before
    world.edit("", {"activeOn": HERE})
    world.run(replica, hours=0.1)
    assert world.ready() == "Access"


def test_another_installation_only_looks() -> None:
    world = ControllerWorld(spec={"activeOn": "somewhere-else"})
    world.push(three())
    server = world.rollout.fleet.servers[GLOBAL_CLUSTER]
    world.run(hours=0.1)
    before = len(server.writes)
    world.run(hours=2)
    assert not any(world.rollout.writes(name) for name in NAMES)
    ours = [w for w in server.writes[before:] if w.user == "gitops-mc"]
    assert {w.resource.partition(".")[0] for w in ours} <= {"leases"}


def test_an_installation_claims_a_fleet_that_names_none() -> None:
    world = pushed()
    world.run(until=done)
    assert world.fleet()["spec"]["activeOn"] == "installation-1"


@pytest.mark.parametrize("minutes", [1, 3, 8, 20, 45])
def test_a_process_that_dies_is_followed_by_one_that_goes_on(minutes: float) -> None:
    world = pushed()
    world.run(hours=minutes / 60)
    world.rollout.clock.wait_for(timedelta(minutes=3).total_seconds())
    world.run(world.process("two"), until=done)
    assert set(reboots(world).values()) == {1}
