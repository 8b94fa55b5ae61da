"""Rules about what a change of a config takes away from what the cluster has."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.core.ignition import Reading, read
from gitops_mc.core.model import JsonObject, Kind, Manifest, matches_selector
from gitops_mc.core.rules.live.facts import known, planned_pools
from gitops_mc.core.rules.pools import readable
from gitops_mc.core.rules.row import Hit, LiveFact, LiveFacts
from gitops_mc.core.rules.shapes import at, labels, mapping

_SYSTEMD = ("spec", "config", "systemd", "units")


def _changed(facts: LiveFacts) -> Iterator[tuple[Manifest, Reading, Reading]]:
    """Every config that is live and in Git: its manifest, what is live, what Git wants."""
    live = known(facts, LiveFact.CONFIGS)
    for manifest in facts.cluster.of_kind(Kind.MACHINE_CONFIG):
        standing = live.get(manifest.key.name)
        if standing is not None and standing is not manifest.body:
            yield manifest, read(standing), read(manifest.body)


def unit_left_empty(facts: LiveFacts) -> Iterator[Hit]:
    for manifest, live, desired in _changed(facts):
        had = {unit.name for unit in live.units if unit.contents}
        for unit in desired.units:
            if unit.name in had and not unit.contents:
                yield Hit(
                    manifest,
                    (*_SYSTEMD, unit.position, "name"),
                    f"unit {unit.name} loses the contents that {manifest.key.name} gives it on cluster {facts.cluster.name}, "
                    "but stays declared: what becomes of its file is documented nowhere",
                    "remove the whole entry to delete the unit, or keep its contents",
                )


def ssh_keys_gone(facts: LiveFacts) -> Iterator[Hit]:
    """A config that gives up its keys where no other one gives any to the same pool: nobody can log in to repair a node."""
    giving_up = [
        manifest for manifest, live, desired in _changed(facts) if _keys(live) and not _keys(desired)
    ]
    if not giving_up:
        return
    configs = {**known(facts, LiveFact.CONFIGS)}
    configs |= {m.key.name: m.body for m in facts.cluster.of_kind(Kind.MACHINE_CONFIG)}
    with_keys = [body for body in configs.values() if _keys(read(body))]
    for manifest in giving_up:
        for name, pool in sorted(planned_pools(facts).items()):
            if _selects(pool, manifest.body) and not any(_selects(pool, body) for body in with_keys):
                yield Hit(
                    manifest,
                    ("spec", "config", "passwd"),
                    f"pool {name} of cluster {facts.cluster.name} would have no SSH key left: nobody could log in to a node",
                    "keep a key, in this config or in another one of the pool: repairing a degraded node by hand needs it",
                )


def _keys(config: Reading) -> bool:
    return any(user.ssh_keys for user in config.users)


def _selects(pool: JsonObject, config: JsonObject) -> bool:
    selector = at(pool, "spec", "machineConfigSelector")
    return selector is not None and matches_selector(readable(mapping(selector)), labels(config))
