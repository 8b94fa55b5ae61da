"""The loop: decide, remember, act and read, wait. All decisions are the core's; here is only the order of things.

Memory is saved before a move is carried out. Every cluster has a job of its own, so one that does not answer delays no
other; its result is taken when it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from gitops_mc.app.act import Outcome, Written, carry_out
from gitops_mc.app.api import ClusterApi
from gitops_mc.app.looks import Keeper, Look, Pace
from gitops_mc.app.observe import (
    ClusterReader,
    Interest,
    NodeReading,
    Platform,
    joined,
    no_platform,
    read_platform,
)
from gitops_mc.app.permit import Permit, Permits
from gitops_mc.app.ports import Clock, MemoryStore, Workers
from gitops_mc.app.troubles import Troubles
from gitops_mc.core.live import Barred, Dark, LiveCluster, unread
from gitops_mc.core.model import (
    MACHINE_CONFIG_MODULE,
    Commit,
    Content,
    DesiredCluster,
    Kind,
    Outage,
    Unknown,
)
from gitops_mc.core.pools import node_selector
from gitops_mc.core.rollout.case import WriteFault, not_understood
from gitops_mc.core.rollout.fleet import next_moves
from gitops_mc.core.rollout.identity import told_apart
from gitops_mc.core.rollout.inputs import NO_ACTS, Acts, Fleet, Observed
from gitops_mc.core.rollout.memory import FleetMemory, from_json
from gitops_mc.core.rollout.moves import Apply, Decision, Move
from gitops_mc.core.rollout.without_git import stopping_moves, unread_fleet

PLATFORM_JOB = "(platform)"
AT_ONCE_ASIDE = 8
"""Jobs that have no part in the rollout; of 32 threads that a controller's Fleet has."""
ONE_LOOK = timedelta(seconds=20)
"""How long a report waits for clusters that are slow to answer."""


@dataclass(frozen=True, slots=True)
class _Result:
    live: LiveCluster
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class _PlatformRead:
    begun: datetime
    platform: Platform


@dataclass(frozen=True, slots=True)
class _Aside:
    """What a job brought that has no part in the rollout."""

    value: object


def _set_aside(job: Callable[[], object]) -> _Aside:
    return _Aside(job())


@dataclass(slots=True)
class Executor:
    """Carries a fleet's rollout out. One at a time for one memory."""

    api: ClusterApi
    clock: Clock
    workers: Workers
    store: MemoryStore
    pace: Pace = field(default_factory=Pace)
    past: Callable[[str, Commit, Content], DesiredCluster | None] = lambda _cluster, _commit, _content: None
    """An earlier content of a cluster, fetched by the commit it was seen at; None when it cannot be had any more."""
    shut: Mapping[str, Barred] = field(default_factory=dict)
    """Clusters for which nothing is decided or written, whatever they answer."""
    permits: Permits = field(default_factory=Permits)
    _live: dict[str, LiveCluster] = field(default_factory=dict)
    _platform: Platform | None = None
    _platform_begun: datetime | None = None
    _modules_written: dict[str, datetime] = field(default_factory=dict)
    """By cluster: when the answer to our last write of its modules came."""
    _readers: dict[str, ClusterReader] = field(default_factory=dict)
    _faults: dict[str, WriteFault] = field(default_factory=dict)
    _read_at: dict[str, datetime] = field(default_factory=dict)
    _troubles: Troubles = field(default_factory=Troubles)
    _asides: dict[str, Any] = field(default_factory=dict)
    _told: tuple[tuple[Written, ...], tuple[str, ...]] = ((), ())
    """What was written, and what did not go through, since the last decision."""

    def memory(self) -> FleetMemory:
        """What is remembered, or first contact."""
        state = self.store.load()
        return FleetMemory() if state is None else from_json(state)

    def rollout(self, fleet: Fleet, acts: Acts = NO_ACTS) -> Iterator[Look]:
        """Look after look, without end: the caller stops when the outlook is final, or leaves."""
        keeper = Keeper(self.store, self.memory(), self.clock.now())
        due = keeper.at + self.pace.every / 2
        self.begin(fleet)
        self.clock.wait(due)  # as long as it takes where one does not answer: nobody's times depend on that
        while True:
            look = self.decide(fleet, keeper.memory, acts)
            keeper.keep(look)
            yield look
            self.go_on(look)
            due = max(due + self.pace.every, self.clock.now())
            self.clock.wait(due)

    @property
    def begun(self) -> bool:
        """Whether anything has been looked at yet."""
        return self._platform_begun is not None or bool(self._live) or bool(self._read_at)

    def asides(self, jobs: Mapping[str, Callable[[], object]]) -> Mapping[str, Any]:
        """What jobs for clusters came to that have no part in the rollout. What is left out has not come back, or had no turn: ask again;
        nothing is decided for the cluster meanwhile. Whatever they wait for, all of them together are waited for no longer than
        half a pace, and hold so few threads that the others are read as ever. What is asked for no more is wanted no more.
        """
        running = self.workers.running()
        missing = [name for name in jobs if name not in self._asides]
        under_way = [name for name in missing if name in running]
        fresh = [name for name in missing if name not in running][: max(0, AT_ONCE_ASIDE - len(under_way))]
        if asked := [*under_way, *fresh]:
            begun: dict[str, Callable[[], object]] = {n: partial(_set_aside, jobs[n]) for n in asked}
            written, troubles = self._collect(
                self.workers.map(begun, within=self.pace.every.total_seconds() / 2)
            )
            self._told = (*self._told[0], *written), (*self._told[1], *troubles)
        found = {name: value for name, value in self._asides.items() if name in jobs}
        self._asides.clear()
        return found

    def begin(self, fleet: Fleet) -> None:
        """The first look at every cluster."""
        self._told = self._settle_reads(fleet, {}, everything=frozenset(c.name for c in fleet.clusters))

    def decide(self, fleet: Fleet, memory: FleetMemory, acts: Acts) -> Look:
        """One decision on what was read last. Its memory has to be durable before `go_on`."""
        now = self.clock.now()
        fleet = self.with_past(fleet, memory)
        observed = self._observed(fleet, memory, now)
        decision, memory = next_moves(fleet, memory, observed, now, acts)
        return Look(now, decision, memory, *self._told, fleet, observed.live)

    def decide_without_git(self, memory: FleetMemory, acts: Acts) -> Look:
        """One decision while nobody knows what Git says: an abort stops what rolls, and nothing else is done."""
        now, fleet = self.clock.now(), unread_fleet(memory)
        observed = self._observed(fleet, memory, now)
        decision = stopping_moves(fleet, memory, observed, acts)
        return Look(now, decision, memory, *self._told, fleet, observed.live)

    def _observed(self, fleet: Fleet, memory: FleetMemory, now: datetime) -> Observed:
        live = {
            name: replace(x, dark=_barred(self.shut[name], now)) if name in self.shut else x
            for name, x in told_apart(self._joined(fleet), memory, now).items()
        }
        return Observed(live, self.workers.running() - {PLATFORM_JOB}, dict(self._faults))

    def go_on(self, look: Look) -> None:
        """Carry out what was decided, and read what the next decision needs; takes at most half a pace."""
        moves = {move.cluster: move for move in look.decision.moves}
        contents = {name: look.memory.cluster(name).started for name in moves}
        self._told = self._settle_reads(
            look.fleet,
            {
                n: partial(self._act, m, contents[n] or Content(""), self.permits.current)
                for n, m in moves.items()
            },
            everything=self._wanted(look.fleet, look.decision, look.at),
        )

    # ------------------------------------------------------------------------------------------------------- reading

    def observe(
        self, fleet: Fleet, interest: Interest, memory: FleetMemory | None = None
    ) -> Mapping[str, LiveCluster]:
        """One whole look at every cluster of the fleet, for plans and reports; one that is slow counts as dark. `memory`: what
        was loaded already.
        """
        jobs: dict[str, Callable[[], object]] = {
            c.name: partial(self._read, c.name, replace(interest, components=_manages_operator(c)))
            for c in fleet.clusters
        }
        jobs[PLATFORM_JOB] = self._read_platform
        self._collect(self.workers.map(jobs, within=ONE_LOOK.total_seconds()))
        slow = self.workers.running()
        late = Dark(
            f"no answer within {ONE_LOOK.total_seconds():.0f} seconds", Outage.UNREACHABLE, self.clock.now()
        )
        seen = told_apart(self._joined(fleet), memory or self.memory(), self.clock.now())
        return {name: replace(x, dark=x.dark or late) if name in slow else x for name, x in seen.items()}

    def _wanted(self, fleet: Fleet, decision: Decision, now: datetime) -> frozenset[str]:
        wanted = set()
        for cluster in fleet.clusters:
            name = cluster.name
            live = self._live.get(name)
            if live is not None and live.dark is not None:
                pace = self.pace.probe_every
            else:
                pace = self.pace.every if name in decision.attention else self.pace.quiet_every
            if name not in self._read_at or now - self._read_at[name] >= pace - self.pace.every / 2:
                wanted.add(name)
        return frozenset(wanted)

    def _settle_reads(
        self, fleet: Fleet, acts: Mapping[str, Callable[[], Outcome]], everything: frozenset[str]
    ) -> tuple[tuple[Written, ...], tuple[str, ...]]:
        clusters = {c.name: c for c in fleet.clusters}
        jobs: dict[str, Callable[[], object]] = {}
        for name in sorted(everything | acts.keys()):
            interest = self._interest(clusters[name])
            jobs[name] = partial(self._act_and_read, name, interest, acts.get(name))
            self._read_at[name] = self.clock.now()
        jobs[PLATFORM_JOB] = self._read_platform
        return self._collect(self.workers.map(jobs, within=self.pace.every.total_seconds() / 2))

    def _collect(self, results: Mapping[str, object]) -> tuple[tuple[Written, ...], tuple[str, ...]]:
        written: list[Written] = []
        troubles: list[str] = []
        for name, result in results.items():
            match result:
                case _PlatformRead():
                    self._platform, self._platform_begun = result.platform, result.begun
                case _Aside():
                    self._asides[name] = result.value
                case _Result():
                    self._live[name] = result.live
                    written += result.outcome.written
                    if result.outcome.fault is not None:
                        self._faults[name] = result.outcome.fault
                    if result.outcome.trouble:
                        troubles.append(f"{name}: {result.outcome.trouble}")
                case Exception() if name != PLATFORM_JOB:
                    self._live[name] = self._dark(name, result)
                case BaseException():
                    raise result
        return tuple(written), tuple(troubles)

    def _dark(self, cluster: str, error: Exception) -> LiveCluster:
        """A cluster whose answers cannot be read, by a fault of theirs or of ours: the others go on without it."""
        now = self.clock.now()
        before = self._live.get(cluster) or unread(cluster, now)
        since = before.dark.since if before.dark is not None else now
        return replace(before, dark=Dark(not_understood(error), Outage.OTHER, since))

    def _interest(self, cluster: DesiredCluster) -> Interest:
        moves = _moves_nodes(cluster, self._live.get(cluster.name))
        return Interest(
            nodes=NodeReading.ALWAYS if moves else NodeReading.WHEN_NEEDED,
            components=_manages_operator(cluster),
            releases=bool(cluster.of_kind(Kind.MODULE_INFO)),
        )

    def _joined(self, fleet: Fleet) -> Mapping[str, LiveCluster]:
        now = self.clock.now()
        platform = self._platform or no_platform(now)
        found = {
            c.name: joined(self._live.get(c.name) or unread(c.name, now), platform) for c in fleet.clusters
        }
        return {
            name: replace(live, modules=Unknown("global was read before our last write was answered", now))
            if self._platform_is_older(name)
            else live
            for name, live in found.items()
        }

    def _platform_is_older(self, cluster: str) -> bool:
        """Whether global was read before a write for this cluster was answered: decided on that, a module would be
        created twice.
        """
        written, begun = self._modules_written.get(cluster), self._platform_begun
        return written is not None and (begun is None or begun <= written)

    def _read_platform(self) -> _PlatformRead:
        begun = self.clock.now()
        return _PlatformRead(begun, read_platform(self.api, self.clock, self._platform or no_platform(begun)))

    def _read(self, cluster: str, interest: Interest) -> _Result:
        return self._act_and_read(cluster, interest, None)

    def _act_and_read(self, cluster: str, interest: Interest, act: Callable[[], Outcome] | None) -> _Result:
        outcome = act() if act is not None else Outcome()
        reader = self._readers.setdefault(cluster, ClusterReader(self.api, cluster, self.clock))
        return _Result(reader.read(self._live.get(cluster), interest), outcome)

    def _act(self, move: Move, content: Content, permit: Permit) -> Outcome:
        tried = carry_out(self.api.under(permit), self.clock, move, content)
        outcome = self._troubles.bounded(move.cluster, tried, content, self.clock.now())
        if isinstance(move, Apply) and any(w.key.kind is Kind.MODULE_INFO for w in move.writes):
            self._modules_written[move.cluster] = self.clock.now()
        return outcome

    def with_past(self, fleet: Fleet, memory: FleetMemory) -> Fleet:
        """The fleet with the contents that clusters still stand at, as far as they can be had."""
        contents = {name: dict(known) for name, known in fleet.contents.items()}
        for cluster in fleet.clusters:
            m = memory.cluster(cluster.name)
            known = contents.setdefault(cluster.name, {})
            for content, commit in m.stands_at:
                if content == cluster.content or content in known:
                    continue
                found = self.past(cluster.name, commit, content)
                if found is not None:
                    known[content] = found
        return replace(fleet, contents=contents)


def _barred(barred: Barred, now: datetime) -> Dark:
    return Dark(barred.reason, Outage.BARRED, now, barred.lift)


def _moves_nodes(cluster: DesiredCluster, live: LiveCluster | None) -> bool:
    """Whether a pool in Git selects other nodes than its live one, or may: the live ones have not been read. Which pools
    give nodes to it is then to be known before the step begins; otherwise every pool of the cluster would be taken into it.
    """
    pools = live.pools if live is not None else None
    known = {} if pools is None or isinstance(pools, Unknown) else pools.value
    return any(
        node_selector(manifest.body) != node_selector(known.get(manifest.key.name, {}))
        for manifest in cluster.of_kind(Kind.MACHINE_CONFIG_POOL)
        if node_selector(manifest.body) is not None
    )


def _manages_operator(cluster: DesiredCluster) -> bool:
    return any(m.key.name == MACHINE_CONFIG_MODULE for m in cluster.of_kind(Kind.MODULE_INFO))
