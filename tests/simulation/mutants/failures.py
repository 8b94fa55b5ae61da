"""Faults of failures: what is held, what halts, and how a repair gets in."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from gitops_mc.app import executor
from gitops_mc.core.rollout import admission, fleet, outlook, waves
from gitops_mc.core.rollout.case import Assessment, Case
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.memory import Failure, FailureCause, FleetMemory
from gitops_mc.core.rollout.moves import Standing
from tests.simulation.mutants.listing import mutant, put


@mutant("too many failures halt nothing")
def no_halt(stack: ExitStack) -> None:
    put(stack, fleet, "with_halt", lambda memory, *_: memory)
    put(stack, waves.Budget, "too_many_failures", property(lambda _budget: False))


@mutant("a hold is bound to the commit: the next one, whatever it says, lifts it")
def hold_by_commit(stack: ExitStack) -> None:
    def forgiven(head: Fleet, memory: FleetMemory, *more: Any) -> Any:
        for name, m in memory.clusters.items():
            if m.failure is not None and m.started_commit != head.commit:
                passed = replace(m, failure=None, passed=m.started, passed_at=more[1], begun=False)
                memory = memory.with_cluster(name, passed)
        if memory.halt is not None and all(memory.cluster(n).failure is None for n in memory.halt.clusters):
            memory = replace(memory, halt=None)
        return decide(head, memory, *more)

    decide = put(stack, executor, "next_moves", forgiven)


@mutant("a repair is kept out until the pool it repairs has settled")
def fix_forward_refused(stack: ExitStack) -> None:
    put(stack, admission, "_fix_forward", lambda *_: frozenset())


@mutant("a cluster that does not answer has failed")
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

    assess = put(stack, fleet, "assess", harsh)


@mutant("a repair that needs nothing but time is not waited for")
def repair_not_awaited(stack: ExitStack) -> None:
    put(stack, outlook, "_repair_comes", lambda _a: False)
