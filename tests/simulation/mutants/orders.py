"""Faults of what humans order, and of the way back: for the seeds that draw orders."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from gitops_mc.core.gates import Counting
from gitops_mc.core.rollout import aborting, cluster, desk, fleet, progress
from gitops_mc.core.rollout.abort_marks import AbortMark
from gitops_mc.core.rollout.desk import Desk
from gitops_mc.core.rollout.inputs import Pass
from gitops_mc.core.rollout.memory import ClusterMemory
from gitops_mc.core.rollout.moves import PoolPatch
from gitops_mc.core.rollout.next_step import Act
from tests.scenarios.drawn_orders import ORDERED
from tests.simulation.mutants.listing import MISSED, mutant, put


@mutant("what was rolled back is forgotten as soon as the cluster is healthy, and tried again", first=ORDERED)
def rollback_retries_what_is_held(stack: ExitStack) -> None:
    put(stack, ClusterMemory, "held", property(lambda m: () if m.failure is None else (m.failure,)))


@mutant(
    "an abort takes a pool that another has paused for one of its own, and lets it run when it ends",
    first=ORDERED,
)
def abort_unpauses_what_another_paused(stack: ExitStack) -> None:
    def resuming(pool: dict[str, object], mark: AbortMark, manifest: dict[str, object] | None) -> PoolPatch:
        given: PoolPatch = resume(pool, replace(mark, before=None), manifest)
        return given

    put(stack, aborting, "is_paused", lambda _pool: False)
    resume = put(stack, aborting, "resuming", resuming)


@mutant("a suspended rollout closes the brackets that are open", first=ORDERED)
def suspended_closes_a_bracket(stack: ExitStack) -> None:
    _ends_steps_in_spite_of(stack, "suspended")


@mutant("an abort lets the steps that are open be ended", first=ORDERED)
def abort_ends_the_step(stack: ExitStack) -> None:
    _ends_steps_in_spite_of(stack, "aborted")


def _ends_steps_in_spite_of(stack: ExitStack, order: str) -> None:
    def may_write(on: Pass, name: str) -> bool:
        return bool(getattr(on.acts, order)) or may(on, name)

    def go_on(at: Desk, name: str) -> None:
        following = at.found[name].next
        ends = isinstance(following, Act) and not following.begins
        if ends or not getattr(at.on.acts, order):
            goes_on(at, name)

    def admit(at: Desk, *rest: object) -> None:
        if not getattr(at.on.acts, order):
            admits(at, *rest)

    may = put(stack, Pass, "may_write", may_write)
    goes_on = put(stack, Desk, "go_on", go_on)
    admits = put(stack, Desk, "admit", admit)


@mutant("an abort pauses no pool, and nodes go on", first=ORDERED)
def abort_pauses_nothing(stack: ExitStack) -> None:
    put(stack, desk, "stops", lambda *_: None)


@mutant("a step begins although its cluster is held", first=ORDERED)
def hold_overlooked_by_steps(stack: ExitStack) -> None:
    def unheld(method: Callable[..., None]) -> Callable[..., None]:
        def called(at: Desk, *rest: object) -> None:
            on = at.on
            at.on = replace(on, acts=replace(on.acts, held={}))
            method(at, *rest)
            at.on = on

        return called

    for name in ("go_on", "admit"):
        put(stack, Desk, name, unheld(getattr(Desk, name)))


@mutant("the clocks of what was rolled run on while it is suspended", first=ORDERED)
def clocks_run_while_suspended(stack: ExitStack) -> None:
    put(stack, fleet, "_counting", lambda *_: Counting.RUNNING)


@mutant("a rollback takes modules back too", first=ORDERED)
def rollback_writes_modules(stack: ExitStack) -> None:
    put(stack, cluster, "without_modules", lambda desired: desired)
    put(stack, progress, "blind_to_modules", lambda past: past)


MISSED |= {
    "abort-pauses-nothing": "needs an abort in the minutes in which nodes roll; tests/scenarios/test_judge_orders.py has it",
    "clocks-run-while-suspended": "tests/scenarios/test_orders.py has it",
    "rollback-writes-modules": "tests/scenarios/test_rollback.py has it",
}
