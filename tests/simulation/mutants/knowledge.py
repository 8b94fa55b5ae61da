"""Faults of what is known and remembered, and of deletion."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from gitops_mc.app import observe
from gitops_mc.core.diff import machine
from gitops_mc.core.errors import GitopsMcError, NotFoundError
from gitops_mc.core.live import LiveCluster, MachineApis, objects
from gitops_mc.core.model import Known
from gitops_mc.core.plan import build
from gitops_mc.core.policy import Prune
from gitops_mc.core.rollout import admission, progress
from tests.simulation.mutants.listing import mutant, put


@mutant("what could not be read is taken for absent")
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

    read = put(stack, observe.ClusterReader, "_read_kinds", blind)


@mutant("deletions have no limit, and need no leave")
def prune_unlimited(stack: ExitStack) -> None:
    def greedy(*args: Any, **more: Any) -> Any:
        return sort(*args, **{**more, "prune": Prune(enabled=True, max_deletes=1000)})

    sort = put(stack, build, "sort_deletions", greedy)
    put(stack, build, "shrinking", lambda *_: ())


@mutant("what was changed by hand is written over")
def hand_edits_lost(stack: ExitStack) -> None:
    put(stack, machine, "_drift_refusal", lambda _case: None)
    put(stack, machine, "_may_take", lambda _case: True)


@mutant("first contact asks nobody")
def first_contact_unasked(stack: ExitStack) -> None:
    put(stack, admission, "needs_approval", lambda *_: False)


@mutant("what has been written is not remembered")
def inventory_lost(stack: ExitStack) -> None:
    put(stack, progress, "with_inventory", lambda memory, *_: memory)
