"""How long it will take: said of a fleet as it is read, and held against what the engine then does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from gitops_mc.app.looks import Look, Pace
from gitops_mc.core.forecast import Basis, ClusterForecast, FleetForecast
from gitops_mc.core.rollout.inputs import NO_ACTS, Acts
from gitops_mc.core.rollout.memory import from_json, to_json
from gitops_mc.core.rollout.moves import Done, Halted, Hold, Standing
from gitops_mc.core.rollout.paces import Pace as Taken
from gitops_mc.core.rollout.paces import Work
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import MACHINE_CONFIG_VERSION, FleetSpec
from gitops_mc.sandbox.moduleinfo import Publication
from gitops_mc.sandbox.nodes.daemon import NodeOptions
from gitops_mc.sandbox.site import ClusterSpec
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config, module
from tests.simulation.forecasting import foretold

NAMES = ("edge-1", "edge-2", "edge-3")
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
NODE = NodeOptions(drain=20 * SECOND, reboot=100 * SECOND, jitter=0.3)
"""A node takes between two and three minutes."""


def reboots(value: str = "one") -> str:
    return machine_config("50-worker-app", app_service=f"{UNIT}# {value}\n")


def fleet(waves: str, more: str = "") -> str:
    return (
        "apiVersion: gitops-mc.io/v1alpha1\nkind: FleetConfig\nmetadata: {name: test}\nspec:\n"
        f"  rollout: {{waves: {waves}}}\n  gates: {{pool: {{perNode: 3m}}, module: {{timeout: 20m}}}}\n{more}"
    )


def world_of(
    *names: str, waves: str = "[{name: all, clusters: {}}]", more: str = "", masters: int = 1
) -> RolloutWorld:
    spec = FleetSpec(
        tuple(
            ClusterSpec(name, masters=masters, workers=2, machine_config=MACHINE_CONFIG_VERSION, nodes=NODE)
            for name in names
        )
    )
    files = {f"clusters/{name}/app.yaml": reboots() for name in names}
    files["fleet.yaml"] = fleet(waves, more)
    return RolloutWorld(spec=spec, files=files, pace=Pace(every=5 * SECOND))


def of(found: FleetForecast, name: str) -> ClusterForecast:
    return next(c for c in found.clusters if c.name == name)


def minutes(span: timedelta) -> float:
    return span / MINUTE


# ----------------------------------------------------------------------------------------------------- what is said


def test_clusters_one_after_the_other_take_the_sum_and_side_by_side_what_one_takes() -> None:
    one = foretold(world_of("edge-1"), NO_ACTS)
    apart = foretold(world_of(*NAMES), NO_ACTS)
    beside = foretold(world_of(*NAMES, waves="[{name: all, clusters: {}, maxConcurrent: 3}]"), NO_ACTS)
    assert one.takes
    assert apart.takes
    assert beside.takes
    assert apart.takes.p50 == pytest.approx(3 * one.takes.p50, rel=0.2)
    assert one.takes.p50 < beside.takes.p50 < 1.5 * one.takes.p50
    assert one.takes.p05 < one.takes.p50 < one.takes.p95 < 3 * one.takes.p50
    assert apart.first == ("edge-1",)
    assert beside.first == NAMES
    ends = [of(apart, name).end for name in NAMES]
    starts = [of(apart, name).start for name in NAMES]
    for end, start in zip(ends[:-1], starts[1:], strict=True):
        assert end == start


def test_a_wave_begins_when_the_soak_of_the_one_before_it_is_over() -> None:
    waves = "[{name: first, clusters: {names: [edge-1]}, soak: 2h}, {name: rest, clusters: {}}]"
    found = foretold(world_of(*NAMES, waves=waves), NO_ACTS)
    first, rest = found.waves
    assert first.soak == 2 * HOUR
    end, start = of(found, "edge-1").end, of(found, "edge-2").start
    assert end
    assert start
    assert first.end
    assert rest.start
    assert 2 * HOUR <= start.p50 - end.p50 <= 2 * HOUR + MINUTE
    assert rest.start == first.end


def test_what_is_as_git_says_takes_no_time_and_no_place() -> None:
    world = world_of("edge-1")
    assert isinstance(world.run(), Done)
    found = foretold(world, NO_ACTS)
    assert found.takes is None or found.takes.p95 == timedelta(0)
    cluster = of(found, "edge-1")
    assert (cluster.standing, cluster.works, cluster.no_time) == (Standing.PASSED, False, "")
    assert found.first == ()


def test_a_blocked_cluster_says_why_it_has_no_time_and_keeps_back_what_comes_after_it() -> None:
    waves = "[{name: first, clusters: {names: [edge-1, edge-2]}}, {name: rest, clusters: {}}]"
    world = world_of(*NAMES, waves=waves)
    world.fleet.person("edge-2").pause("worker")
    found = foretold(world, NO_ACTS)
    blocked, after = of(found, "edge-2"), of(found, "edge-3")
    assert blocked.standing is Standing.BLOCKED
    assert "pool worker of edge-2: paused, and not by us" in blocked.no_time
    assert (blocked.start, blocked.end, blocked.takes) == (None, None, None)
    assert of(found, "edge-1").end is not None
    assert "edge-2" in found.waves[0].no_time
    assert "edge-2" in after.no_time
    assert after.end is None
    assert found.takes == of(found, "edge-1").end
    assert found.no_time.startswith("edge-2: ")


def test_a_blocked_cluster_that_is_tolerated_keeps_nobody_back() -> None:
    waves = (
        "[{name: first, clusters: {names: [edge-1, edge-2]}}, {name: rest, clusters: {}}], maxUnreachable: 1"
    )
    world = world_of(*NAMES, waves=waves)
    world.fleet.person("edge-2").pause("worker")
    found = foretold(world, NO_ACTS)
    assert of(found, "edge-2").end is None
    assert of(found, "edge-3").end is not None
    assert found.waves[0].no_time == ""


def test_after_a_wave_that_needs_approval_times_are_counted_from_it() -> None:
    waves = "[{name: first, clusters: {names: [edge-1]}}, {name: rest, clusters: {}, approval: manual}]"
    world = world_of(*NAMES, waves=waves)
    found = foretold(world, NO_ACTS)
    second = of(found, "edge-2")
    assert found.waves[1].approval == "gitops-mc apply --approve rest"
    assert found.approvals == ("gitops-mc apply --approve rest",)
    assert (of(found, "edge-1").after, second.after) == ("", "wave rest is approved")
    assert second.start
    assert second.start.p95 == timedelta(0)
    given = foretold(world, Acts(approved=frozenset({"rest"})))
    assert given.approvals == ()
    start = of(given, "edge-2").start
    assert start
    before = of(given, "edge-1").end
    assert before
    assert start.p50 == before.p50
    assert given.takes == found.takes


def test_a_first_contact_that_changes_something_is_counted_as_approved_and_says_what_it_needs() -> None:
    world = world_of("edge-1")
    world.fleet.person("edge-1").apply("machineconfigs", json.loads(reboots("mine")))
    world.clock.wait_for(3_600)
    taken_over = json.loads(reboots())
    taken_over["metadata"]["annotations"] = {"gitops-mc.io/adopt-from": "kubectl-client-side-apply"}
    world.files["clusters/edge-1/app.yaml"] = json.dumps(taken_over)
    found = foretold(world, NO_ACTS)
    assert found.approvals == ("gitops-mc apply --approve edge-1",)
    assert of(found, "edge-1").needs == ("gitops-mc apply --approve edge-1",)
    assert of(found, "edge-1").end is not None


def test_a_cluster_that_does_not_answer_has_no_time() -> None:
    world = world_of(*NAMES, waves="[{name: all, clusters: {}, maxConcurrent: 3}]")
    world.faults.set(FaultId.GATEWAY_GONE, cluster="edge-3")
    found = foretold(world, NO_ACTS)
    dark = of(found, "edge-3")
    assert dark.end is None
    assert "does not answer" in dark.no_time
    assert of(found, "edge-1").end is not None


def test_a_step_waits_for_its_window_and_the_wait_is_told() -> None:
    nights = '  windows: [{allow: {cron: "0 22 * * *", duration: 4h, timeZone: UTC}}]\n'
    world = world_of(*NAMES, more=nights)
    found = foretold(world, NO_ACTS)
    until = world.clock.now().replace(hour=22, minute=0, second=0) - world.clock.now()
    first = of(found, "edge-1")
    assert first.start
    assert first.windows
    assert first.start.p05 == first.start.p95 == pytest.approx(until, abs=MINUTE)
    assert first.windows.p50 == pytest.approx(until, abs=MINUTE)
    assert found.takes
    assert until < found.takes.p50 < until + HOUR


def test_a_step_that_fits_no_window_says_so_and_has_no_time() -> None:
    short = '  windows: [{allow: {cron: "0 22 * * *", duration: 5m, timeZone: UTC}}]\n'
    found = foretold(world_of("edge-1", more=short), NO_ACTS)
    assert of(found, "edge-1").no_time.startswith("refused: this takes about 6m")
    assert found.takes is None


def test_global_rolls_alone_however_many_may_roll_at_once() -> None:
    found = foretold(
        world_of("edge-1", "global", waves="[{name: all, clusters: {}, maxConcurrent: 5}]"), NO_ACTS
    )
    edge, glob = of(found, "edge-1"), of(found, "global")
    assert edge.end == glob.start


def test_orders_that_stand_are_why_there_is_no_time() -> None:
    world = world_of(*NAMES)
    held = foretold(world, Acts(held={"edge-1": "mei: later"}))
    assert of(held, "edge-1").no_time == "edge-1 is held (mei: later)"
    suspended = foretold(world, Acts(suspended="mei: storage is being moved"))
    assert suspended.takes is None
    assert "suspended" in suspended.no_time


def test_a_module_of_which_nobody_knows_how_long_it_takes_is_named_until_it_has_been_seen() -> None:
    world = world_of("edge-1")
    for version in ("v1.0.0", "v1.1.0"):
        world.fleet.publish(Publication("logcenter", version))
    world.files["clusters/edge-1/logcenter.yaml"] = module("edge-1", "v1.0.0", name="logcenter")
    found = of(foretold(world, NO_ACTS), "edge-1")
    assert found.untimed == ("logcenter",)
    assert found.rests_on[-1].basis is Basis.LIMIT
    assert found.rests_on[-1].told == "module logcenter: nobody knows, up to 20m (gates.module.timeout)"
    assert isinstance(world.run(), Done)
    world.files["clusters/edge-1/logcenter.yaml"] = module("edge-1", "v1.1.0", name="logcenter")
    again = of(foretold(world, NO_ACTS), "edge-1")
    assert again.untimed == ()
    assert again.rests_on[-1].told == "module logcenter: 1 earlier time in this fleet"
    assert again.takes
    assert again.takes.p95 < 5 * MINUTE


def test_what_is_under_way_is_forecast_from_where_it_is() -> None:
    world = world_of(*NAMES)
    whole = foretold(world, NO_ACTS)
    rolling = world.start + 5 * MINUTE
    world.run(until=lambda look: look.at >= rolling)
    found, now = foretold(world, NO_ACTS), world.clock.now()
    first = of(found, "edge-1")
    assert first.standing is Standing.IN_FLIGHT
    assert first.start
    assert first.start.p95 == timedelta(0)
    assert found.takes
    assert whole.takes
    assert found.takes.p50 < whole.takes.p50
    assert isinstance(world.run(), Done)
    assert found.takes.p05 <= world.clock.now() - now <= found.takes.p95


def test_newer_content_begins_when_what_rolls_has_settled() -> None:
    world = rolling()
    world.files["clusters/edge-1/app.yaml"] = reboots("two")
    found, now = foretold(world, NO_ACTS), world.clock.now()
    cluster = of(found, "edge-1")
    assert cluster.start
    assert found.takes
    assert MINUTE < cluster.start.p50 < 8 * MINUTE
    assert isinstance(world.run(), Done)
    assert found.takes.p05 <= world.clock.now() - now <= found.takes.p95


@pytest.mark.slow
def test_where_the_next_step_may_fit_no_more_a_cluster_may_wait_for_its_next_window() -> None:
    nights = '  windows: [{allow: {cron: "0 10,14 * * *", duration: 14m, timeZone: UTC}}]\n'
    world = world_of("edge-1", more=nights, masters=3)
    world.files["clusters/edge-1/master.yaml"] = machine_config("60-master", "master", app_service=UNIT)
    found, now = foretold(world, NO_ACTS), world.clock.now()
    cluster = of(found, "edge-1")
    assert cluster.takes
    assert cluster.windows
    assert cluster.takes.p05 < 15 * MINUTE
    assert cluster.takes.p95 == pytest.approx(4 * HOUR, abs=15 * MINUTE)
    assert cluster.windows.p05 == pytest.approx(2 * HOUR, abs=MINUTE)
    assert cluster.windows.p95 == pytest.approx(6 * HOUR, abs=15 * MINUTE)
    assert isinstance(world.run(), Done)
    assert found.takes
    assert found.takes.p50 < 4 * HOUR < world.clock.now() - now <= found.takes.p95


def test_a_halt_is_why_there_is_no_time() -> None:
    world = world_of(*NAMES)
    world.faults.set(FaultId.NODE_NEVER_RETURNS, cluster="edge-1")
    world.files["fleet.yaml"] = world.files["fleet.yaml"].replace("perNode: 3m", "perNode: 3m, stall: 10m")
    assert isinstance(world.run(), Halted)
    found = foretold(world, NO_ACTS)
    assert found.takes is None
    assert of(found, "edge-2").no_time.startswith("halted: 1 cluster failed, 0 tolerated: edge-1")


def test_the_same_input_and_seed_give_the_same_forecast_in_another_process() -> None:
    script = (
        "from tests.scenarios.test_forecast import world_of, NAMES, foretold, NO_ACTS\n"
        "print(foretold(world_of(*NAMES), NO_ACTS, seed=5))"
    )
    told = set()
    for number in ("1", "2"):
        command = [sys.executable, "-c", script]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": number}
        )
        told.add(done.stdout)
    told.add(f"{foretold(world_of(*NAMES), NO_ACTS, seed=5)}\n")
    assert len(told) == 1
    assert (
        foretold(world_of(*NAMES), NO_ACTS, seed=6).takes != foretold(world_of(*NAMES), NO_ACTS, seed=5).takes
    )


# ---------------------------------------------------------------------------------------------------- what is learnt


def paces(world: RolloutWorld, cluster: str = "edge-1") -> tuple[Taken, ...]:
    return world.cluster_memory(cluster).paces


def test_a_rollout_teaches_how_long_its_nodes_took() -> None:
    world = world_of("edge-1")
    assert isinstance(world.run(), Done)
    (pace,) = paces(world)
    assert (pace.work, pace.nodes, pace.at_once) == (Work.REBOOT, 2, 1)
    took = [end - begin for begin, end in rolled(world)]
    assert 0 <= pace.took - max(took) <= 20
    assert world.cluster_memory("edge-1").rolls == {}
    world.files["clusters/edge-1/app.yaml"] = reboots("two")
    found = foretold(world, NO_ACTS)
    assert found.rests_on[0].told == "nodes that reboot: 1 earlier step of this fleet"


def rolled(world: RolloutWorld) -> list[tuple[float, float]]:
    """From the first thing that happened to a node to the last, in seconds of the rollout, by the sandbox's own log."""
    events = [
        e
        for node in ("edge-1-w1", "edge-1-w2")
        for e in world.fleet.node_log("edge-1", node).events
        if e.at > world.start
    ]
    return [(min(world.seconds(e.at) for e in events), max(world.seconds(e.at) for e in events))]


def test_nothing_is_learnt_where_somebody_paused_the_pool() -> None:
    world = world_of("edge-1")
    world.fleet.at(world.start + 3 * MINUTE, partial(world.fleet.person("edge-1").pause, "worker"))
    assert isinstance(world.run(), Hold)
    world.fleet.person("edge-1").unpause("worker")
    assert isinstance(world.run(), Done)
    assert paces(world) == ()


def test_nothing_is_learnt_where_a_node_was_degraded_meanwhile() -> None:
    world = world_of("edge-1")
    world.faults.set(FaultId.DEGRADED_FLAP, cluster="edge-1", node="edge-1-w1", times=1, seconds=20)
    assert isinstance(world.run(), Done)
    assert paces(world) == ()


def rolling() -> RolloutWorld:
    """A world in which a node reboots, and is timed."""
    world = world_of("edge-1")
    world.run(until=later_than(world, 180))
    assert world.cluster_memory("edge-1").rolls
    return world


def later_than(world: RolloutWorld, seconds: float) -> Callable[[Look], bool]:
    return lambda look: world.seconds(look.at) > seconds


def test_nothing_is_learnt_where_nobody_looked_for_a_while() -> None:
    world = rolling()
    world.clock.wait_for(600)
    assert isinstance(world.run(), Done)
    assert paces(world) == ()


def test_nothing_is_learnt_where_the_rollout_was_suspended() -> None:
    world = rolling()
    world.run(Acts(suspended="mei"), until=later_than(world, 400))
    assert isinstance(world.run(), Done)
    assert paces(world) == ()


def test_nothing_is_learnt_where_the_clock_was_set_back() -> None:
    world = rolling()
    world.shift = -timedelta(seconds=90)
    assert isinstance(world.run(), Done)
    assert paces(world) == ()


def test_a_short_look_away_spoils_nothing() -> None:
    world = rolling()
    world.clock.wait_for(40)
    assert isinstance(world.run(), Done)
    assert len(paces(world)) == 1


def test_nothing_is_learnt_where_the_cluster_did_not_answer_for_a_while() -> None:
    world = world_of("edge-1")
    begin = world.start + 2 * MINUTE
    world.faults.set(FaultId.GATEWAY_GONE, cluster="edge-1", start=begin, end=begin + 5 * MINUTE)
    assert isinstance(world.run(), Done)
    assert paces(world) == ()


def test_a_memory_of_a_former_release_has_taught_nothing_and_is_read() -> None:
    world = world_of("edge-1")
    assert isinstance(world.run(), Done)
    state = to_json(world.memory())
    for name in ("rolls", "paces"):
        del state["clusters"]["edge-1"][name]
    found = from_json(state)
    assert found.cluster("edge-1") == replace(world.cluster_memory("edge-1"), paces=(), rolls={})
