from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from gitops_mc.core.model import JsonObject
from gitops_mc.sandbox.operator.pools import (
    NodeState,
    NodeView,
    assign,
    candidates,
    max_unavailable,
    status_of,
    view,
)
from tests.sandbox.platform_world import custom_pool

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ALL = frozenset({NodeState.DONE, NodeState.DEGRADED})
MASTER: JsonObject = {
    "metadata": {"name": "master"},
    "spec": {"nodeSelector": {"matchLabels": {"node-role.kubernetes.io/control-plane": ""}}},
}
WORKER: JsonObject = {
    "metadata": {"name": "worker", "generation": 3},
    "spec": {
        "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/worker": ""}},
        "configuration": {"name": "r2"},
    },
}


def node(name: str, *roles: str, current: str = "r1", desired: str = "", **over: Any) -> NodeView:
    known = {
        "name": name,
        "labels": {f"node-role.kubernetes.io/{role}": "" for role in roles or ("worker",)},
        "current": current,
        "desired": desired or current,
        "state": "Done",
        "reason": "",
        "ready": True,
        "schedulable": True,
        "age_key": ("", name, name),
        **over,
    }
    return NodeView(**known)


def pool(**spec: Any) -> JsonObject:
    return {**WORKER, "spec": {**WORKER["spec"], **spec}}


def chosen(pool_: JsonObject, *nodes: NodeView, retarget: frozenset[NodeState] = ALL) -> list[str]:
    return [n.name for n in candidates(pool_, nodes, retarget)]


@pytest.mark.parametrize(
    ("value", "total", "expected"),
    [
        (None, 5, 1),
        (0, 5, 1),
        (2, 5, 2),
        ("50%", 5, 2),
        ("10%", 5, 1),
        ("100%", 4, 4),
        ("0%", 9, 1),
        ("3", 9, 3),
    ],
)
def test_max_unavailable(value: int | str | None, total: int, expected: int) -> None:
    spec = {} if value is None else {"maxUnavailable": value}
    assert max_unavailable(pool(**spec), total) == expected


@pytest.mark.parametrize(
    ("roles", "home"),
    [
        (("worker",), "worker"),
        (("worker", "infra"), "infra"),
        (("worker", "infra", "gpu"), None),
        (("control-plane", "worker", "infra"), "master"),
        (("other",), None),
    ],
)
def test_the_pool_of_a_node(roles: tuple[str, ...], home: str | None) -> None:
    found = assign([node("n", *roles)], [MASTER, WORKER, custom_pool("infra"), custom_pool("gpu")])
    assert [name for name, nodes in found.by_pool.items() if nodes] == ([home] if home else [])


def test_a_node_in_two_custom_pools_is_skipped_and_said() -> None:
    found = assign([node("n", "infra", "gpu")], [custom_pool("infra"), custom_pool("gpu")])
    assert found.clashes == {"n": ("infra", "gpu")}


def test_the_oldest_nodes_go_first_within_the_limit() -> None:
    nodes = [node("n2"), node("n1"), node("n3")]
    assert chosen(pool(maxUnavailable=2), *nodes) == ["n1", "n2"]


def test_a_zone_is_finished_before_the_next_begins() -> None:
    labels = {"topology.kubernetes.io/zone": "a"}
    raw = {"metadata": {"name": "n", "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z"}}
    assert view(raw).age_key == ("a", "2026-01-01T00:00:00Z", "n")


@pytest.mark.parametrize(
    "down",
    [
        node("n9", current="r2", ready=False),
        node("n9", current="r2", schedulable=False),
        node("n9", current="r1", desired="r2", state="Working"),
        node("n9", current="r2", state="Degraded"),
        node("n9", current="r1", desired="r2", state="Degraded"),
    ],
    ids=["not ready", "cordoned", "updating", "drifted", "failing on this config"],
)
def test_a_node_that_is_down_for_any_reason_uses_up_the_limit(down: NodeView) -> None:
    assert chosen(pool(), node("n1"), down) == []
    assert chosen(pool(maxUnavailable=2), node("n1"), down) == ["n1"]


@pytest.mark.parametrize("over", [{"ready": False}, {"schedulable": False}])
def test_a_node_that_is_down_is_never_retargeted(over: dict[str, Any]) -> None:
    assert chosen(pool(maxUnavailable=3), node("n1", **over)) == []


def test_a_degraded_node_that_is_up_gets_the_repair_unless_the_operator_does_not_retarget_it() -> None:
    broken = node("n1", current="r0", desired="r1", state="Degraded")
    assert chosen(pool(), broken) == ["n1"]
    assert chosen(pool(), broken, retarget=frozenset({NodeState.DONE})) == []


def test_a_node_that_fails_on_this_very_config_holds_back_the_next() -> None:
    failing = node("n1", current="r1", desired="r2", state="Degraded")
    assert chosen(pool(), failing, node("n2")) == []


def test_a_paused_pool_moves_nobody() -> None:
    assert chosen(pool(paused=True), node("n1")) == []


def counts(status: JsonObject) -> list[int]:
    kinds = ("machine", "updatedMachine", "readyMachine", "unavailableMachine", "degradedMachine")
    return [status[f"{kind}Count"] for kind in kinds]


def conditions(status: JsonObject) -> set[str]:
    return {c["type"] for c in status["conditions"] if c["status"] == "True"}


@pytest.mark.parametrize(
    ("nodes", "expected_counts", "expected_conditions"),
    [
        ([], [0, 0, 0, 0, 0], {"Updated"}),
        ([node("n1", current="r2")], [1, 1, 1, 0, 0], {"Updated"}),
        ([node("n1", current="r2"), node("n2")], [2, 1, 1, 0, 0], {"Updating"}),
        ([node("n1", current="r2", schedulable=False)], [1, 1, 0, 1, 0], {"Updating"}),
        ([node("n1", desired="r2", state="Working")], [1, 0, 0, 1, 0], {"Updating"}),
        (
            [node("n1", desired="r2", state="Degraded", reason="disk full")],
            [1, 0, 0, 0, 1],
            {"Updating", "Degraded", "NodeDegraded"},
        ),
    ],
)
def test_the_status_of_a_pool(
    nodes: list[NodeView], expected_counts: list[int], expected_conditions: set[str]
) -> None:
    status = status_of(WORKER, nodes, "", NOW)
    assert counts(status) == expected_counts
    assert conditions(status) == expected_conditions
    assert ("configuration" in status) == ("Updated" in expected_conditions)
    assert status["observedGeneration"] == 3


def test_a_paused_pool_with_old_nodes_is_neither_updated_nor_updating() -> None:
    assert conditions(status_of(pool(paused=True), [node("n1")], "", NOW)) == set()


def test_a_render_error_is_on_the_pool_and_leaves_the_old_configuration() -> None:
    before = {**WORKER, "status": {"configuration": {"name": "r1"}}}
    status = status_of(before, [node("n1")], "bad config 50-x", NOW)
    assert conditions(status) == {"Updating", "Degraded", "RenderDegraded"}
    assert status["configuration"] == {"name": "r1"}


def test_the_transition_time_moves_only_with_the_status_of_a_condition() -> None:
    first = status_of(WORKER, [node("n1", current="r2")], "", NOW)
    later = status_of({**WORKER, "status": first}, [node("n1")], "", NOW.replace(hour=1))
    times = {c["type"]: c["lastTransitionTime"] for c in later["conditions"]}
    assert times["Updated"] == "2026-01-01T01:00:00Z"
    assert times["Degraded"] == "2026-01-01T00:00:00Z"
