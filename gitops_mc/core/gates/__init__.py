"""Gates: whether a cluster may go on, as verdicts with reasons.

Reading one observation (`read_*`) is apart from time (`judge`, `judge_gate`), so that a verdict can be reproduced from
one observation, the remembered clocks, and a time.
"""

from gitops_mc.core.gates.agreement import OrderDoubt, compare_pool, learn_order, rendered_name, status_name
from gitops_mc.core.gates.clocks import Counting, PoolClocks, judge
from gitops_mc.core.gates.membership import (
    Membership,
    nodes_in_pools,
    pool_class,
    pools_of_node,
    selected_configs,
)
from gitops_mc.core.gates.needs import Needs, NodeNeed, needs_for_pools
from gitops_mc.core.gates.nodes import NodeState, read_node
from gitops_mc.core.gates.pool import read_pool
from gitops_mc.core.gates.pool_checks import paused_by
from gitops_mc.core.gates.pool_view import max_unavailable
from gitops_mc.core.gates.readings import (
    Agreement,
    Attribution,
    NodeFault,
    NodeTrouble,
    Paused,
    PoolNotKnown,
    PoolReading,
    Settled,
    Terminal,
    Unsettled,
)

__all__ = [
    "Agreement",
    "Attribution",
    "Counting",
    "Membership",
    "Needs",
    "NodeFault",
    "NodeNeed",
    "NodeState",
    "NodeTrouble",
    "OrderDoubt",
    "Paused",
    "PoolClocks",
    "PoolNotKnown",
    "PoolReading",
    "Settled",
    "Terminal",
    "Unsettled",
    "compare_pool",
    "judge",
    "learn_order",
    "max_unavailable",
    "needs_for_pools",
    "nodes_in_pools",
    "paused_by",
    "pool_class",
    "pools_of_node",
    "read_node",
    "read_pool",
    "rendered_name",
    "selected_configs",
    "status_name",
]
