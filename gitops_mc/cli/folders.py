"""Folders that commands work in: the one that was named, or one that goes when the command ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitops_mc.adapters.own_folder import temporary_folder
from gitops_mc.core.errors import UsageError


def existing(repo: str) -> str:
    """The same. Raises UsageError where there is no folder: a slip in a path is not to look like a repository without a fault."""
    if not Path(repo).is_dir():
        raise UsageError(
            f"there is no folder {repo or '(empty)'}", hint="name the checkout of the repository"
        )
    return repo


@contextmanager
def working_folder(asked: Path | None, purpose: str, option: str) -> Iterator[Path]:
    """`asked`, which is made where it is not there, for its owner alone; where None is, a temporary one that is named after the
    purpose. Raises UsageError where it cannot be worked in; `option` is what it was named with.
    """
    if asked is None:
        hint = f"name a folder with {option}, or one for temporary files in the environment: TMPDIR"
        with temporary_folder(purpose, hint) as made:
            yield made
        return
    try:
        asked.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the folder {asked} cannot be made: {error.strerror}", hint=f"name another with {option}"
        ) from error
    if not os.access(asked, os.R_OK | os.W_OK | os.X_OK):
        raise UsageError(
            f"nothing can be read and written in the folder {asked}", hint=f"name another with {option}"
        )
    yield asked
