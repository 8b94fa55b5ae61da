from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_mc.core.gates import (
    Attribution,
    Membership,
    NodeNeed,
    OrderDoubt,
    Unsettled,
    learn_order,
    needs_for_pools,
    nodes_in_pools,
    read_pool,
    selected_configs,
)
from gitops_mc.core.ignition import MergeOrder
from gitops_mc.core.live import LiveCluster, objects
from gitops_mc.core.model import JsonObject, Known, Unknown, name_of
from gitops_mc.core.policy import PoolClass, PoolGatePolicy
from gitops_mc.core.pools import pool_class
from tests.core.gate_worlds import (
    BASE,
    CHRONY,
    MASTER_LABEL,
    NOW,
    WORKER_LABEL,
    cluster,
    conditions,
    known,
    node,
    pool,
    rendered_of,
    with_fact,
)
from tests.core.machine_configs import file, machine_config

# ------------------------------------------------------------------------------------------------------ membership

POOLS = [
    pool("master", roles=["master"], label=MASTER_LABEL, rendered="rendered-m"),
    pool("worker"),
    pool("infra", roles=["worker", "infra"], label="infra", rendered="rendered-i"),
    pool("gpu", roles=["worker", "gpu"], label="gpu", rendered="rendered-g"),
]


@pytest.mark.parametrize(
    ("labels", "pools"),
    [
        ([], ()),
        (["other"], ()),
        ([WORKER_LABEL], ("worker",)),
        ([MASTER_LABEL], ("master",)),
        ([MASTER_LABEL, WORKER_LABEL], ("master",)),
        ([WORKER_LABEL, "infra"], ("infra",)),
        (["infra"], ("infra",)),
        ([MASTER_LABEL, "infra"], ("master",)),
        ([WORKER_LABEL, "infra", "gpu"], ("gpu", "infra")),
    ],
)
def test_a_node_is_in_the_pool_the_operator_would_put_it_in(
    labels: list[str], pools: tuple[str, ...]
) -> None:
    found = nodes_in_pools(cluster(POOLS, nodes=[node("n1", labels=labels)]))
    assert isinstance(found, Membership)
    assert found.pools == {"n1": pools}
    assert found.homeless == (() if pools else ("n1",))
    assert found.contested == (("n1",) if len(pools) > 1 else ())
    assert found.complete == (len(pools) == 1)
    assert [p for p in ("master", "worker", "infra", "gpu") if found.members(p)] == list(
        pools if len(pools) == 1 else ()
    )


@pytest.mark.parametrize("selector", [None, {}, {"matchLabels": {}}])
def test_an_empty_node_selector_selects_nothing(selector: JsonObject | None) -> None:
    found = nodes_in_pools(cluster([pool(spec={"nodeSelector": selector})], nodes=[node("n1")]))
    assert isinstance(found, Membership)
    assert found.homeless == ("n1",)


@pytest.mark.parametrize("fact", ["nodes", "pools"])
def test_membership_is_not_known_without_its_facts(fact: str) -> None:
    live = with_fact(cluster(POOLS, nodes=[node("n1")]), fact, Unknown("HTTP 403", NOW))
    assert nodes_in_pools(live) == Unknown("HTTP 403", NOW)


def test_only_master_and_worker_are_not_custom() -> None:
    assert [pool_class(name) for name in ("master", "worker", "infra")] == [
        PoolClass.MASTER,
        PoolClass.WORKER,
        PoolClass.CUSTOM,
    ]


def test_a_pool_selects_configs_by_its_live_selector_and_not_by_its_name() -> None:
    infra = machine_config("40-infra-x", "infra")
    live = cluster(POOLS, configs=[CHRONY, BASE, infra])
    assert [name_of(c) for c in selected_configs(live, "worker")] == ["00-worker", "50-worker-chrony"]
    assert [name_of(c) for c in selected_configs(live, "infra")] == [
        "00-worker",
        "40-infra-x",
        "50-worker-chrony",
    ]
    assert selected_configs(live, "master") == ()
    assert selected_configs(live, "absent") == ()


# ----------------------------------------------------------------------------------------------------- merge order

INFRA_X = machine_config("40-infra-x", "infra", files=[file("/etc/x", "data:,infra")])
WORKER_X = machine_config("50-worker-x", files=[file("/etc/x", "data:,worker")])
INFRA = POOLS[2]


def infra(winner: JsonObject, body: JsonObject = INFRA, *others: JsonObject) -> LiveCluster:
    return cluster([body, *others], configs=[INFRA_X, WORKER_X], rendered=[rendered_of("rendered-i", winner)])


def test_the_order_is_learnt_from_a_pool_that_only_one_order_explains() -> None:
    assert learn_order(infra(WORKER_X)) is MergeOrder.ALPHABETICAL
    assert learn_order(infra(INFRA_X)) is MergeOrder.ROLE_FIRST


@pytest.mark.parametrize(
    "restless",
    [
        pool("infra", roles=["worker", "infra"], rendered="rendered-i", done="rendered-h"),
        pool("infra", roles=["worker", "infra"], rendered="rendered-i", status={"observedGeneration": 1}),
        pool(
            "infra",
            roles=["worker", "infra"],
            rendered="rendered-i",
            found=conditions(Updated=True, Updating=True),
        ),
        pool("infra", roles=["worker", "infra"], rendered="rendered-i", found=[]),
    ],
)
def test_nothing_is_learnt_from_a_pool_that_is_not_at_rest(restless: JsonObject) -> None:
    assert learn_order(infra(INFRA_X, restless)) is OrderDoubt.NOTHING_TO_LEARN_FROM


def test_where_both_orders_explain_every_pool_none_is_learnt() -> None:
    assert learn_order(cluster([pool()])) is OrderDoubt.EITHER_FITS


def test_pools_that_teach_different_orders_teach_none() -> None:
    gpu_x = machine_config("40-gpu-x", "gpu", files=[file("/etc/x", "data:,gpu")])
    live = cluster(
        POOLS[2:],
        configs=[INFRA_X, gpu_x, WORKER_X],
        rendered=[rendered_of("rendered-i", WORKER_X), rendered_of("rendered-g", gpu_x)],
    )
    assert learn_order(live) is OrderDoubt.CONTRADICTION


@pytest.mark.parametrize("fact", ["pools", "configs", "rendered"])
def test_nothing_is_learnt_from_what_was_not_read(fact: str) -> None:
    live = with_fact(infra(WORKER_X), fact, Unknown("HTTP 503", NOW))
    assert learn_order(live) is OrderDoubt.NOTHING_TO_LEARN_FROM


# ----------------------------------------------------------------------------------------------------------- needs


def test_a_settled_pool_needs_its_rendered_config_and_no_nodes() -> None:
    live = cluster([pool()], rendered=[])
    found = needs_for_pools(live, ["worker"])
    assert (found.rendered, found.nodes) == (frozenset({"rendered-1"}), NodeNeed.NOT_NEEDED)
    assert not found.met
    assert needs_for_pools(cluster([pool()]), ["worker"]).met


def test_pools_nobody_asks_about_need_nothing() -> None:
    assert needs_for_pools(cluster(POOLS, rendered=[]), ["worker", "absent"]).rendered == {"rendered-1"}


@pytest.mark.parametrize(
    "body",
    [
        pool(machines=0),
        pool(done="rendered-0"),
        pool(status={"readyMachineCount": 2}),
        pool(found=conditions(Updated=False, Updating=True)),
        pool(found=conditions(Updated=True, Updating=False, NodeDegraded=True)),
    ],
)
def test_nodes_are_needed_while_a_pool_moves_has_none_or_is_degraded(body: JsonObject) -> None:
    assert needs_for_pools(cluster([body]), ["worker"]).nodes is NodeNeed.LACKING
    there = needs_for_pools(cluster([body], nodes=[node("w1")]), ["worker"])
    assert (there.nodes, there.met) == (NodeNeed.READ, True)


def test_degraded_nodes_need_the_configs_they_are_between() -> None:
    body = pool(found=conditions(Updated=False, Updating=True, Degraded=True))
    live = cluster(
        [body], nodes=[node("w1", "rendered-0", "rendered-2", "Degraded"), node("w2", "rendered-8")]
    )
    assert needs_for_pools(live, ["worker"]).rendered == {"rendered-0", "rendered-2"}


def test_nothing_can_be_said_to_lack_while_pools_are_unread() -> None:
    live = replace(cluster([pool()]), pools=Unknown("HTTP 503", NOW))
    assert needs_for_pools(live, ["worker"]).met


# ----------------------------------------------------------------------------------------------------- attribution

OLD = machine_config("50-worker-chrony", files=[file("/etc/chrony.conf", "data:,v0")])
FOREIGN = machine_config("60-worker-theirs", files=[file("/etc/theirs", "data:,1")])
OURS = frozenset({"50-worker-chrony"})


def degraded(
    current: JsonObject,
    desired: JsonObject,
    *,
    ours: frozenset[str] = OURS,
    sources: tuple[str, ...] = (),
    configs: tuple[JsonObject, ...] = (BASE, CHRONY, FOREIGN),
) -> Unsettled:
    """Node w1 is Degraded between two rendered configs; it stands on the one the pool's status names."""
    names = ("rendered-0", "rendered-0") if current is desired else ("rendered-0", "rendered-1")
    status = {"configuration": {"name": "rendered-0", "source": [{"name": name} for name in sources]}}
    body = pool(
        status=status, found=conditions(Updated=False, Updating=True, Degraded=True, NodeDegraded=True)
    )
    live = cluster(
        [body],
        configs=configs,
        rendered=[rendered_of("rendered-0", current), rendered_of("rendered-1", desired)],
        nodes=[node("w1", *names, "Degraded", reason="unexpected on-disk state")],
    )
    found = read_pool(live, "worker", order=MergeOrder.ALPHABETICAL, policy=PoolGatePolicy(), ours=ours)
    assert isinstance(found, Unsettled)
    return found


def blame(found: Unsettled) -> Attribution:
    assert found.terminal is not None
    (fault,) = found.terminal.nodes
    assert fault.node == "w1"
    assert fault.attribution is found.terminal.attribution
    return fault.attribution


def test_a_node_between_two_configs_that_differ_in_ours_is_ours() -> None:
    found = degraded(OLD, CHRONY)
    assert blame(found) is Attribution.OURS
    assert found.terminal is not None
    assert found.terminal.nodes[0].entries == ("file /etc/chrony.conf",)


def test_a_node_between_two_configs_that_differ_in_what_others_own_is_not_ours() -> None:
    assert blame(degraded(BASE, FOREIGN)) is Attribution.FOREIGN
    assert blame(degraded(OLD, CHRONY, ours=frozenset())) is Attribution.FOREIGN


def test_a_degraded_node_with_equal_configs_has_drifted() -> None:
    found = degraded(CHRONY, CHRONY)
    assert blame(found) is Attribution.DRIFT
    assert found.terminal is not None
    assert "unexpected on-disk state" in found.reason
    assert "restore it by hand" in found.reason


def test_an_entry_that_is_gone_is_ours_if_all_it_can_have_come_from_is() -> None:
    gone = {"current": CHRONY, "desired": BASE, "configs": (BASE, FOREIGN)}
    assert blame(degraded(**gone, sources=("00-worker", "50-worker-chrony"))) is Attribution.OURS  # type: ignore[arg-type]
    assert blame(degraded(**gone, sources=("60-worker-theirs",))) is Attribution.FOREIGN  # type: ignore[arg-type]
    mixed = degraded(**gone, sources=("50-worker-chrony", "60-worker-theirs"))  # type: ignore[arg-type]
    assert blame(mixed) is Attribution.NOT_KNOWN
    assert blame(degraded(**gone)) is Attribution.NOT_KNOWN  # type: ignore[arg-type]


def test_an_entry_that_fell_back_to_what_others_say_is_not_known_to_be_ours() -> None:
    """Ours overrode it and is gone; whether that is what changed it, only the writer can tell."""
    theirs = machine_config("60-worker-theirs", files=[file("/etc/chrony.conf", "data:,theirs")])
    found = degraded(CHRONY, theirs, sources=("50-worker-chrony",), configs=(BASE, theirs))
    assert blame(found) is Attribution.NOT_KNOWN


def test_without_a_rendered_config_or_the_nodes_nobody_is_blamed() -> None:
    body = pool(found=conditions(Updated=False, Updating=True, Degraded=True))
    moving = node("w1", "rendered-0", "rendered-1", "Degraded")
    for live in (cluster([body], nodes=[moving]), cluster([body])):
        found = read_pool(live, "worker", order=MergeOrder.ALPHABETICAL, policy=PoolGatePolicy(), ours=OURS)
        assert isinstance(found, Unsettled)
        assert found.terminal is not None
        assert found.terminal.attribution is Attribution.NOT_KNOWN


@pytest.mark.parametrize(
    ("ours", "whose"), [(OURS, Attribution.OURS), (frozenset[str](), Attribution.FOREIGN)]
)
def test_rendering_that_fails_on_our_config_is_ours(ours: frozenset[str], whose: Attribution) -> None:
    body = pool(found=conditions(Updated=True, Updating=False, RenderDegraded=True))
    live = cluster([body], rendered=[rendered_of("rendered-1", BASE)])
    found = read_pool(live, "worker", order=MergeOrder.ALPHABETICAL, policy=PoolGatePolicy(), ours=ours)
    assert isinstance(found, Unsettled)
    assert found.terminal is not None
    assert found.terminal.attribution is whose
    assert "RenderDegraded" in found.terminal.conditions


def test_one_node_of_ours_makes_the_pool_ours() -> None:
    body = pool(found=conditions(Updated=False, Updating=True, Degraded=True))
    live = replace(
        cluster(
            [body], nodes=[node("w1", state="Degraded"), node("w2", "rendered-0", "rendered-1", "Degraded")]
        ),
        rendered=Known(
            objects({n: rendered_of(n, c) for n, c in (("rendered-0", OLD), ("rendered-1", CHRONY))}), NOW
        ),
        configs=known(BASE, CHRONY),
    )
    found = read_pool(live, "worker", order=MergeOrder.ALPHABETICAL, policy=PoolGatePolicy(), ours=OURS)
    assert isinstance(found, Unsettled)
    assert found.terminal is not None
    assert [f.attribution for f in found.terminal.nodes] == [Attribution.DRIFT, Attribution.OURS]
    assert found.terminal.attribution is Attribution.OURS
