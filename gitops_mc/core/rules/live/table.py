"""The rules that need facts about the live cluster, as a table."""

from __future__ import annotations

from gitops_mc.core.model import Severity
from gitops_mc.core.rules import sources
from gitops_mc.core.rules.live import configs, modules, nodes, pools
from gitops_mc.core.rules.row import LiveFact, LiveRule, ScopeKind

_ERROR, _WARNING, _CLUSTER = Severity.ERROR, Severity.WARNING, ScopeKind.CLUSTER
_CONFIGS, _POOLS, _NODES = LiveFact.CONFIGS, LiveFact.POOLS, LiveFact.NODES
_MODULES, _CATALOG, _INVENTORY = LiveFact.MODULES, LiveFact.CATALOG, LiveFact.INVENTORY

# fmt: off
LIVE_RULES: tuple[LiveRule, ...] = (
    LiveRule("live-pool-selector", "Selectors of pools master and worker equal the live ones.",
             _ERROR, _CLUSTER, sources.OVERVIEW, (_POOLS,), pools.same_default_selectors),
    LiveRule("live-selects-no-pool", "Every config is selected by a pool, here or on the live cluster.",
             _WARNING, _CLUSTER, sources.OVERVIEW, (_POOLS,), pools.selected_by_some_pool),
    LiveRule("live-max-unavailable-all", "maxUnavailable leaves a node of the pool where it is.",
             _WARNING, _CLUSTER, sources.POOL_API, (_POOLS,), pools.takes_all_nodes),
    LiveRule("live-node-no-pool", "Every node of the cluster is in a pool.",
             _WARNING, _CLUSTER, sources.INSTALLING, (_POOLS, _NODES), nodes.in_some_pool),
    LiveRule("live-node-two-pools", "No node is in two custom pools.",
             _WARNING, _CLUSTER, sources.CUSTOM_POOLS, (_POOLS, _NODES), nodes.in_one_custom_pool),
    LiveRule("live-pool-no-nodes", "A custom pool selects a node of the cluster.",
             _WARNING, _CLUSTER, sources.OVERVIEW, (_POOLS, _NODES), nodes.selects_a_node),
    LiveRule("live-unit-left", "A unit loses its contents only together with its entry.",
             _WARNING, _CLUSTER, sources.KUBELET, (_CONFIGS,), configs.unit_left_empty),
    LiveRule("live-ssh-keys-gone", "No pool loses its last SSH key.",
             _WARNING, _CLUSTER, sources.MANAGING, (_CONFIGS, _POOLS), configs.ssh_keys_gone),
    LiveRule("live-module-plugin", "A module is one that the platform knows.",
             _WARNING, _CLUSTER, sources.PLUGIN, (_CATALOG,), modules.plugin_known),
    LiveRule("live-version-published", "The version of a module is published on the platform.",
             _WARNING, _CLUSTER, sources.PLUGIN, (_CATALOG,), modules.version_published),
    LiveRule("live-version-ready", "The version of a module is ready to be deployed.",
             _WARNING, _CLUSTER, sources.MODULE_CONFIG, (_CATALOG,), modules.version_ready),
    LiveRule("live-module-affinity", "The labels of the cluster fit the affinity of a module.",
             _WARNING, _CLUSTER, sources.PLUGIN, (_CATALOG, _INVENTORY), modules.cluster_affinity),
    LiveRule("live-module-rivals", "No module stands beside one that it excludes.",
             _WARNING, _CLUSTER, sources.MODULE_CONFIG, (_CATALOG, _MODULES), modules.rival_modules),
    LiveRule("live-module-dependencies", "What a module depends on is installed, or in Git.",
             _WARNING, _CLUSTER, sources.MODULE_CONFIG, (_CATALOG, _MODULES), modules.dependencies_met),
    LiveRule("live-module-upgrade", "A module can be upgraded from its live version to the wanted one.",
             _WARNING, _CLUSTER, sources.MODULE_CONFIG, (_CATALOG, _MODULES), modules.upgrade_supported),
    LiveRule("live-module-core", "A module of life cycle Core is not upgraded by itself.",
             _WARNING, _CLUSTER, sources.PLUGIN, (_CATALOG, _MODULES), modules.core_module),
    LiveRule("live-module-order", "A module is upgraded in a commit before those that come after it.",
             _WARNING, _CLUSTER, sources.MODULE_API, (_CATALOG, _MODULES), modules.upgrade_order),
    LiveRule("live-module-risk", "The platform rates the risk of an upgrade as low.",
             _WARNING, _CLUSTER, sources.MODULE_CONFIG, (_CATALOG, _MODULES), modules.upgrade_risk),
)
# fmt: on
