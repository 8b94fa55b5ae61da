"""Deliberate faults of the engine, each to be caught by the invariants: what the simulation is worth is what it finds.

They are switched on by the tests alone, by putting another function in the place of the product's; the product has no
switch for any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gitops_mc.app import executor, observe
from gitops_mc.core.diff import machine
from gitops_mc.core.errors import GitopsMcError, NotFoundError
from gitops_mc.core.gates import agreement, clocks, pool, pool_checks
from gitops_mc.core.gates.waiting import GateReady
from gitops_mc.core.ignition.comparing import MismatchKind
from gitops_mc.core.live import LiveCluster, MachineApis, objects
from gitops_mc.core.model import Known, Open, name_of
from gitops_mc.core.plan import build
from gitops_mc.core.plan.steps import Step
from gitops_mc.core.policy import Prune
from gitops_mc.core.rollout import (
    admission,
    brackets,
    cluster,
    desk,
    fleet,
    gating,
    next_step,
    progress,
    waves,
)
from gitops_mc.core.rollout.case import Assessment, Case
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.memory import Failure, FailureCause, FleetMemory, WaveMemory
from gitops_mc.core.rollout.moves import Apply, PoolPatch, Standing, WaveState
from gitops_mc.core.rollout.next_step import Act, Await, Finished, Position
from tests.scenarios.rollout_world import KeptMemory


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault, in a sentence, and how it is switched on."""

    name: str
    sentence: str
    on: Callable[[], AbstractContextManager[None]]


MUTANTS: dict[str, Mutant] = {}
FOUND = Path(__file__).with_name("found.json")
"""The first seed that finds each, as `python -m tests.simulation mutants --keep` last wrote them down."""


def _mutant(sentence: str) -> Callable[[Callable[[ExitStack], None]], None]:
    def listed(make: Callable[[ExitStack], None]) -> None:
        @contextmanager
        def on() -> Iterator[None]:
            with ExitStack() as stack:
                make(stack)
                yield

        name = make.__name__.replace("_", "-")
        MUTANTS[name] = Mutant(name, sentence, on)

    return listed


def _put(stack: ExitStack, owner: Any, name: str, value: Any) -> Any:
    """Put `value` in the place of a name until the stack is unwound; answers what stood there."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    stack.callback(setattr, owner, name, before)
    return before


# -------------------------------------------------------------------------------------------------------- the pool gate


@_mutant("the pool gate believes a status that is older than the write")
def stale_status(stack: ExitStack) -> None:
    _put(stack, pool, "mismatches", lambda _view: iter(()))
    _put(
        stack, pool, "FIRM", tuple(check for check in pool_checks.FIRM if "generation" not in check.__name__)
    )


@_mutant("the rendered config has to contain the merge, not to equal it")
def contains(stack: ExitStack) -> None:
    def only_lacking(*args: Any, **more: Any) -> Any:
        return tuple(m for m in compare(*args, **more) if m.kind is not MismatchKind.SURPLUS)

    compare = _put(stack, agreement, "compare", only_lacking)


@_mutant("a pool opens at the first look that finds it settled")
def no_settle(stack: ExitStack) -> None:
    _put(
        stack,
        clocks,
        "_settle",
        lambda reason, kept, _policy, now: (Open(reason), replace(kept, judged_at=now)),
    )


@_mutant("a pool whose rendered config was not read counts as settled")
def unknown_is_settled(stack: ExitStack) -> None:
    _put(stack, pool, "lacking", lambda _view: ())


@_mutant("time in which nobody looked counts like any other")
def gaps_count(stack: ExitStack) -> None:
    _put(stack, fleet, "_after_gap", lambda memory, now: replace(memory, clock=now))


# ------------------------------------------------------------------------------------------------------ steps, brackets


@_mutant("a step begins although a pool it touches is not settled")
def unsettled_overlooked(stack: ExitStack) -> None:
    def begins(at: Position, step: Step) -> Act | Await:
        return Act(Apply(at.desired.name, step.id, step.writes), step, begins=True)

    _put(stack, next_step, "_ready", begins)


@_mutant("a cluster is admitted although its pools are sick")
def sick_admitted(stack: ExitStack) -> None:
    _put(stack, admission, "_relevant", lambda *_: ())
    _put(stack, admission, "_sick_modules", lambda *_: None)
    _put(
        stack,
        next_step,
        "_ready",
        lambda at, step: Act(Apply(at.desired.name, step.id, step.writes), step, begins=True),
    )


@_mutant("several writes are made one after the other, and nodes start on half of them")
def no_bracket(stack: ExitStack) -> None:
    _put(stack, Step, "bracketed", property(lambda _step: False))


@_mutant("a bracket that a dead process left open is not gone on with")
def bracket_not_resumed(stack: ExitStack) -> None:
    _put(stack, next_step, "_open_bracket", lambda _at: None)


@_mutant("a pool that somebody else has paused is let run")
def foreign_pause_lifted(stack: ExitStack) -> None:
    def freed(body: Any, manifest: Any) -> bool:
        marked = brackets.mark_of(body) is not None
        return brackets.is_paused(body) and not marked and not brackets.paused_in_git(manifest)

    def let_run(body: Any) -> PoolPatch:
        return PoolPatch(name_of(body), ({"op": "add", "path": "/spec/paused", "value": False},))

    _put(stack, next_step, "freeing", let_run)
    _put(stack, next_step, "freed_by_git", freed)
    _put(stack, admission, "freed_by_git", freed)


@_mutant("a config is written before its policy shows in status")
def policy_not_awaited(stack: ExitStack) -> None:
    _put(stack, gating, "read_policy", lambda _live, _wanted: GateReady("not looked at"))


@_mutant("a cluster with nothing left to write has passed, whatever its pools do")
def nothing_left_is_passed(stack: ExitStack) -> None:
    def hurried(*args: Any) -> Assessment:
        a: Assessment = judged(*args)
        written = a.plan is not None and not a.plan.steps and not a.plan.refusals
        return (
            replace(a, next=Finished("nothing is left to write"))
            if written and isinstance(a.next, Await)
            else a
        )

    judged = _put(stack, cluster, "progress", hurried)


@_mutant(
    "only pools with a manifest or a config of ours are waited for, not those that a deletion has touched"
)
def touched_forgotten(stack: ExitStack) -> None:
    def untouched(desired: Any, live: Any, _touched: Any = ()) -> Any:
        return managed(desired, live)

    def unwatched(desired: Any, live: Any, _touched: Any = ()) -> Any:
        return watched(desired, live)

    managed = _put(stack, progress, "managed_pools", untouched)
    watched = _put(stack, progress, "watched_pools", unwatched)


# ------------------------------------------------------------------------------------------------------ waves, budgets


@_mutant("one cluster more than maxConcurrent is under way")
def budget_off_by_one(stack: ExitStack) -> None:
    def one_more(self: desk.Desk, name: str, view: Any) -> bool:
        flying = [n for n, a in self.found.items() if n != name and self._holds_place(a)]
        ordered = waves.lines(self.on.fleet.policy, self.on.fleet.clusters)[0]
        wave = next(w for w in ordered if w.wave.name == view.wave)
        return len(flying) <= wave.wave.max_concurrent.at_least_one(len(view.members))

    _put(stack, desk.Desk, "_place", one_more)


@_mutant("a wave opens before the one before it is done")
def waves_ignored(stack: ExitStack) -> None:
    def open_at_once(*args: Any, closed: str) -> Any:
        return look(*args, closed="")

    look = _put(stack, fleet, "look", open_at_once)


@_mutant("a soak that was over for an earlier content is over for the next one")
def soak_not_reset(stack: ExitStack) -> None:
    def kept(line: Any, clusters: Any, memory: WaveMemory | None) -> WaveMemory:
        fresh: WaveMemory = remembered(line, clusters, memory)
        return fresh if memory is None else replace(fresh, soak_since=memory.soak_since)

    remembered = _put(stack, fleet, "remembered", kept)
    _put(stack, waves, "replace", _keeping_soak)


def _keeping_soak(value: Any, **changes: Any) -> Any:
    return value if changes == {"soak_since": None} else replace(value, **changes)


@_mutant("a wave that waits for approval goes on without one")
def approval_ignored(stack: ExitStack) -> None:
    def granted(*args: Any, closed: str) -> Any:
        view, memory = look(*args, closed=closed)
        return (
            replace(view, state=WaveState.OPEN) if view.state is WaveState.NEEDS_APPROVAL else view
        ), memory

    look = _put(stack, fleet, "look", granted)


@_mutant("an approval holds for whatever the wave's contents become")
def approval_outlives_contents(stack: ExitStack) -> None:
    def kept(line: Any, clusters: Any, memory: WaveMemory | None) -> WaveMemory:
        fresh: WaveMemory = remembered(line, clusters, memory)
        return fresh if memory is None else replace(fresh, approved=memory.approved)

    remembered = _put(stack, fleet, "remembered", kept)


@_mutant("global rolls beside other clusters")
def global_not_alone(stack: ExitStack) -> None:
    _put(stack, desk, "starts_alone", lambda _name: False)


# ------------------------------------------------------------------------------------------------------------ failures


@_mutant("too many failures halt nothing")
def no_halt(stack: ExitStack) -> None:
    _put(stack, fleet, "with_halt", lambda memory, *_: memory)
    _put(stack, waves.Budget, "too_many_failures", property(lambda _budget: False))


@_mutant("a hold is bound to the commit: the next one, whatever it says, lifts it")
def hold_by_commit(stack: ExitStack) -> None:
    def forgiven(head: Fleet, memory: FleetMemory, *more: Any) -> Any:
        for name, m in memory.clusters.items():
            if m.failure is not None and m.started_commit != head.commit:
                memory = memory.with_cluster(name, replace(m, failure=None, passed=m.started, begun=False))
        if memory.halt is not None and all(memory.cluster(n).failure is None for n in memory.halt.clusters):
            memory = replace(memory, halt=None)
        return decide(head, memory, *more)

    decide = _put(stack, executor, "next_moves", forgiven)


@_mutant("a repair is kept out until the pool it repairs has settled")
def fix_forward_refused(stack: ExitStack) -> None:
    _put(stack, admission, "_fix_forward", lambda *_: frozenset())


@_mutant("a cluster that does not answer has failed")
def dark_is_failed(stack: ExitStack) -> None:
    def harsh(case: Case) -> Assessment:
        a: Assessment = assess(case)
        if (
            a.standing not in {Standing.UNREACHABLE, Standing.NOT_KNOWN}
            or case.live.dark is None
            or not a.memory.begun
        ):
            return a
        failure = Failure(case.newest.content, FailureCause.CONFIG, a.reason, case.now, {"pool:worker": ""})
        return replace(a, standing=Standing.FAILED, memory=replace(a.memory, failure=failure))

    assess = _put(stack, fleet, "assess", harsh)


# ------------------------------------------------------------------------------------------ knowledge, memory, deletion


@_mutant("what could not be read is taken for absent")
def unread_is_absent(stack: ExitStack) -> None:
    def blind(self: observe.ClusterReader, live: LiveCluster) -> LiveCluster:
        try:
            found: LiveCluster = read(self, live)
        except NotFoundError:
            raise
        except GitopsMcError:
            nothing = Known(objects({}), self._clock.now())
            known = Known(MachineApis(served=True), nothing.at)
            return replace(live, machine_apis=known, configs=nothing, policies=nothing)
        return found

    read = _put(stack, observe.ClusterReader, "_read_kinds", blind)


@_mutant("deletions have no limit, and need no leave")
def prune_unlimited(stack: ExitStack) -> None:
    def greedy(*args: Any, **more: Any) -> Any:
        return sort(*args, **{**more, "prune": Prune(enabled=True, max_deletes=1000)})

    sort = _put(stack, build, "sort_deletions", greedy)
    _put(stack, build, "shrinking", lambda *_: ())


@_mutant("what was changed by hand is written over")
def hand_edits_lost(stack: ExitStack) -> None:
    _put(stack, machine, "_drift_refusal", lambda _case: None)
    _put(stack, machine, "_may_take", lambda _case: True)


@_mutant("first contact asks nobody")
def first_contact_unasked(stack: ExitStack) -> None:
    _put(stack, admission, "needs_approval", lambda *_: False)


@_mutant("the intent is made durable after the act, not before it")
def saved_late(stack: ExitStack) -> None:
    waiting: dict[int, Mapping[str, Any]] = {}

    def late(self: KeptMemory, state: Any) -> None:
        if (before := waiting.get(id(self))) is not None:
            save(self, before)
        waiting[id(self)] = state

    save = _put(stack, KeptMemory, "save", late)


@_mutant("what has been written is not remembered")
def inventory_lost(stack: ExitStack) -> None:
    _put(stack, progress, "with_inventory", lambda memory, *_: memory)
