"""What is in the way of a drain: pods and budgets in, hindrances out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_mc.core.model import JsonObject, Unknown
from gitops_mc.core.preview.drains import drains_of
from gitops_mc.core.preview.hindrances import DrainsNotRead, HindranceKind, NodeNote
from gitops_mc.core.preview.node_notes import Drained, PoolDrain
from gitops_mc.core.preview.weighing import MOST, NODES_EACH
from tests.core.gate_worlds import NOW
from tests.core.pod_worlds import (
    EMPTY_DIR,
    budget,
    drains,
    hindrances,
    nodes_drained,
    pod,
    static,
    workloads,
)

WEB = [pod("web-1"), pod("web-2", "n2"), pod("web-3", "n3")]
"""Three replicas, of which one stands on the node that is drained."""


def kinds(*args: list[JsonObject]) -> list[HindranceKind]:
    return [h.kind for h in hindrances(*args)]


# ---------------------------------------------------------------------------------------------------------- budgets

HELD: dict[str, tuple[list[JsonObject], list[JsonObject], str]] = {
    "allows none now": (
        [budget()],
        WEB,
        "it allows no disruption now (minAvailable 2; 2 of 3 pods healthy, 2 needed)",
    ),
    "never by minAvailable": (
        [budget(healthy=3, needed=3)],
        WEB,
        "it never allows a disruption (minAvailable 3; 3 of 3 pods healthy, 3 needed)",
    ),
    "never by a percentage": (
        [budget(healthy=3, needed=3, minAvailable="90%")],
        WEB,
        "it never allows a disruption (minAvailable 90%; 3 of 3 pods healthy, 3 needed)",
    ),
    "never by maxUnavailable": (
        [budget(maxUnavailable=0)],
        WEB,
        "it never allows a disruption (maxUnavailable 0;",
    ),
    "never by maxUnavailable in percent": (
        [budget(maxUnavailable="0%")],
        WEB,
        "it never allows a disruption (maxUnavailable 0%;",
    ),
    "its status is old": (
        [budget(allowed=1, generation=2)],
        WEB,
        "its status is of generation 1, its spec of 2: evictions are refused until its controller has caught up",
    ),
    "nobody has looked at it": ([budget(observed=None)], WEB, "its status is of generation 0, its spec of 1"),
    "two of them": (
        [budget(allowed=1), budget("every", allowed=1, selector={})],
        WEB,
        "the API refuses to evict a pod with more than one budget",
    ),
    "one over every pod": ([budget("every", selector={})], WEB, "it allows no disruption now"),
    "by an expression": (
        [budget("e", selector={"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]})],
        WEB,
        "it allows no disruption now",
    ),
    "a pod that is not ready, and too few without it": (
        [budget(healthy=1)],
        [pod("web-1", ready=False), *WEB[1:]],
        "it allows no disruption now",
    ),
    "a pod that nobody makes anew": ([budget()], [pod("web-1", owner=None)], "it allows no disruption now"),
}

FREE: dict[str, tuple[list[JsonObject], list[JsonObject]]] = {
    "there is none": ([], WEB),
    "it allows one": ([budget(allowed=1)], WEB),
    "it is over other pods": ([budget("db")], WEB),
    "it is of another namespace": ([budget(namespace="bank")], WEB),
    "its pods stand on other nodes": ([budget()], WEB[1:]),
    "it selects nothing": ([{**budget(), "spec": {"minAvailable": 2}}], WEB),
    "it expects no pod, and none is there": ([budget("old", expected=0, healthy=0, needed=0)], WEB),
    "the pod is finished": ([budget()], [pod("web-1", phase="Succeeded"), *WEB[1:]]),
    "the pod has failed": ([budget()], [pod("web-1", phase="Failed"), *WEB[1:]]),
    "the pod has not started": ([budget()], [pod("web-1", phase="Pending", ready=False), *WEB[1:]]),
    "the pod is on its way out": (
        [budget()],
        [pod("web-1", deletionTimestamp="2026-11-30T07:00:00Z"), *WEB[1:]],
    ),
    "the pod is a DaemonSet's": ([budget()], [pod("web-1", owner=("DaemonSet", "web"))]),
    "the pod is static": (
        [budget("etcd", namespace="kube-system", selector={})],
        [static("scheduler", "n1")],
    ),
    "the pod is not ready, and enough are without it": (
        [budget()],
        [pod("web-1", ready=False), *WEB[1:]],
    ),
    "the pod is not ready, and such may always go": (
        [budget(healthy=0, minAvailable=2, unhealthyPodEvictionPolicy="AlwaysAllow")],
        [pod("web-1", ready=False), *WEB[1:]],
    ),
}


@pytest.mark.parametrize("world", HELD)
def test_a_budget_that_keeps_the_eviction_from_happening_is_told_with_its_numbers(world: str) -> None:
    budgets, pods, told = HELD[world]
    found = [h for h in hindrances(pods, budgets) if h.kind is HindranceKind.BUDGET]
    assert [h.node for h in found] == ["n1"]
    assert told in found[0].told
    assert "shop/web-1" in found[0].told


@pytest.mark.parametrize("world", FREE)
def test_where_the_api_would_evict_no_budget_is_in_the_way(world: str) -> None:
    budgets, pods = FREE[world]
    assert HindranceKind.BUDGET not in kinds(pods, budgets)


def test_a_budget_is_told_once_a_node_with_all_its_pods_there_and_one_for_ever_comes_first() -> None:
    pods = [pod("web-1"), pod("web-2"), pod("db-1", "n2", owner=("StatefulSet", "db")), pod("db-2", "n3")]
    found = hindrances(
        pods, [budget(), budget("db", healthy=1, needed=1, expected=1)], nodes_drained("n1", "n2")
    )
    assert [(h.node, h.subject) for h in found] == [("n2", "shop/db"), ("n1", "shop/web")]
    assert found[1].told.endswith("it holds pods shop/web-1, shop/web-2")


# ---------------------------------------------------------------------------------------------------------- replicas


@pytest.mark.parametrize(
    ("pods", "told"),
    [
        ([pod("web-1")], "the only replica of Deployment web:"),
        ([pod("web-1"), pod("web-2", "n2", phase="Failed")], "the only replica of Deployment web:"),
        ([pod("db-0", owner=("StatefulSet", "db"))], "the only replica of StatefulSet db:"),
        ([pod("pg-1", owner=("Cluster", "pg"))], "the only replica of Cluster pg:"),
        ([pod("web-1"), pod("web-2")], "all 2 replicas of Deployment web are there"),
        (
            [pod("web-1"), pod("web-2", "n2", ready=False)],
            "of 2 replicas of Deployment web only 1 here can be used",
        ),
        ([static("etcd", "n1")], "the only member of etcd"),
    ],
)
def test_a_workload_of_which_nothing_is_left_is_told(pods: list[JsonObject], told: str) -> None:
    (found,) = hindrances(pods)
    assert (found.kind, found.node) == (HindranceKind.SINGLE, "n1")
    assert told in found.told


@pytest.mark.parametrize(
    "pods",
    [
        WEB,
        [pod("web-1", ready=False)],
        [pod("web-1", ready=False), pod("web-2", "n2")],
        [pod("agent-1", owner=("DaemonSet", "agent"))],
        [pod("run-1", owner=("Job", "run"))],
        [static("kube-apiserver", "n1")],
        [pod("web-1", "n2")],
    ],
)
def test_a_workload_that_goes_on_or_was_not_there_is_not_told(pods: list[JsonObject]) -> None:
    assert hindrances(pods) == ()


def test_a_rollout_of_a_deployment_counts_both_its_replica_sets() -> None:
    newer = pod("web-2", "n2")
    newer["metadata"]["labels"]["pod-template-hash"] = "7f9"
    newer["metadata"]["ownerReferences"][0]["name"] = "web-7f9"
    assert hindrances([pod("web-1"), newer]) == ()


def test_where_a_budget_holds_the_only_replica_the_budget_is_told_alone() -> None:
    assert kinds([pod("web-1")], [budget(healthy=1, needed=1, expected=1)]) == [HindranceKind.BUDGET]


# ------------------------------------------------------------------------------------------------------------ quorum

DB = ("StatefulSet", "db")


def members(*nodes: str, ready: int = 9) -> list[JsonObject]:
    return [pod(f"db-{at}", node, owner=DB, ready=at < ready) for at, node in enumerate(nodes)]


@pytest.mark.parametrize(
    ("pods", "drained", "told"),
    [
        (members("n1", "n2", "n3"), nodes_drained(), "2 are left, and a majority is 2"),
        (
            members("n1", "n2", "n3", ready=2),
            nodes_drained(),
            "without this node 1 is left, and a majority is 2; see",
        ),
        (
            members("n1", "n1", "n3"),
            nodes_drained(),
            "2 of 3 replicas of StatefulSet db, 3 ready: without this node 1",
        ),
        (
            members("n1", "n2", "n3"),
            nodes_drained("n1", "n2", at_once=2),
            "as many nodes go at once that 1 may be left, and a majority is 2",
        ),
        (
            members("n1", "n2", "n3"),
            Drained(tuple(PoolDrain(p, (n,), 1, frozenset()) for p, n in (("a", "n1"), ("b", "n2")))),
            "as many nodes go at once that 1 may be left",
        ),
        (
            [static("etcd", n) for n in ("n1", "n2", "n3")],
            nodes_drained("n1", "n2", "n3", pool="master"),
            "1 of 3 members of etcd, 3 ready: while this node is away 2 are left, and a majority is 2",
        ),
        (
            [static("etcd", "n1"), static("etcd", "n2"), static("etcd", "n3", ready=False)],
            nodes_drained("n1", pool="master"),
            "1 of 3 members of etcd, 2 ready: without this node 1 is left",
        ),
    ],
)
def test_what_votes_is_told_with_how_many_are_left(
    pods: list[JsonObject], drained: Drained, told: str
) -> None:
    found = hindrances(pods, (), drained)
    assert {h.kind for h in found} == {HindranceKind.QUORUM}
    assert told in found[0].told


@pytest.mark.parametrize("size", [2, 4, 9])
def test_a_stateful_set_of_another_size_does_not_count_as_voting(size: int) -> None:
    assert hindrances(members(*(f"n{at + 1}" for at in range(size)))) == ()


# ----------------------------------------------------------------------------------------------- bare pods, local data


def test_a_pod_that_nobody_makes_anew_is_told_and_never_said_to_hold_anything_up() -> None:
    (found,) = hindrances([pod("debug", owner=None)])
    assert (found.kind, found.subject) == (HindranceKind.BARE, "shop/debug")
    assert "gone after the drain" in found.told


def test_local_data_is_told_once_a_node_and_last() -> None:
    pods = [pod(f"web-{at}", volumes=[EMPTY_DIR]) for at in range(7)] + [pod("web-8", "n2")]
    pods += [pod("tmp-1", volumes=[{"name": "m", "emptyDir": {"medium": "Memory"}}]), pod("tmp-2", "n2")]
    pods += [pod("debug", owner=None)]
    bare, local = hindrances(pods)[0], hindrances(pods)[-1]
    assert (bare.kind, local.kind) == (HindranceKind.BARE, HindranceKind.LOCAL)
    assert "web-4 and 2 more" in local.told
    assert "tmp-1" not in local.told


# ------------------------------------------------------------------------------------------------------------- bounds


def test_the_same_thing_is_told_on_a_few_nodes_and_then_counted() -> None:
    nodes = [f"n{at:03}" for at in range(100)]
    found = drains(
        [pod(f"web-{n}", n, labels={"app": "web"}) for n in nodes], [budget()], nodes_drained(*nodes)
    )
    assert [h.node for h in found.hindrances] == nodes[:NODES_EACH]
    assert "found 97 times more than is listed" in found.hindrances[0].told
    assert found.left_out == 97


def test_a_cluster_has_so_many_hindrances_and_the_important_ones_are_among_them() -> None:
    alone = [pod(f"a{at}", owner=("Deployment", f"a{at}")) for at in range(3 * MOST)]
    found = drains([*alone, *WEB], [budget()])
    assert len(found.hindrances) == MOST
    assert found.hindrances[0].kind is HindranceKind.BUDGET
    assert found.left_out == 3 * MOST + 1 - MOST


# ------------------------------------------------------------------------------------------------------- not knowing


def test_what_was_not_read_is_not_known_and_what_the_nodes_say_stays() -> None:
    note = NodeNote(("n1",), "of the control plane")
    found = drains_of(nodes_drained(), Unknown("403: pods is forbidden", NOW), (note,))
    assert found == DrainsNotRead("403: pods is forbidden", NOW, (note,))


def test_nodes_without_names_leave_it_unknown() -> None:
    drained = Drained((), nameless=3)
    found = drains_of(drained, workloads(drained, WEB), ())
    assert isinstance(found, DrainsNotRead)
    assert "3 nodes" in found.reason


# --------------------------------------------------------------------------------------------------------- properties

PODS = st.lists(
    st.builds(
        lambda at, node, owner, phase, ready: pod(
            f"p{at}", node, owner=owner, phase=phase, ready=ready, labels={"app": f"{at % 3}"}
        ),
        st.integers(0, 9),
        st.sampled_from(["n1", "n2", "n3"]),
        st.sampled_from([("Deployment", "web"), ("StatefulSet", "db"), ("DaemonSet", "agent"), None]),
        st.sampled_from(["Running", "Pending", "Succeeded"]),
        st.booleans(),
    ),
    max_size=12,
)
BUDGETS = st.lists(
    st.builds(
        lambda app, allowed, healthy: budget(
            app, allowed=allowed, healthy=healthy, selector={"matchLabels": {"app": app}}
        ),
        st.sampled_from(["0", "1", "2"]),
        st.integers(0, 2),
        st.integers(0, 3),
    ),
    max_size=3,
    unique_by=lambda b: str(b["metadata"]["name"]),
)


@given(PODS, BUDGETS)
def test_order_of_reading_changes_nothing_and_every_hindrance_is_on_a_drained_node(
    pods: list[JsonObject], budgets: list[JsonObject]
) -> None:
    named = {p["metadata"]["name"]: p for p in pods}
    first = drains(named.values(), budgets, nodes_drained("n1", "n2"))
    again = drains(reversed(list(named.values())), reversed(budgets), nodes_drained("n1", "n2"))
    assert first == again
    assert {h.node for h in first.hindrances} <= {"n1", "n2"}


@given(PODS, BUDGETS)
def test_draining_more_nodes_hides_no_budget(pods: list[JsonObject], budgets: list[JsonObject]) -> None:
    named = list({p["metadata"]["name"]: p for p in pods}.values())

    def held(*nodes: str) -> set[tuple[str, str]]:
        found = hindrances(named, budgets, nodes_drained(*nodes))
        return {(h.node, h.subject) for h in found if h.kind is HindranceKind.BUDGET}

    assert held("n1") <= held("n1", "n2", "n3")
