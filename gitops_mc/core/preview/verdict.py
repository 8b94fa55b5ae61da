"""The first line of a preview: what a reviewer has to know before anything else, in one sentence that is right.

It is never good where something that decides was not read, and never where an error, a refusal or a conflict keeps something
from being carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, timedelta
from typing import Final, TypeAlias, assert_never

from gitops_mc.core.model import Problem, Severity, count, sorted_problems
from gitops_mc.core.preview.changed import PullChanges
from gitops_mc.core.preview.effects import effects_by_git, effects_on, rebooting_anyway
from gitops_mc.core.preview.hindrances import Drains, HindranceKind, UpgradePath
from gitops_mc.core.preview.model import (
    Advice,
    AdviceKind,
    Conflict,
    LivePart,
    LivePreview,
    NoLive,
    State,
    Verdict,
)
from gitops_mc.core.preview.refused import refusals_of
from gitops_mc.core.preview.sentences import done, sentence_of
from gitops_mc.core.preview.words import about, clipped, listed, moment, on_clusters

LONGEST: Final = 300
"""Characters that no line has more than."""
_REASONS: Final = 2
_TOLD: Final = 110
"""Characters of a reason that a cluster, a file or a server gives."""
_BASE_BLOCKED: Final = "unknown: it repairs fleet.yaml, which cannot be read where it was made from, so what changes on the clusters cannot be told"
Saying: TypeAlias = Callable[[str], str]
"""What somebody else has said, as it is told."""
_SHORT: Final = timedelta(minutes=1)
"""Nobody plans for less."""


def verdict_of(
    changes: PullChanges,
    live: LivePart,
    redact: Callable[[str], str],
    merging: Sequence[Problem] = (),
) -> Verdict:
    """What a check shows, and why. What clusters and files say is redacted before it is shortened. Certain trouble is worse than
    something unknown: where there are both, it is PROBLEMS, and what is not known stands in the reasons. `merging`: errors that
    only the merge of both sides has.
    """

    def say(text: str) -> str:
        return clipped(redact(text), _TOLD)

    errors = errors_of(changes)
    trouble = (
        *_blocked(errors, changes),
        *_merged(merging),
        *_conflict(live),
        *_refused(live, say),
        *_no_way(live, say),
    )
    unknown = tuple(_unknown(live, say))
    effect = _whole(changes, live, say)
    beside = (*_loosened(changes), *_beside(changes, live, say))
    if trouble:
        return _verdict(
            State.PROBLEMS,
            trouble[0],
            *trouble[1:],
            *unknown,
            *_places((*errors, *merging), say),
            effect,
            *beside,
        )
    if changes.base_blocked:
        return _verdict(State.UNKNOWN, _BASE_BLOCKED, *unknown)
    if unknown:
        told = (
            f"by Git alone: {_by_git(changes)}" if _nothing_read(live) else f"as far as it was read: {effect}"
        )
        return _verdict(State.UNKNOWN, f"unknown: {unknown[0]}", *unknown[1:], told)
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


def _merged(merging: Sequence[Problem]) -> Iterator[str]:
    if merging:
        files = len({problem.place.file for problem in merging})
        yield (
            f"blocked once it is merged: {count(len(merging), 'problem')} in {count(files, 'file')} that neither side has alone"
        )


def _places(errors: Sequence[Problem], say: Saying) -> Iterator[str]:
    return (f"{problem.place}: {say(problem.message)}" for problem in errors[:1])


def _conflict(live: LivePart) -> Iterator[str]:
    if isinstance(live, Conflict):
        shown = ", ".join(clipped(path, 60) for path in live.paths[:2])
        more = f" and {len(live.paths) - 2} more" if len(live.paths) > 2 else ""
        yield f"cannot be merged: it conflicts with base in {shown}{more}"


def _refused(live: LivePart, say: Saying) -> Iterator[str]:
    if not isinstance(live, LivePreview):
        return
    found = refusals_of(live.outcome)
    if not found:
        return
    names = list(dict.fromkeys(cluster for cluster, _ in found))
    more = f" (and {count(len(found) - 1, 'more refusal')})" if len(found) > 1 else ""
    yield f"refused {on_clusters(names)}: {say(found[0][1])}{more}"


def _no_way(live: LivePart, say: Saying) -> Iterator[str]:
    """Modules that cannot be taken to the version that is wanted."""
    for cluster, path in _upgrades(live):
        if path.blocked:
            told = path.told[0] if path.told else "no way is known"
            yield f"refused on {clipped(cluster)}: module {clipped(path.module)} {clipped(path.wanted)}: {say(told)}"


def _upgrades(live: LivePart) -> Iterator[tuple[str, UpgradePath]]:
    if isinstance(live, LivePreview):
        yield from ((cluster, path) for cluster, paths in live.upgrades.items() for path in paths)


def _unknown(live: LivePart, say: Saying) -> Iterator[str]:
    """Clusters of which something that decides is not known, the one that is silent longest first."""
    if isinstance(live, NoLive) and live.since is not None:
        yield f"the clusters could not be asked at {live.since.astimezone(UTC):%H:%M} UTC: {say(live.reason)}"
    if not isinstance(live, LivePreview):
        return
    unread = sorted(live.unread, key=lambda each: (each.since, each.cluster))
    for each in unread[:1]:
        more = f" (and {count(len(unread) - 1, 'more cluster')})" if len(unread) > 1 else ""
        since = moment(each.since, live.at)
        yield f"{clipped(each.cluster)} has not been read since {since}: {say(each.reason)}{more}"
    for cluster, path in _upgrades(live):
        if path.unknown:
            yield f"whether module {clipped(path.module)} can be upgraded on {clipped(cluster)}: {say(path.unknown)}"


# ----------------------------------------------------------------------------------------------------------- effect


def _whole(changes: PullChanges, live: LivePart, say: Saying) -> str:
    """What it does, how long that takes, where it starts and where it cannot, as far as there is room."""
    match live:
        case LivePreview():
            found = effects_on(live.outcome, live.already, changes)
            extras = {3: _times(live), 2: _start(live), 1: _in_the_way(live, say)}
        case NoLive() | Conflict():
            found, extras = effects_by_git(changes), {}
        case _:
            assert_never(live)
    line = sentence_of(found, changes)
    return line + _fitting(extras, LONGEST - 1 - len(line))


def _by_git(changes: PullChanges) -> str:
    return sentence_of(effects_by_git(changes), changes)


def _nothing_read(live: LivePart) -> bool:
    """Whether nothing of any cluster that is touched could be planned."""
    return isinstance(live, LivePreview) and all(c.plan is None or c.unknown for c in live.outcome.clusters)


def _fitting(extras: Mapping[int, str], room: int) -> str:
    """What fits of what else there is to say, in the order of the sentence; the keys say what goes in first."""
    kept = set()
    for rank in sorted(extras):
        if len(extras[rank]) <= room:
            kept.add(rank)
            room -= len(extras[rank])
    return "".join(extra for rank, extra in extras.items() if rank in kept)


# ------------------------------------------------------------------------------------------------- on the live fleet


def _in_the_way(live: LivePreview, say: Saying) -> str:
    found = next((advice for advice in live.advice if advice.kind is AdviceKind.CANNOT_START), None)
    return "" if found is None else f"; {_where(found)} it cannot start: {say(found.told)}"


def _where(advice: Advice) -> str:
    return on_clusters(advice.clusters) if advice.clusters else "now"


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


def _loosened(changes: PullChanges) -> Iterator[str]:
    """Settings of fleet.yaml that no node notices, and somebody should."""
    uncovered = [s.before for s in changes.settings if s.path == "spec.sensitive" and not s.after]
    if uncovered:
        yield f"no longer sensitive, and shown from the merge on: {clipped(listed(uncovered, 2), _TOLD)}"
    for setting in changes.settings:
        if setting.path == "metadata.name":
            told = f"{clipped(setting.before)} becomes {clipped(setting.after)}"
            yield f"the fleet is called another name, with which all that it owns is marked: {told}"
        if setting.path == "spec.rollout.requirePreview" and setting.after == "false":
            yield "what no preview has shown waits for nobody any more (rollout.requirePreview)"


def _beside(changes: PullChanges, live: LivePart, say: Saying) -> Iterator[str]:
    """What else there is to know, the most important first."""
    match live:
        case LivePreview():
            yield from _on_the_fleet(changes, live, say)
        case NoLive() | Conflict():
            yield from (done(effect) for effect in effects_by_git(changes)[1:])
            if isinstance(live, NoLive) and live.since is None:
                yield f"the clusters were not looked at: {say(live.reason)}"
        case _:
            assert_never(live)


def _on_the_fleet(changes: PullChanges, live: LivePreview, say: Saying) -> Iterator[str]:
    advice: dict[AdviceKind, list[str]] = {kind: [] for kind in AdviceKind}
    for each in live.advice:
        where = f"{on_clusters(each.clusters)}: " if each.clusters else ""
        advice[each.kind].append(f"{where}{say(each.told)}")
    yield from advice[AdviceKind.CANNOT_START][1:]
    yield from advice[AdviceKind.HELD]
    yield from _waiting_drains(live)
    if anyway := rebooting_anyway(live.already):
        verb = "reboots" if anyway == 1 else "reboot"
        yield f"{count(anyway, 'node')} {verb} there without it, for what base has and the clusters have not"
    yield from advice[AdviceKind.BASE_MOVED]
    yield from (done(effect) for effect in effects_on(live.outcome, live.already, changes)[1:])
    yield from (*advice[AdviceKind.ROLLING], *advice[AdviceKind.WINDOW])
    yield from (
        f"{cluster.name}: {say(cluster.plan.unforeseen)}"
        for cluster in live.outcome.clusters
        if cluster.plan is not None and cluster.plan.unforeseen
    )
    yield from advice[AdviceKind.NOTE]


def _waiting_drains(live: LivePreview) -> Iterator[str]:
    found = [
        (hindrance.node, hindrance.subject)
        for drains in live.drains.values()
        if isinstance(drains, Drains)
        for hindrance in drains.hindrances
        if hindrance.kind is HindranceKind.BUDGET
    ]
    nodes = list(dict.fromkeys(node for node, _ in found))
    budgets = list(dict.fromkeys(subject for _, subject in found))
    if nodes:
        whose = (
            f"the drain of {nodes[0]}" if len(nodes) == 1 else f"the drains of {count(len(nodes), 'node')}"
        )
        allow = "budget {} allows" if len(budgets) == 1 else "budgets {} allow"
        yield f"{whose} would wait now: {allow.format(listed(budgets, 2))} no disruption"
