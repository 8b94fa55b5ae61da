"""How many at once, in which order, and how long between: at every look of a rollout, at install and at the next change."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from gitops_mc.app.looks import Look, Pace
from gitops_mc.core.rollout.inputs import Acts
from gitops_mc.core.rollout.moves import Done, Halted, Hold, Standing, WaveState
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config

NAMES = tuple(f"edge-{n}" for n in range(1, 5))


def config(text: str) -> str:
    return machine_config(
        "50-worker-app", files={"/etc/app.conf": f"{text}\n"}, app_service=f"{UNIT}# {text}\n"
    )


def fleet(*waves: str, more: str = "") -> str:
    listed = "\n".join(f"      - {wave}" for wave in waves)
    return (
        "apiVersion: gitops-mc.io/v1alpha1\nkind: FleetConfig\nmetadata: {name: test}\n"
        f"spec:\n  rollout:\n    waves:\n{listed}\n{more}"
    )


CANARY = "{name: canary, clusters: {names: [edge-1]}, soak: 20m}"
REST = "{name: rest, clusters: {}}"


def made(fleet_yaml: str | None, *names: str, text: str = "one") -> RolloutWorld:
    world = RolloutWorld(spec=simple_fleet(*names, workers=1), pace=Pace(every=timedelta(seconds=20)))
    if fleet_yaml is None:
        del world.files["fleet.yaml"]
    else:
        world.files["fleet.yaml"] = fleet_yaml
    put(world, text, *names)
    return world


def put(world: RolloutWorld, text: str, *names: str) -> None:
    world.files |= {f"clusters/{name}/app.yaml": config(text) for name in names}


def in_flight(look: Look) -> list[str]:
    return [c.cluster for c in look.decision.clusters if c.standing is Standing.IN_FLIGHT]


def first_write(world: RolloutWorld, cluster: str, since: datetime | None = None) -> datetime:
    return min(w.time for w in world.writes(cluster) if since is None or w.time > since)


@pytest.mark.parametrize(("limit", "most"), [("2", 2), ("60%", 2), ("10%", 1)])
def test_never_more_clusters_are_under_way_than_the_wave_allows(limit: str, most: int) -> None:
    world = made(fleet(f"{{name: all, clusters: {{}}, maxConcurrent: {limit}}}"), *NAMES)
    for text in ("one", "two"):
        put(world, text, *NAMES)
        begun = len(world.looks)
        assert isinstance(world.run(), Done)
        counts = [len(in_flight(look)) for look in world.looks[begun:]]
        assert max(counts) == most


def test_without_a_fleet_file_it_is_one_at_a_time_by_name_and_global_last() -> None:
    names = ("zoo", "alpha", "global")
    world = made(None, *names)
    assert isinstance(world.run(), Done)
    assert max(len(in_flight(look)) for look in world.looks) == 1
    assert sorted(names, key=lambda n: first_write(world, n)) == ["alpha", "zoo", "global"]


def test_global_rolls_alone_even_where_its_wave_would_allow_more() -> None:
    names = ("edge-1", "edge-2", "global")
    world = made(fleet("{name: all, clusters: {}, maxConcurrent: 10}"), *names)
    assert isinstance(world.run(), Done)
    together = [in_flight(look) for look in world.looks]
    assert any(len(names) == 2 for names in together)
    assert not any("global" in names and len(names) > 1 for names in together)


def test_a_soak_begins_at_this_revision_at_install_and_at_the_next_change() -> None:
    world = made(fleet(CANARY, REST), "edge-1", "edge-2")
    since = None
    for text in ("one", "two"):
        put(world, text, "edge-1", "edge-2")
        assert isinstance(world.run(), Done)
        passed = world.cluster_memory("edge-1").passed_at
        assert passed is not None
        assert since is None or passed > since
        assert first_write(world, "edge-2", since) - passed >= timedelta(minutes=20)
        since = world.clock.now()
        world.clock.wait_for(3600)


def test_a_commit_that_changes_nothing_of_a_wave_restarts_no_soak() -> None:
    world = made(fleet(CANARY, REST), "edge-1", "edge-2")

    def soaking(look: Look) -> bool:
        wave = look.decision.waves[0]
        return wave.state is WaveState.SOAKING and wave.soak_left < timedelta(minutes=10)

    world.run(until=soaking)
    world.files["README.md"] = "fixed a word"
    world.files["clusters/edge-2/more.yaml"] = machine_config("60-worker-b", files={"/etc/b": "1\n"})
    assert isinstance(world.run(), Done)
    passed = world.cluster_memory("edge-1").passed_at
    assert passed is not None
    assert timedelta(minutes=20) <= first_write(world, "edge-2") - passed <= timedelta(minutes=23)


def test_a_canary_that_fails_in_its_soak_halts_and_what_it_made_goes_with_the_revert_without_prune() -> None:
    world = made(fleet(CANARY.replace("20m", "100m"), REST), "edge-1", "edge-2")
    world.pace = Pace(every=timedelta(seconds=90))
    del world.files["clusters/edge-2/app.yaml"]
    assert isinstance(world.run(), Done)
    put(world, "one", "edge-2")
    world.files["clusters/edge-1/extra.yaml"] = machine_config("60-worker-x", files={"/etc/x.conf": "1\n"})
    world.run(until=lambda look: look.decision.waves[0].state is WaveState.SOAKING)
    person = world.fleet.person("edge-1")
    person.cordon("edge-1-w1")
    outlook = world.run()
    assert isinstance(outlook, Halted), outlook
    assert "soak" in outlook.reason
    assert "edge-1-w1" in outlook.reason
    assert world.fleet.writes("edge-2") == ()
    del world.files["clusters/edge-1/extra.yaml"]
    world.run(hours=1)
    assert person.get("machineconfigs", "60-worker-x") is None, "written, though the pool is not settled"
    assert world.fleet.writes("edge-2") == ()
    person.uncordon("edge-1-w1")
    world.clock.wait_for(600)
    outlook = world.run()
    assert isinstance(outlook, Done), outlook
    assert world.fleet.writes("edge-2") != ()


def test_an_approved_wave_opens_once_and_a_manual_one_waits_by_name() -> None:
    world = made(
        fleet(CANARY.replace("20m", "0s"), REST.replace("}}", "}, approval: manual}")), "edge-1", "edge-2"
    )
    outlook = world.run()
    assert isinstance(outlook, Hold)
    assert "gitops-mc apply --approve rest" in outlook.acts
    assert world.writes("edge-2") == ()
    assert isinstance(world.run(Acts(approved=frozenset({"rest"}))), Done)
    put(world, "two", "edge-1", "edge-2")
    assert isinstance(world.run(), Hold), "the approval was for other contents"


def test_a_dark_cluster_among_ten_delays_no_other() -> None:
    names = tuple(f"edge-{n:02}" for n in range(10))
    ends = []
    for dark in (False, True):
        world = made(fleet("{name: all, clusters: {}, maxConcurrent: 20}"), *names)
        world.pace = Pace(every=timedelta(seconds=40))
        if dark:
            world.faults.set(FaultId.GATEWAY_GONE, cluster="edge-04")
        world.run(hours=1)
        passed = [world.cluster_memory(n).passed_at for n in names if n != "edge-04"]
        assert all(passed)
        ends.append(passed)
        assert (world.standing("edge-04") is Standing.UNREACHABLE) is dark
    assert ends[0] == ends[1]


def test_failures_within_the_limit_are_tolerated_and_one_more_halts() -> None:
    world = made(fleet("{name: all, clusters: {}}", more="    maxFailures: 1\n"), *NAMES)
    assert isinstance(world.run(), Done)
    world.faults.set(FaultId.NODE_DEGRADED)
    put(world, "two", "edge-2", "edge-4")
    put(world, "BROKEN", "edge-1", "edge-3")
    outlook = world.run()
    assert isinstance(outlook, Halted), outlook
    assert [world.standing(n) for n in ("edge-1", "edge-2", "edge-3")] == [
        Standing.FAILED,
        Standing.PASSED,
        Standing.FAILED,
    ]
    assert world.cluster_memory("edge-4").started == world.cluster_memory("edge-4").passed
    assert all(len(in_flight(look)) <= 2 for look in world.looks)
