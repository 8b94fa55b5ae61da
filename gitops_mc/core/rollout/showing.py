"""What previews have shown of the contents of a cluster, and whether a plan keeps to it (`rollout.requirePreview`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from gitops_mc.core.model import Commit, Content
from gitops_mc.core.plan.promise import NOTHING, Promise, beyond
from gitops_mc.core.plan.steps import ClusterPlan
from gitops_mc.core.policy import FleetPolicy

if TYPE_CHECKING:
    from gitops_mc.core.rollout.memory import FleetMemory

KEPT_SHOWN: Final = 8
"""Of a cluster so many previews are remembered, of each pull request the last one; those that were shown last."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Whether this commit asks for previews (`rollout.requirePreview`), and whether the one before it did."""

    commit: Commit
    now: bool
    before: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """What a preview has shown of one content of one cluster."""

    content: Content
    promise: Promise
    by: str
    """As it is told: `the preview of pull request 12`."""
    at: datetime


def demanded(known: Demand | None, fleet: FleetPolicy, commit: Commit) -> Demand:
    """To ask for previews holds at once; to ask no more holds from the commit after the one that says so, as a loosened limit does: a
    commit does not let itself through.
    """
    said = fleet.rollout.require_preview
    if known is None:
        return Demand(commit, said, said)
    if (known.commit, known.now) == (commit, said):
        return known
    return Demand(commit, said, known.now)


def preview_required(policy: FleetPolicy, demand: Demand | None) -> bool:
    """Whether it holds now."""
    return policy.rollout.require_preview or (demand is not None and demand.before)


def also(shown: tuple[Shown, ...], each: Shown) -> tuple[Shown, ...]:
    """With one more, last. Of one content the last word counts, and so it does of one pull request: what its earlier heads came to
    nobody merges any more.
    """
    others = (s for s in shown if s.content != each.content and s.by != each.by)
    return (*others, each)[-KEPT_SHOWN:]


def with_shown(memory: FleetMemory, shown: Mapping[str, Shown]) -> FleetMemory:
    """The memory with what was shown last of each cluster."""
    for cluster, each in sorted(shown.items()):
        own = memory.cluster(cluster)
        if each in own.shown:
            continue
        memory = memory.with_cluster(cluster, replace(own, shown=also(own.shown, each)))
    return memory


def not_as_shown(plan: ClusterPlan, shown: tuple[Shown, ...]) -> str:
    """What a plan does that no preview of its content has shown; empty: nothing."""
    found = next((s for s in shown if s.content == plan.content), None)
    more = beyond(NOTHING if found is None else found.promise, plan)
    if not more:
        return ""
    told = "; ".join(more)
    if found is None:
        return f"no preview has shown what this content does here: {told}"
    return f"{found.by} did not show this: {told}"
