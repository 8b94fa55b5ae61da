"""Files that are to be written into a repository, and where in it they may stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count as numbers
from typing import Final

from gitops_mc.core.model import ResourceKey

_SAFE_STEP: Final = re.compile(r"(?!\.git)[A-Za-z0-9._@+-]{1,100}", re.IGNORECASE)
_MANIFEST: Final = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that is not there yet. `path` is inside the repository, with `/`."""

    path: str
    data: bytes
    private: bool = False
    """Readable by its owner alone: it may hold a secret."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One object as it would stand in the repository: its manifest, and the payload that the manifest names."""

    key: ResourceKey
    manifest: NewFile
    payload: tuple[NewFile, ...] = ()

    @property
    def files(self) -> tuple[NewFile, ...]:
        """Payload first: a manifest never stands there without what it names."""
        return (*self.payload, self.manifest)


class FreePaths:
    """Hands out paths that nothing stands at, also where letters of upper and lower case count as the same."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken: set[str] = set()
        for path in taken:
            self._take(path)

    def manifest(self, folder: str, name: str) -> str:
        """`folder/name.yaml`, or the like where that is taken. `name` is a name that an API server accepts."""
        for candidate in _manifest_names(name):
            path = f"{folder}/{candidate}"
            if self._is_free(path):
                self._take(path)
                return path
        raise AssertionError  # there is always another number

    def payload(self, folder: str, path: str) -> str:
        """`path` (of a file on a node) below `folder`; a numbered name where it is no path that every system can hold."""
        steps = path.strip("/").split("/")
        usual = f"{folder}/{'/'.join(steps)}"
        if all(_SAFE_STEP.fullmatch(step) and step.strip(".") for step in steps) and self._is_free(usual):
            self._take(usual)
            return usual
        found = next(p for n in numbers(1) if self._is_free(p := f"{folder}/file-{n}"))
        self._take(found)
        return found

    def _is_free(self, path: str) -> bool:
        folded = path.casefold()
        if folded in self._taken or f"{folded}/" in self._taken:
            return False
        return not any(above in self._taken for above in _above(folded))

    def _take(self, path: str) -> None:
        folded = path.casefold()
        self._taken.add(folded)
        self._taken.update(f"{above}/" for above in _above(folded))


def _above(path: str) -> Iterator[str]:
    """The folders that a path stands in."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _manifest_names(name: str) -> Iterator[str]:
    yield f"{name}{_MANIFEST[0]}"
    yield f"{name}-imported{_MANIFEST[0]}"
    yield from (f"{name}-imported-{n}{_MANIFEST[0]}" for n in numbers(2))
