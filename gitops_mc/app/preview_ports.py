"""What a preview of a pull request needs of Git: four trees that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gitops_mc.app.ports import Tree
from gitops_mc.core.preview.model import Conflict, Revisions


@dataclass(frozen=True, slots=True)
class PullTrees:
    """A pull request as four trees. Where two of them are the same, they are equal."""

    revisions: Revisions
    merge_base: Tree
    """What head was made on: its changes are from here to head."""
    base: Tree
    """Where the branch stands that is merged into."""
    head: Tree
    merged: Tree | Conflict
    """What merging head into base gives. No commit has it, where both have moved: it then says that of head."""


class Pulls(Protocol):
    """Where pull requests are read from. Nothing there is changed: no reference, no file, no object."""

    def trees(self, base: str, head: str) -> PullTrees:
        """The trees for two revisions (branches, tags, commits). Raises SourceError where one of them, an object, or the commit that
        both come from is missing: that is never an empty tree, and never "nothing changed".
        """
        ...
