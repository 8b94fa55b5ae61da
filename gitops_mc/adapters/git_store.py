"""The cache of a remote repository: a bare repository in a folder of its own, which one process uses at a time.

What is kept hangs on references: `accepted/<number>` are the commits that were good, the highest number is the newest;
`wanted/<commit>` is what clusters still stand at; `incoming` is what the server had last. All else may go.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pygit2

from gitops_mc.adapters.git_folder import FRESH, LOCK, REPOSITORIES, SOURCE, locked
from gitops_mc.adapters.git_private import sweep_private
from gitops_mc.core.errors import SourceError

_SPACE: Final = "refs/gitops-mc/"
INCOMING: Final = f"{_SPACE}incoming"
_ACCEPTED: Final = f"{_SPACE}accepted/"
_WANTED: Final = f"{_SPACE}wanted/"
_KEPT: Final = 12
"""Accepted commits that are kept beside the wanted ones: who reads one may be slower than the next poll."""

_FIRST: Final = "repository-000000.git"
_LAST_SECOND: Final = 253_402_300_799
"""The end of the year 9999: dates of commits may lie beyond what a date can be."""
_LONGEST_SUBJECT: Final = 200
_CONFIG: Final = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
_LEFTOVERS: Final = (
    "*.lock",
    "refs/**/*.lock",
    "objects/tmp_*",
    "objects/incoming-*",
    "objects/??/tmp_*",
    "objects/pack/tmp_*",
    "objects/pack/.tmp-*",
    "objects/pack/*.keep",
)


@dataclass(slots=True)
class GitStore:
    """`folder` belongs to this store alone; it is made where it is not there."""

    folder: Path
    _lock: int | None = field(default=None, repr=False)
    _left: bool = False
    _holding: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def repository(self) -> Path:
        """A new one has a new name: libgit2 keeps packs by their path, for as long as anybody reads them."""
        found = sorted(self.folder.glob(REPOSITORIES))
        return found[-1] if found else self.folder / _FIRST

    def hold(self, source: str) -> None:
        """Be the one that uses the folder, and put right what a killed one left. `source` names what is followed: commits that
        were accepted from another one are no longer good. Raises SourceError.
        """
        with self._holding:
            if self._left:
                raise SourceError(f"the cache {self.folder} is used for another source now")
            if self._lock is None:
                self._take(source)

    def _take(self, source: str) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = locked(self.folder / LOCK)
            if not self.opens():
                self.renew()
            (self.repository / "config").write_text(_CONFIG)
            self.tidy()
            sweep_private()
            self._follow(source)
        except SourceError:
            self._release()
            raise
        except OSError as error:
            self._release()
            raise SourceError(
                f"the cache {self.folder} cannot be used: {error.strerror}",
                hint="it is a folder that this process may write to, with room for the repository",
            ) from error

    def leave(self) -> None:
        """Let somebody else use the folder, and never take it again."""
        with self._holding:
            self._left = True
            self._release()

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def renew(self) -> Path:
        """An empty repository in place of whatever is there."""
        fresh, before = self.folder / FRESH, self.repository
        shutil.rmtree(fresh, ignore_errors=True)
        for part in ("objects/info", "objects/pack", "refs/gitops-mc"):
            (fresh / part).mkdir(parents=True)
        (fresh / "config").write_text(_CONFIG)
        (fresh / "HEAD").write_text("ref: refs/heads/none\n")
        number = int(before.stem.rpartition("-")[2]) + 1
        made = fresh.rename(self.folder / f"repository-{number:06d}.git")
        shutil.rmtree(before, ignore_errors=True)
        return made

    def tidy(self) -> None:
        """Remove what an interrupted program left; only while none runs."""
        for pattern in _LEFTOVERS:
            for path in self.repository.glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        for pack in (self.repository / "objects" / "pack").glob("*.pack"):
            if not pack.with_suffix(".idx").exists():
                pack.unlink()

    def packs(self) -> int:
        return sum(1 for _ in (self.repository / "objects" / "pack").glob("*.pack"))

    def commit_of(self, name: str) -> str | None:
        """The commit that a reference, or the tag it leads to, stands for; None where there is none such."""
        try:
            return str(self._open().references[name].peel(pygit2.Commit).id)
        except (KeyError, ValueError, pygit2.GitError):
            return None

    def target_of(self, name: str) -> str | None:
        """What a reference holds: of an annotated tag, the tag itself."""
        try:
            return str(self._open().references[name].target)
        except (KeyError, ValueError, pygit2.GitError):
            return None

    def has(self, commit: str) -> bool:
        try:
            return isinstance(self._open()[commit], pygit2.Commit)
        except (KeyError, ValueError, pygit2.GitError):
            return False

    def raw(self, commit: str) -> bytes:
        """A commit's own bytes."""
        return bytes(self._object(commit).read_raw())

    def committed(self, commit: str) -> tuple[datetime, str]:
        """When, as its author's machine said, and the first line of its message. Both are whatever somebody wrote."""
        found = self._object(commit)
        at = datetime.fromtimestamp(min(max(0, int(found.commit_time)), _LAST_SECOND), UTC)
        subject = bytes(found.raw_message).decode("utf-8", "replace").partition("\n")[0]
        return at, "".join(c if c.isprintable() else "?" for c in subject)[:_LONGEST_SUBJECT]

    def accepted(self) -> str | None:
        """The newest commit that was good."""
        names = self._names(_ACCEPTED)
        return self.commit_of(names[-1]) if names else None

    def accept(self, commit: str) -> None:
        """Remember a good commit, and forget the oldest ones."""
        if commit == self.accepted():
            return
        names = self._names(_ACCEPTED)
        number = int(names[-1].removeprefix(_ACCEPTED)) + 1 if names else 1
        self._write(f"{_ACCEPTED}{number:010d}", commit)
        self._delete(names[: max(0, len(names) + 1 - _KEPT)])

    def readable(self, commit: str) -> bool:
        """Whether a commit was accepted, or is wanted: others may be here and are nobody's business."""
        if self.target_of(wanted_name(commit)) == commit:
            return True
        return any(self.target_of(name) == commit for name in self._names(_ACCEPTED))

    def pin(self, wanted: Iterable[str]) -> None:
        """Keep those of the wanted commits that are here."""
        for commit in sorted(wanted):
            if self.has(commit) and self.target_of(wanted_name(commit)) != commit:
                self._write(wanted_name(commit), commit)

    def unpin(self, wanted: frozenset[str]) -> None:
        """Keep no others than the wanted ones."""
        self._delete(name for name in self._names(_WANTED) if name.removeprefix(_WANTED) not in wanted)

    def _follow(self, source: str) -> None:
        known = self.folder / SOURCE
        if not known.is_file() or known.read_text() != source:
            self._delete((*self._names(_ACCEPTED), INCOMING))
            known.write_text(source)

    def opens(self) -> bool:
        """Whether it is a repository at all."""
        try:
            self._open()
        except SourceError:
            return False
        return True

    def _object(self, commit: str) -> Any:
        try:
            return self._open()[commit]
        except (KeyError, ValueError, pygit2.GitError) as error:
            raise SourceError(
                f"commit {commit} cannot be read from the cache {self.folder}",
                hint="the next poll makes it anew",
            ) from error

    def _open(self) -> Any:
        try:
            return pygit2.Repository(str(self.repository))
        except (KeyError, OSError, pygit2.GitError) as error:
            raise SourceError(
                f"the cache {self.folder} cannot be opened", hint="the next poll makes it anew"
            ) from error

    def _names(self, space: str) -> list[str]:
        try:
            return sorted(name for name in self._open().references if name.startswith(space))
        except (ValueError, pygit2.GitError):
            return []

    def _write(self, name: str, commit: str) -> None:
        try:
            self._open().references.create(name, commit, force=True)
        except (KeyError, ValueError, OSError, pygit2.GitError) as error:
            raise SourceError(
                f"the cache {self.folder} cannot be written: {error}", hint="make room, or check its rights"
            ) from error

    def _delete(self, names: Iterable[str]) -> None:
        references = self._open().references
        for name in names:
            if references.get(name) is not None:
                references.delete(name)


def read_no_configuration() -> None:
    """From now on this process reads no configuration of Git, of whomever: a HOME that may not be looked into is no obstacle."""
    for level in ("GLOBAL", "XDG", "SYSTEM", "PROGRAMDATA"):
        pygit2.settings.search_path[pygit2.enums.ConfigLevel[level]] = ""


def wanted_name(commit: str) -> str:
    """The reference that keeps a wanted commit."""
    return f"{_WANTED}{commit}"
