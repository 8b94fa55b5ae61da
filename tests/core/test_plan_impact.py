"""What a plan says of the nodes it touches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Content, DesiredCluster, Kind, Manifest, Place, ResourceKey, Unknown
from gitops_mc.core.plan import ClusterPlan, make_plan
from gitops_mc.core.policy import DEFAULT_POLICY
from tests.core.gate_worlds import NOW, cluster, node, pool
from tests.core.machine_configs import file, machine_config

NODES = (node("n1"), node("n2"))


def plan_of(live: LiveCluster) -> ClusterPlan:
    body = machine_config("60-worker-new", files=[file("/etc/x", "data:,x")])
    key = ResourceKey("edge-01", Kind.MACHINE_CONFIG, "60-worker-new")
    desired = DesiredCluster("edge-01", (Manifest(key, body, Place("a.yaml")),), Content("c"))
    return make_plan(desired, live, DEFAULT_POLICY)


@pytest.mark.parametrize(
    ("machines", "unforeseen"),
    [(2, ""), (None, "how many nodes are in worker is not known: HTTP 503")],
)
def test_a_pool_whose_nodes_nobody_counted_is_never_shown_as_one_without_nodes(
    machines: int | None, unforeseen: str
) -> None:
    worker = pool("worker")
    worker["status"] = {"machineCount": machines} if machines is not None else {}
    live = replace(cluster([worker], nodes=list(NODES)), nodes=Unknown("HTTP 503", NOW))
    assert plan_of(live).unforeseen == unforeseen


def test_with_its_nodes_read_the_impact_is_foreseen_whatever_the_pool_counts() -> None:
    worker = pool("worker")
    worker["status"] = {}
    plan = plan_of(cluster([worker], nodes=list(NODES)))
    assert plan.unforeseen == ""
    assert [n.count for impact in plan.impacts for n in impact.nodes] == [2]
