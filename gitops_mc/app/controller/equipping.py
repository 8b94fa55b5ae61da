"""What a Fleet's loop works with: its poller and its executor, made from the spec, and made anew where that changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from gitops_mc.app.controller.past import Past
from gitops_mc.app.controller.seams import Means
from gitops_mc.app.controller.sources import Poller
from gitops_mc.app.executor import Executor
from gitops_mc.app.ports import Clock
from gitops_mc.app.use_cases.repository import past_contents
from gitops_mc.core.custom.conditions import Reason, State, Summary
from gitops_mc.core.custom.fleet_spec import Clusters, FleetSpec, GitSource
from gitops_mc.core.errors import GitopsMcError
from gitops_mc.core.model import Commit
from gitops_mc.core.rollout.memory import NO_COMMIT

_LAST_CALLS: Final = 5.0
"""Seconds that calls on the former way to the clusters get to end in."""
_TENDED_EVERY: Final = timedelta(seconds=30)


@dataclass(slots=True)
class Equipment:
    """One thread at a time. What was made stays until something else is, so that a Fleet whose new spec leads nowhere can still
    stop what rolls.
    """

    means: Means
    clock: Clock
    poller: Poller | None = None
    executor: Executor | None = None
    past: Past | None = None
    _source: GitSource | None = None
    """What the poller was made from."""
    _clusters: Clusters | None = None
    """What the executor was made from."""
    _tended: datetime | None = None
    _former: list[Poller] = field(default_factory=list)
    """Those before, as long as they still ask their servers: two of them may be about the same repository."""

    def prepare(self, spec: FleetSpec, followed: Commit) -> Summary | None:
        """Make what is missing, or is made from another spec; or why that is not possible: a Secret that is not there, an address
        that cannot be. `followed`: the commit that the process before this one stood at.
        """
        told: list[str] = []
        try:
            self._find_source(spec, followed)
        except GitopsMcError as error:
            told.append(_said(error))
        try:
            self._find_clusters(spec)
        except GitopsMcError as error:
            told.append(_said(error))
        return Summary(State.STUCK, Reason.ACCESS, "; ".join(told)) if told else None

    def _find_source(self, spec: FleetSpec, followed: Commit) -> None:
        if self.poller is not None and self._source == spec.source:
            return
        kept, made = self.poller, self.means.poller(spec)
        made.before = followed or NO_COMMIT
        if kept is not None:  # until the new source has been read, what was followed stays
            made.desired, made.pulled = kept.desired, kept.pulled
            kept.close()
            self._former.append(kept)
        self.poller, self._source = made, spec.source
        self.past = Past(past_contents(made.source))

    def _find_clusters(self, spec: FleetSpec) -> None:
        if self.executor is not None and self._clusters == spec.clusters:
            if self._tended is None or self.clock.now() - self._tended >= _TENDED_EVERY:
                self.means.tend(spec)
                self._tended = self.clock.now()
            return
        kept, made = self.executor, self.means.executor(spec)
        if kept is not None:  # of one cluster there is to be one job
            kept.permits.revoke()
            kept.workers.close(within=_LAST_CALLS)
        self.executor, self._clusters = made, spec.clusters

    def stop_writing(self) -> None:
        """What is under way makes no write any more, but for calls that are on the wire."""
        if self.executor is not None:
            self.executor.permits.revoke()

    def following(self) -> Poller | None:
        """The poller, once all those before it have ended."""
        self._former = [former for former in self._former if not former.close()]
        return None if self._former else self.poller

    def wake(self) -> None:
        """Ask the repository soon."""
        if self.poller is not None:
            self.poller.wake()

    def close(self, *, within: float) -> None:
        """Its threads are wanted no more; calls that are under way get so many seconds to end in."""
        if self.poller is not None:
            self.poller.close()
        if self.executor is not None:
            self.executor.permits.revoke()
            self.executor.workers.close(within=within)
        self.means.close()


def _said(error: GitopsMcError) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message
