"""What merging a pull request comes to on the live fleet: one look at the clusters that it touches, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from gitops_mc.app.observe import Interest, NodeReading
from gitops_mc.app.observe_drains import observe_fleet_drains
from gitops_mc.app.use_cases.planning import Session
from gitops_mc.app.use_cases.previewing import PullStates, Redact, changes_of, merging_alone
from gitops_mc.app.use_cases.standing import LOOKING, as_seen_once
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.forecast import FleetForecast, forecast
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Commit, Content, DesiredCluster, Known
from gitops_mc.core.policy import DEFAULT_FLEET, FleetPolicy
from gitops_mc.core.preview.advice import BaseMoved, advice_of
from gitops_mc.core.preview.changed import PullChanges
from gitops_mc.core.preview.model import Conflict, LivePart, LivePreview, NoLive, Preview, UnderWay
from gitops_mc.core.preview.standing import soaking, under_way, unread
from gitops_mc.core.preview.upgrades import upgrades_of
from gitops_mc.core.preview.verdict import verdict_of
from gitops_mc.core.rollout.fleet import next_moves
from gitops_mc.core.rollout.inputs import NO_ACTS, Acts, Fleet, Observed
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.orders import fleet_order
from gitops_mc.core.rollout.preview import preview

Learning = Callable[[Iterable[LiveCluster]], object]
"""Hears of everything that was read before anything is said of it."""


class Breadth(Enum):
    """Which clusters are looked at."""

    TOUCHED = "those that the pull request touches"
    EVERY = "every cluster of the fleet"


@dataclass(frozen=True, slots=True)
class Look:
    """How the clusters are looked at."""

    redact: Redact
    breadth: Breadth = Breadth.TOUCHED
    acts: Acts = NO_ACTS
    """What humans have ordered and not taken back."""
    learning: Learning = lambda _: None
    named: str = ""
    """What the fleet is called, where its fleet.yaml gives it no name: a Fleet's own."""


def preview_live(session: Session, pull: PullStates, look: Look) -> Preview:
    """The preview with one look at the clusters. What does not answer stays unknown; it never raises for what a cluster does."""
    changes = changes_of(pull)
    live = _live_part(session, pull, changes, look)
    name = _policy(pull.head.policy, look.named).name
    merging = merging_alone(pull)
    verdict = verdict_of(changes, live, look.redact, merging)
    return Preview(name, pull.revisions, changes, live, verdict, merging)


def _live_part(session: Session, pull: PullStates, changes: PullChanges, look: Look) -> LivePart:
    if isinstance(pull.merged, Conflict):
        return pull.merged
    if pull.merged.fleet_blocked:
        return NoLive("merged so, fleet.yaml has an error, and the whole fleet stays where it is")
    scene = _observe(session, pull, pull.merged, changes, look)
    outcome = preview(scene.merged, scene.memory, scene.live, scene.now, scene.watched)
    already = preview(scene.base, scene.memory, scene.live, scene.now, scene.watched)
    order = fleet_order(look.acts)
    halted = scene.memory.halt.reason if order is None and scene.memory.halt is not None else ""
    halted = halted if order is None else f"{order.told}; to go on: {order.lift}"
    drains = observe_fleet_drains(session.api, session.clock, session.workers, outcome.clusters)
    return LivePreview(
        at=_oldest(scene),
        outcome=outcome,
        already=already,
        under_way=_under_way(scene, look.acts),
        soaking=soaking(scene.base, scene.memory, scene.now),
        unread=unread(outcome, already, scene.now),
        drains=drains,
        upgrades=upgrades_of(outcome, changes),
        advice=advice_of(outcome, look.acts, halted, _moved(pull, pull.merged, changes)),
        halted=halted,
        forecast=_forecast(scene, look.acts),
        unasked=len(scene.merged.clusters) - sum(c.name in scene.watched for c in scene.merged.clusters),
    )


@dataclass(frozen=True, slots=True)
class _Scene:
    """Everything that one look starts from."""

    merged: Fleet
    base: Fleet
    memory: FleetMemory
    live: Mapping[str, LiveCluster]
    watched: frozenset[str]
    now: datetime


def _observe(
    session: Session, pull: PullStates, merged: DesiredState, changes: PullChanges, look: Look
) -> _Scene:
    clusters = {c.name: c for state in (pull.base, merged) for c in state.clusters}
    touched = {c.name for c in changes.clusters}
    watched = frozenset(
        clusters if look.breadth is Breadth.EVERY else (name for name in clusters if name in touched)
    )
    asked = Fleet(merged.policy, tuple(c for n, c in clusters.items() if n in watched), pull.revisions.head)
    memory = replace(session.executor.memory(), previews=None)
    interest = Interest(nodes=NodeReading.ALWAYS, releases=True)
    live = session.executor.observe(asked, interest, memory) if watched else {}
    look.learning(live.values())
    contents = _contents(session, pull, asked, memory)
    now = session.clock.now()

    def fleet(state: DesiredState, commit: Commit) -> Fleet:
        policy = _policy(state.policy, look.named)
        return as_seen_once(Fleet(policy, state.clusters, commit, contents), memory, now)

    at_merged, at_base = fleet(merged, pull.revisions.head), fleet(pull.base, pull.revisions.base)
    if at_base.policy == at_merged.policy:  # one object: plans are remembered by it, and worked out once
        at_base = replace(at_base, policy=at_merged.policy)
    return _Scene(
        merged=at_merged,
        base=at_base,
        memory=memory,
        live=live,
        watched=watched,
        now=now,
    )


def _policy(policy: FleetPolicy, name: str) -> FleetPolicy:
    """As the controller follows it; whether a preview has shown what comes is no question to a preview."""
    shown = replace(policy, rollout=replace(policy.rollout, require_preview=False))
    return replace(shown, name=name) if name and policy.name == DEFAULT_FLEET else shown


def _contents(
    session: Session, pull: PullStates, asked: Fleet, memory: FleetMemory
) -> Mapping[str, Mapping[Content, DesiredCluster]]:
    """What the clusters still stand at. Mostly that is what base says, or the merge base, which have been read."""
    known: dict[str, dict[Content, DesiredCluster]] = {c.name: {} for c in asked.clusters}
    for state in pull.states:
        for cluster in state.clusters:
            if cluster.name in known:
                known[cluster.name][cluster.content] = cluster
    return session.executor.with_past(replace(asked, contents=known), memory).contents


def _under_way(scene: _Scene, acts: Acts) -> tuple[UnderWay, ...]:
    decision, _ = next_moves(
        scene.base, scene.memory, Observed(scene.live), scene.now, replace(acts, only=LOOKING.only)
    )
    return under_way(decision, scene.memory, scene.live.keys())


def _forecast(scene: _Scene, acts: Acts) -> FleetForecast | None:
    fleet = replace(scene.merged, clusters=tuple(c for c in scene.merged.clusters if c.name in scene.watched))
    return forecast(fleet, scene.memory, Observed(scene.live), scene.now, acts) if fleet.clusters else None


def _oldest(scene: _Scene) -> datetime:
    read = [x.pools.at for x in scene.live.values() if isinstance(x.pools, Known)]
    return min(read, default=scene.now)


def _moved(pull: PullStates, merged: DesiredState, changes: PullChanges) -> BaseMoved:
    """Of the clusters that the pull request touches, those that are not what head shows once it is merged."""
    shown = {c.name: c.content for c in pull.head.clusters}
    comes = {c.name: c.content for c in merged.clusters}
    touched = (c.name for c in changes.clusters)
    return BaseMoved(
        pull.revisions, tuple(n for n in touched if shown.get(n) != comes.get(n)), pull.both_changed
    )
