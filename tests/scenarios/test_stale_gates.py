"""A pool that still says Updated long after the write: the gate holds, and nothing is written for the next cluster."""

from __future__ import annotations

import pytest

from gitops_mc.core.rollout.moves import Done
from gitops_mc.sandbox.faults import FaultId
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config

BOTH = machine_config(
    "50-worker-app", files={"/etc/app.conf": "one\n", "/etc/extra.conf": "x\n"}, app_service=UNIT
)
LESS = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
MORE = machine_config(
    "50-worker-app", files={"/etc/app.conf": "two\n", "/etc/extra.conf": "x\n"}, app_service=UNIT
)


def repository(config: str) -> dict[str, str]:
    return {f"clusters/edge-{n}/app.yaml": config for n in (1, 2, 3)}


@pytest.mark.parametrize("after", [LESS, MORE], ids=["an update that only removes a file", "an update"])
@pytest.mark.parametrize("fault", [FaultId.STALE_TRUE, FaultId.LATE_RENDER])
def test_the_gate_holds_while_the_pool_is_stale_at_install_and_at_the_next_change(
    fault: FaultId, after: str
) -> None:
    world = RolloutWorld(files=repository(BOTH))
    world.faults.set(fault, cluster="edge-1", seconds=60.0)
    assert isinstance(world.run(), Done)
    installed = {n: len(world.writes(f"edge-{n}")) for n in (1, 2, 3)}
    world.files.update(repository(after))
    assert isinstance(world.run(), Done)
    for begin in (0, 1):
        since = {n: (0, installed[n])[begin] for n in (1, 2, 3)}
        canary = world.writes("edge-1")[since[1] :]
        others = [w for n in (2, 3) for w in world.writes(f"edge-{n}")[since[n] :]]
        if begin == 0:
            canary, others = (
                canary[: installed[1]],
                [w for n in (2, 3) for w in world.writes(f"edge-{n}")[: installed[n]]],
            )
        assert canary
        assert others
        gap = (min(w.time for w in others) - max(w.time for w in canary)).total_seconds()
        assert gap > 60
        moved = world.fleet.node_log("edge-1", "edge-1-w1")
        assert moved is not None
