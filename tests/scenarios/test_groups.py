"""Several configs, a pool change and a deletion in one commit, two custom pools: every node reboots once."""

from __future__ import annotations

import json

import pytest

from gitops_mc.core.rollout.moves import Done
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config

ROLE = "machineconfiguration.alauda.io/role"
FLEET = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: test}
spec:
  prune: {enabled: true}
"""


def pool(name: str, **spec: object) -> str:
    return json.dumps(
        {
            "apiVersion": "machineconfiguration.alauda.io/v1alpha1",
            "kind": "MachineConfigPool",
            "metadata": {"name": name},
            "spec": {
                "machineConfigSelector": {
                    "matchExpressions": [{"key": ROLE, "operator": "In", "values": ["worker", name]}]
                },
                "nodeSelector": {"matchLabels": {f"node-role.kubernetes.io/{name}": ""}},
                **spec,
            },
        }
    )


FIRST = {
    "fleet.yaml": FLEET,
    "clusters/edge-1/pools.yaml": "---\n".join(f"{pool(n)}\n" for n in ("gpu", "infra")),
    "clusters/edge-1/a.yaml": machine_config("50-worker-a", files={"/etc/a.conf": "1\n"}, a_service=UNIT),
    "clusters/edge-1/gone.yaml": machine_config(
        "55-worker-gone", files={"/etc/gone.conf": "1\n"}, gone_service=UNIT
    ),
    "clusters/edge-1/gpu.yaml": machine_config(
        "70-gpu-g", role="gpu", files={"/etc/g.conf": "1\n"}, g_service=UNIT
    ),
}


def second() -> dict[str, str]:
    files = {k: v for k, v in FIRST.items() if "gone" not in k}
    files["clusters/edge-1/a.yaml"] = machine_config(
        "50-worker-a", files={"/etc/a.conf": "2\n"}, a_service=UNIT + "# 2\n"
    )
    files["clusters/edge-1/b.yaml"] = machine_config(
        "60-worker-b", files={"/etc/b.conf": "1\n"}, b_service=UNIT
    )
    files["clusters/edge-1/gpu.yaml"] = machine_config(
        "70-gpu-g", role="gpu", files={"/etc/g.conf": "2\n"}, g_service=UNIT + "# 2\n"
    )
    files["clusters/edge-1/pools.yaml"] = "---\n".join(
        (f"{pool('gpu', maxUnavailable=2)}\n", f"{pool('infra')}\n")
    )
    return files


def world() -> RolloutWorld:
    made = RolloutWorld(spec=simple_fleet("edge-1", workers=4), files=dict(FIRST))
    person = made.fleet.person("edge-1")
    person.label_node("edge-1-w1", **{"node-role.kubernetes.io/gpu": ""})
    person.label_node("edge-1-w2", **{"node-role.kubernetes.io/infra": ""})
    return made


@pytest.mark.parametrize("fault", [None, FaultId.PAUSED_DOES_NOT_RENDER, FaultId.LATE_RENDER])
def test_everything_that_touches_the_pools_is_one_step_and_each_node_reboots_once(
    fault: FaultId | None,
) -> None:
    w = world()
    outlook = w.run()
    assert isinstance(outlook, Done), outlook
    installed = w.reboots("edge-1")
    assert installed == {f"edge-1-w{n}": 1 for n in (1, 2, 3, 4)}
    if fault is not None:
        w.faults.set(fault)
    w.files = second()
    outlook = w.run()
    assert isinstance(outlook, Done), outlook
    assert w.reboots("edge-1") == {f"edge-1-w{n}": 2 for n in (1, 2, 3, 4)}
    person = w.fleet.person("edge-1")
    assert person.get("machineconfigs", "55-worker-gone") is None
    assert person.get("machineconfigs", "60-worker-b") is not None
    for name in ("gpu", "infra", "worker"):
        found = person.get("machineconfigpools", name)
        assert found is not None
        assert not found["spec"].get("paused")
        assert "gitops-mc.io/bracket" not in (found["metadata"].get("annotations") or {})
    assert (person.get("machineconfigpools", "gpu") or {})["spec"]["maxUnavailable"] == 2


def test_a_pool_another_has_paused_is_named_and_never_unpaused() -> None:
    w = world()
    assert isinstance(w.run(), Done)
    w.fleet.person("edge-1").pause("infra")
    before = len(w.writes("edge-1"))
    w.files = second()
    w.run(hours=2)
    assert "infra" in w.view("edge-1").reason
    assert "paused, and not by us" in w.view("edge-1").reason
    assert len(w.writes("edge-1")) == before
    paused = w.fleet.person("edge-1").get("machineconfigpools", "infra")
    assert paused is not None
    assert paused["spec"]["paused"] is True


def test_a_new_pool_pauses_only_the_pools_that_it_touches() -> None:
    w = RolloutWorld(spec=simple_fleet("edge-1", workers=2), files={"fleet.yaml": FLEET})
    w.files |= {
        "clusters/edge-1/a.yaml": machine_config("50-worker-a", files={"/etc/a.conf": "1\n"}),
        "clusters/edge-1/b.yaml": machine_config("50-worker-b", files={"/etc/b.conf": "1\n"}),
        "clusters/edge-1/pools.yaml": pool("gpu"),
    }
    assert isinstance(w.run(), Done)
    touched = {write.name for write in w.writes("edge-1")}
    assert touched == {"50-worker-a", "50-worker-b", "gpu", "worker"}
