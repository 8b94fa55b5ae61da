"""Workloads of the sandbox: pods that are kept up, budgets that are counted, and drains that go by them."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_mc.core.model import JsonObject
from gitops_mc.sandbox.fleet import simple_fleet
from gitops_mc.sandbox.nodes.machine import What
from gitops_mc.sandbox.pods.budgets import counted
from gitops_mc.sandbox.pods.workload import Workload
from tests.core.pod_worlds import budget, pod, static
from tests.sandbox.platform_world import EDGE, World, config

W1, W2, W3 = "edge-w1", "edge-w2", "edge-w3"
UNIT = config("50-worker-unit", units={"a.service": "[Unit]"})


def world(*workloads: Workload, workers: int = 3) -> World:
    """A fleet in which these run and are well."""
    found = World(simple_fleet(EDGE, workers=workers))
    for workload in workloads:
        found.fleet.run(EDGE, workload)
    found.run(120)
    return found


def on(found: World) -> dict[str, str]:
    """Node by pod."""
    return {p["metadata"]["name"]: p["spec"]["nodeName"] for p in found.edge.list_all("pods")}


def status(found: World, name: str = "web") -> JsonObject:
    body = found.edge.get("poddisruptionbudgets", name, "apps")
    assert body is not None
    told: JsonObject = body["status"]
    return told


def drained(found: World, node: str = W1) -> bool:
    return bool(found.fleet.node_log(EDGE, node).of(What.DRAINED))


def test_pods_are_spread_over_workers_and_become_ready_and_the_budget_counts_them() -> None:
    found = world(Workload("web", replicas=3, min_available=2))
    assert sorted(on(found).values()) == [W1, W2, W3]
    assert status(found) == {
        "observedGeneration": 1,
        "expectedPods": 3,
        "currentHealthy": 3,
        "desiredHealthy": 2,
        "disruptionsAllowed": 1,
    }


def test_a_drain_evicts_what_its_budget_lets_go_and_it_is_made_anew_elsewhere() -> None:
    found = world(Workload("web", replicas=3, min_available=2))
    before = on(found)
    found.edge.apply("machineconfigs", UNIT)
    found.run(1800)
    assert drained(found)
    assert found.condition("Updated") == "True"
    after = on(found)
    assert len(after) == 3
    assert not before.keys() & after.keys()
    assert status(found)["disruptionsAllowed"] == 1


def test_two_of_a_budget_on_one_node_go_one_after_the_other() -> None:
    found = world(Workload("web", replicas=4, min_available=3), workers=2)
    found.edge.apply("machineconfigs", UNIT)
    found.run(3600)
    assert found.condition("Updated") == "True"
    assert found.fleet.failures == ()


def test_a_budget_that_allows_none_holds_the_drain_and_the_node_is_degraded_after_an_hour_until_it_does() -> (
    None
):
    found = world(Workload("web", replicas=3, min_available=3))
    found.edge.apply("machineconfigs", UNIT)
    found.run(3000)
    assert not drained(found)
    assert found.condition("Degraded") == "False"
    found.run(1200)
    assert found.notes(W1)["state"] == "Degraded"
    told = "cannot evict pod apps/web-5d4f8c7b96-1: disruption budget web violated"
    assert told in found.notes(W1)["reason"]
    found.edge.edit("poddisruptionbudgets", "web", {"spec": {"minAvailable": 2}}, "apps")
    found.run(3600)
    assert found.condition("Updated") == "True"


def test_pods_that_a_drain_leaves_and_those_that_nobody_makes_anew() -> None:
    found = world()
    person = found.fleet.servers[EDGE]
    assert person.cluster == EDGE
    for body in (
        pod("agent", W1, namespace="cpaas-system", owner=("DaemonSet", "agent")),
        pod("debug", W1, namespace="cpaas-system", owner=None),
        {**static("etcd", W1), "metadata": {**static("etcd", W1)["metadata"], "namespace": "cpaas-system"}},
    ):
        found.edge.apply("pods", {"apiVersion": "v1", "kind": "Pod", **body})
    found.edge.apply("machineconfigs", UNIT)
    found.run(1800)
    assert drained(found)
    assert set(on(found)) == {"agent", "etcd-edge-w1"}


BUDGETS: list[tuple[dict[str, Any], int, int, int]] = [
    ({"minAvailable": 2}, 3, 2, 1),
    ({"minAvailable": "50%"}, 3, 2, 1),
    ({"minAvailable": "34%"}, 3, 2, 1),
    ({"maxUnavailable": 1}, 3, 2, 1),
    ({"maxUnavailable": "25%"}, 3, 2, 1),
    ({"maxUnavailable": 0}, 3, 3, 0),
    ({"minAvailable": 5}, 3, 5, 0),
    ({"minAvailable": 0}, 0, 0, 0),
]


@pytest.mark.parametrize(("spec", "pods", "needed", "allowed"), BUDGETS)
def test_a_budget_is_counted_as_kubernetes_counts(
    spec: dict[str, Any], pods: int, needed: int, allowed: int
) -> None:
    found = counted(budget(**spec), [pod(f"web-{at}") for at in range(pods)])
    assert (found["expectedPods"], found["desiredHealthy"], found["disruptionsAllowed"]) == (
        pods,
        needed,
        allowed,
    )


def test_pods_that_are_not_ready_or_finished_or_elsewhere_are_not_healthy() -> None:
    pods = [
        pod("web-1"),
        pod("web-2", ready=False),
        pod("web-3", phase="Failed"),
        pod("web-4", namespace="bank"),
    ]
    found = counted(budget(minAvailable=1), pods)
    assert (found["expectedPods"], found["currentHealthy"], found["disruptionsAllowed"]) == (2, 1, 0)
