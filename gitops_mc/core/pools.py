"""What one MachineConfigPool says, desired or live."""

from __future__ import annotations

import re

from gitops_mc.core.model import JsonObject, labels_of, matches_selector
from gitops_mc.core.policy import PoolClass
from gitops_mc.core.raw import count, section, text

MASTER_POOL = "master"
WORKER_POOL = "worker"
BUILT_IN_POOLS = (MASTER_POOL, WORKER_POOL)
"""The operator makes them at its first start (ACP docs, Machine Configuration: Overview); they are never deleted."""

_CLASSES = {MASTER_POOL: PoolClass.MASTER, WORKER_POOL: PoolClass.WORKER}
_LIMIT = re.compile(r"\s*([0-9]{1,18})\s*(%?)\s*")


def pool_class(pool: str) -> PoolClass:
    """What kind of pool this is, by its name: only `master` and `worker` are not custom."""
    return _CLASSES.get(pool, PoolClass.CUSTOM)


def selects_config(pool: JsonObject, config: JsonObject) -> bool:
    """Whether the pool's machineConfigSelector takes this MachineConfig."""
    return matches_selector(config_selector(pool), labels_of(config))


def config_selector(pool: JsonObject) -> JsonObject | None:
    """machineConfigSelector; None where the pool has none, which selects nothing."""
    found: JsonObject | None = section(pool, "spec").get("machineConfigSelector")
    return found


def node_selector(pool: JsonObject) -> JsonObject | None:
    """nodeSelector; None where the pool has none, which selects nothing."""
    found: JsonObject | None = section(pool, "spec").get("nodeSelector")
    return found


def rendered_name(pool: JsonObject) -> str:
    """Name of the config the operator rendered last for this pool; empty before the first."""
    return text(section(pool, "spec", "configuration"), "name")


def status_name(pool: JsonObject) -> str:
    """Name of the config that every node of this pool had when it was last done."""
    return text(section(pool, "status", "configuration"), "name")


def machine_count(pool: JsonObject) -> int | None:
    """How many nodes the operator counts in this pool; None before it has counted them, which is not 0."""
    return count(section(pool, "status"), "machineCount")


def max_unavailable(pool: JsonObject, nodes: int) -> int:
    """How many of the pool's `nodes` may be unavailable at once (ACP docs): a number or a percentage, rounded down; at
    least one, so 0 means 1. Absent, or not readable as either: 1.
    """
    match = _LIMIT.fullmatch(str(section(pool, "spec").get("maxUnavailable")))
    if match is None:
        return 1
    number = int(match.group(1))
    return max(1, nodes * number // 100 if match.group(2) else number)
