"""The repository that cannot be read: asked again soon, and whatever is wrong with reading it, orders are heard."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from gitops_mc.app.controller import sources
from gitops_mc.app.controller.sources import AGAIN, AGAIN_AT_MOST, Poller
from gitops_mc.core.errors import SourceError
from gitops_mc.core.model import Commit
from gitops_mc.sandbox.virtual import VirtualClock, VirtualWorkers
from tests.scenarios.controller_world import NAMESPACE
from tests.scenarios.pushed import Server
from tests.scenarios.rollout_world import FLEET
from tests.scenarios.test_controller import done, pushed, three
from tests.scenarios.test_controller_failures import moving, rolling, worker


class Moody:
    """A source that cannot be read until it is said to be."""

    def __init__(self, server: Server) -> None:
        self.inner, self.asked, self.down = server.clone(), 0, True

    def poll(self, wanted: frozenset[Commit] = frozenset()) -> object:
        self.asked += 1
        if self.down:
            raise SourceError("no route to host")
        return self.inner.poll(wanted)

    def tree(self, revision: str | None = None) -> object:
        return self.inner.tree(revision)

    def leave(self) -> None:
        self.inner.leave()


def test_a_source_that_could_not_be_read_is_asked_again_soon_and_ever_more_seldom() -> None:
    server, clock = Server(), VirtualClock()
    server.push({"fleet.yaml": FLEET, **three()})
    source = Moody(server)
    poller = Poller(source, timedelta(hours=6), clock, VirtualWorkers(clock), lambda: 0.5)  # type: ignore[arg-type]
    asked = []
    for _ in range(int(3600 / 5)):
        before = source.asked
        poller.look(frozenset())
        if source.asked > before:
            asked.append(clock.now())
        clock.wait_for(5)
    gaps = [later - one for one, later in pairwise(asked)]
    assert AGAIN <= gaps[0] <= AGAIN + timedelta(seconds=10)
    assert gaps == sorted(gaps)
    assert max(gaps) <= AGAIN_AT_MOST + timedelta(seconds=10)
    source.down = False
    for _ in range(70):
        poller.look(frozenset())
        clock.wait_for(5)
    assert poller.desired is not None
    seen = source.asked
    for _ in range(int(3600 / 5)):
        poller.look(frozenset())
        clock.wait_for(5)
    assert source.asked == seen, "it was read: the interval holds again"


def test_a_fault_of_ours_in_reading_a_commit_is_told_and_an_abort_stops_what_rolls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> object:
        raise ValueError("a bug that a commit has found")

    world = rolling()
    replica = world.run(until=lambda w: bool(moving(w, "edge-2")))
    monkeypatch.setattr(sources, "read_desired", broken)
    world.push(three("another commit"))
    heard = replica.heard.errors

    def ticks(number: int) -> None:
        for _ in range(number):
            replica.controller.tick()
            replica.controller.clock.wait(replica.controller.next_turn())

    ticks(30)
    (stalled,) = [c for c in world.fleet()["status"]["conditions"] if c["type"] == "Stalled"]
    assert stalled["status"] == "True"
    assert "a fault of gitops-mc in reading it (ValueError)" in stalled["message"]
    assert {type(error) for error in heard} == {ValueError}
    world.annotate("", "abort", "{by: mei, reason: alarms}")
    ticks(30)
    assert worker(world, "edge-2")["spec"].get("paused") is True


def test_waves_that_fleet_yaml_names_no_more_are_remembered_no_more() -> None:
    asking = FLEET.replace("clusters: {}\n", "clusters: {}\n        approval: manual\n")
    world = pushed(fleet=asking)
    replica = world.run(until=lambda w: w.outlook() == "hold")
    world.annotate("", "approve", "{wave: rest}")
    world.run(replica, until=done)
    assert [a["wave"] for a in world.fleet()["spec"]["approvals"]] == ["rest"]
    world.push({**three(), "fleet.yaml": asking.replace("name: rest", "name: others")})
    world.run(replica, hours=0.2)
    assert "approvals" not in world.fleet()["spec"]
    assert "rest" not in world.fleet()["status"]["memory"]["waves"]


@pytest.mark.parametrize("said", ["True", "yes", "1", "later"])
def test_a_switch_that_says_neither_true_nor_false_is_refused(said: str) -> None:
    world = pushed()
    replica = world.run(until=done)
    world.annotate("", "abort", f"{{by: mei, reason: x, letFinish: {said}}}")
    world.run(replica, hours=0.02)
    assert "abort" not in world.fleet()["spec"]
    assert "write true or false" in world.fleet()["status"]["history"][-1]["why"]


def test_a_flood_of_what_is_no_verb_leaves_what_people_did_in_the_history() -> None:
    world = pushed()
    replica = world.run(until=done)
    world.annotate("edge-3", "hold", "{by: mei, reason: an audit}")
    world.run(replica, hours=0.02)
    for n in range(100):
        world.annotate("edge-3", f"nonsense-{n:03}", "x")
    world.run(replica, hours=0.05)
    said = [act["what"] for act in world.fleet()["status"]["history"]]
    assert "hold edge-3" in said
    assert len([what for what in said if "nonsense" in what]) == 3


def test_of_a_fleet_that_has_no_loop_or_is_elsewhere_nothing_is_known() -> None:
    world = pushed()
    controller = world.run(until=done).controller
    assert controller.fleet(f"{NAMESPACE}/prod")["metadata"]["name"] == "prod"
    assert controller.fleet(f"{NAMESPACE}/nobody") == {}
    assert controller.fleet("elsewhere/prod") == {}
