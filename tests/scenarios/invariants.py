"""The invariants of a rollout, checked on what the API servers accepted, after a simulation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from gitops_mc.core.model import FLEET_LABEL, Kind, labels_of, matches_selector
from gitops_mc.core.policy import Count
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.memory import ClusterMemory
from gitops_mc.core.rollout.moves import Halted, Hold
from gitops_mc.core.rollout.waves import lines
from gitops_mc.sandbox.nodes.machine import NodeEvent
from tests.scenarios.repository import MARKER
from tests.scenarios.simulation import OurWrite, Simulation
from tests.scenarios.witness import Standing

SETTLE = timedelta(seconds=30) - timedelta(seconds=15)
"""What fleet.yaml asks for by default, less the time between a look and the pass that judges it."""
LATELY = timedelta(seconds=160)
"""How old a look at another cluster may be when a decision rests on it."""
GRACE = timedelta(minutes=4)
"""From a node's Degraded to the last write that may have been decided without knowing of it."""


class BrokenError(AssertionError):
    """An invariant does not hold; says which, where, and how to see it alone."""


class Checks:
    """All checks of one played simulation."""

    def __init__(self, simulation: Simulation) -> None:
        self.s = simulation
        world = simulation.world
        self.orders = {c.name: c.operator.merge_order for c in simulation.script.spec.clusters}
        self.by_cluster: dict[str, list[OurWrite]] = defaultdict(list)
        for one in simulation.ours:
            self.by_cluster[one.cluster].append(one)
        self.servers = {n: s.writes for n, s in world.fleet.servers.items()}
        self.verdicts = {name: self._at_reads(name) for name in self.orders}

    def everything(self) -> None:
        self.comes_to_an_end()
        for name in self.orders:
            self.touches_only_settled_pools(name)
            self.knows_what_it_does(name)
            self.deletes_only_its_own(name)
        self.bad_content_stays_where_it_failed()
        self.keeps_waves_and_budgets()
        self.disrupts_within_the_bound()
        self.passed_clusters_stood_as_git_says()

    def fail(self, what: str) -> None:
        raise BrokenError(f"{what}\n{self.s.story()}")

    # --------------------------------------------------------------------------------------------------- the end

    def comes_to_an_end(self) -> None:
        outlook = self.s.outlook
        if not self.s.settled:
            self.fail(f"7: still waiting a day after the last fault: {outlook}")
        if isinstance(outlook, Hold) and not (outlook.reasons and outlook.acts):
            self.fail(f"7: a hold that names no act: {outlook}")
        if isinstance(outlook, Halted) and not outlook.reason:
            self.fail("7: halted without a reason")

    # -------------------------------------------------------------------------------------------------- the pools

    def _at_reads(self, cluster: str) -> list[dict[str, str]]:
        """Pool by pool, at each look: why it was not settled, or empty."""
        standing = Standing(self.servers[cluster], self.orders[cluster])
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

    def _excused(self, cluster: str, at: datetime) -> frozenset[str]:
        return frozenset(
            node for name, node, since, until in self.s.excused if name == cluster and since <= at < until
        )

    def touches_only_settled_pools(self, cluster: str) -> None:
        """2. But for the rest of a step that was begun, and for newer content where ours is what unsettled the pool."""
        standing = Standing(self.servers[cluster], self.orders[cluster])
        streak: dict[str, OurWrite] = {}
        seen = 0
        before: OurWrite | None = None
        for one in self.by_cluster[cluster]:
            for verdicts in self.verdicts[cluster][seen : one.read + 1]:
                for pool in [p for p in streak if not verdicts.get(p, "gone")]:
                    del streak[pool]
            seen = max(seen, one.read + 1)
            standing.forward(
                one.write.seq - 1 if one.server == cluster else self.s.reads[cluster][one.read].seq
            )
            same_move = before is not None and (before.look, before.read) == (one.look, one.read)
            for pool in sorted(standing.touched(one.write)):
                begun = standing.marked(pool) or same_move
                if not begun:
                    self._must_be_settled(one, pool, streak)
                streak.setdefault(pool, one)
            before = one

    def _must_be_settled(self, one: OurWrite, pool: str, streak: dict[str, OurWrite]) -> None:
        reads, verdicts = self.s.reads[one.cluster], self.verdicts[one.cluster]
        decided = reads[one.read].at
        if pool in streak:
            if self._content_at(one) != self._content_at(streak[pool]):
                return  # fix-forward
            if self._is_repair(one) or self._is_repair(streak[pool]):
                return
        elif self.s.looks[one.look].memory.cluster(one.cluster).repairing:
            return
        for position in range(one.read, -1, -1):
            why = verdicts[position].get(pool, "")
            if why:
                self.fail(
                    f"2: {_told(one)} touches pool {pool}, which at {reads[position].at:%H:%M:%S} was not settled: {why}"
                )
            if decided - reads[position].at >= SETTLE:
                return

    def _memory(self, one: OurWrite) -> ClusterMemory:
        return self.s.looks[one.look].memory.cluster(one.cluster)

    def _content_at(self, one: OurWrite) -> object:
        return self._memory(one).started

    def _is_repair(self, one: OurWrite) -> bool:
        return self._memory(one).repairing

    # -------------------------------------------------------------------------------------------------- knowledge

    def knows_what_it_does(self, cluster: str) -> None:
        """3. Nothing is written on a look that was not answered; and no look was older than the pass that decided."""
        reads = self.s.reads[cluster]
        for one in self.by_cluster[cluster]:
            if one.read < 0 or not reads[one.read].answered:
                self.fail(f"3: {_told(one)} was decided without knowing the cluster")
            if one.write.verb == "delete" and self.s.times[one.look] - reads[one.read].at > timedelta(
                seconds=90
            ):
                self.fail(f"3: {_told(one)} was decided on facts of {reads[one.read].at:%H:%M:%S}")

    def deletes_only_its_own(self, cluster: str) -> None:
        """4. Only what we wrote and marked, no protected name, within the limits that hold."""
        written: set[tuple[str, str]] = set()
        counted: dict[object, int] = defaultdict(int)
        for one in self.by_cluster[cluster]:
            kind, name = one.write.resource.partition(".")[0], one.write.name
            if one.write.verb != "delete":
                written.add((kind, name))
                continue
            body = one.write.before or {}
            if (
                kind == "machineconfigurations"
                or name in {"master", "worker"}
                or name.startswith(("00-", "render"))
            ):
                self.fail(f"4: {_told(one)}: protected")
            if (kind, name) not in written or (kind != "moduleinfoes" and FLEET_LABEL not in labels_of(body)):
                self.fail(f"4: {_told(one)}: it is not ours")
            memory = self._memory(one)
            if (name in {o.name for o in memory.created}) and (not memory.out or memory.failure):
                continue
            limits = self.s.heads[one.look].policy.prune
            counted[memory.started] += 1
            if not limits.enabled or counted[memory.started] > limits.max_deletes:
                self.fail(f"4: {_told(one)}: {counted[memory.started]} deleted, limits {limits}")

    # --------------------------------------------------------------------------------------------------- failures

    def bad_content_stays_where_it_failed(self) -> None:
        """5. Once content has degraded more clusters than are tolerated, it is begun in no other."""
        tolerated = max(f.policy.rollout.max_failures.of(len(f.clusters)) for f in self.s.heads)
        began: dict[str, OurWrite] = {}
        for one in self.s.ours:
            if MARKER not in str((one.write.after or {}).get("metadata", {}).get("name", "")) and not _bad(
                one
            ):
                continue
            began.setdefault(one.cluster, one)
        failed = sorted(
            min(e.at for e in events)
            for name in began
            if (events := [e for node in self.s.world.fleet.nodes(name) for e in self._degraded(name, node)])
        )
        if len(failed) <= tolerated:
            return
        known = failed[tolerated] + GRACE
        has_failed = {
            name for name in began for n in self.s.world.fleet.nodes(name) if any(self._degraded(name, n))
        }
        for name, one in began.items():
            if (
                one.write.time > known and name not in has_failed
            ):  # there, newer content is let in as a repair
                self.fail(
                    f"5: {_told(one)} begins in {name} what {tolerated + 1} cluster(s) have failed with before"
                )

    def _degraded(self, cluster: str, node: str) -> Iterator[NodeEvent]:
        for event in self.s.world.fleet.node_log(cluster, node).events:
            if event.what.value == "degraded" and MARKER in event.detail:
                yield event

    # ------------------------------------------------------------------------------------------ waves and budgets

    def keeps_waves_and_budgets(self) -> None:
        """1. A cluster starts when the waves before it are done and there is a place, but for what is tolerated."""
        started: dict[str, object] = {}
        for one in self.s.ours:
            memory = self._memory(one)
            key = (memory.started, memory.admitted_at)
            if started.get(one.cluster) == key:
                continue
            fresh = started.get(one.cluster, (None,))[0] is None or not self._unfinished(one.cluster, one)  # type: ignore[index]
            started[one.cluster] = key
            if memory.failure is not None or not fresh:
                continue
            admission = self._admission(one, memory)
            self._may_start(replace(one, look=admission), self.s.heads[admission])

    def _admission(self, one: OurWrite, memory: ClusterMemory) -> int:
        """The look that decided to start what a write belongs to: writes of modules stand elsewhere, a crash may come
        in between, and Git may have moved on by the first write that is seen here.
        """
        for i, look in enumerate(self.s.looks[: one.look]):
            then = look.memory.cluster(one.cluster)
            if (then.started, then.admitted_at) == (memory.started, memory.admitted_at):
                return i
        return one.look

    def _may_start(self, one: OurWrite, head: Fleet) -> None:
        ordered, _ = lines(head.policy, head.clusters)
        position = next(i for i, line in enumerate(ordered) if one.cluster in line.members)
        total, rollout = len(head.clusters), head.policy.rollout
        tolerated = rollout.max_failures.of(total) + rollout.max_unreachable.of(total)
        desired = {c.name: c for c in head.clusters}
        earlier = [n for line in ordered[:position] for n in line.members if not desired[n].blocked]
        memory = self.s.looks[one.look].memory
        left_out = {n for n in earlier if memory.cluster(n).skipped == desired[n].content}
        behind = [n for n in earlier if n not in left_out and not self._stood(n, one, head)]
        if len(behind) > tolerated:
            self.fail(f"1: {_told(one)} although {', '.join(behind)} of earlier waves are not done")
        places: Count = ordered[position].wave.max_concurrent
        limit = places.at_least_one(len(ordered[position].members)) + tolerated
        flying = [n for n in self.orders if n != one.cluster and self._unfinished(n, one)]
        if len(flying) + 1 > limit:
            self.fail(f"1: {_told(one)} beside {', '.join(flying)}: more than {limit} at once")

    def _looks_before(self, cluster: str, one: OurWrite) -> Iterator[int]:
        """Indices of the looks at a cluster that the decision for a write may rest on, newest first."""
        decided = self.s.times[one.look]
        for i in range(self.s.known[one.look][cluster], -1, -1):
            yield i
            if decided - self.s.reads[cluster][i].at > LATELY:
                return

    def _unfinished(self, cluster: str, one: OurWrite) -> bool:
        """Whether pools that our last write to a cluster touched have not settled since, as far as was seen."""
        last = next((w for w in reversed(self.by_cluster[cluster]) if w.look < one.look), None)
        if last is None:
            return False
        since = range(last.read + 2, self.s.known[one.look][cluster] + 1)
        return all(self._sick(cluster, i, self.s.heads[one.look]) for i in since)

    def _stood(self, cluster: str, one: OurWrite, head: Fleet) -> bool:
        """Whether a cluster was seen lately as its newest content says, and settled."""
        return any(
            not self._sick(cluster, i, head) and not self._lacks(cluster, self.s.reads[cluster][i].seq, head)
            for i in self._looks_before(cluster, one)
        )

    def _sick(self, cluster: str, read: int, head: Fleet) -> dict[str, str]:
        """Pools that have a manifest in Git, or select a config of it, and were not settled at a look."""
        standing = Standing(self.servers[cluster], self.orders[cluster])
        standing.forward(self.s.reads[cluster][read].seq)
        desired = next(c for c in head.clusters if c.name == cluster)
        named = {m.key.name for m in desired.of_kind(Kind.MACHINE_CONFIG_POOL)}
        configs = [labels_of(m.body) for m in desired.of_kind(Kind.MACHINE_CONFIG)]
        found = {}
        for pool, why in self.verdicts[cluster][read].items():
            selector = standing.of("machineconfigpools")[pool]["spec"].get("machineConfigSelector")
            if why and (pool in named or any(matches_selector(selector, labels) for labels in configs)):
                found[pool] = why
        return found

    def _lacks(self, cluster: str, seq: int, head: Fleet) -> list[str]:
        """MachineConfigs of Git that a cluster does not have; what people edited by hand does not count."""
        standing = Standing(self.servers[cluster], self.orders[cluster])
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

    def disrupts_within_the_bound(self) -> None:
        """11. Clusters with a node down on its way from one config to another, where nobody else set it in motion."""
        others = {a.cluster for a in self.s.script.hands if a.deed.value in {"label", "unlabel", "edit"}}
        bound = max(self._bound(head) for head in self.s.heads)
        points = []
        for name in self.orders:
            if name in others:
                continue
            standing = Standing(self.servers[name], self.orders[name])
            was = False
            for write in self.servers[name]:
                if not write.resource.startswith("nodes"):
                    continue
                standing.forward(write.seq)
                now = standing.disrupted()
                if now != was and write.time >= self.s.start:
                    points.append((write.time, now, name))
                was = now
        down: set[str] = set()
        for at, begins, name in sorted(points):
            (down.add if begins else down.discard)(name)
            if len(down) > bound:
                self.fail(
                    f"11: at {at:%H:%M:%S} {', '.join(sorted(down))} are disrupted at once, bound {bound}"
                )

    def _bound(self, head: Fleet) -> int:
        ordered, _ = lines(head.policy, head.clusters)
        total, rollout = len(head.clusters), head.policy.rollout
        at_once = max(line.wave.max_concurrent.at_least_one(len(line.members)) for line in ordered)
        return at_once + rollout.max_failures.of(total) + rollout.max_unreachable.of(total)

    def passed_clusters_stood_as_git_says(self) -> None:
        """3. No gate opens on what is not so: what is said to have passed was seen settled, with what Git says."""
        passed: dict[str, object] = {}
        for number, look in enumerate(self.s.looks):
            for name in self.orders:
                memory = look.memory.cluster(name)
                if memory.passed_at == passed.get(name):
                    continue
                passed[name] = memory.passed_at
                self._check_passed(name, number)

    def _check_passed(self, name: str, number: int) -> None:
        look, head = self.s.looks[number], self.s.heads[number]
        if look.memory.cluster(name).passed != next(c for c in head.clusters if c.name == name).content:
            return
        last = self.known_at(number, name)
        if lacking := self._lacks(name, self.s.reads[name][last].seq, head):
            self.fail(f"3: {name} passed at {self.s.times[number]:%H:%M:%S} without {', '.join(lacking)}")
        if sick := self._sick(name, last, head):
            self.fail(f"3: {name} passed at {self.s.times[number]:%H:%M:%S} with unsettled pools {sick}")

    def known_at(self, number: int, name: str) -> int:
        last = self.s.known[number][name]
        if last < 0:
            self.fail(f"3: {name} passed unseen")
        return last


def _bad(one: OurWrite) -> bool:
    """Whether a write brings the content that breaks nodes; it is inlined as percent-encoded or plain text."""
    return MARKER in str((one.write.after or {}).get("spec")) and one.write.resource.startswith(
        "machineconfigs."
    )


def _told(one: OurWrite) -> str:
    kind = one.write.resource.partition(".")[0]
    return f"{one.write.verb} of {kind} {one.write.name} for {one.cluster} at {one.write.time:%H:%M:%S}"
