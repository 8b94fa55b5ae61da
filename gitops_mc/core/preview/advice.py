"""What the live fleet has to say about merging now: where it could not begin, what is held, what rolls, what base has done since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from gitops_mc.core.gates import Paused, PoolReading, Unsettled
from gitops_mc.core.model import count, named
from gitops_mc.core.preview.model import Advice, AdviceKind, Revisions
from gitops_mc.core.preview.words import listed
from gitops_mc.core.rollout.case import Admission
from gitops_mc.core.rollout.inputs import Acts
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.orders import order_of
from gitops_mc.core.rollout.preview import ClusterPreview, FleetPreview

_MOST: Final = 3
"""Names in one sentence."""
_BEFORE: Final = ("sick before anything was written: ", "refused: ")
_PAUSED: Final[Mapping[Paused, str]] = {
    Paused.BY_ANOTHER: "is paused",
    Paused.BY_ABORT: "is paused by an abort",
    Paused.BY_US: "is paused by a step of ours",
}
_Told: TypeAlias = tuple[AdviceKind, str]


@dataclass(frozen=True, slots=True)
class BaseMoved:
    """What base has changed since the pull request was made on it, of what that touches."""

    revisions: Revisions
    clusters: tuple[str, ...]
    """Touched clusters that base has changed, too: what is merged there is not what head shows."""
    files: tuple[str, ...]
    """Files that both have changed, and that go together."""


def advice_of(outcome: FleetPreview, acts: Acts, halted: str, moved: BaseMoved) -> tuple[Advice, ...]:
    """In the order in which they are shown; what holds for several clusters is said once."""
    found: dict[_Told, list[str]] = {}
    if halted:
        found[AdviceKind.HELD, halted] = []
    for cluster in outcome.clusters:
        for told in _of_cluster(cluster, acts):
            found.setdefault(told, []).append(cluster.name)
    for told in (*_base(moved), *_waves(outcome)):
        found.setdefault(told, [])
    ranks = {kind: rank for rank, kind in enumerate(AdviceKind)}
    ordered = sorted(found.items(), key=lambda item: ranks[item[0][0]])
    return tuple(Advice(kind, tuple(clusters), told) for (kind, told), clusters in ordered)


def _of_cluster(cluster: ClusterPreview, acts: Acts) -> Iterator[_Told]:
    plan = cluster.plan
    if plan is None or cluster.live.dark is not None:
        return
    yield from ((AdviceKind.CANNOT_START, f"refused: {refusal.reason}") for refusal in plan.refusals)
    yield from ((AdviceKind.CANNOT_START, misfit) for misfit in cluster.misfits)
    if not cluster.changes:
        return
    order = order_of(acts, cluster.name)
    if order is not None and not order.all_writes:
        yield AdviceKind.HELD, f"{order.told}; {order.lift}"
    if cluster.approve:
        yield AdviceKind.CANNOT_START, f"{cluster.approve}; somebody has to approve it"
    if cluster.arriving is None:
        yield from _without_question(cluster)
    else:
        yield from _arriving(cluster, cluster.arriving)


def _without_question(cluster: ClusterPreview) -> Iterator[_Told]:
    """A cluster that is not asked whether it could start with this content."""
    match cluster.standing:
        case Standing.UNREGISTERED:
            yield AdviceKind.CANNOT_START, "global knows no cluster of that name, so nothing is done there"
        case Standing.SKIPPED:
            yield AdviceKind.NOTE, "skipped by a human for this content"
        case Standing.BLOCKED:
            yield AdviceKind.CANNOT_START, _without_prefix(cluster.reason)
        case Standing.IN_FLIGHT:
            yield AdviceKind.ROLLING, "this very content is rolling there"
        case Standing.FAILED:
            yield AdviceKind.HELD, f"this very content has failed there: {cluster.reason}"
        case _:
            return


def _arriving(cluster: ClusterPreview, arriving: Admission) -> Iterator[_Told]:
    match arriving.standing:
        case Standing.READY if arriving.repair:
            yield (
                AdviceKind.NOTE,
                "mends what has failed there, and is written although the rollout is halted",
            )
        case Standing.BLOCKED if not (cluster.plan is not None and cluster.plan.refusals):
            yield AdviceKind.CANNOT_START, _sick(arriving)
        case Standing.UNPUBLISHED:
            yield AdviceKind.CANNOT_START, arriving.reason
        case Standing.FAILED:
            yield AdviceKind.HELD, arriving.reason
        case _:
            pass
    if cluster.standing is Standing.IN_FLIGHT:
        yield AdviceKind.ROLLING, f"what base has is rolling there, and this comes after it: {cluster.reason}"
    if cluster.opens_in:
        yield AdviceKind.WINDOW, cluster.opens_in


def _sick(arriving: Admission) -> str:
    """In a few words, where its pools are what keeps it; each cluster's status has the whole story."""
    readings = {} if arriving.gates is None else arriving.gates.readings
    states: dict[str, list[str]] = {}
    for pool, reading in readings.items():
        if state := _state(reading):
            states.setdefault(state, []).append(pool)
    if not states:
        return _without_prefix(arriving.reason)
    return "; ".join(
        f"{named('pool', pools)} {state if len(pools) == 1 else state.replace('is ', 'are ', 1)}"
        for state, pools in states.items()
    )


def _state(reading: PoolReading) -> str:
    if not isinstance(reading, Unsettled):
        return ""
    if reading.terminal is not None:
        return "is degraded"
    if reading.paused is not Paused.NO:
        return _PAUSED[reading.paused]
    if reading.needs_hands:
        first = reading.needs_hands[0]
        more = f" (and {count(len(reading.needs_hands) - 1, 'more node')})" if reading.needs_hands[1:] else ""
        return f"is held up by {first}{more}"
    return "is still rolling"


def _without_prefix(reason: str) -> str:
    for prefix in _BEFORE:
        reason = reason.removeprefix(prefix)
    return reason


def _base(moved: BaseMoved) -> Iterator[_Told]:
    revisions = moved.revisions
    if not revisions.moved:
        return
    ahead = f"base is {count(revisions.behind, 'commit')} ahead of what this was made on"
    if not moved.clusters:
        yield AdviceKind.BASE_MOVED, f"{ahead}, and they change nothing of the clusters that this touches"
        return
    both = f" (both change {listed(moved.files, _MOST)})" if moved.files else ""
    told = (
        f"they change {listed(moved.clusters, _MOST)} too{both}: what is merged there is not what head shows"
    )
    yield AdviceKind.BASE_MOVED, f"{ahead}, and {told}"


def _waves(outcome: FleetPreview) -> Iterator[_Told]:
    waiting = [wave.line.wave.name for wave in outcome.waves if wave.approve]
    if len(waiting) == 1:
        yield AdviceKind.NOTE, f"wave {waiting[0]} waits for an approval before it opens"
    elif waiting:
        yield AdviceKind.NOTE, f"waves {listed(waiting, _MOST)} wait for approvals before they open"
