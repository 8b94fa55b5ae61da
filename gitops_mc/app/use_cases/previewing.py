"""From a pull request to its preview: what it changes by Git alone, and what merging it comes to on the live fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import reduce

from gitops_mc.app.ports import Tree
from gitops_mc.app.preview_ports import Pulls, PullTrees
from gitops_mc.app.reading import ReadingCache, read_tree
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.model import JsonObject, Problem
from gitops_mc.core.policy import Sensitive
from gitops_mc.core.preview.changed import PullChanges
from gitops_mc.core.preview.changes import pull_changes
from gitops_mc.core.preview.model import Conflict, NoLive, Preview, Revisions
from gitops_mc.core.preview.problems import only_merged
from gitops_mc.core.preview.verdict import verdict_of

Redact = Callable[[str], str]
"""Takes out of a text what is sensitive in what was read so far."""


@dataclass(frozen=True, slots=True)
class PullStates:
    """A pull request, read: what the repository says at each of its four trees."""

    revisions: Revisions
    merge_base: DesiredState
    base: DesiredState
    head: DesiredState
    merged: DesiredState | Conflict
    both_changed: tuple[str, ...] = ()
    """Files that base and head have both changed, by path."""

    @property
    def states(self) -> Iterator[DesiredState]:
        """All that were read, each once; whatever any of them marks as sensitive is so in all of them."""
        found = (self.merge_base, self.base, self.head, self.merged)
        yield from {id(state): state for state in found if not isinstance(state, Conflict)}.values()

    @property
    def sensitive(self) -> Sensitive:
        """What any of them says is sensitive."""
        first, *others = self.states
        return reduce(Sensitive.joined, (state.sensitive for state in others), first.sensitive)

    def bodies(self) -> Iterator[JsonObject]:
        """Every desired object of all of them, each once."""
        found = {id(m.body): m.body for s in self.states for c in s.clusters for m in c.manifests}
        yield from found.values()


def read_pull(pulls: Pulls, base: str, head: str, cache: ReadingCache) -> PullStates:
    """Read a pull request. Trees share what they have in common. Raises SourceError."""
    trees = pulls.trees(base, head)
    merge_base = read_tree(trees.merge_base, cache)
    at_base = merge_base if trees.base == trees.merge_base else read_tree(trees.base, cache)
    at_head = merge_base if trees.head == trees.merge_base else read_tree(trees.head, cache)
    merged = _merged(trees, at_base, at_head, cache)
    return PullStates(trees.revisions, merge_base, at_base, at_head, merged, _both_changed(trees))


def _both_changed(trees: PullTrees) -> tuple[str, ...]:
    before = {entry.path: entry.blob for entry in trees.merge_base.entries}

    def changed(tree: Tree) -> set[str]:
        after = {entry.path: entry.blob for entry in tree.entries}
        return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}

    return tuple(sorted(changed(trees.base) & changed(trees.head))) if trees.revisions.moved else ()


def _merged(
    trees: PullTrees, base: DesiredState, head: DesiredState, cache: ReadingCache
) -> DesiredState | Conflict:
    match trees.merged:
        case Conflict():
            return trees.merged
        case trees.head:
            return head
        case trees.base:
            return base
        case _:
            return read_tree(trees.merged, cache)


def changes_of(pull: PullStates) -> PullChanges:
    """Part (a): decided by Git alone."""
    return pull_changes(pull.merge_base, pull.head)


def preview_by_git(pull: PullStates, redact: Redact, reason: str, since: datetime | None = None) -> Preview:
    """The preview without a look at the clusters; `reason` says why none is taken. `since`: when one was wanted and could not be."""
    changes = changes_of(pull)
    live = pull.merged if isinstance(pull.merged, Conflict) else NoLive(reason, since)
    merging = merging_alone(pull)
    verdict = verdict_of(changes, live, redact, merging)
    return Preview(pull.head.policy.name, pull.revisions, changes, live, verdict, merging)


def merging_alone(pull: PullStates) -> tuple[Problem, ...]:
    """Errors that neither side has, and their merge has."""
    if isinstance(pull.merged, Conflict):
        return ()
    return only_merged(pull.base.problems, pull.head.problems, pull.merged.problems)
