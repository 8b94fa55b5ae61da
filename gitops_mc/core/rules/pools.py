"""Rules about MachineConfigPools."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitops_mc.core.model import (
    ROLE_LABEL,
    DesiredCluster,
    JsonObject,
    Kind,
    Manifest,
    canonical_json,
    matches_selector,
    name_of,
)
from gitops_mc.core.pools import BUILT_IN_POOLS, MASTER_POOL, WORKER_POOL
from gitops_mc.core.rules.row import DesiredFacts, Found, Hit
from gitops_mc.core.rules.shapes import at, entries, filled, labels, mapping, sequence, text, whole_number

_NODE_ROLES = {
    MASTER_POOL: {"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"},
    WORKER_POOL: {"node-role.kubernetes.io/worker"},
}
_PERCENT = re.compile(r"(0|[1-9][0-9]?|100)%")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def max_unavailable_form(body: JsonObject) -> Found:
    value = at(body, "spec", "maxUnavailable")
    number = whole_number(value)
    if value is None or (number is not None and number >= 0):
        return
    if not isinstance(value, str) or not _PERCENT.fullmatch(value):
        yield (
            ("spec", "maxUnavailable"),
            f"maxUnavailable {value!r} is neither a whole number nor a percentage from 0% to 100%",
            "write it like 2, or like 10%",
        )


def max_unavailable_zero(body: JsonObject) -> Found:
    value = at(body, "spec", "maxUnavailable")
    if (value == 0 and whole_number(value) is not None) or value in ("0", "0%"):
        yield (
            ("spec", "maxUnavailable"),
            f"maxUnavailable {value} does not hold the pool: the operator takes it for 1",
            "write 1; to hold a pool, use `paused: true`",
        )


def max_unavailable_master(body: JsonObject) -> Found:
    value = at(body, "spec", "maxUnavailable")
    if name_of(body) == MASTER_POOL and value is not None and value not in (0, 1, "0", "0%"):
        yield (
            ("spec", "maxUnavailable"),
            f"maxUnavailable {value} of pool master puts etcd's quorum at risk",
            "write 1, or leave it out",
        )


def max_unavailable_all(body: JsonObject) -> Found:
    if at(body, "spec", "maxUnavailable") == "100%" and name_of(body) != MASTER_POOL:
        yield (
            ("spec", "maxUnavailable"),
            f"maxUnavailable 100% takes all nodes of pool {name_of(body)} at once",
            "write less, so that its workloads have somewhere to go",
        )


def paused(body: JsonObject) -> Found:
    if at(body, "spec", "paused") is True:
        yield (
            ("spec", "paused"),
            f"pool {name_of(body)} is paused by its manifest: nothing written for it reaches its nodes",
            "remove `paused` when the pool may roll again",
        )


def configuration(body: JsonObject) -> Found:
    if filled(at(body, "spec", "configuration")):
        yield (
            ("spec", "configuration"),
            "spec.configuration is the operator's: it names the rendered config",
            "remove it",
        )


def selector_form(body: JsonObject) -> Found:
    for selector in ("machineConfigSelector", "nodeSelector"):
        for where, requirement in entries(body, "spec", selector, "matchExpressions"):
            operator, values = requirement.get("operator"), requirement.get("values")
            if not text(requirement.get("key")):
                yield (*where, "key"), "the requirement has no key", "name a label"
            if operator not in _OPERATORS:
                yield (
                    (*where, "operator"),
                    f"operator {operator!r} is not one of {', '.join(_OPERATORS)}",
                    "correct it; a selector that is wrong selects nothing",
                )
            elif operator in ("In", "NotIn") and not filled(values):
                yield (*where, "values"), f"operator {operator} needs values", "list at least one"
            elif operator in ("Exists", "DoesNotExist") and filled(values):
                yield (*where, "values"), f"operator {operator} takes no values", "remove them"
        for key, value in mapping(at(body, "spec", selector, "matchLabels")).items():
            if not isinstance(value, str):
                yield (
                    ("spec", selector, "matchLabels", key),
                    f"the value of {key} is not a string",
                    "put it in quotes",
                )


def default_selectors(body: JsonObject) -> Found:
    name = name_of(body)
    if name not in BUILT_IN_POOLS:
        return
    configs, nodes = at(body, "spec", "machineConfigSelector"), at(body, "spec", "nodeSelector")
    hint = f"leave the selectors of pool {name} out: they are the operator's"
    if configs is not None and selects_roles(configs, BUILT_IN_POOLS) != (name,):
        path = ("spec", "machineConfigSelector")
        yield path, f"pool {name} would no longer select the configs of role {name}, and these alone", hint
    if nodes is not None and not _selector_keys(nodes) & _NODE_ROLES[name]:
        yield ("spec", "nodeSelector"), f"pool {name} would no longer select the nodes of its role", hint


def _selector_keys(selector: object) -> set[str]:
    keys = set(mapping(at(selector, "matchLabels")))
    return keys | {text(entry.get("key")) for _, entry in entries(selector, "matchExpressions")}


def selects_roles(selector: object, roles: tuple[str, ...]) -> tuple[str, ...]:
    """Which of these roles a machineConfigSelector selects, going by the role label alone."""
    if not isinstance(selector, dict):
        return ()
    return tuple(role for role in roles if matches_selector(readable(selector), {ROLE_LABEL: role}))


def readable(selector: JsonObject) -> JsonObject:
    """A selector without the parts that have the wrong shape, which other rules speak of."""
    return {
        "matchLabels": mapping(selector.get("matchLabels")),
        "matchExpressions": [
            {
                "key": text(entry.get("key")),
                "operator": text(entry.get("operator")),
                "values": sequence(entry.get("values")),
            }
            for _, entry in entries(selector, "matchExpressions")
        ],
    }


def _is_custom(body: JsonObject) -> bool:
    return name_of(body) not in BUILT_IN_POOLS


def custom_selectors(body: JsonObject) -> Found:
    if not _is_custom(body):
        return
    for selector, what in (("machineConfigSelector", "config"), ("nodeSelector", "node")):
        value = at(body, "spec", selector)
        if value is None:
            message = f"pool {name_of(body)} has no {selector}, so it selects no {what} at all"
        elif not _selector_keys(value):
            message = f"the empty {selector} of pool {name_of(body)} selects every {what} of the cluster"
        else:
            continue
        yield ("spec", selector), message, f"name the {what}s it is for by label"


def inherits_worker(body: JsonObject) -> Found:
    selector = at(body, "spec", "machineConfigSelector")
    if _is_custom(body) and selector is not None and not selects_roles(selector, (WORKER_POOL,)):
        yield (
            ("spec", "machineConfigSelector"),
            f"pool {name_of(body)} does not select the configs of role worker; such a pool is not supported",
            f"matchExpressions: [{{key: {ROLE_LABEL}, operator: In, values: [worker, {name_of(body)}]}}]",
        )


def own_role(body: JsonObject) -> Found:
    selector = at(body, "spec", "machineConfigSelector")
    if _is_custom(body) and _selector_keys(selector) and not selects_roles(selector, (name_of(body),)):
        yield (
            ("spec", "machineConfigSelector"),
            f"pool {name_of(body)} does not select configs of its own role",
            f"add {name_of(body)} to the values of {ROLE_LABEL}",
        )


def takes_control_plane(body: JsonObject) -> Found:
    if not _is_custom(body):
        return
    if _selector_keys(at(body, "spec", "machineConfigSelector")) and selects_roles(
        at(body, "spec", "machineConfigSelector"), (MASTER_POOL,)
    ):
        yield (
            ("spec", "machineConfigSelector"),
            f"pool {name_of(body)} selects the configs of role master",
            "custom pools are for workers only",
        )
    required = set(mapping(at(body, "spec", "nodeSelector", "matchLabels"))) | {
        text(entry.get("key"))
        for _, entry in entries(body, "spec", "nodeSelector", "matchExpressions")
        if entry.get("operator") in ("In", "Exists")
    }
    if required & _NODE_ROLES[MASTER_POOL]:
        yield (
            ("spec", "nodeSelector"),
            f"pool {name_of(body)} selects control plane nodes",
            "custom pools are for workers only",
        )


def same_nodes(facts: DesiredFacts) -> Iterator[Hit]:
    """Two custom pools with one nodeSelector: every node of theirs is in both, and is skipped."""
    seen: dict[bytes, str] = {}
    for manifest in facts.cluster.of_kind(Kind.MACHINE_CONFIG_POOL):
        selector = mapping(at(manifest.body, "spec", "nodeSelector"))
        if not _is_custom(manifest.body) or not _selector_keys(selector):
            continue
        other = seen.setdefault(canonical_json(selector), manifest.key.name)
        if other != manifest.key.name:
            yield Hit(
                manifest,
                ("spec", "nodeSelector"),
                f"pools {other} and {manifest.key.name} select the same nodes; a node in two custom pools is skipped",
                "give each pool a label of its own",
            )


def config_selector(cluster: DesiredCluster, pool: str) -> JsonObject | None:
    """The machineConfigSelector of a pool known here: of its manifest, else the operator's default; None: none."""
    for manifest in cluster.of_kind(Kind.MACHINE_CONFIG_POOL):
        selector = at(manifest.body, "spec", "machineConfigSelector")
        if manifest.key.name == pool and isinstance(selector, dict):
            return readable(selector)
    return {"matchLabels": {ROLE_LABEL: pool}} if pool in BUILT_IN_POOLS else None


def known_pools(cluster: DesiredCluster) -> tuple[str, ...]:
    """Pools known from the repository: the operator's own two, and those with a manifest."""
    named = {manifest.key.name for manifest in cluster.of_kind(Kind.MACHINE_CONFIG_POOL)}
    return tuple(sorted(named | set(BUILT_IN_POOLS)))


def selected(cluster: DesiredCluster, pool: str) -> tuple[Manifest, ...]:
    """The MachineConfigs of this cluster's desired state that a pool selects, by name."""
    selector = config_selector(cluster, pool)
    configs = cluster.of_kind(Kind.MACHINE_CONFIG)
    return tuple(m for m in configs if matches_selector(selector, labels(m.body)))
