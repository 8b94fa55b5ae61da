"""What is taken away rolls the nodes like anything else: its gate holds, though nothing of ours is left in the pool."""

from __future__ import annotations

from gitops_mc.core.rollout.moves import Done
from tests.scenarios.rollout_world import FLEET, UNIT, RolloutWorld, machine_config

NAMES = ("edge-1", "edge-2", "edge-3")
PRUNING = f"{FLEET}  prune: {{enabled: true}}\n"
POLICY = """\
apiVersion: machineconfiguration.alauda.io/v1alpha1
kind: MachineConfiguration
metadata: {name: cluster}
spec:
  nodeDisruptionPolicy:
    files: [{path: /etc/other.conf, actions: [{type: None}]}]
"""


def test_the_last_config_that_goes_holds_the_gate_until_every_node_has_let_go_of_it() -> None:
    files = {f"clusters/{n}/policy.yaml": POLICY for n in NAMES}
    files |= {
        f"clusters/{n}/app.yaml": machine_config("50-worker-a", files={"/etc/a": "1"}, a_service=UNIT)
        for n in NAMES
    }
    world = RolloutWorld(files={"fleet.yaml": PRUNING, **files})
    assert isinstance(world.run(), Done)
    for name in NAMES:
        del world.files[f"clusters/{name}/app.yaml"]
    removed_from = world.clock.now()
    assert isinstance(world.run(), Done)
    gone = {
        n: next(w.time for w in world.writes(n) if w.time > removed_from and w.verb == "delete")
        for n in NAMES
    }
    workers = [n for n in world.fleet.nodes("edge-1") if "-w" in n]
    done = max(e.at for n in workers for e in world.fleet.node_log("edge-1", n).events if e.at > removed_from)
    assert {world.fleet.node_log("edge-1", n).reboots for n in workers} == {2}, (
        "once with it, once without it"
    )
    assert gone["edge-1"] < done < min(gone["edge-2"], gone["edge-3"])
