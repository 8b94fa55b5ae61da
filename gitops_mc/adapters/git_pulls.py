"""The trees of a pull request from a local Git repository, the result of merging it among them. The repository is only read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pygit2
from pygit2.enums import RepositoryOpenFlag

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
from gitops_mc.app.ports import Tree, TreeEntry
from gitops_mc.app.preview_ports import PullTrees
from gitops_mc.core.errors import SourceError
from gitops_mc.core.model import Commit
from gitops_mc.core.preview.model import Conflict, Revisions

_FIRST: Final = 100
"""Before every place of the repository itself: what a merge makes is written there, and nowhere else."""
_QUICK: Final = (1, False)
"""Compression level, and whether to wait for the disk."""
_DEEPER: Final = "fetch the whole history: git fetch --unshallow; in CI: fetch-depth: 0 (GitHub, Gitea), GIT_DEPTH: 0 (GitLab)"


@dataclass(slots=True)
class GitPulls:
    """`path` is a repository, bare or not, or a folder inside its work tree: then that folder is the root of what is read."""

    path: str
    folder: str = ""
    """What is read of a bare repository; empty: all of it."""
    _repository: Any = field(default=None, repr=False)
    _folders: dict[tuple[str, bytes], tuple[TreeEntry, ...]] = field(default_factory=dict, repr=False)
    """Of the trees of one pull request, which have most of their folders in common."""

    def trees(self, base: str, head: str) -> PullTrees:
        repository = self._open()
        self._folders.clear()
        onto, ours = commit_of(repository, base, self.path), commit_of(repository, head, self.path)
        with missing_objects(repository, f"the history of {base} and {head}"):
            found = repository.merge_base(onto.id, ours.id)
            behind = 0 if found is None else repository.ahead_behind(onto.id, found)[0]
        if found is None:
            raise self._unrelated(repository, base, head)
        since = repository[found]
        told = Revisions(Commit(str(onto.id)), Commit(str(ours.id)), Commit(str(since.id)), behind)
        head_tree = self._tree(repository, ours)
        base_tree = self._tree(repository, onto) if onto.id != ours.id else head_tree
        since_tree = next(
            (tree for commit, tree in ((ours, head_tree), (onto, base_tree)) if commit.id == since.id), None
        )
        if since.id == onto.id:
            merged: Tree | Conflict = head_tree
        elif since.id == ours.id:
            merged = base_tree
        else:
            merged = self._merged(repository, onto, ours)
        return PullTrees(told, since_tree or self._tree(repository, since), base_tree, head_tree, merged)

    def _open(self) -> Any:
        if self._repository is None:
            found = discover(self.path)
            if found is None:
                raise SourceError(
                    f"{self.path} is not in a Git repository",
                    hint="name a clone of the configuration repository (--repo)",
                )
            self._repository = opened(found)
        return self._repository

    def _tree(self, repository: Any, commit: Any) -> Tree:
        return self._read(repository, commit.tree, f"commit {commit.short_id}", commit, {})

    def _read(self, repository: Any, tree: Any, told: str, commit: Any, made: Mapping[str, bytes]) -> Tree:
        """A tree; `made` are the contents, by id, that stand nowhere but here."""
        with missing_objects(repository, told):
            root = root_of(tree, folder_of(self._open(), self.path, self.folder), told)
            entries = tuple(
                sorted(entries_of(repository, root, b"", self._folders), key=lambda entry: entry.path)
            )
        return Tree(str(commit.id), entries, partial(_content, self._open(), made))

    def _merged(self, repository: Any, base: Any, head: Any) -> Tree | Conflict:
        """As Git's own three-way merge, without drivers, filters and hooks. What it makes is gone when this returns."""
        told = f"the merge of {head.short_id} into {base.short_id}"
        try:
            with TemporaryDirectory(prefix="gitops-mc-merge-") as scratch, missing_objects(repository, told):
                aside = pygit2.Repository(repository.path, RepositoryOpenFlag.BARE)
                aside.odb.add_backend(pygit2.OdbBackendLoose(scratch, *_QUICK), _FIRST)
                index = aside.merge_commits(base.id, head.id)
                if index.conflicts is not None:
                    return Conflict(_conflicting(index))
                tree = aside[index.write_tree(aside)]
                return self._read(aside, tree, told, head, _made(aside, Path(scratch)))
        except OSError as error:
            raise SourceError(
                f"{told} cannot be worked out: {error.strerror}",
                hint="it needs a little room in the folder for temporary files (TMPDIR)",
            ) from error

    def _unrelated(self, repository: Any, base: str, head: str) -> SourceError:
        if repository.is_shallow:
            return SourceError(
                f"the commit that {base} and {head} both come from is not in the clone {self.path}: it is shallow",
                hint=_DEEPER,
            )
        return SourceError(
            f"{base} and {head} have no commit in common: nobody can say what was changed",
            hint="is it the right base, of the same repository?",
        )


def _conflicting(index: Any) -> tuple[str, ...]:
    """Paths that both sides have changed in ways that do not go together, each once."""
    sides = (side for conflict in index.conflicts for side in conflict if side is not None)
    return tuple(sorted({side.path for side in sides}))


def _made(repository: Any, scratch: Path) -> Mapping[str, bytes]:
    """The contents that the merge has made of two."""
    names = (path.parent.name + path.name for path in scratch.glob("??/*"))
    found = ((name, repository[name]) for name in sorted(names))
    return {name: bytes(each.data) for name, each in found if isinstance(each, pygit2.Blob)}


def _content(repository: Any, made: Mapping[str, bytes], entry: TreeEntry) -> bytes:
    return made[entry.blob] if entry.blob in made else read_blob(repository, entry)
