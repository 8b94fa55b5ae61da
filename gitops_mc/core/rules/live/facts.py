"""What a rule about the live cluster may rely on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gitops_mc.core.live import Objects
from gitops_mc.core.model import JsonObject, Kind, Known, Manifest
from gitops_mc.core.rules.row import LiveFact, LiveFacts
from gitops_mc.core.rules.shapes import at, mapping, text


def known(facts: LiveFacts, fact: LiveFact) -> Objects:
    """The objects of a fact that the rule has declared, and that is therefore Known."""
    value: Any = getattr(facts.live, fact.value)
    assert isinstance(value, Known)
    found: Objects = value.value
    return found


def planned_pools(facts: LiveFacts) -> dict[str, JsonObject]:
    """The pools of the cluster as they will be: live ones with what their manifests say, and those that will be new."""
    pools = dict(known(facts, LiveFact.POOLS))
    for manifest in facts.cluster.of_kind(Kind.MACHINE_CONFIG_POOL):
        standing = pools.get(manifest.key.name, manifest.body)
        spec = {**mapping(at(standing, "spec")), **mapping(at(manifest.body, "spec"))}
        pools[manifest.key.name] = {**standing, "spec": spec}
    return pools


def wanted_versions(facts: LiveFacts) -> Iterator[tuple[Manifest, str, str]]:
    """Every module that Git wants: its manifest, its name and its version."""
    for manifest in facts.cluster.of_kind(Kind.MODULE_INFO):
        version = text(at(manifest.body, "spec", "version"))
        if version:
            yield manifest, manifest.key.name, version
