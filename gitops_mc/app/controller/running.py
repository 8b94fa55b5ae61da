"""The controller: lead, or wait to lead; and while leading, one loop a Fleet, each with passes of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol

from gitops_mc.app.api import ClusterApi
from gitops_mc.app.controller.fleet_loop import FleetLoop
from gitops_mc.app.controller.lease import Leadership, LeadershipLostError
from gitops_mc.app.controller.objects import FLEET
from gitops_mc.app.ports import Clock
from gitops_mc.core.custom.requests import PREFIX, Verb
from gitops_mc.core.errors import GitopsMcError
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject, annotations_of, name_of, resource_version

_NAP: Final = timedelta(seconds=0.25)
"""How long a push may go unnoticed."""
LAST_CALLS: Final = 3.0
"""Seconds that calls which are under way get to end in, of all Fleets together where the process ends."""


@dataclass(frozen=True, slots=True)
class Tempo:
    """How often the controller looks at what."""

    busy: timedelta = timedelta(seconds=2)
    """Between two passes of a fleet that rolls."""
    quiet: timedelta = timedelta(seconds=10)
    """Between two passes of a fleet where nothing is awaited: how long an order of a human may go unseen."""
    fleets: timedelta = timedelta(seconds=10)
    """Between two lists of the Fleets."""
    after_a_bug: timedelta = timedelta(seconds=60)


class Attendant(Protocol):
    """Hears of the controller itself. Never raises, never waits."""

    def beat(self, at: datetime) -> None:
        """The loop goes round."""
        ...

    def led(self, leadership: Leadership) -> None: ...

    def listed(self, fleets: frozenset[str]) -> None: ...

    def troubled(self, fleet: str, reason: str) -> None:
        """Something could not be done for a Fleet, by `<namespace>/<name>`; it is tried again."""
        ...

    def failed(self, fleet: str, error: BaseException) -> None:
        """A fault of this program, to be reported; the Fleet's loop begins anew after a while."""
        ...


@dataclass(slots=True)
class Controller:
    """One process of the controller."""

    api: ClusterApi
    clock: Clock
    namespace: str
    leadership: Leadership
    open_loop: Callable[[str], FleetLoop]
    """Makes the loop of a Fleet, by name."""
    attendant: Attendant
    outside: ClusterApi
    """Without the guard of the lease: for what a process on standby may do, too."""
    upkeep: Callable[[frozenset[str]], None]
    """Called after each list with the Fleets' names, leading or not. Raises nothing."""
    tempo: Tempo = field(default_factory=Tempo)
    farewell: Callable[[], object] = lambda: None
    """Called once the end has been asked for, while the lease is still held. Raises nothing, and takes two seconds at most."""
    loops: dict[str, FleetLoop] = field(default_factory=dict)
    _due: dict[str, datetime] = field(default_factory=dict)
    _listed: datetime | None = None
    _pushed: deque[str] = field(default_factory=deque)
    """Fleets that somebody has pushed to since the last turn; filled by other threads, and all that they touch."""

    def run(self, stopping: Callable[[], bool]) -> None:
        """Until `stopping` says so; then the lease is given up. Raises LeadershipLostError: the process is to end at once."""
        while not stopping():
            try:
                self.tick()
            except LeadershipLostError:
                if not stopping():
                    raise
                break  # a write that was not sent any more because the end was asked for
            self._rest(self.next_turn(), stopping)
        self.farewell()
        end = self.clock.now() + timedelta(seconds=LAST_CALLS)
        for loop in self.loops.values():  # what is under way is over before another process may begin
            loop.close(within=max(0.0, (end - self.clock.now()).total_seconds()))
        self.leadership.give_up()

    def _rest(self, until: datetime, stopping: Callable[[], bool]) -> None:
        """Until a time, or until somebody has pushed."""
        while (now := self.clock.now()) < until and not self._pushed and not stopping():
            self.clock.wait(min(until, now + _NAP))

    def tick(self) -> None:
        """One turn."""
        self.attendant.beat(self.clock.now())
        self.leadership.tick()
        self.attendant.led(self.leadership)
        self._list()
        self._wake_up()
        if not self.leadership.leads:
            return
        for name in sorted(self.loops):
            due = self._due.get(name)
            if due is None or self.clock.now() >= due:
                self._step(name, self.loops[name])
                self.leadership.tick()

    def wake(self, fleet: str) -> bool:
        """Somebody has pushed: ask the repository of this Fleet soon. False: there is none of this name. Any thread."""
        if fleet not in self.loops:
            return False
        self._pushed.append(fleet)
        return True

    def _wake_up(self) -> None:
        """Carry out what other threads have asked for."""
        pushed = {self._pushed.popleft() for _ in range(len(self._pushed))}
        for fleet in sorted(pushed & self.loops.keys()):
            if self.leadership.leads:
                self.loops[fleet].wake()
                self._due.pop(fleet, None)
            else:
                self._knock(fleet)

    def _step(self, name: str, loop: FleetLoop) -> None:
        begun = self.clock.now()
        pause = self.tempo.busy
        try:
            if not loop.step():
                self._forget(name)
                return
            answer_awaited = loop.poller is not None and loop.poller.asking
            pause = self.tempo.quiet if loop.quiet and not answer_awaited else self.tempo.busy
        except LeadershipLostError:
            raise
        except Exception as error:  # noqa: BLE001 - a bug in one fleet's loop must not stop the others
            self.attendant.failed(name, error)
            loop.broke(error)
            self._forget(name)  # the next list opens another one
            self._listed = None
            pause = self.tempo.after_a_bug
        self._due[name] = begun + pause

    def _knock(self, fleet: str) -> None:
        """Tell the leader, by the request that people make, too. One that does not get through is made up for by the next poll. A
        Fleet that another installation acts for is only read here, whoever leads.
        """
        with suppress(GitopsMcError):
            body = self.outside.get(GLOBAL_CLUSTER, FLEET, fleet, namespace=self.namespace)
            if (body.get("spec") or {}).get("activeOn") not in {None, "", self.loops[fleet].means.identity}:
                return
            notes = {**annotations_of(body), f"{PREFIX}{Verb.SYNC.value}": "{by: webhook}"}
            version = {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version(body)}
            patch: list[JsonObject] = [
                version,
                {"op": "add", "path": "/metadata/annotations", "value": notes},
            ]
            self.outside.json_patch(GLOBAL_CLUSTER, FLEET, fleet, patch, namespace=self.namespace)

    def _list(self) -> None:
        now = self.clock.now()
        if self._listed is not None and now - self._listed < self.tempo.fleets:
            return
        try:
            heads = self.api.list_metadata(GLOBAL_CLUSTER, FLEET, namespace=self.namespace)
        except LeadershipLostError:
            raise
        except GitopsMcError:
            return  # what was there is still followed; each loop says what it cannot read
        self._listed = now
        names = frozenset(name_of(h) for h in heads)
        for name in sorted(names - self.loops.keys()):
            self._open(name)
        for name in self.loops.keys() - names:
            self._forget(name)
        self.attendant.listed(names)
        self.upkeep(names)

    def _open(self, name: str) -> None:
        """Open the loop of a Fleet; where that is not possible now, it is tried again with the next list."""
        try:
            self.loops[name] = self.open_loop(name)
        except GitopsMcError as error:
            self.attendant.troubled(f"{self.namespace}/{name}", error.message)

    def _forget(self, name: str) -> None:
        """Nothing of it goes on: what it has sent is over before another loop of this Fleet may begin."""
        loop = self.loops.pop(name, None)
        if loop is not None:
            loop.close(within=LAST_CALLS)
        self._due.pop(name, None)

    def fleet(self, title: str) -> JsonObject:
        """A Fleet by `<namespace>/<name>`, as its loop has read it last; empty: it has no loop, or that has not read it yet. Any thread."""
        namespace, _, name = title.rpartition("/")
        loop = self.loops.get(name) if namespace == self.namespace else None
        return {} if loop is None else loop.objects.fleet

    def next_turn(self) -> datetime:
        """When the next turn is due."""
        now = self.clock.now()
        lease = now + self.leadership.terms.renew_every
        if not self.leadership.leads:
            return lease
        return max(now, min([lease, now + self.tempo.busy, *self._due.values()]))
