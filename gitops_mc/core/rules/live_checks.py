"""Rules that need facts about the live cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gitops_mc.core.live import Objects
from gitops_mc.core.model import (
    MODULE_LABEL,
    JsonObject,
    Kind,
    Known,
    matches_selector,
)
from gitops_mc.core.pools import BUILT_IN_POOLS
from gitops_mc.core.rules.pools import config_selector, known_pools, readable
from gitops_mc.core.rules.row import Hit, LiveFact, LiveFacts
from gitops_mc.core.rules.shapes import at, labels, mapping, text


def known(facts: LiveFacts, fact: LiveFact) -> Objects:
    """The objects of a fact that the rule has declared, and that is therefore Known."""
    value: Any = getattr(facts.live, fact.value)
    assert isinstance(value, Known)
    found: Objects = value.value
    return found


def same_default_selectors(facts: LiveFacts) -> Iterator[Hit]:
    live = known(facts, LiveFact.POOLS)
    for manifest in facts.cluster.of_kind(Kind.MACHINE_CONFIG_POOL):
        name = manifest.key.name
        if name not in BUILT_IN_POOLS or name not in live:
            continue
        for selector in ("machineConfigSelector", "nodeSelector"):
            wanted = at(manifest.body, "spec", selector)
            if wanted is not None and wanted != at(live[name], "spec", selector):
                yield Hit(
                    manifest,
                    ("spec", selector),
                    f"{selector} of pool {name} differs from the one the operator made: its nodes would change hands",
                    "leave it out, or copy it from the live pool",
                )


def selected_by_some_pool(facts: LiveFacts) -> Iterator[Hit]:
    live = known(facts, LiveFact.POOLS)
    desired = known_pools(facts.cluster)
    selectors: list[JsonObject | None] = [config_selector(facts.cluster, pool) for pool in desired]
    selectors += [readable(mapping(at(pool, "spec", "machineConfigSelector"))) for pool in live.values()]
    for manifest in facts.cluster.of_kind(Kind.MACHINE_CONFIG):
        if not any(matches_selector(selector, labels(manifest.body)) for selector in selectors):
            yield Hit(
                manifest,
                ("metadata", "labels"),
                f"no pool selects {manifest.key.name}, neither here nor on cluster {facts.cluster.name}: it is ignored",
                "correct the role label, or add the pool",
            )


def version_published(facts: LiveFacts) -> Iterator[Hit]:
    catalog = known(facts, LiveFact.CATALOG)
    published = {
        (labels(found).get(MODULE_LABEL, ""), text(at(found, "spec", "version")))
        for key, found in catalog.items()
        if key.startswith("ModuleConfig/")
    }
    names = {key.removeprefix("ModuleConfig/") for key in catalog if key.startswith("ModuleConfig/")}
    for manifest in facts.cluster.of_kind(Kind.MODULE_INFO):
        version = text(at(manifest.body, "spec", "version"))
        module = manifest.key.name
        if version and (module, version) not in published and f"{module}-{version}" not in names:
            yield Hit(
                manifest,
                ("spec", "version"),
                f"version {version} of module {module} is not published on the platform yet",
                "upload it with violet push; after that the platform needs 10 to 15 minutes to show it",
            )
