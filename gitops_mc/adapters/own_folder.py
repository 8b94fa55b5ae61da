"""Temporary folders that no death leaves behind: what a process that was killed had, the next one removes.

A folder has a lock file, which its process holds for as long as it lives, however it ends. A folder whose lock can be had is
nobody's any more. One without a lock file is none of ours, or has just been made, and is left alone.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from gitops_mc.core.errors import UsageError

_LOCK: Final = ".lock"


@contextmanager
def own_folder(purpose: str, place: Path | None = None) -> Iterator[Path]:
    """A new, empty folder in one that is named after the purpose, for this user alone, until the end of the `with`; in `place`, or
    where temporary files are. What dead processes left of the same purpose is removed first. Raises OSError where none can be made.
    """
    where = place or Path(tempfile.gettempdir())
    sweep(purpose, where)
    folder = Path(tempfile.mkdtemp(prefix=_beginning(purpose), dir=where))
    lock: int | None = None
    try:
        lock = _locked(folder)
        inside = folder / "files"
        inside.mkdir(mode=0o700)
        yield inside
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


@contextmanager
def temporary_folder(purpose: str, hint: str) -> Iterator[Path]:
    """The same where temporary files are. Raises UsageError, with the hint, where none can be made."""
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(own_folder(purpose))
        except OSError as error:
            raise UsageError(f"no temporary folder can be made: {error.strerror}", hint=hint) from error
        yield folder


def sweep(purpose: str, place: Path) -> None:
    """Remove what dead processes of this user left of a purpose. Never raises: what cannot be removed stays."""
    for folder in place.glob(f"{_beginning(purpose)}*"):
        with suppress(OSError):
            _sweep(folder)


def _sweep(folder: Path) -> None:
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
        return
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _locked(folder: Path) -> int:
    """Held until it is closed, or this process ends; children do not inherit it. Nobody sees the file before it is locked."""
    fresh = folder / f"{_LOCK}.new"
    lock = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fresh.rename(folder / _LOCK)
    except OSError:
        os.close(lock)
        raise
    return lock


def _beginning(purpose: str) -> str:
    return f"gitops-mc-{purpose}-"
