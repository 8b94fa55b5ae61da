"""What a played simulation left behind: the servers' logs, what was read, and the memory each pass decided with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

from gitops_mc.core.model import DesiredCluster, Kind, labels_of, matches_selector
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.memory import ClusterMemory
from tests.scenarios.recording import OurWrite
from tests.scenarios.simulation import Simulation
from tests.scenarios.witness import Standing

SETTLE = timedelta(seconds=30) - timedelta(seconds=15)
"""What fleet.yaml asks for by default, less the time between a look and the pass that judges it."""
LATELY = timedelta(seconds=160)
"""How old a look at another cluster may be when a decision rests on it."""


class BrokenError(AssertionError):
    """An invariant does not hold; says which, where, and how to see it alone."""

    def __init__(self, what: str, story: str = "") -> None:
        super().__init__(f"{what}\n{story}")
        self.invariant = what.partition(":")[0]


class Evidence:
    """One simulation, with the questions that every invariant asks of it."""

    def __init__(self, simulation: Simulation) -> None:
        self.s = simulation
        world = simulation.world
        self.orders = {c.name: c.operator.merge_order for c in simulation.script.spec.clusters}
        self.by_cluster: dict[str, list[OurWrite]] = defaultdict(list)
        for one in simulation.ours:
            self.by_cluster[one.cluster].append(one)
        self.servers = {n: s.writes for n, s in world.fleet.servers.items()}
        self.verdicts = {name: self._at_reads(name) for name in self.orders}
        self.unexcused = {name: list(self._unexcused(name)) for name in self.orders}
        """The same, without a word on pools while a node of their cluster is excused."""

    def fail(self, what: str) -> None:
        raise BrokenError(what, self.s.story())

    def memory(self, one: OurWrite) -> ClusterMemory:
        """The memory with which the pass that decided a write was left."""
        return self.s.looks[one.look].memory.cluster(one.cluster)

    def standing(self, cluster: str) -> Standing:
        return Standing(self.servers[cluster], self.orders[cluster])

    def desired(self, cluster: str, content: object) -> DesiredCluster | None:
        """What a content of a cluster says, wherever in history it stood."""
        found = (c for head in self.s.heads for c in head.clusters if c.name == cluster)
        return next((c for c in found if c.content == content), None)

    def _at_reads(self, cluster: str) -> list[dict[str, str]]:
        """Pool by pool, at each look: why it was not settled, or empty."""
        standing = self.standing(cluster)
        found: list[dict[str, str]] = []
        last: object = None
        for read in self.s.reads[cluster]:
            excused = self._excused(cluster, read.at)
            if (read.seq, excused) == last and not any(found[-1].values()):
                found.append(found[-1])
                continue
            standing.forward(read.seq)
            last = (read.seq, excused)
            found.append(
                {p: standing.unsettled(p, read.at, excused) for p in standing.of("machineconfigpools")}
            )
        return found

    def _unexcused(self, cluster: str) -> Iterator[dict[str, str]]:
        for read, verdicts in zip(self.s.reads[cluster], self.verdicts[cluster], strict=True):
            yield dict.fromkeys(verdicts, "excused") if self._excused(cluster, read.at) else verdicts

    def _excused(self, cluster: str, at: datetime) -> frozenset[str]:
        return frozenset(
            node for name, node, since, until in self.s.excused if name == cluster and since <= at < until
        )

    def sick(self, cluster: str, read: int, head: Fleet) -> dict[str, str]:
        """Pools that have a manifest in Git, or select a config of it, and were not settled at a look."""
        standing = self.standing(cluster)
        standing.forward(self.s.reads[cluster][read].seq)
        desired = next(c for c in head.clusters if c.name == cluster)
        named = {m.key.name for m in desired.of_kind(Kind.MACHINE_CONFIG_POOL)}
        configs = [labels_of(m.body) for m in desired.of_kind(Kind.MACHINE_CONFIG)]
        found = {}
        for pool, why in self.verdicts[cluster][read].items():
            if not why:
                continue
            selector = standing.of("machineconfigpools")[pool]["spec"].get("machineConfigSelector")
            if pool in named or any(matches_selector(selector, labels) for labels in configs):
                found[pool] = why
        return found

    def lacks(self, cluster: str, seq: int, head: Fleet) -> list[str]:
        """MachineConfigs of Git that a cluster does not have; what people edited by hand does not count."""
        standing = self.standing(cluster)
        standing.forward(seq)
        live = standing.of("machineconfigs")
        by_hand = {w.name for w in self.servers[cluster][:seq] if w.manager == "kubectl-edit"}
        desired = next(c for c in head.clusters if c.name == cluster)
        return [
            m.key.name
            for m in desired.of_kind(Kind.MACHINE_CONFIG)
            if m.key.name not in by_hand
            and (m.key.name not in live or live[m.key.name]["spec"] != m.body["spec"])
        ]

    def unfinished(self, cluster: str, one: OurWrite) -> bool:
        """Whether pools that our last write to a cluster touched have not settled since, as far as was seen."""
        last = next((w for w in reversed(self.by_cluster[cluster]) if w.look < one.look), None)
        if last is None:
            return False
        since = range(last.read + 2, self.s.known[one.look][cluster] + 1)
        if not all(self.sick(cluster, i, self.s.heads[one.look]) for i in since):
            return False
        if any(
            x.cluster == cluster and last.write.time <= x.write.time <= one.write.time
            for x in self.s.unmarked
        ):
            return self._bracketed(
                cluster, one
            )  # forgotten with its marks: nothing else tells that it is ours
        forgotten = any(
            loss.concerns(cluster) and last.look < loss.passes <= one.look for loss in self.s.losses
        )
        return not forgotten or self._outstanding(cluster, one)

    def _bracketed(self, cluster: str, one: OurWrite) -> bool:
        """Whether the last look at a cluster shows a step of ours that stands open."""
        seen = self.s.known[one.look][cluster]
        if seen < 0:
            return False
        standing = self.standing(cluster)
        standing.forward(self.s.reads[cluster][seen].seq)
        return any(standing.marked(pool) for pool in standing.of("machineconfigpools"))

    def _outstanding(self, cluster: str, one: OurWrite) -> bool:
        """Whether the last look at a cluster shows that nodes are still to get something: all that tells of a write that
        nobody remembers. Where they have it, what keeps a pool from being settled is nothing of ours.
        """
        seen = self.s.known[one.look][cluster]
        if seen < 0:
            return False
        standing = self.standing(cluster)
        standing.forward(self.s.reads[cluster][seen].seq)
        return any(standing.outstanding(pool) for pool in self.sick(cluster, seen, self.s.heads[one.look]))

    def stood(self, cluster: str, one: OurWrite, head: Fleet) -> bool:
        """Whether a cluster was seen lately as its newest content says, and settled."""
        return any(
            not self.sick(cluster, i, head) and not self.lacks(cluster, self.s.reads[cluster][i].seq, head)
            for i in self.looks_before(cluster, one)
        )

    def looks_before(self, cluster: str, one: OurWrite) -> Iterator[int]:
        """Indices of the looks at a cluster that the decision for a write may rest on, newest first."""
        decided = self.s.times[one.look]
        for i in range(self.s.known[one.look][cluster], -1, -1):
            yield i
            if decided - self.s.reads[cluster][i].at > LATELY:
                return

    def admission(self, one: OurWrite) -> int:
        """The look that decided to start what a write belongs to: writes of modules stand elsewhere, a crash may come
        in between, and Git may have moved on by the first write that is seen here.
        """
        memory = self.memory(one)
        for i, look in enumerate(self.s.looks[: one.look]):
            then = look.memory.cluster(one.cluster)
            if (then.started, then.admitted_at) == (memory.started, memory.admitted_at):
                return i
        return one.look

    def starts(self) -> Iterator[OurWrite]:
        """The first write of every content that a cluster was admitted with, with the look that admitted it; repairs of
        what failed, and what takes over in the middle of a rollout, are none.
        """
        seen: dict[str, tuple[object, object]] = {}
        for one in self.s.ours:
            memory = self.memory(one)
            key = (memory.started, memory.admitted_at)
            before = seen.get(one.cluster)
            if before == key:
                continue
            fresh = before is None or before[0] is None or not self.unfinished(one.cluster, one)
            seen[one.cluster] = key
            if memory.failure is None and fresh:
                yield one


def kind_of(one: OurWrite) -> str:
    """`machineconfigs` and so on."""
    return one.write.resource.partition(".")[0]


def told(one: OurWrite) -> str:
    return (
        f"{one.write.verb} of {kind_of(one)} {one.write.name} for {one.cluster} at {one.write.time:%H:%M:%S}"
    )
