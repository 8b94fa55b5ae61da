"""Orders and edits that stop writes stop the jobs under way, too: a slow step of many writes ends before its next one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gitops_mc.app.ports import MERGE_PATCH
from tests.scenarios.controller_world import FLEETS, ControllerWorld
from tests.scenarios.test_controller import done, pushed


def suspends(world: ControllerWorld) -> None:
    world.annotate("", "suspend", "{by: mei, reason: storage is being moved}")


def aborts(world: ControllerWorld) -> None:
    world.annotate("", "abort", "{by: mei, reason: alarms}")


def aborts_by_hand(world: ControllerWorld) -> None:
    world.edit("", {"abort": {"reason": "alarms"}})


def hands_over(world: ControllerWorld) -> None:
    world.edit("", {"activeOn": "the-other-site"})


def deletes(world: ControllerWorld) -> None:
    world.kubectl("DELETE", f"{FLEETS}/prod")


def reaches_otherwise(world: ControllerWorld) -> None:
    other = {"gateway": {"url": "https://other.example", "tokenRef": {"name": "gw", "key": "token"}}}
    world.kubectl("PATCH", f"{FLEETS}/prod", {"spec": {"clusters": other}}, MERGE_PATCH)


@pytest.mark.parametrize(
    "order",
    [suspends, aborts, aborts_by_hand, hands_over, deletes, reaches_otherwise],
    ids=lambda o: o.__name__,
)
def test_what_is_under_way_writes_no_more_once_it_is_ordered(
    order: Callable[[ControllerWorld], None],
) -> None:
    world = pushed()
    replica = world.run(until=done)
    executor = replica.controller.loops["prod"].executor
    assert executor is not None
    under_way = executor.permits.current
    world.run(replica, hours=0.05)
    assert not under_way.revoked, "nothing was ordered"
    order(world)
    world.run(replica, hours=0.05)
    assert under_way.revoked


def test_what_an_abort_itself_has_begun_goes_on_while_it_stands() -> None:
    world = pushed()
    replica = world.run(until=done)
    aborts(world)
    world.run(replica, hours=0.05)
    executor = replica.controller.loops["prod"].executor
    assert executor is not None
    pausing = executor.permits.current
    world.run(replica, hours=0.1)
    assert not pausing.revoked
