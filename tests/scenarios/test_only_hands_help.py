"""Where only somebody's act gets a rollout further it says so, by name, and does not wait for ever."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gitops_mc.core.rollout.moves import Done, Hold, Standing
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config

APP = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
OTHER = machine_config("50-worker-app", files={"/etc/app.conf": "two\n"}, app_service=UNIT)
EVERYWHERE = {f"clusters/edge-{n}/app.yaml": APP for n in (1, 2, 3)}


def test_a_paused_pool_that_is_none_of_ours_keeps_no_cluster_from_passing() -> None:
    world = RolloutWorld(files=dict(EVERYWHERE))
    world.fleet.at(world.start + timedelta(seconds=60), lambda: world.fleet.person("edge-2").pause("master"))
    outlook = world.run(hours=2)
    assert isinstance(outlook, Done), outlook


def test_a_pool_paused_by_another_in_the_middle_is_a_hold_that_names_it() -> None:
    world = RolloutWorld(files=dict(EVERYWHERE))
    assert isinstance(world.run(), Done)
    world.files.update(dict.fromkeys(EVERYWHERE, OTHER))
    begun = len(world.writes("edge-1"))
    world.run(until=lambda look: bool(world.writes("edge-1")[begun:]))
    world.fleet.person("edge-1").pause("worker")
    outlook = world.run(hours=3)
    assert isinstance(outlook, Hold), outlook
    assert "whoever paused pool worker of edge-1 has to unpause it" in outlook.acts
    world.fleet.person("edge-1").unpause("worker")
    assert isinstance(world.run(), Done)


@pytest.mark.parametrize("broken", ["kind: [\n", "kind: Deployment\nmetadata: {name: x}\n"])
def test_a_canary_that_cannot_be_read_holds_the_others_and_says_where(broken: str) -> None:
    world = RolloutWorld(files={**EVERYWHERE, "clusters/edge-1/typo.yaml": broken})
    outlook = world.run(hours=1)
    assert isinstance(outlook, Hold), outlook
    assert "clusters/edge-1/typo.yaml" in outlook.reasons[0]
    assert outlook.acts == ("correct it in Git, or: gitops-mc skip edge-1",)
    assert world.standing("edge-2") is Standing.READY
