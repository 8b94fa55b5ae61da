"""Faults of gates: what they believe, and since when."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from gitops_mc.core.gates import agreement, clocks, pool, pool_checks
from gitops_mc.core.ignition.comparing import MismatchKind
from gitops_mc.core.model import Open
from gitops_mc.core.rollout import fleet, gating
from tests.simulation.mutants.listing import mutant, put


@mutant("the pool gate believes a status that is older than the write")
def stale_status(stack: ExitStack) -> None:
    put(stack, pool, "mismatches", lambda _view: iter(()))
    put(stack, pool, "FIRM", tuple(check for check in pool_checks.FIRM if "generation" not in check.__name__))


@mutant("the rendered config has to contain the merge, not to equal it")
def contains(stack: ExitStack) -> None:
    def only_lacking(*args: Any, **more: Any) -> Any:
        return tuple(m for m in compare(*args, **more) if m.kind is not MismatchKind.SURPLUS)

    compare = put(stack, agreement, "compare", only_lacking)


@mutant("a pool opens at the first look that finds it settled")
def no_settle(stack: ExitStack) -> None:
    put(
        stack,
        clocks,
        "_settle",
        lambda reason, kept, _policy, now: (Open(reason), replace(kept, judged_at=now)),
    )


@mutant("a pool whose rendered config was not read counts as settled")
def unknown_is_settled(stack: ExitStack) -> None:
    put(stack, pool, "lacking", lambda _view: ())


@mutant("time in which nobody looked counts like any other")
def gaps_count(stack: ExitStack) -> None:
    put(stack, fleet, "_after_gap", lambda memory, now: replace(memory, clock=now))


@mutant("what somebody has edited in a config of ours is ours all the same")
def edited_is_ours(stack: ExitStack) -> None:
    put(stack, gating, "edited_configs", lambda *_: frozenset())
