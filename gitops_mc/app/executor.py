"""The loop: decide, remember, act and read, wait. All decisions are the core's; here is only the order of things.

Memory is saved before a move is carried out. Every cluster has a job of its own, so one that does not answer delays no
other; its result is taken when it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from gitops_mc.app.act import Outcome, Written, carry_out
from gitops_mc.app.api import ClusterApi
from gitops_mc.app.observe import (
    ClusterReader,
    Interest,
    NodeReading,
    Platform,
    joined,
    no_platform,
    read_platform,
)
from gitops_mc.app.ports import Clock, MemoryStore, Workers
from gitops_mc.core.live import Dark, LiveCluster, unread
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
from gitops_mc.core.rollout.fleet import UNWATCHED, next_moves
from gitops_mc.core.rollout.identity import told_apart
from gitops_mc.core.rollout.inputs import NO_ACTS, Acts, Fleet, Observed
from gitops_mc.core.rollout.memory import FleetMemory, from_json, to_json, without_clocks
from gitops_mc.core.rollout.moves import Apply, Decision, Move

PLATFORM_JOB = "(platform)"
STALE_LIMIT = 10
TROUBLE_LIMIT = timedelta(minutes=15)
"""How long a cluster that answers may let no write through before that is a fault."""
CLOCKS_SAVED_EVERY = timedelta(seconds=10)
"""What a crash may take from the clocks; everything else is saved at once."""
ONE_LOOK = timedelta(seconds=20)
"""How long a report waits for clusters that are slow to answer."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often to look. All passes stand on one grid, so that a slow cluster shifts no other's times."""

    every: timedelta = timedelta(seconds=2)
    quiet_every: timedelta = timedelta(seconds=30)
    """How often clusters are read where nothing is awaited."""
    probe_every: timedelta = timedelta(seconds=15)
    """How often a cluster is asked that did not answer the last time."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one pass came to; for progress."""

    at: datetime
    decision: Decision
    memory: FleetMemory
    written: tuple[Written, ...]
    troubles: tuple[str, ...]
    """Writes that did not go through this time."""
    live: Mapping[str, LiveCluster] = field(default_factory=dict)
    """What the decision was made from, by cluster."""


@dataclass(frozen=True, slots=True)
class Troubled:
    """Moves in a row that did not go through: how many of the last ones were stale, since when none has, and for how long
    that was seen: a clock that jumps between two of them counts for no more than UNWATCHED.
    """

    stale: int
    since: datetime
    last: datetime
    seen: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class _Result:
    live: LiveCluster
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class _PlatformRead:
    begun: datetime
    platform: Platform


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
    _live: dict[str, LiveCluster] = field(default_factory=dict)
    _platform: Platform | None = None
    _platform_begun: datetime | None = None
    _modules_written: dict[str, datetime] = field(default_factory=dict)
    """By cluster: when the answer to our last write of its modules came."""
    _readers: dict[str, ClusterReader] = field(default_factory=dict)
    _faults: dict[str, WriteFault] = field(default_factory=dict)
    _read_at: dict[str, datetime] = field(default_factory=dict)
    _troubled: dict[str, Troubled] = field(default_factory=dict)
    """By cluster: moves in a row that did not go through."""

    def memory(self) -> FleetMemory:
        """What is remembered, or first contact."""
        state = self.store.load()
        return FleetMemory() if state is None else from_json(state)

    def rollout(self, fleet: Fleet, acts: Acts = NO_ACTS) -> Iterator[Look]:
        """Look after look, without end: the caller stops when the outlook is final, or leaves."""
        memory = self.memory()
        saved, saved_at = memory, self.clock.now()
        due = saved_at + self.pace.every / 2
        written, troubles = self._settle_reads(
            fleet, {}, everything=frozenset(c.name for c in fleet.clusters)
        )
        self.clock.wait(due)  # as long as it takes where one does not answer: nobody's times depend on that
        while True:
            now = self.clock.now()
            fleet = self.with_past(fleet, memory)
            observed = Observed(
                told_apart(self._joined(fleet), memory, now),
                self.workers.running() - {PLATFORM_JOB},
                dict(self._faults),
            )
            decision, memory = next_moves(fleet, memory, observed, now, acts)
            due_to_save = now - saved_at >= CLOCKS_SAVED_EVERY
            if memory != saved and (
                decision.moves or due_to_save or without_clocks(memory) != without_clocks(saved)
            ):
                self.store.save(to_json(memory))
                saved, saved_at = memory, now
            yield Look(now, decision, memory, written, troubles, observed.live)
            moves = {move.cluster: move for move in decision.moves}
            contents = {name: memory.cluster(name).started for name in moves}
            written, troubles = self._settle_reads(
                fleet,
                {n: partial(self._act, m, contents[n] or Content("")) for n, m in moves.items()},
                everything=self._wanted(fleet, decision, now),
            )
            due = max(due + self.pace.every, self.clock.now())
            self.clock.wait(due)

    # ------------------------------------------------------------------------------------------------------- reading

    def observe(self, fleet: Fleet, interest: Interest) -> Mapping[str, LiveCluster]:
        """One whole look at every cluster of the fleet, for plans and reports; one that is slow counts as dark."""
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
        seen = told_apart(self._joined(fleet), self.memory(), self.clock.now())
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

    def _act(self, move: Move, content: Content) -> Outcome:
        outcome = self._bounded(move.cluster, carry_out(self.api, self.clock, move, content), content)
        if isinstance(move, Apply) and any(w.key.kind is Kind.MODULE_INFO for w in move.writes):
            self._modules_written[move.cluster] = self.clock.now()
        return outcome

    def _bounded(self, cluster: str, outcome: Outcome, content: Content) -> Outcome:
        """Trouble with writes has an end: stale on every fresh look (the server tells a failed test of a patch from no
        other patch that does not fit), or no success for a long time, is a fault that a human is told of.
        """
        if outcome.about is None:
            self._troubled.pop(cluster, None)
            return outcome
        now = self.clock.now()
        began = self._troubled.get(cluster, Troubled(0, now, now))
        stale = began.stale + 1 if outcome.stale else 0
        seen = began.seen + min(now - began.last, UNWATCHED)
        self._troubled[cluster] = Troubled(stale, began.since, now, seen)
        if stale >= STALE_LIMIT:
            reason = f"{outcome.trouble}; {stale} times in a row, each decided on a fresh look"
        elif seen >= TROUBLE_LIMIT:
            reason = f"{outcome.trouble}; no write has gone through since {began.since.isoformat(timespec='seconds')}"
        else:
            return outcome
        return replace(outcome, fault=WriteFault(content, outcome.about, reason, now))

    def with_past(self, fleet: Fleet, memory: FleetMemory) -> Fleet:
        """The fleet with the contents that clusters still stand at, as far as they can be had."""
        contents = {name: dict(known) for name, known in fleet.contents.items()}
        for cluster in fleet.clusters:
            m = memory.cluster(cluster.name)
            known = contents.setdefault(cluster.name, {})
            for content, commit in ((m.started, m.started_commit), (m.passed, m.passed_commit)):
                if content is None or content == cluster.content or content in known:
                    continue
                found = self.past(cluster.name, commit, content)
                if found is not None:
                    known[content] = found
        return replace(fleet, contents=contents)


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
