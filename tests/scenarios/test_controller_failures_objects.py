"""What happens to the controller's own objects, and what becomes of it: the rows of docs/failures.md that are about Fleet,
ClusterRollout, Lease and their store.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from gitops_mc.app.controller.sources import Poller
from gitops_mc.app.ports import MERGE_PATCH, Request, Response, Transport
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject
from gitops_mc.sandbox.faults import FaultId
from tests.scenarios.controller_world import API, FLEETS, LEASES, ROLLOUTS, ControllerWorld, WorldMeans
from tests.scenarios.pushed import Server
from tests.scenarios.rollout_world import FLEET
from tests.scenarios.test_controller import BAD, CONFIG, GOOD, NAMES, done, pushed, reboots, three, wrote
from tests.scenarios.test_controller_failures import as_if_nothing_had_been, rolling

ELSEWHERE = "https://git.example/elsewhere.git"


# ------------------------------------------------------------------------------------------------------------- Fleet


@pytest.mark.parametrize(
    "nonsense",
    [
        {"clusters": {"kubeconfigs": [{"cluster": "edge-1", "secretRef": {"name": "", "key": ""}}]}},
        {"source": {"url": ELSEWHERE}},
        {"source": {"interval": "0s"}},
        {"activeOn": "nobody"},
    ],
    ids=["clusters", "an empty repository", "interval", "another installation"],
)
def test_a_fleet_edited_to_nonsense_and_back_loses_nothing(nonsense: JsonObject) -> None:
    world = rolling()
    world.elsewhere[ELSEWHERE] = Server()
    world.elsewhere[ELSEWHERE].push({"README.md": "nothing here\n"})
    spec = world.fleet()["spec"]
    with suppress(AssertionError):  # the API server refuses what its schema does not allow
        world.edit("", nonsense)
    world.live(hours=1)
    back = {name: spec.get(name) for name in nonsense}
    world.edit(
        "", back if "clusters" in nonsense else {**back, "source": {**spec["source"], "interval": None}}
    )
    world.live(hours=3, until=done)
    as_if_nothing_had_been(world)
    assert all(world.rollout.fleet.person(n).get("machineconfigs", "50-worker-app") for n in NAMES)


def test_another_repository_in_mid_rollout_takes_over_as_a_newer_commit_does() -> None:
    world = rolling()
    world.elsewhere[ELSEWHERE] = Server()
    commit = world.elsewhere[ELSEWHERE].push({"fleet.yaml": FLEET, **three(GOOD)})
    world.edit("", {"source": {"url": ELSEWHERE}})
    world.live(hours=3, until=lambda w: done(w) and w.fleet()["status"]["source"]["commit"] == commit)
    assert all(wrote(world, name, "three") for name in NAMES)
    assert "halt" not in world.fleet()["spec"]


def test_another_repository_that_cannot_be_read_changes_nothing_and_is_told() -> None:
    world = rolling()
    world.elsewhere[ELSEWHERE] = Server(down="there is no such repository")
    world.edit("", {"source": {"url": ELSEWHERE}})
    world.live(hours=1)
    assert "no such repository" in world.fleet()["status"]["source"]["problem"]
    assert world.fleet()["status"]["progress"] == "3/3"
    world.edit("", {"source": {"url": "https://git.example/fleet.git"}})
    world.live(hours=1, until=done)
    as_if_nothing_had_been(world)


# -------------------------------------------------------------------------------------------------- ClusterRollout


def _deleted(world: ControllerWorld) -> None:
    world.kubectl("DELETE", f"{ROLLOUTS}/edge-2")


def _unlabelled(world: ControllerWorld) -> None:
    world.kubectl("PATCH", f"{ROLLOUTS}/edge-2", {"metadata": {"labels": None}}, MERGE_PATCH)


def _wiped(world: ControllerWorld) -> None:
    world.kubectl("PATCH", f"{ROLLOUTS}/edge-2/status", {"status": None}, MERGE_PATCH)


@pytest.mark.parametrize("hand", [_deleted, _unlabelled, _wiped], ids=["deleted", "unlabelled", "wiped"])
def test_a_rollout_object_lost_by_hand_in_mid_step_is_made_again(
    hand: Callable[[ControllerWorld], None],
) -> None:
    world = rolling()
    hand(world)
    world.live(hours=3, until=done)
    as_if_nothing_had_been(world)
    assert world.of("edge-2")["status"]["memory"]["inventory"]


def test_a_hold_taken_out_of_spec_by_hand_is_a_release_and_one_put_in_stops() -> None:
    world = pushed()
    world.live(hours=1, until=done)
    world.edit("edge-2", {"hold": {"reason": "by hand"}})
    world.push(three(GOOD))
    world.live(hours=1)
    assert not wrote(world, "edge-2", "three")
    world.edit("edge-2", {"hold": None})
    world.live(hours=1, until=lambda w: done(w) and wrote(w, "edge-2", "three"))


@dataclass
class Elbowing:
    """Somebody who writes an object each time that we are about to."""

    inner: Transport
    world: ControllerWorld
    every: int
    until: Any
    times: int = 0

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        ours = "/gitops-mc.io/" in request.path and request.method == "PATCH"
        if ours and self.world.rollout.clock.now() < self.until:
            self.times += 1
            if self.times % self.every == 0:
                path = request.path.removesuffix("/status")
                notes = {"metadata": {"annotations": {"example.com/seen": str(self.times)}}}
                self.world.kubectl("PATCH", path, notes, MERGE_PATCH)
        return self.inner.send(cluster, request, timeout=timeout)


@pytest.mark.parametrize("every", [1, 3])
def test_somebody_who_writes_our_objects_all_the_time_delays_and_harms_nothing(every: int) -> None:
    world = pushed()
    until = world.rollout.clock.now() + timedelta(minutes=40)
    world.rollout.wrap = lambda transport: Elbowing(transport, world, every, until)
    world.live(hours=0.6)
    if every == 1:
        assert not any(world.rollout.writes(name) for name in NAMES), "nothing is written unremembered"
        assert any("changed meanwhile" in told for told in world.heard.troubles)
    world.live(hours=3, until=done)
    as_if_nothing_had_been(world)


# -------------------------------------------------------------------------------------------- the store of global


class Backup:
    """A copy of global's store; put back, objects and resourceVersions are what they were."""

    def __init__(self, world: ControllerWorld) -> None:
        self.store: Any = world.rollout.fleet.servers[GLOBAL_CLUSTER]._store  # type: ignore[attr-defined]
        self.version = self.store.version
        self.tables = {name: (dict(t._objects), list(t._keys)) for name, t in self.store.tables.items()}

    def restore(self) -> None:
        for name, table in self.store.tables.items():
            objects, keys = self.tables.get(name, ({}, []))
            table._objects, table._keys = dict(objects), list(keys)
        self.store.version = self.version


@pytest.mark.parametrize("when", ["before the commit", "in mid-rollout"])
def test_a_store_restored_from_an_older_copy_is_older_than_the_clusters_and_nothing_reboots_again(
    when: str,
) -> None:
    world = pushed()
    world.live(hours=1, until=done)
    backup = Backup(world)
    world.push(three(GOOD))
    if when == "in mid-rollout":
        world.live(hours=1, until=lambda w: wrote(w, "edge-2", "three"))
        backup = Backup(world)
    world.live(hours=2, until=lambda w: done(w) and all(wrote(w, name, "three") for name in NAMES))
    before = reboots(world)
    written = {name: len(world.rollout.writes(name)) for name in NAMES}
    world.alive = None
    backup.restore()
    world.live(hours=2)
    assert reboots(world) == before
    assert {name: len(world.rollout.writes(name)) for name in NAMES} == written
    assert done(world), world.fleet()["status"]["conditions"]


def test_a_store_restored_to_before_a_failure_does_not_bring_what_failed_to_another_cluster() -> None:
    world = pushed()
    world.live(hours=1, until=done)
    backup = Backup(world)
    world.rollout.faults.set(FaultId.NODE_DEGRADED, marker="breaks")
    world.push(three(BAD))
    world.live(hours=3, until=lambda w: w.outlook() == "halted")
    world.alive = None
    backup.restore()
    world.live(hours=2)
    assert not any(wrote(world, name, "breaks") for name in NAMES[1:])
    assert "sick before anything was written" in world.of("edge-1")["status"]["reason"]
    world.push(three(GOOD))
    world.rollout.faults.clear_all()  # somebody has mended the node
    world.live(hours=1, until=lambda w: done(w) and all(wrote(w, name, "three") for name in NAMES))


def test_a_lease_that_is_deleted_ends_the_leader_and_the_next_one_goes_on() -> None:
    world = rolling()
    world.kubectl("DELETE", f"{LEASES}/gitops-mc")
    assert world.live(hours=3, until=done) == 1
    as_if_nothing_had_been(world)


# -------------------------------------------------------------------------------------------------- more Fleets


def _second(world: ControllerWorld, names: tuple[str, ...], name: str = "lab") -> None:
    world.elsewhere[ELSEWHERE] = Server()
    files = {f"clusters/{n}/app.yaml": CONFIG for n in names}
    rest = FLEET.replace("{names: [edge-1]}", "{names: [nowhere]}").replace("name: test", "name: lab")
    world.elsewhere[ELSEWHERE].push({"fleet.yaml": rest, **files})
    body = {"metadata": {"name": name}, "spec": {"source": {"url": ELSEWHERE}}}
    world.kubectl("POST", FLEETS, {"apiVersion": API, "kind": "Fleet", **body})


def test_two_fleets_in_one_namespace_do_not_touch_each_others_clusters() -> None:
    world = ControllerWorld()
    world.push({f"clusters/{n}/app.yaml": CONFIG for n in NAMES[:2]})
    _second(world, NAMES[1:])
    world.live(hours=2)
    owners = {name: world.of(name)["spec"]["fleet"] for name in NAMES}
    assert owners["edge-1"] == "prod"
    assert owners["edge-3"] == "lab"
    assert {name: reboots(world)[f"{name}-w1"] for name in NAMES} == dict.fromkeys(NAMES, 1)
    other = "lab" if owners["edge-2"] == "prod" else "prod"
    status = world.kubectl("GET", f"{FLEETS}/{other}")["status"]
    assert "a cluster belongs to one Fleet" in str(status)
    labels = world.rollout.fleet.person("edge-2").get("machineconfigs", "50-worker-app")
    assert labels is not None
    assert labels["metadata"]["labels"]["gitops-mc.io/fleet"] in {owners["edge-2"], "test"}


def test_a_bug_in_one_fleets_loop_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    world = pushed()
    _second(world, ())
    made = WorldMeans.poller

    def poller(self: WorldMeans, spec: Any) -> Poller:
        if spec.name == "lab":
            raise ZeroDivisionError("a bug")
        return made(self, spec)

    monkeypatch.setattr(WorldMeans, "poller", poller)
    replica = world.process()
    clock = world.rollout.clock
    end = clock.now() + timedelta(hours=1)
    while clock.now() < end and not done(world):
        replica.controller.tick()
        clock.wait(replica.controller.next_turn())
    as_if_nothing_had_been(world)
    bugs = [e for e in replica.heard.errors if isinstance(e, ZeroDivisionError)]
    lab = world.kubectl("GET", f"{FLEETS}/lab")["status"]["conditions"]
    assert {c["type"]: (c["status"], c["reason"]) for c in lab}["Stalled"] == ("True", "Fault")
    assert "ZeroDivisionError" in lab[0]["message"]
    assert 2 <= len(bugs) == len(replica.heard.errors) <= 70, "told each time, and tried again once a minute"
