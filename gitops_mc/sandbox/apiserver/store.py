"""What the server keeps: objects by resource, the log of events that watches read, and the log of accepted writes.

Objects are immutable by convention: a write puts a new dict in the place of the old one, so the serialised bytes of
each version are made once, and snapshots, events and the write log cost a reference each.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from threading import RLock
from typing import Any, Literal, TypeAlias

from gitops_mc.sandbox.apiserver.answers import encode, gone
from gitops_mc.sandbox.apiserver.managed import Managers
from gitops_mc.sandbox.apiserver.resources import Resource
from gitops_mc.sandbox.apiserver.selectors import FieldTest, LabelTest

Key: TypeAlias = tuple[str, str]
"""Namespace (`""` for cluster-scoped objects) and name."""

EVENT_HISTORY = 20_000
SNAPSHOTS = 64
BOOKMARK_SECONDS = 60.0


@dataclass(slots=True)
class Stored:
    """One version of one object, with the serialised forms that have been asked for."""

    obj: dict[str, Any]
    version: int
    owners: Managers
    """Who owns which fields, as metadata.managedFields says."""
    _body: bytes | None = None
    _item: bytes | None = None
    _partial: bytes | None = None

    @property
    def labels(self) -> dict[str, str]:
        return self.obj["metadata"].get("labels") or {}

    def body(self) -> bytes:
        if self._body is None:
            self._body = encode(self.obj)
        return self._body

    def item(self, resource: Resource) -> bytes:
        """As an element of a list: elements of built-in kinds do not carry apiVersion and kind."""
        if not resource.built_in:
            return self.body()
        if self._item is None:
            self._item = encode({k: v for k, v in self.obj.items() if k not in ("apiVersion", "kind")})
        return self._item

    def forget_bytes(self) -> None:
        """When a newer version takes its place: the bytes can be made again, should a watch still ask for them."""
        self._body = self._item = self._partial = None

    def partial(self) -> bytes:
        if self._partial is None:
            self._partial = encode(partial(self.obj))
        return self._partial


def partial(obj: dict[str, Any]) -> dict[str, Any]:
    """The metadata alone, as PartialObjectMetadata."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": obj["metadata"],
    }


WriteVerb: TypeAlias = Literal["create", "update", "patch", "apply", "delete"]


@dataclass(frozen=True, slots=True)
class AcceptedWrite:
    """A write that was persisted. Dry runs, refused writes and writes that changed nothing leave none."""

    seq: int
    """From 1, without gaps."""
    time: datetime
    user: str
    manager: str
    verb: WriteVerb
    resource: str
    """Plural name and group: `machineconfigs.machineconfiguration.alauda.io`, `nodes`."""
    namespace: str
    name: str
    subresource: str
    resource_version: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    """None when the object is gone with this write."""


EventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]


@dataclass(frozen=True, slots=True)
class Event:
    version: int
    resource: Resource
    type: EventType
    now: Stored
    before: Stored | None


class Table:
    """The objects of one resource, in the order of their keys."""

    def __init__(self) -> None:
        self._objects: dict[Key, Stored] = {}
        self._keys: list[Key] = []

    def get(self, key: Key) -> Stored | None:
        return self._objects.get(key)

    def put(self, key: Key, stored: Stored) -> None:
        if key in self._objects:
            self._objects[key].forget_bytes()
        else:
            insort(self._keys, key)
        self._objects[key] = stored

    def drop(self, key: Key) -> None:
        del self._objects[key]
        del self._keys[bisect_left(self._keys, key)]

    def scan(self, namespace: str) -> Iterator[tuple[Key, Stored]]:
        """All objects, or those of one namespace."""
        for key in self._keys:
            if not namespace or key[0] == namespace:
                yield key, self._objects[key]


@dataclass(slots=True)
class Store:
    """The state of one server. `version` is the resourceVersion of the last write."""

    lock: AbstractContextManager[object] = field(default_factory=RLock)
    """The one lock of the server; watches are read under it as well."""
    version: int = 1
    tables: dict[str, Table] = field(default_factory=dict)
    events: deque[Event] = field(default_factory=lambda: deque(maxlen=EVENT_HISTORY))
    first_event: int = 0
    """Number of events that have been dropped: the position of `events[0]` since the beginning."""
    compacted: int = 1
    """Watches and continue tokens older than this resourceVersion have expired."""
    snapshots: OrderedDict[tuple[str, int], tuple[tuple[Key, Stored], ...]] = field(
        default_factory=OrderedDict
    )

    def table(self, resource: Resource) -> Table:
        return self.tables.setdefault(resource.id, Table())

    def next_version(self) -> int:
        self.version += 1
        return self.version

    def record(self, event: Event) -> None:
        if len(self.events) == EVENT_HISTORY:
            self.compacted = self.events[0].version
            self.first_event += 1
        self.events.append(event)

    def compact(self) -> None:
        """Forget history, as etcd's compaction does every few minutes."""
        self.first_event += len(self.events)
        self.events.clear()
        self.snapshots.clear()
        self.compacted = self.version

    def keep_snapshot(self, resource: Resource, rows: Sequence[tuple[Key, Stored]]) -> None:
        self.snapshots[resource.id, self.version] = tuple(rows)
        while len(self.snapshots) > SNAPSHOTS:
            self.snapshots.popitem(last=False)

    def snapshot(self, resource: Resource, version: int) -> tuple[tuple[Key, Stored], ...]:
        """The rows that a first page was taken from. Raises 410 when they are forgotten."""
        rows = self.snapshots.get((resource.id, version))
        if rows is None:
            raise gone(
                "The provided continue parameter is too old to display a consistent list result. You can start a "
                "new list without the continue parameter."
            )
        return rows


@dataclass(slots=True, kw_only=True)
class Watch:
    """A watch being read: `poll` gives the lines that are ready. It ends (`closed`) after an ERROR event."""

    store: Store
    resource: Resource
    namespace: str
    labels: LabelTest
    fields: FieldTest
    write: Callable[[Stored], bytes]
    """The form that objects are sent in."""
    bookmarks: Literal["sent", "none"]
    position: int
    """Position in the event log of the next event to look at."""
    now: Callable[[], datetime]
    clock: datetime
    """When the last line was sent."""
    pending: list[bytes] = field(default_factory=list)
    closed: bool = False
    sent: int = 0

    def poll(self) -> tuple[bytes, ...]:
        """Newline-terminated JSON events that are available now, in order."""
        with self.store.lock:
            return self._poll(self.now())

    def _poll(self, now: datetime) -> tuple[bytes, ...]:
        lines, self.pending = self.pending, []
        if not self.closed:
            lines.extend(self._news())
        if lines:
            self.clock = now
        elif self._bookmark_due(now):
            self.clock, self.sent = now, self.store.version
            lines = [self.bookmark()]
        return tuple(lines)

    def close(self) -> None:
        self.closed = True

    def _bookmark_due(self, now: datetime) -> bool:
        waited = (now - self.clock).total_seconds() >= BOOKMARK_SECONDS
        return waited and not self.closed and self.bookmarks == "sent" and self.store.version > self.sent

    def _news(self) -> Iterator[bytes]:
        store, mine = self.store, self.resource.id
        if self.position < store.first_event:
            self.closed = True
            yield error_line(f"too old resource version: {self.sent} ({store.compacted})")
            return
        for at in range(self.position - store.first_event, len(store.events)):
            event = store.events[at]
            if event.resource.id == mine and (line := self._line(event)):
                self.sent = event.version
                yield line
        self.position = store.first_event + len(store.events)

    def _line(self, event: Event) -> bytes | None:
        is_in, was_in = self._selects(event.now), event.before is not None and self._selects(event.before)
        match event.type, is_in, was_in:
            case "DELETED", _, True:
                return self.line("DELETED", event.now)
            case "DELETED", _, False:
                return None
            case _, True, False:
                return self.line("ADDED", event.now)
            case _, True, True:
                return self.line("MODIFIED", event.now)
            case _, False, True:
                return self.line("DELETED", event.now)
            case _:
                return None

    def _selects(self, stored: Stored) -> bool:
        if self.namespace and stored.obj["metadata"].get("namespace") != self.namespace:
            return False
        return self.labels(stored.labels) and self.fields(stored.obj)

    def line(self, kind: EventType, stored: Stored) -> bytes:
        return _line(kind, self.write(stored))

    def bookmark(self, annotations: dict[str, str] | None = None) -> bytes:
        """A line that says how far the watch has come."""
        version = self.store.version
        metadata: dict[str, Any] = {"resourceVersion": str(version)}
        if annotations:
            metadata["annotations"] = annotations
        obj = {"kind": self.resource.kind, "apiVersion": self.resource.api_version, "metadata": metadata}
        return _line("BOOKMARK", self.write(Stored(obj, version, {})))


def _line(kind: str, body: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + body + b"}\n"


def error_line(message: str) -> bytes:
    return encode({"type": "ERROR", "object": gone(message).status()}) + b"\n"
