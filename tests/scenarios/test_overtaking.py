"""Newer content that takes over from content whose pools are in trouble that nobody has called a failure yet."""

from __future__ import annotations

from contextlib import suppress

import pytest

from gitops_mc.app.looks import Look
from gitops_mc.app.ports import Transport
from gitops_mc.core.rollout.moves import Done
from gitops_mc.sandbox.faults import FaultId
from tests.scenarios.crashes import Counted, Killed, Moment
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config


def content(text: str) -> dict[str, str]:
    config = machine_config("50-worker-app", files={"/etc/app.conf": text}, app_service=UNIT)
    return {"clusters/edge-1/app.yaml": config}


def just_degraded() -> RolloutWorld:
    """A cluster whose first node has just stumbled over the second commit; it has not stood long enough to be a failure."""
    world = RolloutWorld(files=content("one\n"))
    world.run()
    world.faults.set(FaultId.NODE_DEGRADED, marker="breaks")
    world.files |= content("breaks\n")
    world.run(until=degraded)
    assert world.last.memory.cluster("edge-1").failure is None
    world.files |= content("three\n")
    return world


def degraded(look: Look) -> bool:
    pools = look.live["edge-1"].pools
    conditions = getattr(pools, "value", {}).get("worker", {}).get("status", {}).get("conditions", ())
    return any(c["type"] == "Degraded" and c["status"] == "True" for c in conditions)


def test_it_is_not_blamed_for_what_it_found() -> None:
    world = just_degraded()
    assert isinstance(world.run(), Done)
    assert world.last.memory.halt is None


@pytest.mark.parametrize("moment", Moment)
def test_a_process_that_dies_at_its_first_write_is_followed_by_one_that_makes_it(moment: Moment) -> None:
    undisturbed = just_degraded()
    calls: list[Counted] = []

    def counting(transport: Transport) -> Transport:
        calls.append(Counted(transport))
        return calls[-1]

    undisturbed.wrap = counting
    undisturbed.run()
    writes = [
        n for n, (method, path) in enumerate(calls[0].calls, 1) if method != "GET" and "?dry" not in path
    ]
    for at in writes:
        world = just_degraded()
        world.wrap = lambda transport, at=at: Counted(transport, at, moment)  # type: ignore[misc]
        with suppress(Killed):
            world.run()
        world.wrap = lambda transport: transport
        assert isinstance(world.run(), Done), (at, world.last.decision.outlook)
