"""Gates: whether a cluster may go on, as verdicts with reasons.

Reading one observation (`read_*`) is apart from time (`judge`, `judge_gate`), so that a verdict can be reproduced from
one observation, the remembered clocks, and a time.
"""

from gitops_mc.core.gates.agreement import OrderDoubt, learn_order
from gitops_mc.core.gates.catalog import (
    CatalogCheck,
    Outcome,
    dependency_checks,
    installed_versions,
    module_config,
    preflight,
    published_versions,
    read_publication,
    rivals,
    upgrade_checks,
    upgrades_from,
)
from gitops_mc.core.gates.clocks import Counting, PoolClocks, judge
from gitops_mc.core.gates.components import read_components
from gitops_mc.core.gates.constraints import admits
from gitops_mc.core.gates.disruption_policy import policy_entries, read_policy
from gitops_mc.core.gates.membership import (
    Membership,
    nodes_in_pools,
    pools_of_node,
    selected_configs,
)
from gitops_mc.core.gates.module import (
    ModuleClocks,
    judge_module,
    judge_publication,
    live_modules,
    read_module,
)
from gitops_mc.core.gates.needs import Needs, NodeNeed, needs_for_pools
from gitops_mc.core.gates.nodes import NodeState, read_node
from gitops_mc.core.gates.pool import read_pool
from gitops_mc.core.gates.pool_checks import paused_by
from gitops_mc.core.gates.readings import (
    STANDING_STILL,
    Agreement,
    Attribution,
    Paused,
    PoolNotKnown,
    PoolReading,
    Settled,
    Terminal,
    Unsettled,
)
from gitops_mc.core.gates.waiting import (
    GateHopeless,
    GateNotKnown,
    GateReading,
    GateReady,
    GateUnready,
    judge_gate,
)

__all__ = [
    "STANDING_STILL",
    "Agreement",
    "Attribution",
    "CatalogCheck",
    "Counting",
    "GateHopeless",
    "GateNotKnown",
    "GateReading",
    "GateReady",
    "GateUnready",
    "Membership",
    "ModuleClocks",
    "Needs",
    "NodeNeed",
    "NodeState",
    "OrderDoubt",
    "Outcome",
    "Paused",
    "PoolClocks",
    "PoolNotKnown",
    "PoolReading",
    "Settled",
    "Terminal",
    "Unsettled",
    "admits",
    "dependency_checks",
    "installed_versions",
    "judge",
    "judge_gate",
    "judge_module",
    "judge_publication",
    "learn_order",
    "live_modules",
    "module_config",
    "needs_for_pools",
    "nodes_in_pools",
    "paused_by",
    "policy_entries",
    "pools_of_node",
    "preflight",
    "published_versions",
    "read_components",
    "read_module",
    "read_node",
    "read_policy",
    "read_pool",
    "read_publication",
    "rivals",
    "selected_configs",
    "upgrade_checks",
    "upgrades_from",
]
