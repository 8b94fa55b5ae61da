"""The judge of what humans order bites where something is wrong, and lets pass what may be."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_mc.core.rollout import desk
from gitops_mc.core.rollout.memory import ClusterMemory
from gitops_mc.sandbox.fleet import simple_fleet
from gitops_mc.sandbox.nodes.daemon import NodeOptions
from tests.scenarios import test_judge as judge
from tests.scenarios.commits import Push
from tests.scenarios.drawn import Script
from tests.scenarios.drawn_orders import Order, Ordered
from tests.scenarios.recording import unmarks
from tests.scenarios.repository import MARKER
from tests.scenarios.rollout_world import UNIT, machine_config
from tests.simulation.mutants import MUTANTS

ROLLING = 100
"""The first of three nodes is on its way, the others wait for their turn."""


def in_mid_roll(order: Ordered) -> Script:
    app = machine_config("50-worker-app", files={"/etc/app": "one\n"}, app_service=UNIT)
    script = judge.script(Push(0, {"fleet.yaml": judge.FLEET, "clusters/edge-1/app.yaml": app}, "one"))
    (cluster,) = simple_fleet("edge-1", workers=3).clusters
    slow = NodeOptions(drain=timedelta(seconds=60), reboot=timedelta(seconds=60))
    return replace(
        script, spec=replace(script.spec, clusters=(replace(cluster, nodes=slow),)), orders=(order,)
    )


def test_an_abort_pauses_what_rolls() -> None:
    abort = in_mid_roll(Ordered(ROLLING, Order.ABORT, "edge-1", end=2000))
    judge.judged(abort)
    with MUTANTS["abort-pauses-nothing"].on():
        assert "is sent on" in judge.found_in(abort)


def test_what_may_finish_finishes_and_nothing_is_written() -> None:
    judge.judged(in_mid_roll(Ordered(ROLLING, Order.LET_FINISH, "", end=2000)))


def ways_back() -> Script:
    """The second content breaks a node; somebody says to go back, twice."""
    pushes = [
        Push(at, judge.files("edge-1", worker_app=text), text) for at, text in ((0, "one\n"), (900, MARKER))
    ]
    orders = (Ordered(1500, Order.ROLLBACK, "edge-1"), Ordered(2400, Order.RETRY, "edge-1"))
    return replace(judge.script(*pushes), orders=orders)


def test_a_rollback_that_a_human_asks_for_goes_to_what_passed_and_a_retry_tries_again() -> None:
    played = judge.judged(ways_back())
    assert [said.what for said in played.said] == [Order.ROLLBACK, Order.RETRY]
    assert any(look.memory.cluster("edge-1").rolled_back for look in played.looks)


def test_a_rollback_that_nobody_asked_for_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wanted(memory: ClusterMemory, _policy: object) -> bool:
        return not memory.rolled_back

    unasked = replace(ways_back(), orders=())
    judge.judged(unasked)
    monkeypatch.setattr(desk, "is_wanted", wanted)
    assert "nobody has asked for it" in judge.found_in(unasked)


@pytest.mark.parametrize("what", [Order.FORGET, Order.DROP])
def test_what_is_forgotten_is_met_as_for_the_first_time_and_only_our_marks_go(what: Order) -> None:
    script = judge.script(
        Push(0, judge.files("edge-1", worker_app="one\n"), "one"),
        Push(1500, judge.files("edge-1", worker_app="two\n"), "two"),
    )
    played = judge.judged(replace(script, orders=(Ordered(900, what, "edge-1"),)))
    assert [loss.cluster for loss in played.losses] == ["edge-1"]
    assert all(unmarks(one.write) for one in played.unmarked)
    assert bool(played.unmarked) is (what is Order.FORGET)
