"""Writes that do not go through, again and again: when that is a fault."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from gitops_mc.app.act import Outcome
from gitops_mc.core.model import Content
from gitops_mc.core.rollout.case import WriteFault
from gitops_mc.core.rollout.fleet import UNWATCHED

STALE_LIMIT = 10
TROUBLE_LIMIT = timedelta(minutes=15)
"""How long a cluster that answers may let no write through before that is a fault."""


@dataclass(frozen=True, slots=True)
class Troubled:
    """Moves in a row that did not go through: how many of the last ones were stale, since when none has, and for how long
    that was seen: a clock that jumps between two of them counts for no more than UNWATCHED.
    """

    stale: int
    since: datetime
    last: datetime
    seen: timedelta = timedelta()


@dataclass(slots=True)
class Troubles:
    """By cluster: moves in a row that did not go through. A cluster has one job at a time, and so one writer here."""

    clusters: dict[str, Troubled] = field(default_factory=dict)

    def bounded(self, cluster: str, outcome: Outcome, content: Content, now: datetime) -> Outcome:
        """Trouble with writes has an end: stale on every fresh look (the server tells a failed test of a patch from no
        other patch that does not fit), or no success for a long time, is a fault that a human is told of.
        """
        if outcome.about is None:
            self.clusters.pop(cluster, None)
            return outcome
        began = self.clusters.get(cluster, Troubled(0, now, now))
        stale = began.stale + 1 if outcome.stale else 0
        seen = began.seen + min(now - began.last, UNWATCHED)
        self.clusters[cluster] = Troubled(stale, began.since, now, seen)
        if stale >= STALE_LIMIT:
            reason = f"{outcome.trouble}; {stale} times in a row, each decided on a fresh look"
        elif seen >= TROUBLE_LIMIT:
            reason = f"{outcome.trouble}; no write has gone through since {began.since.isoformat(timespec='seconds')}"
        else:
            return outcome
        return replace(outcome, fault=WriteFault(content, outcome.about, reason, now))
