"""The plan of a whole fleet, for showing and confirming: every wave, every cluster, and one digest of it all.

Made from the same parts as a pass of the rollout (assessment, plan, waves), so that it shows what would be done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from gitops_mc.core.diff import Touch
from gitops_mc.core.live import LiveCluster, unread
from gitops_mc.core.model import Commit, DesiredCluster, ResourceKey, Unknown, digest_of
from gitops_mc.core.plan import NO_CIRCUMSTANCES, Circumstances, ClusterPlan, PoolImpact, StepKind, make_plan
from gitops_mc.core.policy import Approval
from gitops_mc.core.rollout.admission import beyond_preview, needs_approval
from gitops_mc.core.rollout.case import Admission, Case, circumstances, not_understood
from gitops_mc.core.rollout.cluster import assess
from gitops_mc.core.rollout.fleet import with_limits
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.memory import ClusterMemory, FleetMemory, WaveMemory, prune_in_force
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.next_step import marked_pools
from gitops_mc.core.rollout.showing import preview_required
from gitops_mc.core.rollout.timing import length_of, shut, written
from gitops_mc.core.rollout.transitions import admitted
from gitops_mc.core.rollout.waves import Line, contents_digest, lines
from gitops_mc.core.rollout.windows import Shut, WindowClosed


class Answer(StrEnum):
    """What the server said of a write that it was asked about by dry run."""

    ACCEPTED = "accepted by the server"
    REFUSED = "refused by the server"
    NOT_ASKED = "not checked by the server"


@dataclass(frozen=True, slots=True)
class ServerCheck:
    """The server's answer to one write; outside the digest."""

    answer: Answer
    reason: str = ""


WriteId = tuple[str, ResourceKey]
"""Id of the step, and the object."""


@dataclass(frozen=True, slots=True)
class ClusterPreview:
    """What would be done to one cluster, or why nobody can say."""

    desired: DesiredCluster
    live: LiveCluster
    wave: str
    """Empty: no wave takes it."""
    standing: Standing
    reason: str
    plan: ClusterPlan | None
    """None: Git has problems for it, or nothing of it could be read."""
    unknown: str = ""
    """What could not be read; a plan beside it says only what is known, and never "no change"."""
    approve: str = ""
    """What `--approve` it needs at first contact, with the reason; empty when it needs none."""
    checks: Mapping[WriteId, ServerCheck] = field(default_factory=dict, compare=False)
    past: Circumstances = NO_CIRCUMSTANCES
    """What is remembered of it and has decided the plan."""
    module_limit: timedelta = timedelta(0)
    """How long a module may take before it counts as failed; nobody knows how long it will."""
    window: WindowClosed | None = field(default=None, compare=False)
    """Why its first step may not begin at this moment; outside the digest."""
    opens_in: str = field(default="", compare=False)
    """The same in words, with how long that is from now; empty when it may begin, or never may."""
    misfits: tuple[str, ...] = field(default=(), compare=False)
    """Of every step that fits no window: why, with the numbers and the way out."""
    arriving: Admission | None = field(default=None, compare=False)
    """Whether it could start with this content now, where that is the question; outside the digest."""

    @property
    def name(self) -> str:
        return self.desired.name

    @property
    def changes(self) -> bool:
        return self.plan is not None and bool(self.plan.writes)

    @property
    def refused(self) -> bool:
        """Whether something that Git asks for is refused, here or by the server."""
        refused = self.plan is not None and bool(self.plan.refusals or self.misfits)
        return refused or any(check.answer is Answer.REFUSED for check in self.checks.values())

    @property
    def impacts(self) -> tuple[PoolImpact, ...]:
        return () if self.plan is None else self.plan.impacts

    @property
    def rebooting(self) -> int:
        """Nodes that reboot."""
        return sum(n.count for impact in self.impacts for n in impact.nodes if n.disruption.reboot)

    @property
    def draining(self) -> int:
        """Nodes that are drained and do not reboot."""
        found = (n for impact in self.impacts for n in impact.nodes)
        return sum(n.count for n in found if n.disruption.drain and not n.disruption.reboot)

    @property
    def estimate(self) -> timedelta:
        """Pools of one step roll side by side, steps one after the other. Without the time modules take."""
        if self.plan is None:
            return timedelta(0)
        left = {impact.pool: impact.estimate for impact in self.plan.impacts}
        total = timedelta(0)
        for step in self.plan.steps:
            if step.kind is StepKind.POOLS:
                total += max((left.pop(p, timedelta(0)) for p in step.pools), default=timedelta(0))
        return total + max(left.values(), default=timedelta(0))

    @property
    def untimed(self) -> tuple[str, ...]:
        """Modules that are waited for, one after the other, and that the estimate leaves out."""
        steps = () if self.plan is None else self.plan.steps
        return tuple(step.subject for step in steps if step.kind is StepKind.MODULE)


@dataclass(frozen=True, slots=True)
class WavePreview:
    """One wave: its clusters of this plan, in order, and what it waits for."""

    line: Line
    at_once: int
    """Clusters of it that may be in flight at the same time."""
    clusters: tuple[ClusterPreview, ...]
    approve: bool
    """A human has to approve it, and has not yet."""

    @property
    def estimate(self) -> timedelta:
        """Clusters start in order, as many at once as the wave admits; the soak comes on top."""
        lanes = [timedelta(0)] * self.at_once
        for cluster in self.clusters:
            earliest = lanes.index(min(lanes))
            lanes[earliest] += cluster.estimate
        soak = self.line.wave.soak if any(c.changes for c in self.clusters) else timedelta(0)
        return max(lanes) + soak


@dataclass(frozen=True, slots=True)
class FleetPreview:
    """The plan of the clusters that were asked for, in the order in which they come."""

    commit: Commit
    waves: tuple[WavePreview, ...]
    homeless: tuple[ClusterPreview, ...]
    """Clusters that no wave takes: each blocks itself."""
    halted: tuple[str, ...] = ()
    """Clusters whose failure halts the rollout: nothing but a repair of those is begun. Outside the digest."""

    @property
    def clusters(self) -> tuple[ClusterPreview, ...]:
        return (*(c for wave in self.waves for c in wave.clusters), *self.homeless)

    @property
    def digest(self) -> str:
        """What a human confirms: waves in order, and each cluster's plan; no commit, times, estimates, server checks."""
        return digest_of(
            {
                "waves": [[w.line.wave.name, [c.name for c in w.clusters]] for w in self.waves],
                "clusters": [[c.name, _cluster_digest(c)] for c in self.clusters],
            }
        )

    def with_checks(self, checks: Mapping[str, Mapping[WriteId, ServerCheck]]) -> FleetPreview:
        """The same with what the servers said, by cluster."""

        def checked(clusters: Sequence[ClusterPreview]) -> tuple[ClusterPreview, ...]:
            return tuple(replace(c, checks=checks.get(c.name, {})) for c in clusters)

        waves = tuple(replace(w, clusters=checked(w.clusters)) for w in self.waves)
        return replace(self, waves=waves, homeless=checked(self.homeless))


def preview(
    fleet: Fleet,
    memory: FleetMemory,
    live: Mapping[str, LiveCluster],
    now: datetime,
    only: frozenset[str] | None = None,
) -> FleetPreview:
    """What would be done to the clusters named in `only` (None: to all), wave by wave. `live` is what was read of them."""
    ordered, homeless = lines(fleet.policy, fleet.clusters)
    clusters = {c.name: c for c in fleet.clusters}
    scene = _Scene(fleet, with_limits(memory, fleet), live, now)

    def previews(names: Sequence[str], wave: str) -> tuple[ClusterPreview, ...]:
        asked = (clusters[name] for name in names if only is None or name in only)
        return tuple(replace(_cluster(cluster, scene), wave=wave) for cluster in asked)

    waves = []
    for line in ordered:
        found = previews(line.members, line.wave.name)
        if only is not None and not found:
            continue
        remembered = memory.waves.get(line.wave.name)
        waves.append(
            WavePreview(
                line,
                at_once=line.wave.max_concurrent.at_least_one(len(line.members)),
                clusters=found,
                approve=any(c.changes for c in found)
                and line.wave.approval is Approval.MANUAL
                and not _approved(line, clusters, remembered),
            )
        )
    halted = memory.halt.clusters if memory.halt is not None else ()
    return FleetPreview(fleet.commit, tuple(waves), previews(homeless, ""), halted)


@dataclass(frozen=True, slots=True)
class _Scene:
    fleet: Fleet
    memory: FleetMemory
    live: Mapping[str, LiveCluster]
    now: datetime


def _approved(line: Line, clusters: Mapping[str, DesiredCluster], memory: WaveMemory | None) -> bool:
    return memory is not None and memory.approved and memory.contents == contents_digest(line, clusters)


def _cluster(newest: DesiredCluster, scene: _Scene) -> ClusterPreview:
    live = scene.live.get(newest.name) or unread(newest.name, scene.now)
    try:
        return _understood(newest, live, scene)
    except Exception as error:  # noqa: BLE001 - whatever one cluster has answered, the plan of the others is to be seen
        told = not_understood(error)
        return ClusterPreview(newest, live, "", Standing.BLOCKED, told, None, unknown=told)


def _understood(newest: DesiredCluster, live: LiveCluster, scene: _Scene) -> ClusterPreview:
    fleet = scene.fleet
    case = Case(
        newest=newest,
        commit=fleet.commit,
        contents={**fleet.contents.get(newest.name, {}), newest.content: newest},
        live=live,
        memory=scene.memory.cluster(newest.name),
        policy=fleet.policy,
        prune=prune_in_force(scene.memory),
        now=scene.now,
        preview_required=preview_required(fleet.policy, scene.memory.previews),
    )
    found = assess(case)
    shown = ClusterPreview(newest, live, "", found.standing, found.reason, None, arriving=found.admission)
    if newest.blocked:
        return shown
    if live.dark is not None:
        return replace(shown, unknown=live.dark.reason)
    past = circumstances(case, _arriving(found.memory, case))
    plan = make_plan(newest, live, fleet.policy, past)
    approve = ""
    if needs_approval(case, plan):
        touched = sum(1 for write in plan.writes if write.touch is Touch.CHANGES_EXISTING)
        approve = f"first contact: {touched} of {len(plan.writes)} writes change, take over or delete what somebody set"
    elif more := beyond_preview(case, plan):
        approve = f"rollout.requirePreview: {more}"
    limit = fleet.policy.gates.module.timeout
    shown = replace(
        shown, plan=plan, unknown=_unknown(live, plan), approve=approve, past=past, module_limit=limit
    )
    return _in_windows(shown, plan, scene)


def _in_windows(shown: ClusterPreview, plan: ClusterPlan, scene: _Scene) -> ClusterPreview:
    """The same with what its change windows say to its steps; a step that is begun already goes on in any case."""
    rules, gates = scene.fleet.windows(shown.desired), scene.fleet.policy.gates
    steps = [s for s in plan.steps if written(s)]
    if not rules or not steps or marked_pools(shown.live):
        return shown
    found = [shut(shown.name, rules, length_of(s, plan, shown.live, gates), scene.now) for s in steps]
    first = found[0]
    return replace(
        shown,
        window=first,
        opens_in=first.told(scene.now) if first is not None and first.shut is not Shut.NEVER else "",
        misfits=tuple(dict.fromkeys(f.reason for f in found if f is not None and f.shut is Shut.NEVER)),
    )


def _arriving(memory: ClusterMemory, case: Case) -> ClusterMemory:
    """The memory with which the newest content would be carried out: what passed content created is no longer new."""
    if memory.started == case.newest.content:
        return memory
    return admitted(memory, case.newest, case.commit, case.now)


def _unknown(live: LiveCluster, plan: ClusterPlan) -> str:
    """What was not read and decides the plan; each reason once."""
    reasons = [n.reason for n in plan.not_read]
    reasons += [f.reason for f in (live.machine_apis, live.inventory) if isinstance(f, Unknown)]
    return "; ".join(dict.fromkeys(reasons))


def _cluster_digest(cluster: ClusterPreview) -> str:
    if cluster.plan is None:
        return f"no plan for {cluster.desired.content}"
    return cluster.plan.digest
