"""The gates held against the sandbox's operator, which was written apart from them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.gates import (
    Membership,
    PoolClocks,
    Settled,
    Unsettled,
    judge,
    nodes_in_pools,
    read_pool,
)
from gitops_mc.core.ignition import MergeOrder
from gitops_mc.core.model import JsonObject, Open
from gitops_mc.core.policy import PoolGatePolicy
from gitops_mc.core.pools import max_unavailable
from gitops_mc.sandbox.operator import pools as operator
from tests.core.gate_worlds import MASTER_LABEL, NOW, WORKER_LABEL, cluster, minutes, node, pool

POLICY = PoolGatePolicy()
POOLS = [
    pool("master", roles=["master"], label=MASTER_LABEL),
    pool("worker"),
    pool("infra", label="infra"),
    pool("gpu", label="gpu"),
]
SOME = settings(derandomize=True, max_examples=200, deadline=None)

labels = st.lists(st.sampled_from([MASTER_LABEL, WORKER_LABEL, "infra", "gpu", "other"]), unique=True)
configs = st.sampled_from(["rendered-0", "rendered-1"])
nodes = st.builds(
    node,
    st.just("n"),
    configs,
    configs,
    st.sampled_from(["Done", "Done", "Working", "Degraded"]),
    ready=st.sampled_from([True, True, True, False]),
    cordoned=st.sampled_from([False, False, False, True]),
)


def numbered(found: list[JsonObject]) -> list[JsonObject]:
    return [{**n, "metadata": {**n["metadata"], "name": f"n{at}"}} for at, n in enumerate(found)]


@SOME
@given(st.lists(labels, max_size=6))
def test_nodes_stand_in_the_pools_the_operator_puts_them_in(every: list[list[str]]) -> None:
    bodies = [node(f"n{at}", labels=found) for at, found in enumerate(every)]
    seen = nodes_in_pools(cluster(POOLS, nodes=bodies))
    assert isinstance(seen, Membership)
    truth = operator.assign(map(operator.view, bodies), POOLS)
    assert {p: list(seen.members(p)) for p in truth.by_pool} == {
        p: [n.name for n in found] for p, found in truth.by_pool.items()
    }
    assert set(seen.contested) == set(truth.clashes)


@SOME
@given(st.one_of(st.integers(0, 9), st.integers(0, 120).map(lambda n: f"{n}%")), st.integers(0, 40))
def test_max_unavailable_is_what_the_operator_makes_of_it(written: object, machines: int) -> None:
    body = pool(spec={"maxUnavailable": written})
    assert max_unavailable(body, machines) == operator.max_unavailable(body, machines)


@SOME
@given(st.lists(nodes, min_size=1, max_size=5).map(numbered))
def test_with_the_status_the_operator_writes_a_pool_is_settled_exactly_when_every_node_is(
    bodies: list[JsonObject],
) -> None:
    body = pool(rendered="rendered-1", done="rendered-0")
    views = [operator.view(n) for n in bodies]
    body = {**body, "status": operator.status_of(body, views, "", NOW)}
    live = cluster([body], nodes=bodies)
    reading = read_pool(live, "worker", order=MergeOrder.ALPHABETICAL, policy=POLICY)
    done = all(v.updated_to("rendered-1") and v.available for v in views)
    assert isinstance(reading, Settled) == done
    if isinstance(reading, Unsettled):
        first = judge(reading, PoolClocks(), POLICY, NOW)[1]
        assert not isinstance(judge(reading, first, POLICY, NOW + minutes(2))[0], Open)
        troubled = {v.name for v in views if v.degraded or not v.available} - {
            v.name for v in views if v.state == "Working"
        }
        assert {t.node for t in reading.needs_hands} == troubled


@SOME
@given(st.lists(nodes, min_size=1, max_size=5).map(numbered))
def test_no_capacity_left_means_the_operator_begins_on_no_node(bodies: list[JsonObject]) -> None:
    """The next config goes to nobody then: whatever is written is a repair that reaches no one."""
    views = [operator.view(n) for n in bodies]
    body = pool(rendered="rendered-2", done="rendered-1")
    reading = read_pool(cluster([body], nodes=bodies), "worker", order=MergeOrder.ALPHABETICAL, policy=POLICY)
    assert not isinstance(reading, Settled)
    retargeted = operator.candidates(
        body, views, frozenset({operator.NodeState.DONE, operator.NodeState.DEGRADED})
    )
    if isinstance(reading, Unsettled) and reading.capacity_left == 0:
        assert retargeted == ()
