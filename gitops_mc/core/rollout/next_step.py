"""The next thing to do in a cluster that is in the rollout: one move, or what it waits for.

Everything is decided from the plan (made from live state on this pass), the gates, and the marks on the pools; nothing
from how far we believe we got. So it is right after a crash, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gitops_mc.core.diff import Adopt, Change, Create, Delete, Update
from gitops_mc.core.gates import Agreement, Settled, Unsettled
from gitops_mc.core.gates.attribution import RENDER_DEGRADED, degraded_conditions
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import (
    MACHINE_CONFIG_MODULE,
    DesiredCluster,
    JsonObject,
    Kind,
    Open,
    Unknown,
    Verdict,
)
from gitops_mc.core.plan import ClusterPlan, Step, StepKind, machine_modules, title_of
from gitops_mc.core.pools import rendered_name
from gitops_mc.core.rollout.brackets import (
    closing,
    freed_by_git,
    freeing,
    is_paused,
    mark_of,
    opening,
    paused_in_git,
    pausing,
    renders_while_paused,
)
from gitops_mc.core.rollout.due import installed
from gitops_mc.core.rollout.gating import GateBook, watched_pools
from gitops_mc.core.rollout.moves import Apply, Move, Pause, PoolPatch, Unpause

REFUSED = "refused"
"""The step of an `Await` for what the plan refuses: only somebody can change that."""


@dataclass(frozen=True, slots=True)
class Act:
    """The move that is next. `begins`: it begins a step; otherwise it goes on with, or closes, one that is begun."""

    move: Move
    step: Step
    begins: bool


@dataclass(frozen=True, slots=True)
class Await:
    """Nothing to send until `reason` is over; `verdicts` are the gates in the way."""

    reason: str
    step: str
    verdicts: tuple[Verdict, ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """No writes left and every gate is open."""

    reason: str


Next = Act | Await | Finished


@dataclass(frozen=True, slots=True)
class Position:
    """One cluster, as `next_step` sees it. `exempt`: pools whose closed gate does not stop a repair."""

    desired: DesiredCluster
    live: LiveCluster
    plan: ClusterPlan
    gates: GateBook
    managed: tuple[str, ...]
    exempt: frozenset[str]


def next_step(at: Position) -> Next:
    """Modules, policy, groups of pools, what is taken away: in this order, each behind the gates of those before."""
    bracket = _open_bracket(at)
    if bracket is not None:
        return bracket
    waiting = None
    for track in (_machine_track, _other_modules):
        for found in track(at):
            if isinstance(found, Act):
                return found
            waiting = waiting or found
            break
    if waiting is not None:
        return waiting
    for found in _removals(at):
        return found
    closed = _closed(at)
    if closed:
        return Await(_told(closed), "", tuple(v for _, v in closed))
    return Finished("every gate is open")


# ------------------------------------------------------------------------------------------------------- brackets


def marked_pools(live: LiveCluster) -> dict[str, JsonObject]:
    """Live pools that carry our mark."""
    if isinstance(live.pools, Unknown):
        return {}
    return {name: pool for name, pool in live.pools.value.items() if mark_of(pool) is not None}


def _open_bracket(at: Position) -> Next | None:
    marked = marked_pools(at.live)
    if not marked:
        return None
    steps = [s for s in at.plan.steps if s.kind is StepKind.POOLS and set(s.pools) & marked.keys()]
    if not steps:
        return _close(at, marked)
    pools = tuple(dict.fromkeys(p for s in steps for p in s.pools))
    whole = Step(StepKind.POOLS, ",".join(pools), tuple(w for s in steps for w in s.writes), pools)
    if patches := _openings(at, whole):
        return Act(Pause(at.desired.name, whole.id, patches), whole, begins=False)
    return Act(Apply(at.desired.name, whole.id, whole.writes), whole, begins=False)


def _close(at: Position, marked: dict[str, JsonObject]) -> Next:
    patches: list[PoolPatch] = []
    late: list[str] = []
    for name, pool in marked.items():
        mark = mark_of(pool)
        assert mark is not None
        reading = at.gates.readings.get(name)
        agrees = isinstance(reading, Settled) or (
            isinstance(reading, Unsettled) and reading.agreement is Agreement.AGREES
        )
        degraded = any(c.type == RENDER_DEGRADED for c in degraded_conditions(pool))
        if agrees or degraded or not renders_while_paused(pool, mark):
            patches.append(closing(pool, mark, _manifest(at, name)))
        else:
            late.append(
                f"pool {name} has rendered {rendered_name(pool)} while paused, which is not the merge yet"
            )
    pools = tuple(marked)
    step = Step(StepKind.POOLS, ",".join(pools), (), pools)
    if patches and not late:
        return Act(Unpause(at.desired.name, step.id, tuple(patches)), step, begins=False)
    return Await(f"everything is written; {'; '.join(late)}", step.id)


def _openings(at: Position, step: Step) -> tuple[PoolPatch, ...]:
    if isinstance(at.live.pools, Unknown):
        return ()
    found = ((name, at.live.pools.value.get(name)) for name in step.pools)
    return tuple(
        opening(pool, step.id, at.desired.content)
        for _, pool in found
        if pool is not None and mark_of(pool) is None
    )


# ---------------------------------------------------------------------------------------------------------- tracks


def _machine_track(at: Position) -> Iterator[Act | Await]:
    """What leads to healthy pools, in order; it ends where something has to be waited for."""
    steps = {s.id: s for s in at.plan.steps}
    for name in machine_modules(at.desired, at.live):
        step = steps.get(f"{StepKind.MODULE.value}:{name}")
        verdict = at.gates.modules.get(name)
        if step is not None and name not in at.gates.unpublished:
            yield _ready(at, step)
        shaken = at.gates.rolling and name == MACHINE_CONFIG_MODULE and installed(at.live, name)
        if verdict is not None and not isinstance(verdict, Open) and not shaken:
            yield Await(_told(((f"module {name}", verdict),)), f"module:{name}", (verdict,))
    if not isinstance(at.gates.components, Open) and not at.gates.rolling:
        yield Await(_told((("components", at.gates.components),)), "components", (at.gates.components,))
    if policy := steps.get(StepKind.POLICY.value):
        yield _ready(at, policy)
    if not isinstance(at.gates.policy, Open):
        yield Await(_told((("policy", at.gates.policy),)), StepKind.POLICY.value, (at.gates.policy,))
    yield from _freed_by_git(at)
    for step in at.plan.steps:
        if step.kind is StepKind.POOLS:
            yield _ready(at, step)
    yield from _paused_by_git(at)
    closed = at.gates.not_open(at.managed)
    if closed:
        reason = _told(tuple((f"pool {p}", v) for p, v in closed))
        yield Await(reason, f"pools:{','.join(p for p, _ in closed)}", tuple(v for _, v in closed))
    for step in at.plan.steps:
        if step.kind in {StepKind.POLICY_FINAL, StepKind.POOL_REMOVAL}:
            yield _ready(at, step)


def _freed_by_git(at: Position) -> Iterator[Act]:
    """A manifest that pauses its pool no more lets it run again, but only where that pause was ours."""
    pools = _live_pools(at)
    freed = tuple(freeing(p) for n, p in pools.items() if freed_by_git(p, _manifest(at, n)))
    if freed:
        step = Step(StepKind.POOLS, ",".join(p.pool for p in freed), (), tuple(p.pool for p in freed))
        yield Act(Unpause(at.desired.name, step.id, freed), step, begins=True)


def _paused_by_git(at: Position) -> Iterator[Act]:
    """A manifest that pauses its pool takes effect when all that is to be written to it is written."""
    pools = _live_pools(at)
    held = tuple(pausing(p) for n, p in pools.items() if paused_in_git(_manifest(at, n)) and not is_paused(p))
    if held:
        step = Step(StepKind.POOLS, ",".join(p.pool for p in held), (), tuple(p.pool for p in held))
        yield Act(Pause(at.desired.name, step.id, held), step, begins=True)


def _live_pools(at: Position) -> dict[str, JsonObject]:
    return {} if isinstance(at.live.pools, Unknown) else dict(at.live.pools.value)


def _manifest(at: Position, pool: str) -> JsonObject | None:
    return next((m.body for m in at.desired.of_kind(Kind.MACHINE_CONFIG_POOL) if m.key.name == pool), None)


def _other_modules(at: Position) -> Iterator[Act | Await]:
    """Modules that gate each other, not the pools."""
    first = machine_modules(at.desired, at.live)
    for name, verdict in at.gates.modules.items():
        if name in first:
            continue
        step = next((s for s in at.plan.steps if s.id == f"{StepKind.MODULE.value}:{name}"), None)
        if step is not None and name not in at.gates.unpublished:
            yield _ready(at, step)
        if not isinstance(verdict, Open):
            yield Await(_told(((f"module {name}", verdict),)), f"module:{name}", (verdict,))


def _removals(at: Position) -> Iterator[Act | Await]:
    for step in at.plan.steps:
        if step.kind is StepKind.MODULE_REMOVAL:
            yield _ready(at, step)


def _ready(at: Position, step: Step) -> Act | Await:
    """The step, if no pool it touches, and no managed pool, is in the way; else what it waits for.

    A repair is let through the gates of the pools it repairs; a pool that another has paused stops it all the same,
    for only who paused it may let it run.
    """
    touched = step.pools if step.kind is StepKind.MODULE else (*at.managed, *step.pools)
    relevant = () if step.kind in {StepKind.MODULE, StepKind.MODULE_REMOVAL} and not step.pools else touched
    existing = () if isinstance(at.live.pools, Unknown) else tuple(at.live.pools.value)
    closed = [
        (p, v) for p, v in at.gates.not_open(dict.fromkeys(relevant)) if p in existing and p not in at.exempt
    ]
    if closed:
        reason = f"before {title_of(step.id)}: " + _told(tuple((f"pool {p}", v) for p, v in closed))
        return Await(reason, step.id, tuple(v for _, v in closed))
    if step.bracketed and (patches := _openings(at, step)):
        return Act(Pause(at.desired.name, step.id, patches), step, begins=True)
    return Act(Apply(at.desired.name, step.id, step.writes), step, begins=True)


def _closed(at: Position) -> tuple[tuple[str, Verdict], ...]:
    """Gates that keep the cluster from passing; a pool that is none of ours is somebody else's."""
    watched = watched_pools(at.desired, at.live, at.managed)
    others = {f"pool {p}" for p in at.gates.pools if p not in watched}
    gates = [(view.subject, view.verdict) for view in at.gates.views() if view.subject not in others]
    return tuple((subject, verdict) for subject, verdict in gates if not isinstance(verdict, Open))


def _told(closed: Sequence[tuple[str, Verdict]]) -> str:
    return "; ".join(f"{subject}: {verdict.reason}" for subject, verdict in closed)


def creates(writes: Sequence[Change]) -> Iterator[Create]:
    """The writes that make an object that was not there."""
    for write in writes:
        match write:
            case Create():
                yield write
            case Adopt() | Update() | Delete():
                pass
