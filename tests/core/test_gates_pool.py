from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.gates import (
    Agreement,
    Paused,
    PoolClocks,
    PoolNotKnown,
    Settled,
    Unsettled,
    judge,
    learn_order,
    read_pool,
)
from gitops_mc.core.ignition import MergeOrder, MismatchKind
from gitops_mc.core.live import Dark, LiveCluster
from gitops_mc.core.model import (
    BRACKET_ANNOTATION,
    Failed,
    JsonObject,
    NotKnown,
    Open,
    Outage,
    Unknown,
    Verdict,
    Waiting,
    name_of,
)
from gitops_mc.core.policy import PoolGatePolicy
from tests.core.gate_worlds import (
    BASE,
    CHRONY,
    MASTER_LABEL,
    NOW,
    SINCE,
    VECTORS,
    cluster,
    conditions,
    from_vector,
    known,
    minutes,
    node,
    pool,
    rendered_of,
    spoiled,
    with_fact,
)
from tests.core.machine_configs import file, machine_config

POLICY = PoolGatePolicy()
ALPHABETICAL = MergeOrder.ALPHABETICAL
WORD: dict[str, type[Verdict]] = {"open": Open, "waiting": Waiting, "failed": Failed, "unknown": NotKnown}


def read(live: LiveCluster, name: str = "worker", **more: Any) -> Settled | Unsettled | PoolNotKnown:
    return read_pool(live, name, **{"order": ALPHABETICAL, "policy": POLICY, **more})


def verdict(live: LiveCluster, name: str = "worker", policy: PoolGatePolicy = POLICY, **more: Any) -> Verdict:
    """The verdict when nothing has changed for two minutes: settle and debounce have elapsed."""
    reading = read(live, name, policy=policy, **more)
    _, clocks = judge(reading, PoolClocks(), policy, NOW)
    return judge(reading, clocks, policy, NOW + minutes(2))[0]


def unsettled(live: LiveCluster, name: str = "worker", **more: Any) -> Unsettled:
    found = read(live, name, **more)
    assert isinstance(found, Unsettled), found
    return found


# ------------------------------------------------------------------------------------------------------ the vectors


@pytest.mark.parametrize("vector", VECTORS, ids=[v["world"] for v in VECTORS])
def test_every_world_gets_the_verdict_that_is_right(vector: JsonObject) -> None:
    live = from_vector(vector)
    learnt = learn_order(live)
    adds = "operator appends" in vector["world"]
    policy = replace(POLICY, operator_files=("/etc/kubelet",)) if adds else POLICY
    order = learnt if isinstance(learnt, MergeOrder) else ALPHABETICAL
    found = verdict(live, vector["pool"]["name"], policy, order=order)
    assert isinstance(found, WORD[vector["verdict"]]), found


def test_a_file_the_operator_adds_is_a_surplus_until_it_stands_in_operator_files() -> None:
    vector = next(v for v in VECTORS if "operator appends" in v["world"])
    found = unsettled(from_vector(vector))
    assert [(m.kind, str(m.entry)) for m in found.mismatch] == [(MismatchKind.SURPLUS, "file /etc/kubelet")]
    assert found.agreement is Agreement.DIFFERS
    assert "/etc/kubelet" in found.reason


# -------------------------------------------------------------------------------- open only while every fact stands


UNIMPORTANT_OF_POOL = (
    "metadata.name",
    "falsified metadata.generation",  # an older one has been seen as well; a newer one is a world of the vectors
    "removed spec.paused",  # absent is not paused
    "spec.nodeSelector",  # matters for a pool with no nodes only, below
    "status.conditions.0.lastTransitionTime",
    "status.conditions.0.reason",
    "status.conditions.0.message",
    "status.conditions.1.lastTransitionTime",
    "status.conditions.1.reason",
    "status.conditions.1.message",
)
FULL = machine_config(
    "50-worker-full",
    files=[file("/etc/a", "data:,a", mode=420)],
    units=[
        {
            "name": "a.service",
            "enabled": True,
            "contents": "[Unit]",
            "dropins": [{"name": "d", "contents": "x"}],
        }
    ],
    ssh_keys={"boot": ["k1"]},
    kernel_arguments=["a=1"],
)
SETTLED = cluster([pool()], configs=[FULL], nodes=[node("w1"), node("w2"), node("w3")])


def _bodies(live: LiveCluster, fact: str) -> dict[str, JsonObject]:
    return dict(getattr(live, fact).value)


def _spoiled_worlds() -> list[tuple[str, LiveCluster]]:
    ignoring = {
        "pools": UNIMPORTANT_OF_POOL,
        "configs": ("apiVersion", "kind", "metadata.name", "spec.config.ignition"),
        "rendered": (
            "metadata.name",
            "spec.config.ignition",
            "removed spec.config.storage.files.0.overwrite",
        ),
    }
    found = []
    for fact, unimportant in ignoring.items():
        for key, body in _bodies(SETTLED, fact).items():
            for how, changed in spoiled(body, unimportant):
                # no identity of its own: the key in the collection is what a reader goes by
                spoilt = known(*(changed if k == key else b for k, b in _bodies(SETTLED, fact).items()))
                found.append((f"{fact}: {how}", with_fact(SETTLED, fact, spoilt)))
    return found


SPOILED = _spoiled_worlds()


def test_the_settled_world_is_open() -> None:
    assert isinstance(verdict(SETTLED), Open)
    assert len(SPOILED) > 50


@pytest.mark.parametrize(("how", "live"), SPOILED, ids=[how for how, _ in SPOILED])
def test_no_pool_opens_with_one_fact_removed_or_false(how: str, live: LiveCluster) -> None:
    assert not isinstance(verdict(live), Open), how


@pytest.mark.parametrize("fact", ["pools", "configs", "rendered"])
def test_a_fact_that_was_not_obtained_opens_nothing_and_fails_nothing(fact: str) -> None:
    live = with_fact(SETTLED, fact, Unknown("HTTP 503", NOW))
    assert isinstance(verdict(live), NotKnown)


def test_a_dark_cluster_is_not_known_however_good_its_last_reading() -> None:
    live = replace(SETTLED, dark=Dark("connection refused", Outage.UNREACHABLE, NOW))
    found = verdict(live)
    assert isinstance(found, NotKnown)
    assert "edge-01" in found.reason
    assert "connection refused" in found.reason


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.data())
def test_an_open_pool_has_all_of_it(data: st.DataObject) -> None:
    """Whatever pools say: Open implies the sentences of the gate, checked one by one, apart from the code."""
    small = st.integers(0, 2)
    rendered = data.draw(st.sampled_from(["rendered-1", "rendered-2"]))
    counts = (
        "machineCount",
        "updatedMachineCount",
        "readyMachineCount",
        "unavailableMachineCount",
        "degradedMachineCount",
    )
    flag = st.sampled_from(["True", "False", "Unknown"])
    drawn = data.draw(st.fixed_dictionaries({key: st.sampled_from([0, 0, 1, 3, 3, 3]) for key in counts}))
    body = pool(
        rendered=rendered,
        done=data.draw(st.sampled_from(["rendered-1", "rendered-2"])),
        paused=data.draw(st.integers(0, 3)) == 0,
        status={"observedGeneration": data.draw(st.integers(3, 5)), **drawn},
        found=conditions(
            Updated=data.draw(st.sampled_from(["True", "True", "False"])),
            Updating=data.draw(st.sampled_from(["False", "False", "True"])),
            Degraded=data.draw(flag) if data.draw(small) == 0 else "False",
        ),
    )
    live = cluster([body], rendered=[rendered_of("rendered-1", CHRONY)])
    if isinstance(verdict(live), Open):
        status = body["status"]
        assert body["spec"]["paused"] is False
        assert status["observedGeneration"] >= body["metadata"]["generation"]
        assert rendered == status["configuration"]["name"] == "rendered-1"
        assert status["machineCount"] == status["updatedMachineCount"] == status["readyMachineCount"] == 3
        assert status["unavailableMachineCount"] == status["degradedMachineCount"] == 0
        assert [c["status"] for c in status["conditions"]] == ["True", "False", "False"]


# --------------------------------------------------------------------------------------------- sentence by sentence


def test_a_paused_pool_is_named_and_never_opened() -> None:
    live = cluster([pool(paused=True)])
    found = unsettled(live)
    assert found.paused is Paused.BY_ANOTHER
    assert "pool worker of edge-01" in found.reason
    assert "not by us" in found.reason
    assert isinstance(verdict(live), Waiting)


def test_our_own_pause_is_told_apart() -> None:
    found = unsettled(cluster([pool(paused=True, annotations={BRACKET_ANNOTATION: "{}"})]))
    assert found.paused is Paused.BY_US
    assert "paused by us" in found.reason


def test_a_step_that_was_not_closed_is_not_settled_even_if_somebody_unpaused_the_pool() -> None:
    found = unsettled(cluster([pool(annotations={BRACKET_ANNOTATION: "{}"})]))
    assert found.paused is Paused.NO
    assert BRACKET_ANNOTATION in found.reason


def test_in_our_bracket_the_reader_learns_whether_the_pool_has_rendered_what_is_live() -> None:
    mark = {BRACKET_ANNOTATION: "{}"}
    done = unsettled(cluster([pool(paused=True, annotations=mark)]))
    waiting = unsettled(
        cluster([pool(paused=True, annotations=mark)], rendered=[rendered_of("rendered-1", BASE)])
    )
    assert done.agreement is Agreement.AGREES
    assert waiting.agreement is Agreement.DIFFERS


def test_a_pool_that_does_not_exist_is_not_settled() -> None:
    found = unsettled(cluster([pool()]), "infra")
    assert "pool infra of edge-01" in found.reason
    assert "does not exist" in found.reason


def test_a_pool_that_selects_no_config_is_not_settled_although_nothing_equals_nothing() -> None:
    live = cluster([pool(roles=["nobody"])], rendered=[rendered_of("rendered-1", BASE)])
    found = unsettled(live)
    assert found.agreement is Agreement.AGREES
    assert "selects no MachineConfig" in found.reason


def test_what_unsettles_is_told_before_what_is_not_known() -> None:
    """A new pool that fails to render has no rendered config to read: it must be able to fail."""
    broken = pool(rendered="", done="", found=conditions(Updated=False, Updating=False, RenderDegraded=True))
    assert isinstance(verdict(cluster([broken], rendered=[])), Failed)


def test_the_merge_order_has_to_be_known_where_it_matters() -> None:
    configs = [
        machine_config("40-infra-x", "infra", files=[file("/etc/x", "data:,infra")]),
        machine_config("50-worker-x", files=[file("/etc/x", "data:,worker")]),
    ]
    live = cluster([pool(roles=["worker", "infra"])], configs=configs)
    assert isinstance(verdict(live, order=ALPHABETICAL), Open)
    assert isinstance(verdict(live, order=MergeOrder.ROLE_FIRST), Waiting)
    found = verdict(live, order=None)
    assert isinstance(found, NotKnown)
    assert "order" in found.reason


def test_without_an_order_a_pool_opens_where_both_give_the_same() -> None:
    assert isinstance(verdict(SETTLED, order=None), Open)


@pytest.mark.parametrize("kind", ["Degraded", "NodeDegraded", "RenderDegraded", "BuildDegraded"])
def test_any_degraded_condition_keeps_the_gate_shut_and_fails_it_with_its_age(kind: str) -> None:
    live = cluster([pool(found=[*conditions(Updated=True, Updating=False), *conditions(**{kind: True})])])
    found = verdict(live)
    assert isinstance(found, Failed)
    assert f"{kind}=True since {SINCE}" in found.reason


def test_a_degraded_condition_of_unknown_status_is_no_good_one_and_no_failure() -> None:
    live = cluster([pool(found=conditions(Updated=True, Updating=False, Degraded="Unknown"))])
    assert isinstance(verdict(live), Waiting)


# ---------------------------------------------------------------------------------------------- a pool with no nodes


def empty_worker(*nodes: JsonObject, extra: tuple[JsonObject, ...] = ()) -> LiveCluster:
    master = pool("master", roles=["master"], label=MASTER_LABEL, rendered="rendered-m", machines=1)
    return cluster([pool(machines=0), master, *extra], nodes=nodes)


MASTER = node("m1", "rendered-m", "rendered-m", labels=[MASTER_LABEL])


def test_a_pool_with_no_nodes_opens_if_every_node_is_in_a_pool() -> None:
    assert isinstance(verdict(empty_worker(MASTER)), Open)


def test_unlabelled_workers_are_named_with_the_label_that_is_missing() -> None:
    found = verdict(empty_worker(MASTER, node("n7", labels=[])))
    assert isinstance(found, Waiting)
    assert "node n7" in found.reason
    assert "in no pool" in found.reason
    assert "kubectl label node n7 node-role.kubernetes.io/worker=" in found.reason


def test_a_node_in_two_custom_pools_is_named() -> None:
    extra = tuple(
        pool(name, roles=["worker", name], label=name, rendered=f"rendered-{name}", machines=1)
        for name in ("gpu", "infra")
    )
    found = verdict(empty_worker(MASTER, node("n7", labels=["gpu", "infra"]), extra=extra))
    assert isinstance(found, Waiting)
    assert "node n7" in found.reason
    assert "gpu, infra" in found.reason


def test_a_pool_with_no_nodes_is_not_known_without_the_nodes() -> None:
    assert isinstance(verdict(replace(empty_worker(), nodes=Unknown("not read yet", NOW))), NotKnown)


def test_a_cluster_that_shows_no_node_at_all_opens_nothing() -> None:
    assert isinstance(verdict(empty_worker()), Waiting)


def test_a_node_that_was_just_labelled_is_seen_before_the_pool_counts_it() -> None:
    found = verdict(empty_worker(MASTER, node("n7")))
    assert isinstance(found, Waiting)
    assert "node n7" in found.reason


# --------------------------------------------------------------------------------------------------- excused nodes


def one_down(*nodes: JsonObject, **more: Any) -> LiveCluster:
    status = {"readyMachineCount": 2, "unavailableMachineCount": 1}
    body = pool(status=status, done="rendered-0", found=conditions(Updated=False, Updating=True), **more)
    return cluster([body], nodes=nodes)


DOWN = node("w3", "rendered-0", "rendered-0", ready=False)
EXCUSED = frozenset({"w3"})


def test_an_excused_node_leaves_the_gate_to_the_others_one_by_one() -> None:
    live = one_down(node("w1"), node("w2"), DOWN)
    assert isinstance(verdict(live), Waiting)
    found = verdict(live, excused=EXCUSED)
    assert isinstance(found, Open)
    assert "w3" in found.reason


@pytest.mark.parametrize(
    "other",
    [
        node("w2", "rendered-0", "rendered-1", "Working"),
        node("w2", "rendered-0", "rendered-0"),
        node("w2", "rendered-1", "rendered-2"),
        node("w2", state="Working"),
        node("w2", state=""),
        node("w2", state="Degraded"),
        node("w2", "", ""),
        node("w2", ready=False),
        node("w2", ready="Unknown"),
        node("w2", cordoned=True),
    ],
)
def test_an_excuse_is_for_one_node_and_no_other(other: JsonObject) -> None:
    found = verdict(one_down(node("w1"), other, DOWN), excused=EXCUSED)
    assert not isinstance(found, Open)
    assert "node w2" in found.reason


def test_an_excuse_does_not_cover_the_merge_the_generation_or_a_pause() -> None:
    nodes = (node("w1"), node("w2"), DOWN)
    stale = replace(one_down(*nodes), rendered=known(rendered_of("rendered-1", BASE)))
    assert isinstance(verdict(stale, excused=EXCUSED), Waiting)
    assert isinstance(verdict(one_down(*nodes, paused=True), excused=EXCUSED), Waiting)
    behind = one_down(*nodes)
    body = _bodies(behind, "pools")["worker"]
    body = {**body, "status": {**body["status"], "observedGeneration": 3}}
    assert isinstance(verdict(replace(behind, pools=known(body)), excused=EXCUSED), Waiting)


def test_an_excuse_does_not_cover_a_node_that_the_pool_does_not_count_yet() -> None:
    live = one_down(node("w1"), node("w2"), DOWN, node("w4"))
    assert isinstance(verdict(live, excused=EXCUSED), Waiting)


def test_an_excused_node_of_another_pool_excuses_nothing() -> None:
    live = one_down(node("w1"), node("w2"), node("w3", ready=False), node("x1", labels=[MASTER_LABEL]))
    assert isinstance(verdict(live, excused=frozenset({"x1"})), Waiting)


def test_a_degraded_node_that_is_excused_fails_nothing() -> None:
    down = node("w3", "rendered-0", "rendered-1", "Degraded")
    body = pool(
        done="rendered-0",
        status={"readyMachineCount": 2, "degradedMachineCount": 1},
        found=conditions(Updated=False, Updating=True, Degraded=True, NodeDegraded=True),
    )
    live = cluster([body], nodes=[node("w1"), node("w2"), down])
    assert isinstance(verdict(live), Failed)
    assert isinstance(verdict(live, excused=EXCUSED), Open)


def test_an_excused_node_excuses_no_rendering_that_fails() -> None:
    down = node("w3", "rendered-0", "rendered-1", "Degraded")
    failing = conditions(Updated=False, Updating=True, Degraded=True, RenderDegraded=True)
    live = cluster([pool(found=failing)], nodes=[node("w1"), node("w2"), down])
    assert isinstance(verdict(live, excused=EXCUSED), Failed)


def test_the_capacity_that_is_left_is_said() -> None:
    nodes = (node("w1"), node("w2"), DOWN)
    tight = read(one_down(*nodes), excused=EXCUSED)
    roomy = read(one_down(*nodes, spec={"maxUnavailable": 2}), excused=EXCUSED)
    assert isinstance(tight, Settled)
    assert isinstance(roomy, Settled)
    assert tight.capacity_left == 0
    assert roomy.capacity_left == 1


@pytest.mark.parametrize(
    ("third", "left"),
    [
        (node("w3"), 1),
        (node("w3", "rendered-0", "rendered-1", "Degraded"), 1),
        (node("w3", state="Degraded"), 1),
        (node("w3", "rendered-0", "rendered-1", "Degraded", cordoned=True), 0),
        (node("w3", "rendered-0", "rendered-1"), 0),
        (node("w3", "rendered-0", "rendered-1", "Working"), 0),
        (node("w3", cordoned=True), 0),
        (node("w3", ready=False), 0),
    ],
)
def test_every_node_that_is_down_uses_up_capacity_but_one_that_may_be_retargeted(
    third: JsonObject, left: int
) -> None:
    assert unsettled(rolling(node("w1"), node("w2"), third)).capacity_left == left


@pytest.mark.parametrize(
    ("written", "machines", "allowed"),
    [
        (None, 9, 1),
        (0, 9, 1),
        (2, 9, 2),
        ("25%", 9, 2),
        ("10%", 9, 1),
        ("0%", 9, 1),
        ("3", 9, 3),
        ("x", 9, 1),
    ],
)
def test_max_unavailable_is_read_as_the_operator_reads_it(written: Any, machines: int, allowed: int) -> None:
    found = read(cluster([pool(machines=machines, spec={"maxUnavailable": written})]))
    assert isinstance(found, Settled)
    assert found.capacity_left == allowed


# --------------------------------------------------------------------------------------------- nodes that need hands


def rolling(*nodes: JsonObject, **more: Any) -> LiveCluster:
    return cluster(
        [pool(done="rendered-0", found=conditions(Updated=False, Updating=True), **more)], nodes=nodes
    )


@pytest.mark.parametrize(
    ("stuck", "why", "command"),
    [
        (node("w2", "rendered-0", "rendered-0", cordoned=True), "cordoned", "kubectl uncordon w2"),
        (node("w2", "rendered-0", "rendered-0", ready=False), "NotReady", "kubectl describe node w2"),
        (
            node("w2", "rendered-0", "rendered-x", "Degraded", reason="disk full"),
            "disk full",
            "spec.nodeName=w2",
        ),
        (
            node("w2", "rendered-0", "rendered-x", "Degraded", cordoned=True),
            "Degraded",
            "kubectl uncordon w2",
        ),
    ],
)
def test_a_node_that_the_operator_cannot_retarget_needs_hands(
    stuck: JsonObject, why: str, command: str
) -> None:
    found = unsettled(rolling(node("w1"), stuck))
    (trouble,) = found.needs_hands
    assert trouble.node == "w2"
    assert why in trouble.why
    assert "not moved to rendered-1" in trouble.why
    assert any(command in c for c in trouble.commands)
    assert any(command in c for c in found.commands)


def test_a_node_at_work_needs_no_hands_and_a_long_drain_says_where_to_look() -> None:
    drained = node("w2", "rendered-0", "rendered-1", "Working", cordoned=True)
    rebooting = node("w3", "rendered-0", "rendered-1", "Working", cordoned=True, ready=False)
    found = unsettled(rolling(node("w1"), drained, rebooting))
    assert found.needs_hands == ()
    assert [t.node for t in found.draining] == ["w2"]
    assert f"since {SINCE}" in found.reason
    assert "poddisruptionbudgets" in " ".join(found.commands)
    assert "node w3" in found.reason


def test_a_node_that_never_came_back_is_named_with_the_command_that_shows_it() -> None:
    away = node("w2", "rendered-0", "rendered-1", "Working", cordoned=True, ready=False)
    found = unsettled(rolling(node("w1"), away))
    assert f"node w2: NotReady since {SINCE}" in found.reason
    assert found.commands == ("kubectl describe node w2",)


def test_a_reason_stays_readable_on_a_large_pool() -> None:
    waiting = [node(f"w{n:03}", "rendered-0", "rendered-0") for n in range(300)]
    away = [node(f"x{n:03}", "rendered-0", "rendered-1", "Working", ready=False) for n in range(100)]
    found = unsettled(rolling(*waiting, *away))
    assert "300 nodes wait for their turn" in found.reason
    assert "more" in found.reason
    assert len(found.reason) < 2_000


def test_progress_changes_with_any_node_and_only_then() -> None:
    nodes = [node("w1", "rendered-0", "rendered-0"), node("w2", "rendered-0", "rendered-0")]
    before = unsettled(rolling(*nodes)).progress
    assert unsettled(rolling(*reversed(nodes))).progress == before
    for moved in (
        node("w2", "rendered-0", "rendered-1"),
        node("w2", "rendered-0", "rendered-0", "Working"),
        node("w2", "rendered-0", "rendered-0", cordoned=True),
        node("w2", "rendered-0", "rendered-0", ready=False),
    ):
        assert unsettled(rolling(nodes[0], moved)).progress != before


def test_a_reading_is_the_same_for_the_same_observation() -> None:
    live = one_down(node("w1"), node("w2"), DOWN)
    assert read(live) == read(live)
    assert name_of(_bodies(live, "pools")["worker"]) == "worker"


def test_a_node_explains_what_the_pool_says_and_counts_and_the_facts_keep_all_of_it() -> None:
    stuck = node("w2", "rendered-0", "rendered-1", "Degraded", reason="disk full")
    body = pool(
        status={"readyMachineCount": 1, "updatedMachineCount": 1, "degradedMachineCount": 1},
        done="rendered-0",
        found=conditions(Updated=False, Updating=True, Degraded=True, NodeDegraded=True),
    )
    found = unsettled(cluster([body], nodes=(node("w1"), stuck, node("w3"))))
    assert found.reason == "pool worker of edge-01: node w2 is Degraded (disk full)"
    for fact in ("Degraded=True", "NodeDegraded=True", "Updated=False", "degradedMachineCount is 1, not 0"):
        assert any(fact in blocker for blocker in found.blockers)


def test_where_the_nodes_were_not_read_the_condition_stands_for_the_counts() -> None:
    body = pool(
        status={"readyMachineCount": 2, "degradedMachineCount": 1},
        found=conditions(Updated=False, Updating=True, Degraded=True, NodeDegraded=True),
    )
    found = unsettled(cluster([body], nodes=None))
    assert found.reason == f"pool worker of edge-01: Degraded=True since {SINCE}"


def test_nodes_that_wait_for_their_turn_are_named_with_since_when_the_pool_is_not_done() -> None:
    queued = [node(name, "rendered-0", "rendered-0") for name in ("w1", "w2", "w3")]
    found = unsettled(rolling(*queued))
    assert found.reason == (
        f"pool worker of edge-01: Updated=False since {SINCE}; nodes w1, w2, w3 wait for their turn"
    )
