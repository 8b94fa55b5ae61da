"""Makes a Git repository and commits to it: for demonstrations. The product itself never writes to anybody's repository."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pygit2
from pygit2.enums import FileMode

from gitops_mc.core.model import Commit

_AUTHOR = ("gitops-mc demo", "demo@example.com")


class CommittedRepository:
    """A new bare repository at `path`, with one branch, `main`."""

    def __init__(self, path: Path) -> None:
        self._repository: Any = pygit2.init_repository(str(path), bare=True, initial_head="main")

    def commit(self, files: Mapping[str, bytes], message: str, at: datetime) -> Commit:
        """Commit these files, by path; files of the commit before that are not named stay."""
        repository = self._repository
        index = pygit2.Index()
        parents = [] if repository.head_is_unborn else [repository.head.target]
        if parents:
            index.read_tree(repository.head.peel(pygit2.Commit).tree)
        for path, data in sorted(files.items()):
            index.add(pygit2.IndexEntry(path, repository.create_blob(data), FileMode.BLOB))
        author = pygit2.Signature(*_AUTHOR, time=int(at.timestamp()))
        tree = index.write_tree(repository)
        made = repository.create_commit("refs/heads/main", author, author, message, tree, parents)
        return Commit(str(made))
