"""Faults of waves and budgets: who starts, beside whom, and who has said so."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from gitops_mc.core.rollout import cluster, desk, fleet, waves
from gitops_mc.core.rollout.memory import WaveMemory
from gitops_mc.core.rollout.moves import WaveState
from tests.simulation.mutants.listing import mutant, put


@mutant("one cluster more than maxConcurrent is under way")
def budget_off_by_one(stack: ExitStack) -> None:
    def one_more(self: desk.Desk, name: str, view: Any) -> bool:
        flying = [n for n, a in self.found.items() if n != name and self.holds_place(a)]
        ordered = waves.lines(self.on.fleet.policy, self.on.fleet.clusters)[0]
        wave = next(w for w in ordered if w.wave.name == view.wave)
        return len(flying) <= wave.wave.max_concurrent.at_least_one(len(view.members))

    put(stack, desk.Desk, "_place", one_more)


@mutant("a wave opens before the one before it is done")
def waves_ignored(stack: ExitStack) -> None:
    def open_at_once(*args: Any, closed: str) -> Any:
        return look(*args, closed="")

    look = put(stack, fleet, "look", open_at_once)


@mutant("a soak that was over for an earlier content is over for the next one")
def soak_not_reset(stack: ExitStack) -> None:
    def kept(line: Any, clusters: Any, memory: WaveMemory | None) -> WaveMemory:
        fresh: WaveMemory = remembered(line, clusters, memory)
        return fresh if memory is None else replace(fresh, soak_since=memory.soak_since, soaked=memory.soaked)

    remembered = put(stack, fleet, "remembered", kept)
    put(stack, waves, "replace", _keeping_soak)


def _keeping_soak(value: Any, **changes: Any) -> Any:
    return value if changes == {"soak_since": None, "soaked": False} else replace(value, **changes)


@mutant("a wave that waits for approval goes on without one")
def approval_ignored(stack: ExitStack) -> None:
    def granted(*args: Any, closed: str) -> Any:
        view, memory = look(*args, closed=closed)
        return (
            replace(view, state=WaveState.OPEN) if view.state is WaveState.NEEDS_APPROVAL else view
        ), memory

    look = put(stack, fleet, "look", granted)


@mutant("an approval holds for whatever the wave's contents become")
def approval_outlives_contents(stack: ExitStack) -> None:
    def kept(line: Any, clusters: Any, memory: WaveMemory | None) -> WaveMemory:
        fresh: WaveMemory = remembered(line, clusters, memory)
        return fresh if memory is None else replace(fresh, approved=memory.approved)

    remembered = put(stack, fleet, "remembered", kept)


@mutant("global rolls beside other clusters")
def global_not_alone(stack: ExitStack) -> None:
    put(stack, desk, "starts_alone", lambda _name: False)


@mutant("work of ours that nobody remembers takes no place")
def forgotten_takes_no_place(stack: ExitStack) -> None:
    put(stack, cluster, "left_open", lambda _case: ())
