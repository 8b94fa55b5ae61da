from __future__ import annotations

from gitops_mc.core.diff import Create, Delete, Update
from gitops_mc.core.diff.changes import Change, Touch
from gitops_mc.core.live import LiveCluster, objects, unread
from gitops_mc.core.model import ROLE_LABEL, JsonObject, Kind, Known, ResourceKey, name_of
from gitops_mc.core.plan.groups import groups
from gitops_mc.core.plan.world import World, planned_world
from gitops_mc.core.policy import PoolClass
from tests.core.diff_world import NOW
from tests.core.machine_configs import machine_config

ORDER = (PoolClass.CUSTOM, PoolClass.WORKER, PoolClass.MASTER)


def pool(name: str, *roles: str, node: str | None = None) -> JsonObject:
    selector = {"matchExpressions": [{"key": ROLE_LABEL, "operator": "In", "values": list(roles or (name,))}]}
    nodes = {"matchLabels": {f"node-role.kubernetes.io/{node or name}": ""}}
    return {"metadata": {"name": name}, "spec": {"machineConfigSelector": selector, "nodeSelector": nodes}}


def node(name: str, *roles: str) -> JsonObject:
    return {"metadata": {"name": name, "labels": {f"node-role.kubernetes.io/{r}": "" for r in roles}}}


def key(kind: Kind, name: str) -> ResourceKey:
    return ResourceKey("edge", kind, name)


def create(body: JsonObject, kind: Kind = Kind.MACHINE_CONFIG) -> Create:
    return Create(key(kind, name_of(body)), body, "digest")


def update(body: JsonObject, kind: Kind = Kind.MACHINE_CONFIG) -> Update:
    return Update(key(kind, name_of(body)), body, "digest", "uid", "1", (), Touch.CHANGES_EXISTING)


def delete(name: str, kind: Kind = Kind.MACHINE_CONFIG) -> Delete:
    return Delete(key(kind, name), name, "uid", "1", {})


def grouped(
    changes: list[Change],
    *,
    configs: tuple[JsonObject, ...] = (),
    pools: tuple[JsonObject, ...] = (),
    nodes: tuple[JsonObject, ...] | None = (),
) -> list[tuple[tuple[str, ...], list[str]]]:
    before = World({name_of(c): c for c in configs}, {name_of(p): p for p in pools})
    live: LiveCluster = unread("edge", NOW)
    if nodes is not None:
        from dataclasses import replace  # noqa: PLC0415 - one use

        live = replace(live, nodes=Known(objects({name_of(n): n for n in nodes}), NOW))
    found = groups(changes, before, planned_world(before, changes), live, ORDER)
    return [(g.pools, [f"{type(c).__name__} {c.key.name}" for c in g.changes]) for g in found]


POOLS = (pool("infra", "worker", "infra"), pool("gpu", "worker", "gpu"), pool("worker"), pool("master"))


def test_a_worker_config_joins_worker_and_every_pool_that_inherits_it() -> None:
    changes: list[Change] = [create(machine_config("50-worker-a"))]
    assert grouped(changes, pools=POOLS) == [(("gpu", "infra", "worker"), ["Create 50-worker-a"])]


def test_pools_that_no_change_joins_stay_apart_custom_ones_first() -> None:
    changes: list[Change] = [
        create(machine_config("50-master-a", role="master")),
        create(machine_config("70-infra-a", role="infra")),
        create(machine_config("70-gpu-a", role="gpu")),
    ]
    assert grouped(changes, pools=POOLS) == [
        (("gpu",), ["Create 70-gpu-a"]),
        (("infra",), ["Create 70-infra-a"]),
        (("master",), ["Create 50-master-a"]),
    ]


def test_a_config_whose_role_changes_joins_the_pools_it_leaves_and_enters() -> None:
    before = machine_config("60-x", role="infra")
    changes: list[Change] = [update(machine_config("60-x", role="gpu"))]
    assert grouped(changes, configs=(before,), pools=POOLS) == [(("gpu", "infra"), ["Update 60-x"])]


def test_a_node_that_moves_joins_the_pools_it_moves_between() -> None:
    changes: list[Change] = [create(pool("edge", "worker", "edge", node="edge"), Kind.MACHINE_CONFIG_POOL)]
    nodes = (node("w1", "worker", "edge"), node("w2", "worker"))
    assert grouped(changes, pools=(pool("worker"), pool("master")), nodes=nodes) == [
        (("edge", "worker"), ["Create edge"])
    ]


def test_where_nodes_are_not_known_a_changed_node_selector_joins_all_pools() -> None:
    changes: list[Change] = [create(pool("edge", "worker", "edge"), Kind.MACHINE_CONFIG_POOL)]
    found = grouped(changes, pools=(pool("worker"), pool("master")), nodes=None)
    assert found == [(("edge", "worker", "master"), ["Create edge"])]


def test_within_a_group_configs_come_before_pools_new_pools_after_them_deletions_last() -> None:
    changes: list[Change] = [
        delete("90-worker-z"),
        create(pool("new", "worker", "new"), Kind.MACHINE_CONFIG_POOL),
        update(pool("infra", "worker", "infra"), Kind.MACHINE_CONFIG_POOL),
        create(machine_config("50-worker-a")),
    ]
    gone = machine_config("90-worker-z")
    ((_, order),) = grouped(changes, configs=(gone,), pools=POOLS)
    assert order == ["Create 50-worker-a", "Update infra", "Create new", "Delete 90-worker-z"]


def test_a_config_that_no_pool_selects_is_written_first_and_alone() -> None:
    changes: list[Change] = [
        create(machine_config("50-worker-a")),
        create(machine_config("70-none", role="none")),
    ]
    assert grouped(changes, pools=POOLS)[0] == ((), ["Create 70-none"])
