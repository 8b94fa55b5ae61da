from __future__ import annotations

from gitops_mc.core.rollout.moves import Done, Standing
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config

CONFIG = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)


def three(config: str = CONFIG) -> dict[str, str]:
    return {f"clusters/edge-{n}/app.yaml": config for n in (1, 2, 3)}


def test_a_config_reaches_every_cluster_canary_first_and_each_worker_reboots_once() -> None:
    world = RolloutWorld(files=three())
    outlook = world.run()
    assert isinstance(outlook, Done), outlook
    assert {n: world.standing(n) for n in ("edge-1", "edge-2", "edge-3")} == dict.fromkeys(
        ("edge-1", "edge-2", "edge-3"), Standing.PASSED
    )
    for n in (1, 2, 3):
        assert world.reboots(f"edge-{n}") == {f"edge-{n}-w1": 1, f"edge-{n}-w2": 1}
    first = {n: world.writes(f"edge-{n}")[0].time for n in (1, 2, 3)}
    passed = world.cluster_memory("edge-1").passed_at
    assert passed is not None
    assert first[1] < passed <= min(first[2], first[3])
