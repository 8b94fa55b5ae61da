"""Pods and budgets of a cluster, read through the port from an embedded server: page by page, by node or all of them."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from gitops_mc.app.api import ClusterApi
from gitops_mc.app.observe_drains import FEW_NAMESPACES, LONGEST, observe_fleet_drains
from gitops_mc.app.ports import Request, Response
from gitops_mc.core.model import Unknown
from gitops_mc.core.preview.hindrances import Drains, DrainsNotRead, HindranceKind
from gitops_mc.core.preview.workloads import survey
from gitops_mc.sandbox.apiserver import Rule, User
from gitops_mc.sandbox.virtual import VirtualWorkers
from tests.app.drain_worlds import POOLS, READER, START, Recorded, kinds, plan, world
from tests.core.gate_worlds import cluster, node
from tests.core.pod_worlds import budget, pod, static
from tests.core.test_preview_nodes import impact

WEB = [pod(f"web-{at}", f"n{at}") for at in (1, 2, 3)]
OTHERS = [
    pod("db-1", "n2", owner=("StatefulSet", "db")),
    pod("agent-1", "n1", owner=("DaemonSet", "agent")),
    pod("run-1", "n1", owner=("Job", "run"), phase="Succeeded"),
    static("etcd", "n1"),
]


def test_what_the_server_says_of_budgets_and_pods_is_what_is_told() -> None:
    found = world([*WEB, *OTHERS], [budget()]).read(plan("n1", "n2"))
    assert kinds(found) == [
        ("n1", HindranceKind.BUDGET, "shop/web"),
        ("n2", HindranceKind.BUDGET, "shop/web"),
        ("n1", HindranceKind.SINGLE, "kube-system/etcd"),
        ("n2", HindranceKind.SINGLE, "shop/db"),
    ]


def test_where_nothing_is_drained_nothing_is_asked() -> None:
    there = world(WEB)
    assert there.read(plan()) is None
    assert there.transport.asked == []


def test_few_nodes_of_many_are_asked_for_by_name_and_counted_in_their_namespaces() -> None:
    elsewhere = [pod(f"x-{at}", "n9", namespace="bank") for at in range(30)]
    there = world([*WEB, *OTHERS, *elsewhere], [budget()])
    found = there.read(plan("n2", of=40))
    assert kinds(found) == [
        ("n2", HindranceKind.BUDGET, "shop/web"),
        ("n2", HindranceKind.SINGLE, "shop/db"),
    ]
    asked = {a.partition(",")[0] for a in there.transport.pods_asked()}
    assert asked == {"/api/v1/pods?spec.nodeName=n2", "/api/v1/namespaces/shop/pods?status.phase!=Succeeded"}


def test_a_replica_on_a_node_that_is_not_drained_counts_both_ways() -> None:
    pods = [pod("web-1", "n1"), pod("web-2", "n30")]
    assert kinds(world(pods).read(plan("n1", of=40))) == []
    assert kinds(world(pods).read(plan("n1", of=3))) == []


def test_both_ways_of_reading_give_the_same() -> None:
    draw = random.Random(7)
    owners = [("Deployment", f"d{at}") for at in range(60)] + [
        ("StatefulSet", "db"),
        ("DaemonSet", "a"),
        None,
    ]
    pods = [
        pod(f"p{at}", f"n{draw.randint(1, 40)}", owner=draw.choice(owners), namespace=draw.choice(["a", "b"]))
        for at in range(120)
    ]
    for first in (1, 11, 21):
        nodes = [f"n{at}" for at in range(first, first + 5)]
        by_node, all_of_them = (world(pods).read(plan(*nodes, of=of)) for of in (40, 39))
        assert isinstance(by_node, Drains)
        assert isinstance(all_of_them, Drains)
        assert by_node.hindrances == all_of_them.hindrances != ()


def test_pods_of_many_namespaces_are_counted_in_one_list() -> None:
    pods = [pod(f"web-{at}", "n1", namespace=f"s{at}") for at in range(FEW_NAMESPACES + 1)]
    there = world(pods, page=100)
    assert len(kinds(there.read(plan("n1", of=40)))) == FEW_NAMESPACES + 1
    assert [a.partition("?")[0] for a in there.transport.pods_asked()] == ["/api/v1/pods", "/api/v1/pods"]


def test_finished_pods_are_not_even_sent() -> None:
    there = world([*WEB, pod("run-1", owner=("Job", "run"), phase="Failed")])
    there.read(plan("n1"))
    assert all(
        "status.phase!=Succeeded,status.phase!=Failed" in asked for asked in there.transport.pods_asked()
    )


# --------------------------------------------------------------------------------------------------------- not read


@pytest.mark.parametrize("resource", ["pods", "poddisruptionbudgets"])
def test_a_token_that_may_not_list_them_still_says_what_the_nodes_say_and_why_it_knows_no_more(
    resource: str,
) -> None:
    there = world(WEB, [budget()])
    rest = {"pods", "poddisruptionbudgets"} - {resource}
    there.transport.server.grant(READER, User(READER, (Rule(("list",), ("", "policy"), tuple(rest)),)))
    live = cluster(POOLS, nodes=[node("n1"), node("n2"), node("m1", labels=[])])
    found = there.read(plan("n1", live=live))
    assert isinstance(found, DrainsNotRead)
    assert "403" in found.reason
    assert resource in found.reason
    assert "that right is granted apart" in found.reason
    assert [n.nodes for n in found.notes] == [("m1",)]


def test_a_server_that_does_not_answer_is_not_read_and_never_nothing_in_the_way() -> None:
    there = world(WEB, [budget()])
    there.transport.deaf = "/pods"
    found = there.read(plan("n1"))
    assert isinstance(found, DrainsNotRead)
    assert "did not answer" in found.reason


def test_pods_that_take_too_long_are_not_read() -> None:
    there = world([*WEB, *(pod(f"x-{at}") for at in range(40))])
    there.transport.slow = LONGEST / 4
    found = there.read(plan("n1"))
    assert isinstance(found, DrainsNotRead)
    assert f"took longer than {LONGEST.total_seconds():.0f} seconds" in found.reason
    assert len(there.transport.asked) < 8


def test_a_list_that_expires_in_the_middle_is_begun_anew_and_nothing_counts_twice() -> None:
    there = world([*WEB, *(pod(f"x-{at}", "n9") for at in range(9))], [budget()])
    there.transport.gone = 2
    assert kinds(there.read(plan("n1"))) == [("n1", HindranceKind.BUDGET, "shop/web")]
    there.transport.gone = 99
    found = there.read(plan("n1"))
    assert isinstance(found, DrainsNotRead)
    assert "expired 3 times" in found.reason


def test_of_a_cluster_whose_nodes_were_not_read_it_is_not_known() -> None:
    there = world(WEB)
    live = replace(cluster(POOLS), nodes=Unknown("not needed", START))
    preview = plan("n1", live=live)
    assert preview.plan is not None
    unnamed = replace(preview, plan=replace(preview.plan, impacts=(impact(count=3),)))
    found = there.read(unnamed)
    assert isinstance(found, DrainsNotRead)
    assert there.transport.asked == []


# ---------------------------------------------------------------------------------------------------------- the fleet


def test_a_cluster_that_is_too_slow_holds_up_no_other() -> None:
    there = world(WEB, [budget()])
    fast, none = plan("n1"), plan()
    late = replace(fast, desired=replace(fast.desired, name="edge-02"))
    idle = replace(none, desired=replace(none.desired, name="edge-03"))
    clock = there.clock

    class Late(Recorded):
        def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
            if cluster == "edge-02":
                self.clock.wait(self.clock.now() + 2 * LONGEST)
            return super().send(cluster, request, timeout=timeout)

    api = ClusterApi(Late(there.transport.server, clock), clock, jitter=random.Random(0).random)
    found = observe_fleet_drains(api, clock, VirtualWorkers(clock), [fast, late, idle])
    assert set(found) == {"edge-01", "edge-02"}
    assert kinds(found["edge-01"]) == [("n1", HindranceKind.BUDGET, "shop/web")]
    slow = found["edge-02"]
    assert isinstance(slow, DrainsNotRead)
    assert "no answer within 60 seconds" in slow.reason


def test_only_what_is_asked_of_a_pod_is_kept() -> None:
    body = pod("web-1")
    body["spec"]["containers"] = [{"name": "a", "env": [{"name": "PASSWORD", "value": "hunter2"}]}]
    kept, replicas = survey([body], frozenset({"n1"}), {})
    assert "web-1" in repr(kept)
    assert "hunter2" not in repr((kept, replicas))
