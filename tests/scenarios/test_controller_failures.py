"""What fails around the controller, and what becomes of it: every row of docs/failures.md that is about Git, servers, and time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.model import JsonObject
from gitops_mc.sandbox.faults import FaultId
from tests.scenarios.controller_world import ControllerWorld
from tests.scenarios.test_controller import CONFIG, GOOD, NAMES, done, pushed, reboots, three, wrote

ONCE = {f"{name}-w{n}": 1 for name in NAMES for n in (1, 2)}


def rolling(cluster: str = "edge-2") -> ControllerWorld:
    """A world in the middle of its first rollout: this cluster has just been written to."""
    world = pushed()
    world.live(hours=1, until=lambda w: bool(w.rollout.writes(cluster)))
    return world


def worker(world: ControllerWorld, cluster: str) -> JsonObject:
    """The pool of its workers, as it stands."""
    found = world.rollout.fleet.person(cluster).get("machineconfigpools", "worker")
    assert found is not None
    return found


def moving(world: ControllerWorld, cluster: str) -> int:
    """How many of its workers are not where they are to be."""
    status = worker(world, cluster)["status"]
    return int(status["machineCount"]) - int(status["updatedMachineCount"])


def breaks(world: ControllerWorld, fault: FaultId, minutes: float, **more: str | float) -> None:
    """Something is broken from now on for so long."""
    now = world.rollout.clock.now()
    cluster = str(more.pop("cluster", "*"))
    world.rollout.faults.set(fault, cluster=cluster, start=now, end=now + timedelta(minutes=minutes), **more)


def as_if_nothing_had_been(world: ControllerWorld, configs: int = 1) -> None:
    """Everything is done, nothing failed, and no node rebooted more often than it had to."""
    assert done(world)
    assert "halt" not in world.fleet()["spec"]
    assert not any("held" in world.of(name)["spec"] for name in NAMES)
    assert reboots(world) == dict.fromkeys(ONCE, configs)


# ------------------------------------------------------------------------------------------------------------- Git


def test_git_down_for_an_hour_what_was_read_is_rolled_out_and_what_was_pushed_comes_after() -> None:
    world = rolling()
    world.git.down = "the Git server does not answer"
    pushed_meanwhile = world.push(three(GOOD))
    world.live(hours=1)
    assert world.fleet()["status"]["progress"] == "3/3"
    assert world.ready() == "Repository"
    assert not any(wrote(world, name, "three") for name in NAMES)
    world.git.down = ""
    world.live(
        hours=3, until=lambda w: done(w) and w.fleet()["status"]["source"]["commit"] == pushed_meanwhile
    )
    as_if_nothing_had_been(world, configs=1)
    assert all(wrote(world, name, "three") for name in NAMES)


@pytest.mark.parametrize("folder", ["kept", "lost"])
def test_git_down_and_a_restart_amid_it_goes_on_with_what_is_at_hand_and_with_nothing_else(
    folder: str,
) -> None:
    world = rolling()
    world.git.folder = {world.git.head} if folder == "kept" else set()
    world.git.down = "the Git server does not answer"
    world.end()
    written = {name: len(world.rollout.writes(name)) for name in NAMES}
    world.live(hours=1)
    if folder == "kept":
        assert world.fleet()["status"]["progress"] == "3/3"
    else:
        assert written == {name: len(world.rollout.writes(name)) for name in NAMES}
    assert "does not answer" in world.fleet()["status"]["source"]["problem"]
    world.git.down = ""
    world.live(hours=3, until=done)
    as_if_nothing_had_been(world)


def test_git_down_since_a_restart_without_its_folder_and_an_abort_still_stops_what_rolls() -> None:
    world = rolling()
    world.live(hours=1, until=lambda w: bool(moving(w, "edge-2")))
    world.git.folder = set()
    world.git.down = "the Git server does not answer"
    world.end()
    world.live(hours=0.02)
    world.annotate("", "abort", "{by: mei, reason: alarms in the shop}")
    world.live(hours=0.02, until=lambda w: worker(w, "edge-2")["spec"].get("paused") is True)
    assert "mei" in worker(world, "edge-2")["metadata"]["annotations"]["gitops-mc.io/aborted"]
    assert world.fleet()["spec"]["abort"]["reason"] == "alarms in the shop"
    assert world.ready() == "Repository"
    written = {name: len(world.rollout.writes(name)) for name in NAMES}
    world.live(hours=1)
    assert written == {name: len(world.rollout.writes(name)) for name in NAMES}
    world.git.down = ""
    world.live(hours=1)
    assert worker(world, "edge-2")["spec"]["paused"] is True, "only the abort's end lets it run"
    world.annotate("", "resume", "{by: mei}")
    world.live(hours=3, until=done)
    as_if_nothing_had_been(world)


def test_what_is_asked_about_a_content_waits_until_git_is_read_and_other_orders_do_not() -> None:
    world = rolling()
    world.git.folder = set()
    world.git.down = "the Git server does not answer"
    world.end()
    world.annotate("edge-3", "skip", "{by: mei, reason: it is being moved}")
    world.annotate("edge-1", "hold", "{by: mei, reason: an audit}")
    world.live(hours=0.1)
    assert world.of("edge-1")["spec"]["hold"] == {"by": "mei", "reason": "an audit"}
    assert "gitops-mc.io/skip" in world.of("edge-3")["metadata"]["annotations"]
    world.annotate("edge-1", "release", "{by: mei}")
    world.git.down = ""
    world.live(
        hours=3, until=lambda w: w.standing("edge-3") == "skipped" and w.standing("edge-2") == "passed"
    )
    assert "gitops-mc.io/skip" not in world.of("edge-3")["metadata"].get("annotations", {})
    assert "hold" not in world.of("edge-1")["spec"]


def test_a_secret_that_is_gone_stops_writes_and_loses_no_order_that_is_given_meanwhile() -> None:
    world = rolling("edge-1")
    world.live(hours=1, until=lambda w: bool(moving(w, "edge-1")))
    world.secrets_gone = "Secret gateway is not in namespace gitops-mc"
    world.live(hours=0.01)
    assert world.ready() == "Access"
    world.edit("edge-2", {"hold": {"by": "mei", "reason": "by kubectl edit"}})
    world.live(hours=0.01)
    world.annotate("", "abort", "{by: mei, reason: alarms}")
    world.live(hours=0.02, until=lambda w: worker(w, "edge-1")["spec"].get("paused") is True)
    written = {name: len(world.rollout.writes(name)) for name in NAMES}
    world.live(hours=0.5)
    assert written == {name: len(world.rollout.writes(name)) for name in NAMES}
    world.secrets_gone = ""
    world.annotate("", "resume", "{by: mei}")
    world.live(hours=3, until=lambda w: w.standing("edge-1") == "passed")
    world.live(hours=0.5)
    assert world.of("edge-2")["spec"]["hold"]["reason"] == "by kubectl edit"
    assert world.standing("edge-2") == "held"
    world.edit("edge-2", {"hold": None})
    world.live(hours=3, until=done)
    as_if_nothing_had_been(world)


# ---------------------------------------------------------------------------------------- gateway, global, clusters


@pytest.mark.parametrize(
    "how", ["timeout", *(pytest.param(how, marks=pytest.mark.slow) for how in ("refused", "bad-gateway"))]
)
def test_the_gateway_gone_in_mid_rollout_counts_against_nobody(how: str) -> None:
    world = rolling()
    breaks(world, FaultId.GATEWAY_GONE, 40, cluster="edge-*", how=how)
    before = {name: len(world.rollout.writes(name)) for name in NAMES}
    world.live(hours=0.6)
    assert before == {name: len(world.rollout.writes(name)) for name in NAMES}
    assert not any("held" in world.of(name)["spec"] for name in NAMES)
    world.live(hours=3, until=done)
    as_if_nothing_had_been(world)


@pytest.mark.parametrize("how", ["timeout", "refused"])
def test_the_global_api_away_for_minutes_ends_the_process_and_the_next_goes_on(how: str) -> None:
    world = rolling()
    breaks(world, FaultId.GATEWAY_GONE, 4, cluster="global", how=how)
    assert world.live(hours=3, until=done) >= 1
    as_if_nothing_had_been(world)


def test_the_global_api_restarted_within_ten_seconds_ends_nobody() -> None:
    world = rolling()
    breaks(world, FaultId.GATEWAY_GONE, 1 / 6, cluster="global", how="refused")
    assert world.live(hours=3, until=done) == 0
    as_if_nothing_had_been(world)


def test_a_cluster_that_is_gone_for_good_holds_up_no_other_and_leaves_with_its_folder() -> None:
    world = pushed()
    breaks(world, FaultId.GATEWAY_GONE, 60 * 1000, cluster="edge-3", how="timeout")
    world.live(hours=2)
    assert {world.standing(name) for name in ("edge-1", "edge-2")} == {"passed"}
    assert world.standing("edge-3") == "unreachable"
    assert "halt" not in world.fleet()["spec"]
    world.push({path: text for path, text in three().items() if "edge-3" not in path})
    world.live(hours=1, until=done)
    world.annotate("edge-3", "forget", "it has burnt down")
    world.live(hours=0.2)
    assert world.fleet()["status"]["progress"] == "2/2"
    assert world.ready() == "Done"


class Babbling:
    """A cluster that answers, and not what was asked."""

    ANSWERS = (
        (b"<html>please sign in</html>", "text/html"),
        (b'{"kind": "List", "items": [{"meta', "application/json"),
        (b'{"items": 5}', "application/json"),
        (b'["a", null]', "application/json"),
        (
            b'{"kind": "PodList", "metadata": null, "items": [null, {"metadata": {"name": 7}}]}',
            "application/json",
        ),
        (b"\xff\xfe\x00", "application/json"),
        (b"", "application/json"),
    )

    def __init__(self, inner: Transport, cluster: str) -> None:
        self.inner, self.cluster = inner, cluster
        self.calls = 0
        self.on = True

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if cluster != self.cluster or not self.on:
            return self.inner.send(cluster, request, timeout=timeout)
        self.calls += 1
        body, kind = self.ANSWERS[self.calls % len(self.ANSWERS)]
        headers: Mapping[str, str] = {"content-type": kind}
        return Response(200, body, headers)


def test_a_cluster_that_answers_garbage_counts_as_dark_and_holds_up_no_other() -> None:
    world = pushed()
    babbling: list[Babbling] = []

    def wrap(transport: Transport) -> Transport:
        babbling.append(Babbling(transport, "edge-2"))
        return babbling[-1]

    world.rollout.wrap = wrap
    replica = world.run(hours=1)
    assert babbling[0].calls > 20
    assert not world.rollout.writes("edge-2")
    assert {world.standing(name) for name in ("edge-1", "edge-3")} == {"passed"}
    assert world.standing("edge-2") in {"unreachable", "not known"}
    babbling[0].on = False
    world.run(replica, hours=3, until=done)
    as_if_nothing_had_been(world)


# ------------------------------------------------------------------------------------------------------ credentials


@pytest.mark.parametrize("status", [401, pytest.param(403, marks=pytest.mark.slow)])
def test_a_token_that_has_expired_is_one_fault_of_the_fleet_until_it_is_renewed(status: int) -> None:
    world = rolling()
    breaks(world, FaultId.HTTP_ERROR, 90, cluster="edge-*", status=status, times=10**9)
    before = {name: len(world.rollout.writes(name)) for name in NAMES}
    world.live(hours=1.4)
    assert before == {name: len(world.rollout.writes(name)) for name in NAMES}
    assert not any("held" in world.of(name)["spec"] for name in NAMES)
    assert str(status) in str(world.fleet()["status"]["conditions"])
    world.live(hours=3, until=done)
    as_if_nothing_had_been(world)


# ------------------------------------------------------------------------------------------------------------- time


@pytest.mark.parametrize("jump", [timedelta(hours=3), timedelta(seconds=50), timedelta(hours=-3)])
def test_a_clock_that_jumps_in_mid_rollout_fails_nobody_and_opens_nothing_early(jump: timedelta) -> None:
    world = rolling()
    world.rollout.fleet.at(
        world.rollout.clock.now() + timedelta(seconds=40), lambda: setattr(world.rollout, "shift", jump)
    )
    world.live(hours=4, until=done)
    as_if_nothing_had_been(world)
    world.rollout.shift = timedelta()
    world.push(three(GOOD))
    world.live(hours=4, until=lambda w: done(w) and all(wrote(w, name, "three") for name in NAMES))
    as_if_nothing_had_been(world, configs=1)


def test_nobody_there_for_six_hours_in_mid_step_and_no_clock_has_run() -> None:
    world = rolling()
    world.alive = None
    world.rollout.clock.wait_for(6 * 3600)
    world.live(hours=3, until=done)
    as_if_nothing_had_been(world)


__all__ = ["CONFIG", "as_if_nothing_had_been", "breaks", "rolling"]
