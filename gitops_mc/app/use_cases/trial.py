"""A repository with files in it that nobody has written yet, read by the reader of the rollout."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_mc.app.ports import Source, Tree, TreeEntry
from gitops_mc.app.reading import ReadingCache, read_desired
from gitops_mc.core.desired import DesiredState

_FILE = 0o100644


@dataclass(frozen=True, slots=True)
class _Overlay:
    """A source with other contents in, or files beside, those of another one."""

    base: Tree
    files: Mapping[str, bytes]

    def tree(self, revision: str | None = None) -> Tree:  # noqa: ARG002 - the port's signature
        entries = {entry.path: entry for entry in self.base.entries}
        ours = {
            path: TreeEntry(path, f"tried-{hashlib.sha256(data).hexdigest()}", len(data), _FILE)
            for path, data in self.files.items()
        }
        return Tree("", tuple(sorted((entries | ours).values(), key=lambda entry: entry.path)), self._read)

    def _read(self, entry: TreeEntry) -> bytes:
        return self.files[entry.path] if entry.path in self.files else self.base.read(entry)


@dataclass(slots=True)
class Trial:
    """One reading of a repository, and what it would say with other files; what has not changed is not parsed twice."""

    tree: Tree
    _cache: ReadingCache = field(default_factory=ReadingCache)

    @classmethod
    def of(cls, source: Source) -> Trial:
        """Raises SourceError."""
        return cls(source.tree())

    def state(self, files: Mapping[str, bytes] | None = None) -> DesiredState:
        """What the repository says with these files in it. Raises SourceError."""
        return read_desired(_Overlay(self.tree, files or {}), None, self._cache)[0]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(entry.path for entry in self.tree.entries)
