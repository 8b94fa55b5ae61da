"""What is known of one cluster on one pass, and what is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gitops_mc.core.gates import Counting
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Commit, Content, DesiredCluster, Open, ResourceKey, Unknown
from gitops_mc.core.plan import Circumstances, ClusterPlan, drift_id
from gitops_mc.core.policy import FleetPolicy, Prune
from gitops_mc.core.rollout.gating import GateBook, Looking, judge_gates, order_of
from gitops_mc.core.rollout.memory import ClusterMemory, Failure
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.next_step import Act, Next
from gitops_mc.core.rollout.windows import Rule, WindowClosed


@dataclass(frozen=True, slots=True)
class WriteFault:
    """The server refused a write for good (422, 403, a conflict with another manager): trying again cannot help."""

    content: Content
    key: ResourceKey
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Order:
    """What a human has ordered and not taken back, as it is told, and what ends it."""

    told: str
    lift: str
    """What somebody has to do so that it goes on."""
    all_writes: bool
    """Nothing at all is written; else no step is begun, and one that is begun is ended."""
    counting: Counting
    """Whether the clocks of what we have rolled run on."""


@dataclass(frozen=True, slots=True)
class Case:
    """Everything that is known of one cluster on this pass."""

    newest: DesiredCluster
    commit: Commit
    contents: Mapping[Content, DesiredCluster]
    """Contents of this cluster that can still be had, the newest included."""
    live: LiveCluster
    memory: ClusterMemory
    policy: FleetPolicy
    prune: Prune
    now: datetime
    counting: Counting = Counting.RUNNING
    """Whether time counts for gates."""
    dark: Counting = Counting.RUNNING
    """Whether time counts for a cluster that does not answer."""
    approved: frozenset[str] = frozenset()
    """Clusters whose first contact a human has approved, and nothing but this content of them."""
    impatient: frozenset[str] = frozenset()
    """Clusters where newer content need not wait until a healthy rolling has settled."""
    fault: WriteFault | None = None
    preview_required: bool = False
    """Whether what no preview has shown waits for approval."""
    windows: tuple[Rule, ...] = ()
    """The windows that concern this cluster; none where a human has overridden them for this run."""

    @property
    def name(self) -> str:
        return self.newest.name

    @property
    def hurried(self) -> bool:
        """Whether the newest content need not wait until a healthy rolling has settled."""
        leave = self.memory.hurried
        return self.name in self.impatient or (leave is not None and leave.content == self.newest.content)

    def rules(self, content: Content) -> tuple[Rule, ...]:
        """The windows that count for a content. An override holds for the content that it was given for, and, while that is
        the newest, for the way back from it.
        """
        leave = self.memory.overridden
        lifted = leave is not None and leave.content in {content, self.newest.content}
        return () if lifted else self.windows


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether the cluster could be admitted with the newest content now."""

    standing: Standing
    """READY, or why not."""
    reason: str
    plan: ClusterPlan | None
    gates: GateBook | None
    next: Next | None = None
    repair: bool = False
    """It repairs what failed: written through a halt."""
    ends_step: bool = False
    """A step stands open that nobody can go on with, for its content cannot be had any more, or nothing is remembered of it:
    this one takes over, to end it.
    """
    overtakes: tuple[str, ...] = ()
    """Pools whose trouble does not keep it out, since it changes what they suffer from."""
    failure: Failure | None = None
    """It has failed before anything was written: never published."""
    window: WindowClosed | None = None
    """Nothing else keeps it from starting, but it may not start now."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """Where a cluster stands. `memory` has its clocks moved on; `next` is what its started content would do."""

    name: str
    standing: Standing
    reason: str
    memory: ClusterMemory
    desired: DesiredCluster
    """The content it is assigned to: the started one while that is under way, else the newest."""
    plan: ClusterPlan | None = None
    gates: GateBook | None = None
    next: Next | None = None
    admission: Admission | None = None
    order: Order | None = None
    """A standing order that keeps it from going on."""
    left_open: tuple[str, ...] = ()
    """Pools with work of ours that is not over, though the memory says nothing of it; the cluster keeps a place for it."""
    closed: tuple[str, ...] = ()
    """Managed pools whose gate is not open; what a soak watches."""
    window: WindowClosed | None = None
    """Why the step that is next may not begin now, where one begins."""
    lift: str = ""
    """What somebody has to do where the cluster is barred: nothing of it is looked at, and nothing written."""
    undone: str = ""
    """What the content wrote and somebody has changed or deleted by hand since, with what to do; healthy or not, the
    cluster says nothing about the content then. Empty where nothing is."""

    @property
    def in_rollout(self) -> bool:
        """Admitted, and not out again."""
        return self.memory.started is not None and not self.memory.out

    @property
    def has_passed(self) -> bool:
        """With all that can be read of what Git says; a file beside it that cannot be blocks the cluster, and proves nothing against
        what its wave has passed with.
        """
        m = self.memory
        same = m.out and m.started == self.desired.content
        return self.standing is Standing.PASSED or (self.standing is Standing.PROBLEMS and same)

    @property
    def mid_step(self) -> bool:
        """A bracket is open: what is begun is ended, whatever else happens."""
        return isinstance(self.next, Act) and not self.next.begins


def not_understood(error: Exception) -> str:
    """What is said of a cluster whose answers have a shape that nobody foresaw: where the reading of them ended, for whoever
    mends it, and no word of the error, which may quote what is sensitive. Nothing is written there meanwhile.
    """
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = "" if last is None else f"{last.tb_frame.f_code.co_filename.rpartition('/')[2]}:{last.tb_lineno}"
    return (
        f"what it answered cannot be understood ({type(error).__name__} at {place}); this is to be reported"
    )


def all_open(assessment: Assessment) -> bool:
    """Whether every gate that the cluster has to pass is open at this moment; what a soak needs."""
    gates = assessment.gates
    if gates is None or assessment.closed:
        return False
    return all(isinstance(v, Open) for v in (*gates.modules.values(), gates.policy, gates.components))


def gates_of(case: Case, desired: DesiredCluster, managed: tuple[str, ...]) -> GateBook:
    existing = () if isinstance(case.live.pools, Unknown) else tuple(case.live.pools.value)
    look = Looking(desired, case.live, case.memory, case.policy.gates, case.now, case.counting)
    return judge_gates(look, pools=(*managed, *existing))


def circumstances(case: Case, memory: ClusterMemory) -> Circumstances:
    """What the plan has to know of the past. Once a content has passed, prune governs what it made, unless it failed after
    that.
    """
    unproven = not memory.out or memory.failure is not None
    written = memory.written(case.name)
    return Circumstances(
        inventory=written,
        created=frozenset(o.key(case.name) for o in memory.created) if unproven else frozenset(),
        order=order_of(memory),
        prune=case.prune,
        passed=None if memory.passed is None else case.contents.get(memory.passed),
        proven=frozenset() if unproven else frozenset(written) - {o.key(case.name) for o in memory.changed},
        git_wins=frozenset(m.key for m in case.newest.manifests if drift_id(m.key) in memory.accepted),
    )
