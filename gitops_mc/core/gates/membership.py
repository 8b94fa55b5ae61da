"""Which node is in which pool, and which configs a pool selects.

The rule for nodes is the one of OpenShift's machine-config-operator, the public relative of ACP's operator: an empty
node selector selects nothing; a node that a custom pool selects beside `worker` belongs to the custom pool; on a
control-plane node `master` wins; two custom pools leave the node to nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import (
    JsonObject,
    Known,
    Unknown,
    labels_of,
    matches_selector,
)
from gitops_mc.core.policy import PoolClass
from gitops_mc.core.pools import MASTER_POOL, node_selector, pool_class, selects_config
from gitops_mc.core.remembered import Remembered


@dataclass(frozen=True, slots=True)
class Membership:
    """Every node of a cluster with the pools it is in: one, none, or two and more custom ones."""

    pools: Mapping[str, tuple[str, ...]]

    def members(self, pool: str) -> tuple[str, ...]:
        """Nodes that are in this pool alone, by name."""
        return tuple(node for node, pools in self.pools.items() if pools == (pool,))

    @property
    def homeless(self) -> tuple[str, ...]:
        """Nodes in no pool: the operator ignores them without a word."""
        return tuple(node for node, pools in self.pools.items() if not pools)

    @property
    def contested(self) -> tuple[str, ...]:
        """Nodes in two or more custom pools: the operator skips them with an error."""
        return tuple(node for node, pools in self.pools.items() if len(pools) > 1)

    @property
    def complete(self) -> bool:
        """Whether every node is in exactly one pool."""
        return not self.homeless and not self.contested


def nodes_in_pools(live: LiveCluster) -> Membership | Unknown:
    """The membership of all nodes, or why it is not known."""
    for fact in (live.nodes, live.pools):
        if isinstance(fact, Unknown):
            return fact
    assert isinstance(live.nodes, Known)
    assert isinstance(live.pools, Known)
    nodes, pools = live.nodes.value, live.pools.value
    return _MEMBERSHIPS.get(
        (nodes, pools),
        (),
        lambda: Membership({name: pools_of_node(node, pools) for name, node in sorted(nodes.items())}),
    )


_MEMBERSHIPS: Remembered[Membership] = Remembered(512)


def pools_of_node(node: JsonObject, pools: Mapping[str, JsonObject]) -> tuple[str, ...]:
    """The pools one node is in, by the operator's rule."""
    labels = labels_of(node)
    chosen = [name for name, pool in sorted(pools.items()) if _selects(node_selector(pool), labels)]
    custom = tuple(name for name in chosen if pool_class(name) is PoolClass.CUSTOM)
    if len(custom) > 1:
        return custom
    if MASTER_POOL in chosen:
        return (MASTER_POOL,)
    return custom or tuple(chosen)


def _selects(selector: JsonObject | None, labels: Mapping[str, str]) -> bool:
    if not selector or not (selector.get("matchLabels") or selector.get("matchExpressions")):
        return False
    return matches_selector(selector, labels)


def selected_configs(live: LiveCluster, pool: str) -> tuple[JsonObject, ...]:
    """The live MachineConfigs that the live pool selects, by name; empty where the pool or the facts are missing.

    A caller that must tell "selects none" from "not known" looks at `live.configs` and `live.pools` first.
    """
    if isinstance(live.configs, Unknown) or isinstance(live.pools, Unknown):
        return ()
    found = live.pools.value.get(pool)
    if found is None:
        return ()
    return tuple(config for _, config in sorted(live.configs.value.items()) if selects_config(found, config))


def selector_text(selector: JsonObject | None) -> str:
    """A selector as people write it on a command line, for messages."""
    if not selector:
        return "nothing"
    parts = [f"{k}={v}" if v else str(k) for k, v in sorted((selector.get("matchLabels") or {}).items())]
    for e in selector.get("matchExpressions") or ():
        values = f" ({', '.join(e.get('values') or ())})" if e.get("values") else ""
        parts.append(f"{e.get('key')} {e.get('operator')}{values}")
    return ", ".join(parts) or "nothing"
