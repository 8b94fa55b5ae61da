"""Who is due when: actors in the order of time, woken by writes to what they are interested in."""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from gitops_mc.sandbox.actor import Actor
from gitops_mc.sandbox.behind import FleetServer
from gitops_mc.sandbox.client import Touch
from gitops_mc.sandbox.faults import FOREVER

REACTION = timedelta(seconds=1)
"""From a write to the moment at which an actor that watches has seen it."""

RETRY = timedelta(seconds=10)
"""After an actor failed."""


@dataclass(frozen=True, slots=True)
class ActorFailure:
    """An actor's step that ended in an error. In the real thing: a line in an operator's log, and a retry."""

    at: datetime
    actor: str
    error: Exception


@dataclass(slots=True)
class _Entry:
    actor: Actor
    server: FleetServer
    user: str
    order: int
    due: datetime


class Schedule:
    """The actors of a fleet, each by its name."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._heap: list[tuple[datetime, int, str]] = []
        self._watchers: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        """Names of actors by server, resource and name (`*` for all)."""
        self._servers: dict[str, FleetServer] = {}
        self._read: dict[str, int] = {}
        self._count = 0
        self.failures: list[ActorFailure] = []

    def watch(self, server: FleetServer) -> None:
        """Follow the writes of a server from its beginning."""
        self._servers[server.cluster] = server
        self._read.setdefault(server.cluster, 0)

    def enlist(self, actor: Actor, server: FleetServer, user: str, due: datetime) -> None:
        """Take an actor in. One of the same name is replaced."""
        self.dismiss(actor.name)
        self._count += 1
        self._entries[actor.name] = _Entry(actor, server, user, self._count, FOREVER)
        for resource, name in sorted(actor.interests):
            self._watchers[server.cluster, resource, name].append(actor.name)
        self._set_due(actor.name, due)

    def dismiss(self, name: str) -> None:
        entry = self._entries.pop(name, None)
        if entry is None:
            return
        for resource, target in entry.actor.interests:
            self._watchers[entry.server.cluster, resource, target].remove(name)

    def wake_all(self, now: datetime) -> None:
        for name in self._entries:
            self._set_due(name, now)

    def wake(self, name: str, at: datetime) -> None:
        """Call an actor at this time or before."""
        if name in self._entries:
            self._set_due(name, at)

    def run_due(self, now: datetime) -> datetime:
        """Step every actor that is due, each once, in the order of time; answers when the next one is due."""
        self._read_writes(now)
        due: list[tuple[datetime, int, str]] = []
        while self._heap and self._heap[0][0] <= now:
            due.append(heapq.heappop(self._heap))
        for at, order, name in due:
            entry = self._entries.get(name)
            if entry is not None and entry.order == order and entry.due == at:
                self._step(entry, now)
        self._read_writes(now)
        while self._heap and self._is_void(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else FOREVER

    def _is_void(self, item: tuple[datetime, int, str]) -> bool:
        entry = self._entries.get(item[2])
        return entry is None or entry.order != item[1] or entry.due != item[0]

    def _step(self, entry: _Entry, now: datetime) -> None:
        name = entry.actor.name
        entry.due = FOREVER
        try:
            due = entry.actor.step(now)
        except Exception as error:  # noqa: BLE001 - one actor's bug or trouble must not stop the others
            self.failures.append(ActorFailure(now, name, error))
            due = now + RETRY
        if self._entries.get(name) is entry:
            # what comes at once comes a moment later: nobody may stop the clock
            self._set_due(name, max(due, now + timedelta(milliseconds=1)))

    def _set_due(self, name: str, due: datetime) -> None:
        entry = self._entries[name]
        if due < entry.due:
            entry.due = due
            heapq.heappush(self._heap, (due, entry.order, name))

    def _read_writes(self, now: datetime) -> None:
        for cluster, server in self._servers.items():
            for write in server.writes_after(self._read[cluster]):
                self._read[cluster] = write.seq
                self._tell(cluster, Touch(write.resource.partition(".")[0], write.name, write.user), now)

    def _tell(self, cluster: str, touch: Touch, now: datetime) -> None:
        for key in ((cluster, touch.resource, touch.name), (cluster, touch.resource, "*")):
            for name in self._watchers.get(key, ()):
                entry = self._entries[name]
                if entry.user != touch.user:
                    entry.actor.notice(touch)
                    self._set_due(name, now + REACTION)
