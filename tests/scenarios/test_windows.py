"""Change windows and freezes, judged on what the API servers accepted and when."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from gitops_mc.app.looks import Look, Pace
from gitops_mc.core.rollout.inputs import Acts
from gitops_mc.core.rollout.moves import Done, Halted, Hold, Standing, Wait, WaveState
from gitops_mc.core.rollout.windows import Shut
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from gitops_mc.sandbox.moduleinfo import Publication
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config, module, policy
from tests.scenarios.test_groups import pool

DAY = datetime(2026, 1, 5, tzinfo=UTC)
"""The world begins on this day at 08:00."""
NAMES = ("edge-1", "edge-2")
REBOOTS = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
MASTERS = machine_config("60-master-app", role="master", files={"/etc/app.conf": "one\n"}, app_service=UNIT)


def fleet(*windows: str, waves: str = "[{name: all, clusters: {}}]", more: str = "") -> str:
    listed = "".join(f"    - {window}\n" for window in windows)
    return (
        "apiVersion: gitops-mc.io/v1alpha1\nkind: FleetConfig\nmetadata: {name: test}\nspec:\n"
        f"  rollout: {{waves: {waves}}}\n  gates: {{pool: {{perNode: 10m}}}}\n  windows:\n{listed}{more}"
    )


def allow(cron: str, lasts: str, clusters: str = "{}") -> str:
    return f'allow: {{cron: "{cron}", duration: {lasts}, timeZone: UTC, clusters: {clusters}}}'


def freeze(cron: str, lasts: str) -> str:
    return f'freeze: {{cron: "{cron}", duration: {lasts}, timeZone: UTC}}'


def world_of(*windows: str, names: tuple[str, ...] = NAMES, **more: str) -> RolloutWorld:
    files = {f"clusters/{name}/app.yaml": REBOOTS for name in names}
    world = RolloutWorld(
        spec=simple_fleet(*names, masters=2),
        files=files,
        pace=Pace(every=timedelta(seconds=100)),
    )
    world.files["fleet.yaml"] = fleet(*windows, **more)
    return world


def clock(hours: float, days: int = 0) -> datetime:
    return DAY + timedelta(days=days, hours=hours)


def configs(world: RolloutWorld, cluster: str) -> list[datetime]:
    return [w.time for w in world.writes(cluster) if w.resource.startswith("machineconfigs")]


def mid_step(look: Look) -> bool:
    return any(m.step is not None for m in look.memory.clusters.values())


def waits(world: RolloutWorld, hours: float = 1, acts: Acts | None = None) -> Wait:
    found = world.run(acts or Acts(), hours=hours)
    assert isinstance(found, Wait), found
    return found


def at_rest(until: datetime) -> Callable[[Look], bool]:
    return lambda look: look.at >= until


# ------------------------------------------------------------------------------------------------------------- begin


def test_nothing_is_written_before_the_window_opens_and_the_time_of_the_next_opening_is_told() -> None:
    world = world_of(allow("30 9 * * *", "3h"))
    told = waits(world)
    assert told.until == clock(9.5)
    assert "edge-1: window closed until 2026-01-05 09:30 UTC" in told.reason
    view = world.view("edge-1")
    assert (view.standing, view.window and view.window.shut) == (Standing.READY, Shut.LATER)
    assert world.last.decision.waves[0].state is WaveState.OPEN
    assert not world.writes("edge-1")
    assert isinstance(world.run(), Done)
    assert configs(world, "edge-1")[0] - clock(9.5) < timedelta(minutes=1)


def test_a_step_that_would_not_end_before_the_window_does_waits_for_the_next_night() -> None:
    world = world_of(allow("0 9 * * *", "25m"))
    assert isinstance(world.run(hours=36), Done)
    begun = [configs(world, name)[0] for name in NAMES]
    for night, at in enumerate(begun):
        assert clock(9, night) <= at <= clock(9, night) + timedelta(minutes=5), begun
    assert world.memory().halt is None


def test_a_step_that_fits_no_window_is_refused_with_the_numbers_and_the_way_out() -> None:
    world = world_of(allow("0 9 * * *", "15m"))
    held = world.run()
    assert isinstance(held, Hold)
    assert world.standing("edge-1") is Standing.BLOCKED
    told = world.view("edge-1").reason
    assert "this takes about 20m, with 5m to begin in, and the longest window lasts 15m: it fits none" in told
    assert "pool worker: 2 nodes, 1 at a time, 10m each" in told
    assert "gitops-mc apply --override-window edge-1 --reason TEXT" in told
    assert not world.writes("edge-1")


def test_a_cluster_outside_its_window_takes_no_place_and_costs_nothing() -> None:
    world = world_of(
        allow("0 20 * * *", "3h", clusters="{names: [edge-1]}"), more="  prune: {enabled: false}\n"
    )
    told = waits(world, hours=4)
    assert told.until == clock(20)
    assert world.standing("edge-2") is Standing.PASSED
    assert not world.writes("edge-1")
    assert world.last.decision.waves[0].state is WaveState.OPEN
    assert isinstance(world.run(hours=12), Done)


def test_the_next_wave_waits_for_a_cluster_that_waits_for_its_window() -> None:
    waves = "[{name: first, clusters: {names: [edge-1]}}, {name: rest, clusters: {}}]"
    world = world_of(allow("0 10 * * *", "3h", clusters="{names: [edge-1]}"), waves=waves)
    waits(world)
    assert not world.writes("edge-2")
    assert world.last.decision.waves[1].state is WaveState.CLOSED
    assert isinstance(world.run(), Done)


def test_a_module_is_written_in_its_window_and_only_if_its_time_out_fits() -> None:
    world = world_of(allow("0 10 * * *", "29m"), allow("0 12 * * *", "35m"), names=("edge-1",))
    del world.files["clusters/edge-1/app.yaml"]
    world.fleet.publish(Publication("logcenter", "v1.0.0"))
    world.files["clusters/edge-1/log.yaml"] = module("edge-1", "v1.0.0", "logcenter")
    waits(world, hours=3)
    assert not world.writes("global")
    assert isinstance(world.run(), Done)
    assert clock(12) <= world.writes("global")[0].time < clock(12.1)


def test_a_deletion_is_a_step_too() -> None:
    pruning = "  prune: {enabled: true}\n"
    world = world_of(allow("0 0 * * *", "24h"), more=pruning, names=("edge-1",))
    world.files["clusters/edge-1/masters.yaml"] = MASTERS
    assert isinstance(world.run(), Done)
    world.files["fleet.yaml"] = fleet(allow("0 15 * * *", "4h"), more=pruning)
    del world.files["clusters/edge-1/masters.yaml"]
    before = world.writes("edge-1")
    assert waits(world, hours=2).until == clock(15)
    assert world.writes("edge-1") == before
    assert isinstance(world.run(hours=9), Done)
    gone = [w for w in world.writes("edge-1") if w.verb == "delete"]
    assert [w.time >= clock(15) for w in gone] == [True]


# ------------------------------------------------------------------------------------------------------- in between


def two_groups(*windows: str) -> RolloutWorld:
    world = world_of(*windows)
    world.files |= {f"clusters/{name}/masters.yaml": MASTERS for name in NAMES}
    return world


def test_a_cluster_between_two_steps_keeps_its_place_over_the_day_and_goes_on_the_next_night() -> None:
    world = two_groups(allow("0 9 * * *", "25m"))
    told = waits(world, hours=5)
    assert told.until == clock(9, 1)
    assert world.standing("edge-1") is Standing.IN_FLIGHT
    assert "window closed until 2026-01-06 09:00 UTC; next: pool master" in world.view("edge-1").reason
    assert not world.writes("edge-2")
    world.run(until=lambda _: world.standing("edge-1") is Standing.PASSED, hours=24)
    assert [at.day - DAY.day for at in configs(world, "edge-1")] == [0, 1]
    assert not world.writes("edge-2")
    assert world.memory().halt is None
    assert {look.at for look in world.looks if look.memory.cluster("edge-1").failure} == set()


def test_a_freeze_that_comes_in_mid_rollout_lets_what_is_begun_end_and_begins_nothing() -> None:
    world = world_of(freeze("25 8 5 1 *", "1d"))
    told = waits(world, hours=3)
    assert told.until == clock(8, 1) + timedelta(minutes=25)
    assert world.standing("edge-1") is Standing.PASSED
    assert "frozen until 2026-01-06 08:25 UTC" in world.view("edge-2").reason
    assert not world.writes("edge-2")
    assert isinstance(world.run(hours=30), Done)


def test_an_open_bracket_is_closed_although_the_window_is() -> None:
    world = world_of(allow("0 8 * * *", "30m"), names=("edge-1",))
    world.files["clusters/edge-1/more.yaml"] = machine_config(
        "55-worker-more", files={"/etc/more": "1\n"}, more_service=UNIT
    )
    world.run(until=lambda _: bool(world.writes("edge-1")))
    assert not configs(world, "edge-1")
    world.clock.wait(clock(9))
    assert isinstance(world.run(), Done)
    assert all(at >= clock(9) for at in configs(world, "edge-1"))
    assert len(configs(world, "edge-1")) == 2


def test_a_step_that_was_meant_and_never_begun_waits_for_the_window_after_a_restart() -> None:
    world = world_of(allow("0 8 * * *", "30m"), names=("edge-1",))
    world.run(until=mid_step)
    world.clock.wait(clock(9))
    waits(world)
    assert not world.writes("edge-1")
    assert isinstance(world.run(hours=24), Done)


def test_a_soak_runs_on_while_windows_are_closed() -> None:
    waves = "[{name: first, clusters: {names: [edge-1]}, soak: 2h}, {name: rest, clusters: {}}]"
    world = world_of(allow("0 8 * * *", "25m"), allow("0 12 * * *", "25m"), waves=waves)
    assert isinstance(world.run(hours=6), Done)
    assert clock(12) <= configs(world, "edge-2")[0] <= clock(12.5)


# ---------------------------------------------------------------------------------------------------------- override


def test_an_override_lets_one_cluster_begin_at_once_and_no_other() -> None:
    world = world_of(allow("0 20 * * *", "3h"))
    told = waits(world, hours=3, acts=Acts(overriding={"edge-1": "mei: it is down anyway"}))
    assert world.standing("edge-1") is Standing.PASSED
    assert told.until == clock(20)
    assert not world.writes("edge-2")


def failed_in_a_freeze() -> RolloutWorld:
    world = world_of(freeze("0 10 5 1 *", "8h"))
    world.faults.set(FaultId.NODE_DEGRADED, when="before-drain")
    bad = machine_config("50-worker-app", files={"/etc/app.conf": "BROKEN\n"}, app_service=UNIT)
    world.files |= {f"clusters/{name}/app.yaml": bad for name in NAMES}
    assert isinstance(world.run(), Halted)
    good = machine_config("50-worker-app", files={"/etc/app.conf": "good\n"}, app_service=UNIT)
    world.files |= {f"clusters/{name}/app.yaml": good for name in NAMES}
    world.clock.wait(clock(10))
    return world


def test_a_repair_in_a_freeze_waits_for_its_end_and_says_so() -> None:
    world = failed_in_a_freeze()
    before = len(world.writes("edge-1"))
    told = waits(world, hours=3)
    assert told.until == clock(18)
    assert "frozen until 2026-01-05 18:00 UTC" in told.reason
    assert world.standing("edge-1") is Standing.FAILED
    assert len(world.writes("edge-1")) == before
    assert isinstance(world.run(hours=12), Done)


def test_a_repair_in_a_freeze_is_written_where_somebody_overrides_it() -> None:
    world = failed_in_a_freeze()
    told = waits(world, hours=3, acts=Acts(overriding={"edge-1": "mei: production is down"}))
    assert world.standing("edge-1") is Standing.PASSED
    assert world.memory().halt is None
    assert told.until == clock(18)
    assert not world.writes("edge-2")


def test_a_rollback_waits_for_the_end_of_a_freeze_like_any_repair() -> None:
    back, end = "[{name: all, clusters: {}}], onFailure: rollback", clock(8) + timedelta(hours=5, minutes=17)
    world = world_of(allow("0 0 * * *", "24h"), names=("edge-1",))
    world.faults.set(FaultId.NODE_DEGRADED, when="before-drain")
    assert isinstance(world.run(), Done)
    bad = machine_config("50-worker-app", files={"/etc/app.conf": "BROKEN\n"}, app_service=UNIT)
    world.files["clusters/edge-1/app.yaml"] = bad
    world.files["fleet.yaml"] = fleet(freeze("17 8 5 1 *", "5h"), waves=back)
    told = waits(world, hours=4)
    assert told.until == end
    begun = len(configs(world, "edge-1"))
    assert begun == 2
    assert not isinstance(world.run(hours=4), Wait)
    assert len(configs(world, "edge-1")) == 3
    assert configs(world, "edge-1")[-1] >= end


def test_a_repair_of_two_steps_does_not_fail_while_its_second_step_waits_for_a_window() -> None:
    world = failed_in_a_freeze()
    world.files |= {f"clusters/{name}/policy.yaml": policy({"/etc/x": "x.service"}) for name in NAMES}
    world.files["fleet.yaml"] = fleet(allow("0 11 * * *", "5m"), allow("0 17 * * *", "2h"))
    told = waits(world, hours=5)
    assert [w.time < clock(11.1) for w in world.writes("edge-1")][-1]
    assert told.until == clock(17)
    assert world.standing("edge-1") is Standing.IN_FLIGHT
    assert "window closed until 2026-01-05 17:00 UTC; next: pool worker" in told.reason
    assert isinstance(world.run(hours=12), Done)


def test_a_pool_that_git_pauses_is_paused_at_once_and_let_go_in_the_window() -> None:
    world = world_of(allow("0 8 * * *", "2h"), names=("edge-1",))
    person = world.fleet.person("edge-1")
    person.label_node("edge-1-w1", **{"node-role.kubernetes.io/infra": ""})

    def paused() -> bool:
        found = person.get("machineconfigpools", "infra")
        assert found is not None
        return found["spec"].get("paused") is True

    world.files["clusters/edge-1/pool.yaml"] = pool("infra")
    assert isinstance(world.run(), Done)
    world.clock.wait(clock(11))
    world.files["clusters/edge-1/pool.yaml"] = pool("infra", paused=True)
    world.run(hours=1)
    assert paused()
    world.files["clusters/edge-1/pool.yaml"] = pool("infra", paused=False)
    world.run(hours=2)
    assert paused()
    assert isinstance(world.run(hours=24), Done)
    assert not paused()


# ------------------------------------------------------------------------------------------- restarts and the clock


def test_windows_are_looked_at_anew_by_every_process_and_follow_the_repository() -> None:
    world = world_of(allow("0 20 * * *", "3h"))
    waits(world)
    world.files["fleet.yaml"] = fleet(allow("0 9 * * *", "3h"))
    world.run(until=at_rest(clock(10)))
    assert configs(world, "edge-1")
    assert configs(world, "edge-1")[0] >= clock(9)


@pytest.mark.parametrize(("jump", "begins"), [(1.5, 1), (-20.0, 0)])
def test_the_window_is_that_of_the_clock_as_it_stands(jump: float, begins: int) -> None:
    world = world_of(allow("30 9 * * *", "3h"), names=("edge-1",))
    if not begins:
        world.clock.wait(clock(9.5))
    world.shift = timedelta(hours=jump)
    world.run(hours=0.25)
    assert bool(configs(world, "edge-1")) is bool(begins)
