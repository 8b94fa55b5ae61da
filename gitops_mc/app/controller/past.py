"""Contents that clusters still stand at, found once and kept for as long as a cluster stands at them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from gitops_mc.core.desired import DesiredState
from gitops_mc.core.model import Commit, Content, DesiredCluster
from gitops_mc.core.rollout.memory import NO_COMMIT, FleetMemory

Fetch: TypeAlias = Callable[[str, Commit, Content], DesiredCluster | None]


@dataclass(slots=True)
class Past:
    """Earlier contents. What could not be had is asked for again after the next poll, which may bring its commit."""

    fetch: Fetch
    _known: dict[tuple[str, Content], DesiredCluster] = field(default_factory=dict)
    _missed: set[tuple[str, Commit, Content]] = field(default_factory=set)
    _polls: int = -1

    def learn(self, state: DesiredState) -> None:
        """What Git says now may be what a cluster still stands at later."""
        self._known |= {(c.name, c.content): c for c in state.clusters if not c.blocked}

    def keep(self, memory: FleetMemory, polls: int, newest: Mapping[str, Content]) -> None:
        """Forget what no cluster stands at any more."""
        if polls != self._polls:
            self._polls, self._missed = polls, set()
        used = {(name, content) for name, content in newest.items()}
        used |= {(name, c) for name, m in memory.clusters.items() for c, _ in m.stands_at}
        self._known = {key: found for key, found in self._known.items() if key in used}

    def get(self, cluster: str, commit: Commit, content: Content) -> DesiredCluster | None:
        """The content, or None when it cannot be had (now)."""
        known = self._known.get((cluster, content))
        if known is not None or (cluster, commit, content) in self._missed:
            return known
        found = self.fetch(cluster, commit, content)
        if found is None:
            self._missed.add((cluster, commit, content))
        else:
            self._known[cluster, content] = found
        return found


def commits_in_use(memory: FleetMemory) -> frozenset[Commit]:
    """Commits that the contents of clusters were seen at: the source is to keep them."""
    found = {commit for m in memory.clusters.values() for _, commit in m.stands_at}
    return frozenset(found - {NO_COMMIT})
