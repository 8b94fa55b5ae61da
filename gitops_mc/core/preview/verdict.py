"""The first line of a preview: what a reviewer has to know before anything else, in one sentence that is right.

It is never good where something that decides was not read, and never where an error, a refusal or a conflict keeps something
from being carried out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, timedelta
from typing import Final, assert_never

from gitops_mc.core.model import Problem, Severity, count, named, sorted_problems
from gitops_mc.core.preview.effects import Deed, Effect, effects_by_git, effects_on, rebooting_anyway
from gitops_mc.core.preview.model import (
    Advice,
    AdviceKind,
    ChangeOf,
    Conflict,
    Drains,
    DrainsNotRead,
    Hindrance,
    HindranceKind,
    LivePart,
    LivePreview,
    NoLive,
    PullChanges,
    State,
    UpgradePath,
    Verdict,
)
from gitops_mc.core.preview.refused import refusals_of
from gitops_mc.core.preview.words import about, because, clipped, in_clusters, listed, moment, on_clusters

LONGEST: Final = 300
"""Characters that no line has more than."""
_REASONS: Final = 2
_TOLD: Final = 110
"""Characters of a reason that a cluster, a file or a server gives."""
_SHORT: Final = timedelta(minutes=1)
"""Nobody plans for less."""


def verdict_of(changes: PullChanges, live: LivePart) -> Verdict:
    """What a check shows, and why. Certain trouble is worse than something unknown: where there are both, it is PROBLEMS, and what is
    not known stands in the reasons.
    """
    errors = errors_of(changes)
    trouble = (*_blocked(errors, changes), *_conflict(live), *_refused(live), *_no_way(live))
    unknown = tuple(_unknown(live))
    effect = _whole(changes, live)
    beside = tuple(_beside(changes, live))
    if trouble:
        return _verdict(State.PROBLEMS, trouble[0], *trouble[1:], *unknown, *_places(errors), effect, *beside)
    if unknown:
        return _verdict(
            State.UNKNOWN, f"unknown: {unknown[0]}", *unknown[1:], f"as far as it was read: {effect}"
        )
    return _verdict(State.OK, effect, *beside)


def errors_of(changes: PullChanges) -> tuple[Problem, ...]:
    """Errors at head that keep something of the pull request, or all of it, from being carried out; by place. What is wrong with
    clusters that it does not touch is not its fault.
    """
    found = [p for p in changes.new_problems if p.severity is Severity.ERROR]
    found += [p for cluster in changes.clusters for p in cluster.blocked]
    if changes.fleet_blocked:
        found += [p for p in changes.old_problems if p.severity is Severity.ERROR]
    return sorted_problems(found)


def _verdict(state: State, line: str, *reasons: str) -> Verdict:
    kept = [clipped(reason, LONGEST - 1) for reason in reasons if reason]
    return Verdict(state, clipped(line, LONGEST - 1), tuple(dict.fromkeys(kept))[:_REASONS])


# ---------------------------------------------------------------------------------------------------------- trouble


def _blocked(errors: Sequence[Problem], changes: PullChanges) -> Iterator[str]:
    if not errors:
        if changes.fleet_blocked:
            yield "blocked: fleet.yaml has an error, so the whole fleet stays where it is"
        return
    files = len({problem.place.file for problem in errors})
    what = f"blocked: {count(len(errors), 'problem')} in {count(files, 'file')}"
    if changes.fleet_blocked:
        yield f"{what}; the whole fleet stays where it is"
        return
    names = [cluster.name for cluster in changes.clusters if cluster.blocked]
    yield f"{what}; nothing is carried out {on_clusters(names)}" if names else what


def _places(errors: Sequence[Problem]) -> Iterator[str]:
    return (f"{problem.place}: {clipped(problem.message, _TOLD)}" for problem in errors[:1])


def _conflict(live: LivePart) -> Iterator[str]:
    if isinstance(live, Conflict):
        shown = ", ".join(clipped(path, 60) for path in live.paths[:2])
        more = f" and {len(live.paths) - 2} more" if len(live.paths) > 2 else ""
        yield f"cannot be merged: it conflicts with base in {shown}{more}"


def _refused(live: LivePart) -> Iterator[str]:
    if not isinstance(live, LivePreview):
        return
    found = refusals_of(live.outcome)
    if not found:
        return
    names = list(dict.fromkeys(cluster for cluster, _ in found))
    more = f" (and {count(len(found) - 1, 'more refusal')})" if len(found) > 1 else ""
    yield f"refused {on_clusters(names)}: {clipped(found[0][1], _TOLD)}{more}"


def _no_way(live: LivePart) -> Iterator[str]:
    """Modules that cannot be taken to the version that is wanted."""
    for cluster, path in _upgrades(live):
        if path.blocked:
            told = path.told[0] if path.told else "no way is known"
            yield f"refused on {clipped(cluster)}: module {clipped(path.module)} {clipped(path.wanted)}: {clipped(told, _TOLD)}"


def _upgrades(live: LivePart) -> Iterator[tuple[str, UpgradePath]]:
    if isinstance(live, LivePreview):
        yield from ((cluster, path) for cluster, paths in live.upgrades.items() for path in paths)


def _unknown(live: LivePart) -> Iterator[str]:
    """Clusters of which something that decides is not known, the one that is silent longest first."""
    if isinstance(live, NoLive) and live.since is not None:
        yield f"the clusters could not be asked at {live.since.astimezone(UTC):%H:%M} UTC: {clipped(live.reason, _TOLD)}"
    if not isinstance(live, LivePreview):
        return
    unread = sorted(live.unread, key=lambda each: (each.since, each.cluster))
    for each in unread[:1]:
        more = f" (and {count(len(unread) - 1, 'more cluster')})" if len(unread) > 1 else ""
        since = moment(each.since, live.at)
        yield f"{clipped(each.cluster)} has not been read since {since}: {clipped(each.reason, _TOLD)}{more}"
    for cluster, path in _upgrades(live):
        if path.unknown:
            yield f"whether module {clipped(path.module)} can be upgraded on {clipped(cluster)}: {clipped(path.unknown, _TOLD)}"


# ----------------------------------------------------------------------------------------------------------- effect


def _whole(changes: PullChanges, live: LivePart) -> str:
    """What it does, how long that takes, where it starts and where it cannot, as far as there is room."""
    match live:
        case LivePreview():
            found = effects_on(live.outcome, live.already, changes)
            extras = {3: _times(live), 2: _start(live), 1: _in_the_way(live)}
        case NoLive() | Conflict():
            found, extras = effects_by_git(changes), {}
        case _:
            assert_never(live)
    line = _main(found, changes)
    return line + _fitting(extras, LONGEST - 1 - len(line))


def _fitting(extras: Mapping[int, str], room: int) -> str:
    """What fits of what else there is to say, in the order of the sentence; the keys say what goes in first."""
    kept = set()
    for rank in sorted(extras):
        if len(extras[rank]) <= room:
            kept.add(rank)
            room -= len(extras[rank])
    return "".join(extra for rank, extra in extras.items() if rank in kept)


def _main(found: Sequence[Effect], changes: PullChanges) -> str:
    if found:
        return _done(found[0])
    if changes.clusters:
        return f"{_without_nodes(changes)}; changes nothing on any node"
    if changes.settings:
        return f"changes {_settings(changes)}, and nothing on any node"
    return "no change"


def _done(effect: Effect) -> str:
    whom = _whom(effect)
    match effect.deed:
        case Deed.REBOOT:
            return f"reboots {whom} {because(effect.causes)}"
        case Deed.DRAIN:
            return f"drains {whom} {because(effect.causes)}"
        case Deed.SERVICES if effect.services:
            return f"restarts or reloads {listed(effect.services, 3)} on {whom}; no reboot"
        case Deed.SERVICES:
            return f"reloads the service manager on {whom}; no reboot"
        case Deed.FILES:
            return f"writes to {whom}, and nothing there takes it up by itself; no reboot"
        case _:
            assert_never(effect.deed)


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


# ------------------------------------------------------------------------------------------------- on the live fleet


def _in_the_way(live: LivePreview) -> str:
    found = next((advice for advice in live.advice if advice.kind is AdviceKind.CANNOT_START), None)
    return "" if found is None else f"; {_where(found)} it cannot start: {clipped(found.told, _TOLD)}"


def _where(advice: Advice) -> str:
    return on_clusters(advice.clusters) if advice.clusters else "now"


def _waiting_drains(live: LivePreview) -> Iterator[str]:
    found = [
        (hindrance.node, hindrance.subject)
        for drains in live.drains.values()
        for hindrance in _found(drains)
        if hindrance.kind is HindranceKind.BUDGET
    ]
    nodes = list(dict.fromkeys(node for node, _ in found))
    budgets = list(dict.fromkeys(subject for _, subject in found))
    if nodes:
        whose = f"the drain of {listed(nodes, 2)}" if len(nodes) <= 2 else f"the drains of {len(nodes)} nodes"
        what = "budget" if len(budgets) == 1 else "budgets"
        yield f"{whose} would wait now: {what} {listed(budgets, 2)} {'allows' if len(budgets) == 1 else 'allow'} no disruption"


def _found(drains: Drains | DrainsNotRead) -> tuple[Hindrance, ...]:
    """What is known to be in the way."""
    return drains.hindrances if isinstance(drains, Drains) else ()


def _times(live: LivePreview) -> str:
    """From the forecast where one was made; else what the plan reckons with."""
    if live.forecast is not None:
        takes = live.forecast.takes
        if takes is None or takes.p95 < _SHORT or not _starting(live):
            return ""
        likely, late = about(takes.p50), about(takes.p95)
        return f"; about {likely}" + (f" (P95 {late})" if late != likely else "")
    span = sum((wave.estimate for wave in live.outcome.waves), timedelta(0))
    return f"; about {about(span)}" if span >= _SHORT else ""


def _starting(live: LivePreview) -> list[str]:
    return [cluster.name for cluster in live.outcome.clusters if cluster.changes]


def _start(live: LivePreview) -> str:
    starting = _starting(live)
    return f", starts with {clipped(starting[0])}" if len(starting) > 1 else ""


# ----------------------------------------------------------------------------------------------------------- beside


def _beside(changes: PullChanges, live: LivePart) -> Iterator[str]:
    """What else there is to know, the most important first."""
    if isinstance(live, LivePreview):
        found = effects_on(live.outcome, live.already, changes)
        if live.halted:
            yield f"halted: {clipped(live.halted, _TOLD)}"
        if anyway := rebooting_anyway(live.already):
            verb = "reboots" if anyway == 1 else "reboot"
            yield f"{count(anyway, 'node')} {verb} without it already, for what base has and these clusters have not"
        yield from (
            f"{_where(a)}: {clipped(a.told, _TOLD)}" for a in live.advice if a.kind is not AdviceKind.NOTE
        )
    else:
        found = effects_by_git(changes)
    yield from (_done(effect) for effect in found[1:])
    if isinstance(live, NoLive) and live.since is None:
        yield f"the clusters were not looked at: {live.reason}"
