"""Another process, with another hash seed, makes the same plan of 500 objects, and plays a seed to the same story."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLAN = """
from gitops_mc.core.rollout.memory import to_json
from tests.scenarios.rollout_world import RolloutWorld, machine_config, simple_fleet
import json
files = {
    f"clusters/{c}/{n}.yaml": machine_config(f"50-worker-{n}", files={f"/etc/{c}/{n}.conf": str(n)})
    for c in ("edge-1", "edge-2") for n in range(250)
}
world = RolloutWorld(spec=simple_fleet("edge-1", "edge-2", workers=1), files=files)
for look in world.executor().rollout(world.git()):
    if look.decision.moves:
        break
for cluster in look.decision.clusters:
    assert len(cluster.plan.writes) == 250
    print(cluster.plan.digest, cluster.plan)
print(json.dumps(to_json(look.memory)))
"""
STORY = """
from tests.scenarios.drawn import draw_script
from tests.scenarios.simulation import Simulation
simulation = Simulation(draw_script(4)).play()
print(simulation.story(), simulation.world.store.state)
"""


def said(program: str, hash_seed: str) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=ROOT, check=True, capture_output=True
    ).stdout


@pytest.mark.parametrize("program", [PLAN, STORY], ids=["a plan", "a whole seed"])
def test_two_processes_say_the_same_bytes(program: str) -> None:
    one = said(program, "1")
    assert len(one) > 1000
    assert one == said(program, "2")
