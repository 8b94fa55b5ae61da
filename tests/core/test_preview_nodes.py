"""What the nodes say of a change that drains some of them: which, in which order, and what to know of the others."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_mc.core.disruption import NONE, REBOOT, Action, ActionType, Disruption
from gitops_mc.core.live import LiveCluster, unread
from gitops_mc.core.model import JsonObject
from gitops_mc.core.plan import NodeImpact, PoolImpact
from gitops_mc.core.preview.node_notes import Drained, PoolDrain, drained, node_notes, update_order
from tests.core.gate_worlds import MASTER_LABEL, NOW, WORKER_LABEL, cluster, node, pool

DRAIN = Disruption((Action(ActionType.DRAIN),), ())
REBOOTED = Disruption((REBOOT,), ())
QUIET = Disruption((NONE,), ())
POOLS = [
    pool("worker"),
    pool("gpu", label="gpu"),
    pool("infra", label="infra"),
    pool("master", roles=["master"], label=MASTER_LABEL),
]


def impact(
    *nodes: str,
    disruption: Disruption = REBOOTED,
    of: str = "worker",
    at_once: int = 1,
    count: int | None = None,
) -> PoolImpact:
    hit = NodeImpact(nodes, len(nodes) if count is None else count, disruption)
    return PoolImpact(of, (), (hit,), at_once, timedelta(0))


def aged(name: str, *, zone: str = "", day: int = 1, labels: Iterable[str] = (WORKER_LABEL,)) -> JsonObject:
    found = node(name, labels=labels)
    found["metadata"]["creationTimestamp"] = f"2026-11-{day:02}T00:00:00Z"
    if zone:
        found["metadata"]["labels"]["topology.kubernetes.io/zone"] = zone
    return found


def world(*nodes: JsonObject) -> LiveCluster:
    return cluster(POOLS, nodes=nodes)


def notes(impacts: PoolImpact | list[PoolImpact], *nodes: JsonObject) -> list[tuple[tuple[str, ...], str]]:
    live = world(*nodes)
    found = drained(impacts if isinstance(impacts, list) else [impacts], live)
    return [(n.nodes, n.told) for n in node_notes(found, live)]


# -------------------------------------------------------------------------------------------------- which are drained


def test_what_reboots_or_is_drained_counts_and_what_is_only_written_to_does_not() -> None:
    live = world(node("n1"), node("n2"), node("n3"))
    found = drained(
        [impact("n1"), impact("n2", disruption=DRAIN, of="gpu"), impact("n3", disruption=QUIET, of="infra")],
        live,
    )
    assert found.nodes == ("n1", "n2")
    assert [p.rebooting for p in found.pools] == [frozenset({"n1"}), frozenset()]


def test_nodes_of_which_only_the_number_is_known_are_drained_too() -> None:
    found = drained([impact(count=3)], unread("edge-01", NOW))
    assert (found.nodes, found.nameless, found.any) == ((), 3, True)
    assert not drained([impact("n1", disruption=QUIET)], world(node("n1"))).any
    assert node_notes(found, unread("edge-01", NOW)) == ()


# ---------------------------------------------------------------------------------------------------------- the order


def test_the_order_is_by_zone_then_oldest_first_and_those_without_a_zone_come_last() -> None:
    found = [
        aged("old", day=1),
        aged("b-new", zone="b", day=9),
        aged("a-new", zone="a", day=8),
        aged("a-old", zone="a", day=7),
        aged("older", day=1),
    ]
    assert update_order({n["metadata"]["name"]: n for n in found}) == (
        "a-old",
        "a-new",
        "b-new",
        "old",
        "older",
    )


@given(st.permutations([aged(f"n{at}", zone="ab"[at % 2], day=at % 3 + 1) for at in range(7)]))
def test_the_order_does_not_hang_on_how_nodes_were_listed(found: list[JsonObject]) -> None:
    ordered = update_order({n["metadata"]["name"]: n for n in found})
    assert ordered == ("n0", "n6", "n4", "n2", "n3", "n1", "n5")


def test_the_first_and_the_last_node_of_a_pool_are_told_and_one_that_is_not_moved_is_neither() -> None:
    nodes = [aged("n1", day=3), aged("n2", day=1), aged("n3", day=2), node("n0", cordoned=True)]
    found = notes(impact("n0", "n1", "n2", "n3", at_once=2), *nodes)
    assert (("n2", "n1"), "first and last of 3 in pool worker, 2 at a time, by zone and age") in found


# ------------------------------------------------------------------------------------------------------------ who they are


def test_the_control_plane_is_called_out_first() -> None:
    masters = [node(f"m{at}", labels=[MASTER_LABEL]) for at in (1, 2, 3)]
    (nodes, told), *_ = notes([impact("m1", "m2", "m3", of="master"), impact("n1")], *masters, node("n1"))
    assert nodes == ("m1", "m2", "m3")
    assert told == (
        "of the control plane, 1 at a time: 3 reboot, and while one does, the cluster may answer nobody for minutes"
    )


def test_workers_alone_say_nothing_of_the_control_plane() -> None:
    assert notes(impact("n1"), node("n1"), node("m1", labels=[MASTER_LABEL])) == []


def test_nodes_in_no_pool_are_told_with_what_pools_select() -> None:
    ((nodes, told),) = notes(impact("n1"), node("n1"), node("n2", labels=[]))
    assert nodes == ("n2",)
    assert "in no pool" in told
    assert f"{WORKER_LABEL} (worker)" in told


def test_a_node_in_two_custom_pools_is_told_with_their_names() -> None:
    ((nodes, told),) = notes(impact("n1"), node("n1"), node("n2", labels=["gpu", "infra", WORKER_LABEL]))
    assert nodes == ("n2",)
    assert told.startswith("in pools gpu, infra at once: the operator skips them")


@pytest.mark.parametrize(
    ("away", "why"),
    [
        (node("n1", cordoned=True), "cordoned"),
        (node("n1", ready=False), "NotReady"),
        (node("n1", ready="Unknown", cordoned=True), "NotReady and cordoned"),
    ],
)
def test_a_node_that_is_never_moved_is_told_and_what_it_does_to_the_others(
    away: JsonObject, why: str
) -> None:
    ((nodes, told),) = notes(impact("n1", "n2"), away, node("n2"))
    assert nodes == ("n1",)
    assert told.startswith(
        f"{why}: not moved to a newer config before that ends, and they use up maxUnavailable 1"
    )
    ((_, told),) = notes(impact("n1", "n2", at_once=2), away, node("n2"))
    assert "they count against maxUnavailable 2 of pool worker" in told


def test_a_node_of_the_pool_that_has_nothing_to_change_uses_it_up_all_the_same() -> None:
    ((nodes, told),) = notes(impact("n2"), node("n1", cordoned=True), node("n2"))
    assert nodes == ("n1",)
    assert "no other node of pool worker is begun" in told


def test_pools_are_one_after_the_other_as_they_are_given() -> None:
    pools = (PoolDrain("b", ("n2",), 1, frozenset()), PoolDrain("a", ("n1",), 1, frozenset()))
    assert Drained(pools).nodes == ("n2", "n1")
