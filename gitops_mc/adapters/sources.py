"""Which source a path is: a folder as it lies there, or a Git repository."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from gitops_mc.adapters.folder import FolderSource
from gitops_mc.app.ports import Source
from gitops_mc.core.errors import SourceError

_BARE: Final = re.compile(r"^\s*bare\s*=\s*false\s*$", re.MULTILINE | re.IGNORECASE)
_ELSEWHERE: Final = ("include", "worktreeconfig")
"""Words of a Git configuration that other files add to."""
_LONGEST: Final = 100_000
"""Characters of a configuration that are looked at."""


def open_source(path: str, revision: str | None = None) -> Source:
    """The source at `path`: a Git repository when a revision is asked for or when the repository is bare; else the
    folder as it lies there, uncommitted changes included. Raises SourceError when there is no such folder, or no
    repository to take the revision from.
    """
    if not Path(path).is_dir():
        raise SourceError(
            f"there is no folder {path}", hint="name the folder of the configuration repository"
        )
    if revision is None and _is_plainly_a_work_tree(path):
        return FolderSource(path)
    from gitops_mc.adapters.git import GitSource, is_bare  # noqa: PLC0415 - the library is a third of what `validate` costs

    return FolderSource(path) if revision is None and not is_bare(path) else GitSource(path, revision)


def _is_plainly_a_work_tree(path: str) -> bool:
    """Whether it lies in the work tree of an ordinary clone of ours, as its Git folder says itself. Where that is not plain,
    Git's library is asked: no repository at all, one of somebody else, linked work trees, configuration from elsewhere.
    """
    try:
        here = Path(path).resolve()
        for folder in (here, *here.parents):
            git = folder / ".git"
            if git.is_dir() and not git.is_symlink():
                return _says_it_is_not_bare(folder, git)
            if os.path.lexists(git) or (folder / "HEAD").exists():
                return False
    except (OSError, UnicodeDecodeError):
        return False
    return False


def _says_it_is_not_bare(folder: Path, git: Path) -> bool:
    if {folder.stat().st_uid, git.stat().st_uid} != {os.geteuid()}:
        return False
    if not all((git / name).exists() for name in ("HEAD", "objects", "refs")):
        return False
    with (git / "config").open(encoding="utf-8") as file:
        text = file.read(_LONGEST).lower()
    sure = text.count("bare") == 1 and _BARE.search(text) is not None and len(text) < _LONGEST
    return sure and not any(word in text for word in _ELSEWHERE)
