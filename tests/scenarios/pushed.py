"""A repository that people push to, and what a process of the controller has fetched of it: a PolledSource in memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from gitops_mc.app.ports import NotAccepted, Polled, Tree, TreeEntry
from gitops_mc.core.errors import SourceError
from gitops_mc.core.model import Commit

BEGINNING = datetime(2026, 1, 5, tzinfo=UTC)


@dataclass
class Server:
    """What the Git server has."""

    commits: dict[str, Mapping[str, str]] = field(default_factory=dict)
    head: str = ""
    down: str = ""
    """Why polls fail at this moment."""
    unsigned: set[str] = field(default_factory=set)
    """Commits that nobody has signed."""
    lost: set[str] = field(default_factory=set)
    """Commits that it gives out no more."""
    before: Callable[[], object] = lambda: None
    """Done before each answer: what takes time takes it here."""

    def push(self, files: Mapping[str, str]) -> str:
        """A new commit on the followed branch."""
        number = f"{len(self.commits)}{json.dumps(dict(files), sort_keys=True)}"
        self.head = hashlib.sha1(number.encode()).hexdigest()
        self.commits[self.head] = dict(files)
        return self.head

    folder: set[str] = field(default_factory=set)
    """Commits in the folder that processes find when they begin."""

    def clone(self, place: Place | None = None) -> Clone:
        """What a process has, in a place of its own where none is given."""
        return Clone(self, kept=set(self.folder), place=place or Place())


@dataclass
class Place:
    """A folder that one source uses at a time."""

    used_by: Clone | None = None


@dataclass
class Clone:
    """The PolledSource."""

    server: Server
    here: set[str] = field(default_factory=set)
    accepted: str = ""
    kept: set[str] = field(default_factory=set)
    """Commits in the folder that the process before has left."""
    polls: int = 0
    place: Place = field(default_factory=Place)
    left: bool = False

    def leave(self) -> None:
        self.left = True
        if self.place.used_by is self:
            self.place.used_by = None

    def poll(self, wanted: frozenset[Commit] = frozenset()) -> Polled | NotAccepted:
        if self.left or self.place.used_by not in (None, self):
            raise SourceError("the cache is in use by another process")
        self.place.used_by = self
        server = self.server
        server.before()
        self.polls += 1
        self.here |= self.kept
        if server.down:
            raise SourceError(server.down)
        gone = frozenset(c for c in wanted - self.here if c in server.lost or c not in server.commits)
        self.here |= wanted - gone
        head = Commit(server.head)
        if head in server.unsigned:
            standing = Commit(self.accepted) if self.accepted else None
            return NotAccepted(head, "refs/heads/main", "nobody has signed it", "sign it", standing, gone)
        self.here.add(head)
        self.accepted = head
        return Polled(head, "refs/heads/main", BEGINNING, "a commit", gone=gone)

    def tree(self, revision: str | None = None) -> Tree:
        commit = revision or self.accepted
        if commit not in self.here:
            raise SourceError(f"commit {commit[:12]} is not kept")
        files = self.server.commits[commit]
        entries = tuple(
            TreeEntry(path, hashlib.sha1(text.encode()).hexdigest(), len(text.encode()), 0o100644)
            for path, text in sorted(files.items())
        )
        return Tree(commit, entries, lambda entry: files[entry.path].encode())
