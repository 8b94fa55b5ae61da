"""The configuration repository as commands see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from gitops_mc.app.ports import Source
from gitops_mc.app.reading import ReadingCache, read_desired
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.errors import InputProblemsError, SourceError, UsageError
from gitops_mc.core.model import Commit, Content, DesiredCluster


@dataclass(slots=True)
class Repository:
    """A source that is read again and again; what has not changed is not parsed twice."""

    source: Source
    _cache: ReadingCache = field(default_factory=ReadingCache)

    def read(self) -> tuple[DesiredState, Commit]:
        """What the source says now; the commit is empty for a folder. Raises SourceError."""
        state, commit = read_desired(self.source, None, self._cache)
        return state, Commit(commit)


def usable(state: DesiredState) -> DesiredState:
    """The state, unless the fleet as a whole is blocked: then InputProblemsError with every problem."""
    if state.fleet_blocked:
        raise InputProblemsError(state.problems)
    return state


def chosen(state: DesiredState, names: Sequence[str]) -> tuple[DesiredCluster, ...]:
    """The clusters of these names, all when none is named, in the order of names. Raises UsageError for an unknown one."""
    known = {cluster.name: cluster for cluster in state.clusters}
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            told = f"did you mean {close[0]}?" if close else f"there are {', '.join(known) or 'none'}"
            raise UsageError(f"the repository has no cluster {name}", hint=told)
    return tuple(cluster for cluster in state.clusters if not names or cluster.name in names)


def past_contents(source: Source) -> Callable[[str, Commit, Content], DesiredCluster | None]:
    """Fetches an earlier content of a cluster by the commit it was seen at; None when it cannot be had any more: a
    folder, a commit that is gone, or one that says something else under the rules of today.
    """
    cache = ReadingCache()

    def fetch(cluster: str, commit: Commit, content: Content) -> DesiredCluster | None:
        if not commit:
            return None
        try:
            state, _ = read_desired(source, commit, cache)
        except SourceError:
            return None
        found = state.cluster(cluster)
        return found if found is not None and found.content == content else None

    return fetch
