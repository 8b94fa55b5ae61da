"""What is read of a Git repository's object store: a commit by its name, the files of a tree; and why something is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, Final

import pygit2

from gitops_mc.app.ports import TreeEntry
from gitops_mc.core.errors import SourceError

_HEADS: Final = "refs/heads/"
_TAGS: Final = "refs/tags/"
_ORIGIN: Final = "refs/remotes/origin/"
_FOLDER_MODE: Final = 0o040000
_SUBMODULE_MODE: Final = 0o160000


def discover(path: str) -> str | None:
    try:
        return pygit2.discover_repository(path)
    except (KeyError, pygit2.GitError):
        return None


def opened(path: str) -> Any:
    try:
        return pygit2.Repository(path)
    except (KeyError, OSError, pygit2.GitError) as error:
        raise SourceError(
            f"the Git repository {path} cannot be opened: {error}",
            hint="check its owner and rights (Git's safe.directory), and that it is whole (git fsck)",
        ) from error


def commit_of(repository: Any, wanted: str, path: str) -> Any:
    """The commit that a branch, a tag or an id stands for; a name that is both a branch and a tag is refused."""
    found = [name for name in (_HEADS + wanted, _TAGS + wanted) if _has(repository, name)]
    if len(found) > 1:
        raise SourceError(f"{wanted} is a branch and a tag of {path}", hint=f"write {' or '.join(found)}")
    try:
        return repository.revparse_single(found[0] if found else wanted).peel(pygit2.Commit)
    except (KeyError, ValueError, pygit2.GitError) as error:
        if found:
            raise SourceError(
                f"{wanted} of {path} is there, but its commit cannot be read: {error}",
                hint=fetch_hint(repository),
            ) from error
        raise _no_revision(repository, wanted, path) from error


def _has(repository: Any, name: str) -> bool:
    try:
        return repository.references.get(name) is not None
    except (ValueError, pygit2.GitError):
        return False


def _no_revision(repository: Any, wanted: str, path: str) -> SourceError:
    if repository.is_empty or (wanted == "HEAD" and repository.head_is_unborn):
        return SourceError(f"the Git repository {path} has no commits on its branch", hint="commit something")
    short = sorted(
        name.removeprefix(_HEADS).removeprefix(_TAGS)
        for name in repository.references
        if name.startswith((_HEADS, _TAGS))
    )
    elsewhere = f"origin/{wanted}" if _has(repository, _ORIGIN + wanted) else ""
    close = [elsewhere] if elsewhere else get_close_matches(wanted, short, n=3)
    known = f"did you mean {', '.join(close)}?" if close else f"there are {', '.join(short[:10]) or 'none'}"
    shallow = (
        "; the clone is shallow: git fetch --unshallow brings older commits" if repository.is_shallow else ""
    )
    return SourceError(
        f"{path} has no branch, tag or commit {wanted}; it was deleted, or never fetched",
        hint=f"{known}{shallow}",
    )


def entries_of(
    repository: Any,
    tree: Any,
    folder: bytes,
    known: dict[tuple[str, bytes], tuple[TreeEntry, ...]] | None = None,
) -> Iterator[TreeEntry]:
    """The files of a tree. `known`: folders of other trees, by id and path, to which those of this one are added."""
    for item in tree:
        path = folder + item.raw_name
        mode = int(item.filemode)
        if mode != _FOLDER_MODE:
            size = 0 if mode == _SUBMODULE_MODE else _size(item)
            yield TreeEntry(path.decode("utf-8", "surrogateescape"), str(item.id), size, mode)
        elif known is None:
            yield from entries_of(repository, item, path + b"/")
        else:
            key = (str(item.id), path)
            if key not in known:
                known[key] = tuple(entries_of(repository, item, path + b"/", known))
            yield from known[key]


def _size(blob: Any) -> int:
    """0 for one that a partial clone has not fetched: reading it says so."""
    try:
        return int(blob.size)
    except (KeyError, pygit2.GitError):
        return 0


class missing_objects:  # noqa: N801 - used as a function, in `with`
    """Turns a missing tree into a SourceError: a shallow, partial or damaged clone, never an empty tree."""

    def __init__(self, repository: Any, wanted: str) -> None:
        self._repository = repository
        self._wanted = wanted

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, KeyError | ValueError | pygit2.GitError):
            raise SourceError(
                f"a part of {self._wanted} is missing from the repository: {error}",
                hint=fetch_hint(self._repository),
            ) from error


def fetch_hint(repository: Any) -> str:
    if repository.is_shallow:
        return "the clone is shallow: git fetch --unshallow"
    return "fetch it (git fetch --refetch), or check the repository with git fsck"


def _shown(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def folder_of(repository: Any, path: str, folder: str) -> str:
    """What is the root of what is read, seen from the root of the repository; `.` is all of it. `folder` says it for a bare one."""
    if repository.workdir is None:
        return folder.strip("/") or "."
    return os.path.relpath(os.path.realpath(path), os.path.realpath(repository.workdir))


def root_of(tree: Any, folder: str, told: str) -> Any:
    """The tree of that folder. Raises SourceError; `told` says in which tree it was looked for."""
    if folder == "." or folder.startswith(".."):
        return tree
    try:
        found = tree[folder]
    except KeyError:
        found = None
    if found is None or found.filemode != _FOLDER_MODE:
        raise SourceError(
            f"{told} has no folder {folder}",
            hint="was it renamed? Name the folder that holds clusters/ at that commit",
        )
    return found


def read_blob(repository: Any, entry: TreeEntry) -> bytes:
    """Content of a file. Raises SourceError."""
    try:
        found = repository[entry.blob]
    except (KeyError, ValueError, pygit2.GitError) as error:
        raise SourceError(
            f"the content of {_shown(entry.path)} ({entry.blob[:12]}) is not in the repository",
            hint=fetch_hint(repository),
        ) from error
    return bytes(found.data)
