"""What the application needs of the outside world. Adapters implement these; only bootstrap connects them.

Blocking happens in three ports only: `Transport.send`, `Clock.wait` and `Workers.map`. That is what lets the same
code run on real time, on scaled time, and on deterministic virtual time in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Protocol, TypeVar

from gitops_mc.core.model import Commit, JsonObject

T = TypeVar("T")

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@dataclass(frozen=True, slots=True)
class Request:
    """One call to an API server, as bytes. `path` begins with `/` and is below the cluster's root (`/apis/...`)."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    content_type: str = JSON
    accept: str = JSON
    token: str = field(default="", repr=False)
    """Bearer token; filled in by the transport that has it, never by its caller."""


@dataclass(frozen=True, slots=True)
class Response:
    """What the server answered, whatever the status. `headers` are lower-case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


class Transport(Protocol):
    """Carries one request to one cluster of the fleet and brings the answer.

    `cluster` is the name of a workload cluster, or `global`. Answers of every status are returned as they are.
    Raises `UnreachableError` when there is no answer within `timeout` seconds. Does not retry.
    """

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response: ...


class Clock(Protocol):
    """Time, real, scaled or virtual. `now` is aware, in UTC."""

    def now(self) -> datetime: ...

    def wait(self, until: datetime) -> None:
        """Return at `until` or soon after; at once if that has passed."""
        ...


class Workers(Protocol):
    """A bounded pool. At most one job a key runs at a time."""

    def map(self, jobs: Mapping[str, Callable[[], T]], *, within: float) -> Mapping[str, T | BaseException]:
        """Start the jobs whose key is not running yet, wait at most `within` seconds, and return what is finished,
        jobs of earlier calls included. What is not finished goes on, and comes with a later call (which may start
        nothing: `map({}, within=...)`). So one dark cluster delays no other.
        """
        ...

    def running(self) -> frozenset[str]:
        """Keys of the jobs that have not been returned yet."""
        ...

    def close(self, *, within: float = 0.0) -> frozenset[str]:
        """Start nothing more, and wait at most so many seconds for what runs; the keys of what still does."""
        ...


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of the repository at one revision. `blob` is the content's id: equal ids, equal bytes."""

    path: str
    blob: str
    size: int
    mode: int
    """Git mode: 0o100644, 0o100755, 0o120000 (link), 0o160000 (submodule)."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A repository at one revision, files only, ordered by path."""

    commit: str
    """Commit id, or `""` for a plain folder."""
    entries: tuple[TreeEntry, ...]
    read: Callable[[TreeEntry], bytes] = field(compare=False)
    """Content of an entry; for a link, its target. Raises SourceError."""


class Source(Protocol):
    """Where desired state comes from: a folder, or a Git repository."""

    def tree(self, revision: str | None = None) -> Tree:
        """The tree at a revision (branch, tag or commit; None: the one this source follows). Raises SourceError
        when the repository, the revision or an object is missing: that is never an empty tree.
        """
        ...


@dataclass(frozen=True, slots=True)
class Polled:
    """A source was asked, and the commit it stands at is the one to follow; `tree` of the source gives it."""

    commit: Commit
    ref: str
    """The full name of what is followed; for the default branch the one that the server calls so."""
    at: datetime
    """When it was committed, as its author's machine said."""
    subject: str
    """The first line of its message."""
    signer: str = ""
    """Who signed it; empty where no signature is asked for."""
    rewritten: bool = False
    """The commit before does not lead to this one: history was rewritten (a forced push, a tag that was moved)."""
    gone: frozenset[Commit] = frozenset()
    """Wanted commits that the server no longer gives out, and that are not here either."""
    renewed: bool = False
    """What was kept here was damaged, and has been fetched anew."""


@dataclass(frozen=True, slots=True)
class NotAccepted:
    """A source was asked, and the commit it stands at is not to be used. The one before stays."""

    commit: Commit
    ref: str
    reason: str
    hint: str
    standing: Commit | None
    """The newest commit that was accepted; None: there has been none yet."""
    gone: frozenset[Commit] = frozenset()
    """As in `Polled`."""


class PolledSource(Source, Protocol):
    """A source that is elsewhere. Only `poll` goes there; `tree` reads what polls brought, and never waits for anybody."""

    def poll(self, wanted: frozenset[Commit] = frozenset()) -> Polled | NotAccepted:
        """Ask where the source stands and bring what is new, and the `wanted` commits, which clusters still stand at.

        Raises SourceError (`transient`: a later poll may succeed with nothing changed here) and keeps everything readable that
        was. Bounded in time and size. One at a time.
        """
        ...

    def leave(self) -> None:
        """It is followed no more: whatever it holds (a folder, a lock) is let go, at once or when the poll that runs is over.
        Returns at once. Polls and trees that are asked for later raise SourceError.
        """
        ...


class MemoryStore(Protocol):
    """Where the rollout's memory is kept. One writer at a time: a second one is refused when it opens the store."""

    def load(self) -> JsonObject | None:
        """What was saved last, or None on first contact. Raises MemoryStoreError when it is there but unreadable."""
        ...

    def save(self, state: JsonObject) -> None:
        """Durable when it returns: after a crash `load` gives this state, whole. Raises MemoryStoreError."""
        ...
