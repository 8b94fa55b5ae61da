"""What stands in the folder of a cache beside its repository: the lock of whoever uses it, and what it is a cache of."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import Final

from gitops_mc.core.errors import SourceError

LOCK: Final = "lock"
SOURCE: Final = "source"
FRESH: Final = "fresh"
"""A repository that is being made, or removed."""
REPOSITORIES: Final = "repository-*.git"


def source_of(folder: Path) -> tuple[str, str] | None:
    """The address and the ref that a folder is a cache of; None where it is none."""
    try:
        lines = (folder / SOURCE).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return (lines[0], lines[1]) if len(lines) == 3 and not lines[2] else None


def discard(folder: Path) -> None:
    """Remove a cache, and nothing else that stands in its folder. A death in between leaves one that can be used, or removed. Raises
    SourceError while somebody uses it, and OSError.
    """
    lock = locked(folder / LOCK)
    try:
        fresh = folder / FRESH
        for repository in folder.glob(REPOSITORIES):
            shutil.rmtree(fresh, ignore_errors=True)
            repository.rename(fresh)  # half a repository is never taken for one
        shutil.rmtree(fresh, ignore_errors=True)
        (folder / SOURCE).unlink()
        (
            folder / LOCK
        ).unlink()  # the last: from here on it is somebody else's, and stays where he is in it already
        folder.rmdir()
    finally:
        os.close(lock)


def locked(path: Path) -> int:
    """Held until it is closed, or this process ends. Children do not inherit it. Raises SourceError while somebody else has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise SourceError(
            f"the cache {path.parent} is in use, by an earlier poll of this process or by another process",
            hint="an earlier poll ends by itself; every process needs a folder of its own",
        ) from error
    if not _stands(descriptor, path):
        os.close(descriptor)
        raise SourceError(
            f"the cache {path.parent} has just been removed", hint="the next poll makes it anew"
        )
    return descriptor


def _stands(descriptor: int, path: Path) -> bool:
    """Whether a file that was opened is the one of that name yet."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
