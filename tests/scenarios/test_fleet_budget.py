"""One dark cluster among ten: the others finish at the very time at which they finish without it."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache

import pytest

from gitops_mc.app.looks import Pace
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config

NAMES = tuple(f"edge-{n}" for n in range(1, 11))
DARK = "edge-7"
APP = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
FLEET = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: test}
spec:
  rollout:
    maxUnreachable: 1
    waves:
      - {name: first, clusters: {names: [edge-1, edge-2, edge-3]}, maxConcurrent: 3}
      - {name: rest, clusters: {}, maxConcurrent: 10}
"""


def finished(how: str, after: float | None) -> dict[str, datetime]:
    """When each cluster but the dark one passed. `after`: seconds until it goes dark; None: never."""
    files = {"fleet.yaml": FLEET, **{f"clusters/{n}/app.yaml": APP for n in NAMES}}
    world = RolloutWorld(
        spec=simple_fleet(*NAMES, workers=1), files=files, pace=Pace(every=timedelta(seconds=10))
    )
    if after is not None:
        start = world.start + timedelta(seconds=after)
        world.faults.set(FaultId.GATEWAY_GONE, cluster=DARK, start=start, how=how)
    others = [n for n in NAMES if n != DARK]
    world.run(
        hours=1,
        until=lambda look: all(look.memory.cluster(n).passed_at is not None for n in others),
    )
    if after:
        assert world.cluster_memory(DARK).begun, "it went dark before or after its part"
    times = {n: world.cluster_memory(n).passed_at for n in others}
    assert all(times.values()), times
    return {n: at for n, at in times.items() if at is not None}


@cache
def all_bright() -> dict[str, datetime]:
    return finished("timeout", None)


@pytest.mark.parametrize("after", [0.0, 200.0], ids=["from the beginning", "from the middle"])
@pytest.mark.parametrize("how", ["timeout", "refused"])
def test_the_others_finish_as_if_it_were_not_dark(how: str, after: float) -> None:
    assert finished(how, after) == all_bright()
