"""Newer content takes over at a step's border: no step of what it replaces is begun, wave or no wave."""

from __future__ import annotations

from gitops_mc.core.rollout.moves import Done, Standing
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config

NAMES = ("edge-1", "edge-2", "edge-3")


def both(text: str, *names: str) -> dict[str, str]:
    """A config for workers and one for masters: two steps."""
    return {
        f"clusters/{name}/{role}.yaml": machine_config(
            f"50-{role}-app", role, files={"/etc/a": text}, a_service=UNIT + text
        )
        for name in names or NAMES
        for role in ("worker", "master")
    }


def test_a_cluster_of_a_later_wave_begins_no_step_of_what_is_superseded_and_blocks_nobody() -> None:
    world = RolloutWorld(files=both("# one\n"))
    world.run(until=lambda look: any(w.name == "50-worker-app" for w in world.writes("edge-2")))
    world.files.update(both("# two\n"))
    outlook = world.run()
    assert isinstance(outlook, Done), outlook
    assert {world.standing(n) for n in NAMES} == {Standing.PASSED}
    canary = world.cluster_memory("edge-1").passed_at
    assert canary is not None
    masters = [w for w in world.writes("edge-2") if w.name == "50-master-app"]
    assert len(masters) == 1, "the master's config of the first content was never begun"
    assert masters[0].time >= canary
    assert world.reboots("edge-2")["edge-2-m1"] == 1


def test_the_canary_is_not_kept_waiting_by_clusters_that_wait_for_it() -> None:
    world = RolloutWorld(files=both("# one\n"))
    world.run(until=lambda look: all(world.writes(n) for n in NAMES))
    world.files.update(both("# two\n"))
    assert isinstance(world.run(), Done)
