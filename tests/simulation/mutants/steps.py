"""Faults of steps and brackets: when a step begins, and what is left half done."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from gitops_mc.core.gates.waiting import GateReady
from gitops_mc.core.model import name_of
from gitops_mc.core.plan.steps import Step
from gitops_mc.core.rollout import admission, brackets, cluster, gating, next_step, progress
from gitops_mc.core.rollout.case import Assessment
from gitops_mc.core.rollout.moves import Apply, PoolPatch
from gitops_mc.core.rollout.next_step import Act, Await, Finished, Position
from tests.simulation.mutants.listing import mutant, put


@mutant("a step begins although a pool it touches is not settled")
def unsettled_overlooked(stack: ExitStack) -> None:
    def begins(at: Position, step: Step) -> Act | Await:
        return Act(Apply(at.desired.name, step.id, step.writes), step, begins=True)

    put(stack, next_step, "_ready", begins)


@mutant("a cluster is admitted although its pools are sick")
def sick_admitted(stack: ExitStack) -> None:
    put(stack, admission, "_relevant", lambda *_: ())
    put(stack, admission, "_sick_modules", lambda *_: None)
    put(
        stack,
        next_step,
        "_ready",
        lambda at, step: Act(Apply(at.desired.name, step.id, step.writes), step, begins=True),
    )


@mutant("several writes are made pass by pass without a bracket, and nodes start on half of them")
def no_bracket(stack: ExitStack) -> None:
    def first_only(at: Position, step: Step) -> Act | Await:
        found: Act | Await = ready(at, step)
        if isinstance(found, Act) and isinstance(found.move, Apply):
            return replace(found, move=replace(found.move, writes=found.move.writes[:1]))
        return found

    put(stack, Step, "bracketed", property(lambda _step: False))
    ready = put(stack, next_step, "_ready", first_only)


@mutant("a bracket that a dead process left open is not gone on with")
def bracket_not_resumed(stack: ExitStack) -> None:
    put(stack, next_step, "_open_bracket", lambda _at: None)


@mutant("a pool that somebody else has paused is let run")
def foreign_pause_lifted(stack: ExitStack) -> None:
    def freed(body: Any, manifest: Any) -> bool:
        marked = brackets.mark_of(body) is not None
        return brackets.is_paused(body) and not marked and not brackets.paused_in_git(manifest)

    def let_run(body: Any) -> PoolPatch:
        return PoolPatch(name_of(body), ({"op": "add", "path": "/spec/paused", "value": False},))

    put(stack, next_step, "freeing", let_run)
    put(stack, next_step, "freed_by_git", freed)
    put(stack, admission, "freed_by_git", freed)


@mutant("a config is written before its policy shows in status")
def policy_not_awaited(stack: ExitStack) -> None:
    put(stack, gating, "read_policy", lambda _live, _wanted: GateReady("not looked at"))


@mutant("a cluster with nothing left to write has passed, whatever its pools do")
def nothing_left_is_passed(stack: ExitStack) -> None:
    def hurried(*args: Any) -> Assessment:
        a: Assessment = judged(*args)
        written = a.plan is not None and not a.plan.steps and not a.plan.refusals
        return (
            replace(a, next=Finished("nothing is left to write"))
            if written and isinstance(a.next, Await)
            else a
        )

    judged = put(stack, cluster, "progress", hurried)


@mutant(
    "only pools with a manifest or a config of ours are waited for, not those that a deletion has touched"
)
def touched_forgotten(stack: ExitStack) -> None:
    def untouched(desired: Any, live: Any, _touched: Any = ()) -> Any:
        return managed(desired, live)

    def unwatched(desired: Any, live: Any, _touched: Any = ()) -> Any:
        return watched(desired, live)

    managed = put(stack, progress, "managed_pools", untouched)
    watched = put(stack, progress, "watched_pools", unwatched)
