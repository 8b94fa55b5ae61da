"""Machine configs and pools as they are, and as they will be once a plan's writes are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_mc.core.diff import Adopt, Change, Create, Delete, Update
from gitops_mc.core.gates.membership import pools_of_node
from gitops_mc.core.ignition import Effective, MergeOrder, merge
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import (
    FIELD_MANAGER,
    JsonObject,
    Kind,
    Unknown,
    metadata,
    name_of,
)
from gitops_mc.core.pools import selects_config


@dataclass(frozen=True, slots=True)
class World:
    """MachineConfigs (without rendered ones) and pools by name."""

    configs: Mapping[str, JsonObject]
    pools: Mapping[str, JsonObject]

    def selected(self, pool: str) -> tuple[JsonObject, ...]:
        """Configs that the pool's machineConfigSelector takes, by name."""
        found = self.pools.get(pool)
        if found is None:
            return ()
        return tuple(config for _, config in sorted(self.configs.items()) if selects_config(found, config))

    def selecting(self, config: str) -> frozenset[str]:
        """Pools that select a config."""
        found = self.configs.get(config)
        if found is None:
            return frozenset()
        return frozenset(name for name, pool in self.pools.items() if selects_config(pool, found))

    def effective(self, pool: str, order: MergeOrder) -> Effective:
        return merge(self.selected(pool), order)

    def pools_of(self, node: JsonObject) -> tuple[str, ...]:
        return pools_of_node(node, self.pools)


def live_world(live: LiveCluster) -> World:
    """What was read; a fact that is not known gives an empty side, so ask for `ClusterPlan.complete` first."""
    configs = {} if isinstance(live.configs, Unknown) else live.configs.value
    pools = {} if isinstance(live.pools, Unknown) else live.pools.value
    return World(configs, pools)


def planned_world(live: World, changes: Iterable[Change]) -> World:
    """The world after the changes are made."""
    configs, pools = dict(live.configs), dict(live.pools)
    for change in changes:
        side = {Kind.MACHINE_CONFIG: configs, Kind.MACHINE_CONFIG_POOL: pools}.get(change.key.kind)
        if side is None:
            continue
        match change:
            case Delete():
                side.pop(change.name, None)
            case Create() | Adopt() | Update():
                name = name_of(change.body)
                side[name] = applied(side.get(name), change.body)
    return World(configs, pools)


def applied(live: JsonObject | None, body: JsonObject) -> JsonObject:
    """The object a server-side apply of `body` leaves on the machine kinds: maps merge, lists are replaced whole, and
    fields that only we own and no longer send are removed (measured on a real kube-apiserver 1.36).
    """
    if live is None:
        return body
    ours, others = _owned(live)
    result: JsonObject = _merged(_without(live, body, ours, others), body)
    return result


def _owned(live: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    ours: JsonObject = {}
    others: list[JsonObject] = []
    for entry in metadata(live).get("managedFields") or ():
        fields = entry.get("fieldsV1") or {}
        if entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply":
            ours = fields
        else:
            others.append(fields)
    return ours, others


def _without(live: Any, body: Any, ours: Any, others: list[Any]) -> Any:
    """Without what we own and send no more. A map that we own goes with all that stands in it, unless another owns the
    map itself; who owns only fields in it loses them.
    """
    if not isinstance(live, dict):
        return live
    kept: JsonObject = {}
    for key, value in live.items():
        field = f"f:{key}"
        sent = isinstance(body, dict) and key in body
        theirs = [fields[field] for fields in others if isinstance(fields, dict) and field in fields]
        mine = ours.get(field) if isinstance(ours, dict) else None
        if not sent and _owns(mine) and not any(_owns(node) for node in theirs):
            continue
        rest = _without(value, body[key] if sent else {}, mine or {}, theirs)
        if sent or rest or not value:
            kept[key] = rest
    return kept


def _owns(node: Any) -> bool:
    """Whether a node of fieldsV1 stands for the field itself, not only for some in it."""
    return node is not None and (not node or "." in node)


_ATOMIC = ("machineConfigSelector", "nodeSelector", "configuration")
"""Maps under a pool's spec that are replaced whole, as the CRD's list and map types say."""


def _merged(live: Any, body: Any) -> Any:
    if not isinstance(live, dict) or not isinstance(body, dict):
        return body
    merged = {k: v if k in _ATOMIC else _merged(live.get(k), v) for k, v in body.items()}
    return {**live, **merged}
