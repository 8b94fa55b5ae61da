"""A repository in a folder that is written to: whole files, nothing overwritten that was not read, no way out by a link."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from gitops_mc.adapters.folder import FolderSource
from gitops_mc.adapters.uninterrupted import uninterrupted
from gitops_mc.app.authoring_ports import Edit
from gitops_mc.app.ports import Tree, TreeEntry
from gitops_mc.core.authoring.drafts import NewFile
from gitops_mc.core.errors import SourceError, together

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_BELOW: Final = _FOLDER | os.O_NOFOLLOW
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


class _Missing(Enum):
    """What a folder on the way to a file is, that is not there."""

    IS_MADE = auto()
    IS_AN_ERROR = auto()


@dataclass(slots=True)
class WorkFolderFiles:
    """`path` is a folder, or is to become one."""

    path: str
    _source: FolderSource = field(init=False)

    def __post_init__(self) -> None:
        self._source = FolderSource(self.path)

    def tree(self, revision: str | None = None) -> Tree:
        """As the port promises; what is not there yet has no files."""
        if not os.path.lexists(self.path):
            return Tree("", (), _nothing)
        return self._source.tree(revision)

    def add(self, files: Sequence[NewFile]) -> None:
        """As the port promises, whoever interrupts it."""
        with uninterrupted():
            self._add(files)

    def _add(self, files: Sequence[NewFile]) -> None:
        written: list[str] = []
        try:
            os.makedirs(self.path, exist_ok=True)  # noqa: PTH103 - descriptors below, paths here
            self._nothing_there(files)
            for file in files:
                self._create(file)
                written.append(file.path)
        except BaseException as error:
            for path in reversed(written):  # what names another file goes before it
                self._remove(path)
            if isinstance(error, OSError):
                raise _unwritten(error, self.path) from error
            raise

    def change(self, edits: Sequence[Edit]) -> None:
        """As the port promises, whoever interrupts it."""
        with uninterrupted():
            self._change(edits)

    def _change(self, edits: Sequence[Edit]) -> None:
        refused: list[SourceError] = []
        for edit in edits:
            try:
                with self._folder_of(edit.path, _Missing.IS_AN_ERROR) as (folder, name):
                    self._unchanged(edit, folder, name)
            except SourceError as error:
                refused.append(error)
        if refused:
            raise together(refused)
        for edit in edits:
            with self._folder_of(edit.path, _Missing.IS_AN_ERROR) as (folder, name):
                mode = self._unchanged(edit, folder, name)
                fresh = self._temporary(edit.path, folder, edit.after, exactly=mode)
                try:
                    os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
                except OSError as error:
                    os.unlink(fresh, dir_fd=folder)
                    raise _unwritten(error, edit.path) from error
                os.fsync(folder)

    def _nothing_there(self, files: Sequence[NewFile]) -> None:
        """For the one who asked: all that is in the way at once. What comes later is in the way of the writing itself."""
        there: list[SourceError] = []
        for file in files:
            with suppress(SourceError), self._folder_of(file.path, _Missing.IS_AN_ERROR) as (folder, name):
                os.stat(name, dir_fd=folder, follow_symlinks=False)
                there.append(_there(file))
        if there:
            raise together(there)

    def _create(self, file: NewFile) -> None:
        mode = 0o600 if file.private else 0o666  # less what the user takes off, as for any file that he makes
        with self._folder_of(file.path, _Missing.IS_MADE) as (folder, name):
            fresh = self._temporary(file.path, folder, file.data, made=mode)
            try:
                self._move_to_nothing(fresh, name, folder)
            except FileExistsError as error:
                raise _there(file) from error
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(fresh, dir_fd=folder)
            os.fsync(folder)

    def _move_to_nothing(self, fresh: str, name: str, folder: int) -> None:
        """A link is made only where nothing stands; where there are no links, a rename, which would replace what has come in
        between the question and it.
        """
        try:
            os.link(fresh, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            with suppress(FileNotFoundError):
                os.stat(name, dir_fd=folder, follow_symlinks=False)
                raise FileExistsError(errno.EEXIST, name) from error
            os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)

    def _temporary(
        self, path: str, folder: int, data: bytes, *, made: int = 0o600, exactly: int | None = None
    ) -> str:
        """The name of a file beside the one that is meant, with this content; made with a mode less the umask, or of exactly one."""
        name = f".gitops-mc-{secrets.token_hex(8)}.tmp"
        try:
            descriptor = os.open(
                name,
                os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
                made,
                dir_fd=folder,
            )
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                if exactly is not None:
                    os.fchmod(descriptor, exactly)
                os.fsync(descriptor)
        except OSError as error:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
            raise _unwritten(error, path) from error
        return name

    def _unchanged(self, edit: Edit, folder: int, name: str) -> int:
        """The mode of the file; it is one, and holds what was read."""
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        except OSError as error:
            raise _unwritten(error, edit.path) from error
        with os.fdopen(descriptor, "rb") as stream:
            if stream.read() != edit.before:
                raise SourceError(
                    f"{edit.path} has changed since it was read", hint="nothing was written to it; run again"
                )
            return stat.S_IMODE(os.fstat(descriptor).st_mode)

    def _remove(self, path: str) -> None:
        with suppress(OSError, SourceError), self._folder_of(path, _Missing.IS_AN_ERROR) as (folder, name):
            os.unlink(name, dir_fd=folder)

    @contextmanager
    def _folder_of(self, path: str, missing: _Missing) -> Iterator[tuple[int, str]]:
        """The folder that a file stands in, open, and its name there. Every folder on the way is one, and no link."""
        *above, name = path.split("/")
        if name in ("", ".", "..") or any(step in ("", ".", "..") for step in above):
            raise SourceError(f"{path} is no path inside the repository", hint="name a file below its folder")
        try:
            current = os.open(self.path, _FOLDER)
        except OSError as error:
            raise _unwritten(error, self.path) from error
        try:
            for step in above:
                if missing is _Missing.IS_MADE:
                    with suppress(FileExistsError):
                        os.mkdir(step, dir_fd=current)
                below = os.open(step, _BELOW, dir_fd=current)
                os.close(current)
                current = below
            yield current, name
        except NotADirectoryError as error:  # what O_NOFOLLOW says of a link to a folder
            raise SourceError(
                f"a folder on the way to {path} is a link, or a file",
                hint="nothing is written through links; name the folder that it leads to",
            ) from error
        except OSError as error:
            raise _unwritten(error, path) from error
        finally:
            os.close(current)


def _there(file: NewFile) -> SourceError:
    return SourceError(f"{file.path} is there already", hint="it was left alone; run again")


def _unwritten(error: OSError, path: str) -> SourceError:
    if error.errno == errno.ELOOP:
        return SourceError(
            f"{path} is a link", hint="nothing is written through links; edit what it leads to"
        )
    return SourceError(
        f"{path} cannot be written: {error.strerror or error}", hint="check the folder and its rights"
    )


def _nothing(entry: TreeEntry) -> bytes:
    raise SourceError(f"{entry.path} is not there")
