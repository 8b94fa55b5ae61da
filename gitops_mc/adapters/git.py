"""A local Git repository as a source: commits are read from the object store, with or without a work tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gitops_mc.adapters.git_objects import (
    commit_of,
    discover,
    entries_of,
    folder_of,
    missing_objects,
    opened,
    read_blob,
    root_of,
)
from gitops_mc.app.ports import Tree
from gitops_mc.core.errors import SourceError


def is_bare(path: str) -> bool:
    """Whether the repository that a folder belongs to has no work tree. Raises SourceError where it cannot be opened."""
    found = discover(path)
    return found is not None and opened(found).is_bare


@dataclass(slots=True)
class GitSource:
    """`path` is a repository, or a folder inside its work tree: then that folder is the root of what is read.

    `revision` is what is followed when `tree` is asked for none: a branch, a tag, a commit (short or whole); None is
    HEAD. Nothing is remembered between calls but the open repository, so a moved, rewritten or deleted branch is
    seen by the next call.
    """

    path: str
    revision: str | None = None
    folder: str = ""
    """What is read of a bare repository; empty: all of it."""
    _repository: Any = field(default=None, repr=False)

    def tree(self, revision: str | None = None) -> Tree:
        repository = self._open()
        asked = self.revision if revision is None else revision
        wanted = "HEAD" if asked is None else asked
        commit = commit_of(repository, wanted, self.path)
        with missing_objects(repository, wanted):
            folder = folder_of(repository, self.path, self.folder)
            root = root_of(commit.tree, folder, f"commit {commit.short_id}")
            entries = tuple(sorted(entries_of(repository, root, b""), key=lambda entry: entry.path))
        return Tree(commit=str(commit.id), entries=entries, read=partial(read_blob, repository))

    def _open(self) -> Any:
        if self._repository is None:
            found = discover(self.path)
            if found is None:
                raise SourceError(
                    f"{self.path} is not in a Git repository",
                    hint="name a repository, or leave the revision out",
                )
            self._repository = opened(found)
        return self._repository
