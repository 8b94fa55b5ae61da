"""What previews have shown of the contents of a cluster, and whether a plan keeps to it (`rollout.requirePreview`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from gitops_mc.core.model import Content
from gitops_mc.core.plan.promise import NOTHING, Promise, beyond
from gitops_mc.core.plan.steps import ClusterPlan

if TYPE_CHECKING:
    from gitops_mc.core.rollout.memory import FleetMemory

KEPT_SHOWN: Final = 3
"""Contents of a cluster whose previews are remembered; the last ones that were shown."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a preview has shown of one content of one cluster."""

    content: Content
    promise: Promise
    by: str
    """As it is told: `the preview of pull request 12`."""
    at: datetime


def with_shown(memory: FleetMemory, shown: Mapping[str, Shown]) -> FleetMemory:
    """The memory with what was shown last of each cluster; of one content the last word counts."""
    for cluster, each in sorted(shown.items()):
        own = memory.cluster(cluster)
        if each in own.shown:
            continue
        others = tuple(s for s in own.shown if s.content != each.content)
        memory = memory.with_cluster(cluster, replace(own, shown=(*others, each)[-KEPT_SHOWN:]))
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
