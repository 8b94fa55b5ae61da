"""The files of a repository at one revision: links followed, never outside, and nothing read that was not handed in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from gitops_mc.core.manifests import LFS_POINTER

LINK: Final = 0o120000
SUBMODULE: Final = 0o160000
MAX_PAYLOAD_BYTES: Final = 4 * 1024 * 1024
"""More than twice what a merged MachineConfig may have in all."""
_MAX_LINKS: Final = 40


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the repository. `path` with `/`, undecodable bytes as surrogates; `mode` is Git's."""

    path: str
    blob: str
    """Id of the content: equal ids, equal bytes."""
    mode: int
    data: bytes | None
    """The content, for a link its target; None: not read yet (whoever needs it asks through `unread`)."""
    size: int = 0
    """In bytes; counts where `data` is None."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a path leads to no file that may be read."""

    message: str
    hint: str


@dataclass(slots=True)
class Repository:
    """Files by path, and the paths whose content was needed and not there."""

    files: dict[str, SourceFile]
    unread: set[str] = field(default_factory=set)
    folders: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.folders = frozenset(_folders(self.files))

    def data(self, file: SourceFile, limit: int) -> bytes | Fault:
        """The content, up to `limit` bytes. One that was not handed in is a fault, and noted as wanted."""
        size = file.size if file.data is None else len(file.data)
        if size > limit:
            return Fault(f"{shown(file.path)} has {size} bytes, more than {limit}", "make it smaller")
        if file.data is not None:
            return file.data
        self.unread.add(file.path)
        return Fault(f"{shown(file.path)} was not read", "read the files named in `unread` and load again")

    def payload(self, manifest: str, relative: str) -> bytes | Fault:
        """A file named in a manifest, relative to the manifest's folder."""
        found = self.follow(manifest.rpartition("/")[0], relative)
        if isinstance(found, Fault):
            return found
        data = self.data(found, MAX_PAYLOAD_BYTES)
        if isinstance(data, bytes) and data.startswith(LFS_POINTER):
            return Fault(
                f"{shown(found.path)} is a Git LFS pointer, not the content",
                "fetch it (`git lfs pull`), or keep the file out of LFS",
            )
        return data

    def follow(self, folder: str, relative: str) -> SourceFile | Fault:
        """The file at `relative` seen from `folder`, through links of files and of folders."""
        if relative.startswith("/"):
            return _outside(relative)
        stack = folder.split("/") if folder else []
        ahead = relative.split("/")[::-1]
        links = 0
        while ahead:
            part = ahead.pop()
            if part in {"", "."}:
                continue
            if part == "..":
                if not stack:
                    return _outside(relative)
                stack.pop()
                continue
            stack.append(part)
            current = "/".join(stack)
            found = self.files.get(current)
            if found is None or found.mode != LINK:
                if (fault := self._passable(relative, current, ahead)) is not None:
                    return fault
                continue
            links += 1
            target = self._target(found)
            if isinstance(target, Fault):
                return target
            if links > _MAX_LINKS:
                return Fault(f"{shown(relative)} leads through links in a circle", "mend the links")
            if target.startswith("/"):
                return _outside(relative)
            stack.pop()
            ahead.extend(target.split("/")[::-1])
        return self.files.get("/".join(stack)) or Fault(
            f"{shown(relative)} is a folder, not a file", "name a file"
        )

    def _passable(self, relative: str, current: str, ahead: list[str]) -> Fault | None:
        """What keeps one from going on through `current`, which is no link; `ahead` is the rest of the way, its end first."""
        found = self.files.get(current)
        if found is None:
            there = current in self.folders
            return None if there else _missing(relative, "/".join([current, *reversed(ahead)]))
        if found.mode == SUBMODULE:
            return Fault(
                f"{shown(current)} is a submodule; its files are not part of this repository",
                "copy the file into the repository",
            )
        return Fault(f"{shown(current)} is a file, not a folder", "mend the path") if ahead else None

    def _target(self, link: SourceFile) -> str | Fault:
        data = self.data(link, MAX_PAYLOAD_BYTES)
        return data if isinstance(data, Fault) else data.decode("utf-8", "surrogateescape")


def shown(path: str) -> str:
    """A path that can be printed: bytes that are not UTF-8 and control characters as escapes."""
    if path.isprintable():
        return path
    readable = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in readable)


def _folders(paths: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found


def _outside(relative: str) -> Fault:
    return Fault(
        f"{shown(relative)} leads outside the repository",
        "keep the file inside, and name it by a relative path",
    )


def _missing(relative: str, current: str) -> Fault:
    where = "" if current == relative else f" (looked for {shown(current)})"
    return Fault(
        f"there is no file {shown(relative)}{where}", "the path is relative to the folder of the manifest"
    )
