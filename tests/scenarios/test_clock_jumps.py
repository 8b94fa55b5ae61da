"""The clock of the machine we run on is set forward or back, or the process was away: nothing fails, and no gate opens
early, for time in which nobody looked.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_mc.core.rollout.inputs import Acts
from gitops_mc.core.rollout.moves import Done, Standing
from gitops_mc.sandbox.fleet import MACHINE_CONFIG_VERSION, simple_fleet
from gitops_mc.sandbox.moduleinfo import Publication
from tests.scenarios.rollout_world import FLEET, UNIT, RolloutWorld, machine_config, module

JUMPS = [timedelta(seconds=s) for s in (45, 600, 7200, 100_000)]
NEWER = "v4.4.0"
APP = {f"clusters/edge-{n}/app.yaml": machine_config("50-worker-app", app_service=UNIT) for n in (1, 2)}
UPGRADE = {f"clusters/edge-{n}/module.yaml": module(f"edge-{n}", NEWER) for n in (1, 2)}


def world(**more: str) -> RolloutWorld:
    spec = replace(
        simple_fleet("edge-1", "edge-2"),
        publications=tuple(Publication("machine-config", v) for v in (MACHINE_CONFIG_VERSION, NEWER)),
    )
    return RolloutWorld(spec=spec, files={**APP, **more})


@pytest.mark.parametrize("by", JUMPS)
@pytest.mark.parametrize("times", [1, 4])
@pytest.mark.parametrize("change", [{}, UPGRADE], ids=["pools", "a module"])
def test_set_forward_in_the_middle_of_a_rollout_it_fails_nothing(
    by: timedelta, times: int, change: dict[str, str]
) -> None:
    here = world(**change)
    for n in range(times):
        here.fleet.at(here.start + timedelta(seconds=40 + 25 * n), lambda: _jump(here, by))
    outlook = here.run(Acts(approved=frozenset({"edge-1", "edge-2"})), hours=6)
    assert isinstance(outlook, Done), outlook
    assert set(here.reboots("edge-1").values()) <= {1}


@pytest.mark.parametrize("by", JUMPS)
@pytest.mark.parametrize("sign", [1, -1], ids=["away, or forward", "back"])
def test_a_process_that_finds_another_time_goes_on_where_it_was(by: timedelta, sign: int) -> None:
    here = world()
    here.run(until=lambda look: bool(here.writes("edge-1")))
    here.shift = by * sign
    outlook = here.run(hours=6)
    assert isinstance(outlook, Done), outlook


@pytest.mark.parametrize("by", JUMPS)
def test_a_soak_is_as_long_as_it_is_to_be_whatever_the_clock_says(by: timedelta) -> None:
    soak = timedelta(minutes=30)
    here = world(**{"fleet.yaml": FLEET.replace("{names: [edge-1]}", "{names: [edge-1]}\n        soak: 30m")})
    here.run(until=lambda look: look.memory.cluster("edge-1").out)
    passed = here.clock.now()
    here.fleet.at(passed + timedelta(minutes=5), lambda: _jump(here, by))
    here.run(until=lambda look: bool(here.writes("edge-2")))
    unseen = by if by < timedelta(minutes=2) else timedelta(0)
    assert here.clock.now() - passed >= soak - unseen


@pytest.mark.parametrize("by", JUMPS)
def test_a_cluster_that_has_been_dark_for_a_moment_is_not_lost_when_the_clock_jumps(by: timedelta) -> None:
    here = world()
    here.run(until=lambda look: bool(here.writes("edge-1")))
    here.faults.set("gateway-gone", cluster="edge-1", end=here.clock.now() + timedelta(minutes=5))
    here.fleet.at(here.clock.now() + timedelta(minutes=2), lambda: _jump(here, by))
    before = len(here.looks)
    outlook = here.run(hours=6)
    assert isinstance(outlook, Done), outlook
    views = [c for look in here.looks[before:] for c in look.decision.clusters if c.cluster == "edge-1"]
    assert Standing.UNREACHABLE not in {view.standing for view in views}


def _jump(here: RolloutWorld, by: timedelta) -> None:
    here.shift += by
