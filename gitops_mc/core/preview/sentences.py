"""What a pull request does, as one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from gitops_mc.core.disruption import ActionType
from gitops_mc.core.model import count, named
from gitops_mc.core.preview.changed import ChangeOf, PullChanges
from gitops_mc.core.preview.effects import Deed, Effect
from gitops_mc.core.preview.words import because, clipped, in_clusters, listed


def sentence_of(found: Sequence[Effect], changes: PullChanges) -> str:
    """What the pull request does, most serious first; without a capital, and without an end."""
    if found:
        return done(found[0])
    if changes.clusters:
        return f"{_without_nodes(changes)}; changes nothing on any node"
    if changes.settings:
        return f"changes {_settings(changes)}, and nothing on any node"
    return "no change"


def done(effect: Effect) -> str:
    """One effect: what is done to whom, and why."""
    whom = _whom(effect)
    match effect.deed:
        case Deed.REBOOT:
            return f"reboots {whom} {because(effect.causes)}"
        case Deed.DRAIN:
            return f"drains {whom} {because(effect.causes)}"
        case Deed.SERVICES if effect.services:
            return f"{_touches(effect)} {listed(effect.services, 3)} on {whom}; no reboot"
        case Deed.SERVICES:
            return f"reloads the service manager on {whom}; no reboot"
        case Deed.FILES:
            return f"changes {whom} and restarts nothing there"
        case _:
            assert_never(effect.deed)


def _touches(effect: Effect) -> str:
    types = {action.type for cause in effect.causes for action in cause.actions if action.service}
    if len(types) == 1:
        return "restarts" if types == {ActionType.RESTART} else "reloads"
    return "restarts or reloads"


def _whom(effect: Effect) -> str:
    where = in_clusters(effect.clusters)
    if effect.nodes is not None:
        return f"{count(effect.nodes, 'node')} {where}"
    return f"every node of {named('pool', [clipped(pool) for pool in effect.pools[:3]])} {where}"


def _without_nodes(changes: PullChanges) -> str:
    modules = [(module, cluster.name) for cluster in changes.clusters for module in cluster.modules]
    comes = [c.name for c in changes.clusters if c.membership is ChangeOf.ADDED]
    goes = [c.name for c in changes.clusters if c.membership is ChangeOf.REMOVED]
    if modules:
        first = modules[0][0]
        names = list(dict.fromkeys(name for module, name in modules if module.module == first.module))
        more = len({module.module for module, _ in modules}) - 1
        others = f", and {count(more, 'more module')}" if more else ""
        return (
            f"{_module(first.change, first.module, first.before, first.after)} {in_clusters(names)}{others}"
        )
    if goes:
        return f"takes {listed(goes, 2)} out of the fleet (nothing is deleted there)"
    if comes:
        return f"adds {listed(comes, 2)} to the fleet"
    objects = sum(len(cluster.objects) for cluster in changes.clusters)
    names = [cluster.name for cluster in changes.clusters]
    if not objects:
        return f"rearranges {count(len(names), 'cluster')}"
    return f"changes {count(objects, 'object')} {in_clusters(names)}"


def _module(change: ChangeOf, name: str, before: str, after: str) -> str:
    match change:
        case ChangeOf.ADDED:
            return f"installs {clipped(name)} {clipped(after)}"
        case ChangeOf.REMOVED:
            return f"removes {clipped(name)} {clipped(before)}"
        case ChangeOf.CHANGED if before != after:
            return f"takes {clipped(name)} from {clipped(before)} to {clipped(after)}"
        case ChangeOf.CHANGED:
            return f"changes the configuration of {clipped(name)}"
        case _:
            assert_never(change)


def _settings(changes: PullChanges) -> str:
    if len(changes.settings) == 1:
        return f"{clipped(changes.settings[0].path, 80)} in fleet.yaml"
    return f"{len(changes.settings)} settings of fleet.yaml"
