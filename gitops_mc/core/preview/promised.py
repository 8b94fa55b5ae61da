"""One digest of what a preview promises: what a later plan is compared with, of every cluster (`core/plan/promise.py`)."""

from __future__ import annotations

from gitops_mc.core.model import digest_of
from gitops_mc.core.plan import promise_of
from gitops_mc.core.rollout.preview import FleetPreview

_NOBODY_KNOWS = "not known"


def promise_digest(outcome: FleetPreview) -> str:
    """Writes, refusals and actions per pool have a part in it; how many nodes there are, which, and how long it takes have none."""
    return digest_of(
        [
            [c.name, promise_of(c.plan).whole if c.plan is not None else _NOBODY_KNOWS]
            for c in outcome.clusters
        ]
    )
