"""A plain folder as a source: the files as they lie there now, no history.

Blob ids are Git's, so that a cache filled from a folder serves a repository and the other way round. Folders of the
first level whose name begins with a dot (.git, .venv, .github) are not looked into; a folder further down that has
its own .git is told as a submodule, which is what Git would make of it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from gitops_mc.app.ports import Tree, TreeEntry
from gitops_mc.core.errors import SourceError

_FILE: Final = 0o100644
_PROGRAM: Final = 0o100755
_LINK: Final = 0o120000
_SUBMODULE: Final = 0o160000
_ATTEMPTS: Final = 3

_Stamp = tuple[int, int, int, int]
"""Device-independent signs of a change: inode, size, mtime and ctime in ns."""


@dataclass(slots=True)
class FolderSource:
    """`path` is a folder. A file that has not been touched since the last call is not read again for its id."""

    path: str
    _known: dict[bytes, tuple[_Stamp, str]] = field(default_factory=dict, repr=False)

    def tree(self, revision: str | None = None) -> Tree:
        """Raises SourceError for a revision (a folder has none), and when anything below cannot be read."""
        if revision is not None:
            raise SourceError(
                f"{self.path} is read as a folder, which has no revision {revision}",
                hint="name a Git repository, or leave the revision out",
            )
        root = os.fsencode(self.path)
        if not os.path.isdir(root):  # noqa: PTH112 - names may be bytes that no Path can hold
            raise SourceError(
                f"{self.path} is not a folder", hint="name the folder of the configuration repository"
            )
        entries = tuple(sorted(self._entries(root, b""), key=lambda entry: entry.path))
        return Tree(commit="", entries=entries, read=self._read)

    def _entries(self, root: bytes, folder: bytes) -> Iterator[TreeEntry]:
        for item in _listed(os.path.join(root, folder)):  # noqa: PTH118 - as above
            path = folder + b"/" + item.name if folder else item.name
            if not item.is_dir(follow_symlinks=False):
                yield self._entry(root, path)
            elif not folder and item.name.startswith(b"."):
                continue
            elif os.path.lexists(os.path.join(item.path, b".git")):  # noqa: PTH118 - as above
                yield TreeEntry(_text(path), "", 0, _SUBMODULE)
            else:
                yield from self._entries(root, path)

    def _entry(self, root: bytes, path: bytes) -> TreeEntry:
        full = os.path.join(root, path)  # noqa: PTH118 - as above
        with _explained(path):
            status = os.lstat(full)
            mode = _mode(status, path)
            stamp = _stamp(status)
            known = self._known.get(full)
            if known is None or known[0] != stamp:
                known = (stamp, blob_id(_content(full, path)))
                self._known[full] = known
        return TreeEntry(_text(path), known[1], status.st_size, mode)

    def _read(self, entry: TreeEntry) -> bytes:
        path = entry.path.encode("utf-8", "surrogateescape")
        with _explained(path):
            data = _content(os.path.join(os.fsencode(self.path), path), path)  # noqa: PTH118 - as above
        if blob_id(data) != entry.blob:
            raise SourceError(f"{_shown(path)} changed while the folder was read", hint="run again")
        return data


def blob_id(data: bytes) -> str:
    """The id that Git gives a blob."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class _explained:  # noqa: N801 - used as a function, in `with`
    """Turns an OSError into a SourceError that names the file."""

    def __init__(self, path: bytes) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
            raise SourceError(
                f"{_shown(self._path)} cannot be read: {reason}", hint="check that it exists and may be read"
            ) from error


def _listed(folder: bytes) -> list[os.DirEntry[bytes]]:
    with _explained(folder), os.scandir(folder) as found:
        return list(found)


def _mode(status: os.stat_result, path: bytes) -> int:
    if stat.S_ISLNK(status.st_mode):
        return _LINK
    if stat.S_ISREG(status.st_mode):
        return _PROGRAM if status.st_mode & stat.S_IXUSR else _FILE
    raise SourceError(
        f"{_shown(path)} is neither a file nor a folder nor a link", hint="move it out of the configuration"
    )


def _content(full: bytes, path: bytes) -> bytes:
    """The bytes of a file that stood still while it was read; a link's target."""
    for _ in range(_ATTEMPTS):
        before = os.lstat(full)
        if stat.S_ISLNK(before.st_mode):
            return os.readlink(full)  # noqa: PTH115 - as above
        with open(full, "rb") as file:  # noqa: PTH123 - as above
            data = file.read()
        if _stamp(before) == _stamp(os.lstat(full)) and len(data) == before.st_size:
            return data
    raise SourceError(f"{_shown(path)} keeps changing while it is read", hint="run again when it is written")


def _stamp(status: os.stat_result) -> _Stamp:
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _shown(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
