"""Deliberate faults that only a crash brings to light: each is switched on in the process under test, and is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count

import pytest

from gitops_mc.app import act as acting
from gitops_mc.app import executor as executing
from gitops_mc.app.api import ClusterApi, DryRun, Resource
from gitops_mc.app.executor import Executor
from gitops_mc.app.ports import Clock
from gitops_mc.core.diff import Create
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import GLOBAL_CLUSTER, Content, DesiredCluster, JsonObject, Unknown, metadata
from gitops_mc.core.plan import ClusterPlan
from gitops_mc.core.rollout import brackets, desk, inventory, next_step, progress, transitions
from gitops_mc.core.rollout.brackets import Mark
from gitops_mc.core.rollout.memory import ClusterMemory, FleetMemory
from gitops_mc.core.rollout.moves import Apply, Move
from gitops_mc.core.rollout.next_step import Act
from tests.scenarios.crash_everywhere import Rule, crash
from tests.scenarios.crash_rollout import Case, Sort, Step
from tests.scenarios.crash_worlds import BRACKET, INSTALLATION, TAKEN_BACK
from tests.scenarios.rollout_world import EMBEDDED, GROUND

Patch = Callable[[pytest.MonkeyPatch], None]


class ThisProcess:
    """What a process knows only of itself; a new one begins when it reads the memory."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.known: set[object] = set()
        read = Executor.memory

        def starts(executor: Executor) -> FleetMemory:
            self.known.clear()
            return read(executor)

        patch.setattr(Executor, "memory", starts)


def brackets_of_others_are_not_seen(patch: pytest.MonkeyPatch) -> None:
    this, sees, opens = ThisProcess(patch), brackets.mark_of, brackets.opening

    def opening(pool: JsonObject, step: str, content: Content) -> object:
        this.known.add(metadata(pool)["name"])
        return opens(pool, step, content)

    def mark_of(pool: JsonObject) -> Mark | None:
        return sees(pool) if metadata(pool)["name"] in this.known else None

    patch.setattr(next_step, "opening", opening)
    patch.setattr(next_step, "mark_of", mark_of)


def what_was_written_is_learnt_from_answers_alone(patch: pytest.MonkeyPatch) -> None:
    this, carries, learns = ThisProcess(patch), acting.carry_out, inventory.with_inventory

    def carry_out(api: ClusterApi, clock: Clock, move: Move, content: Content) -> object:
        if isinstance(move, Apply):
            this.known.update((w.key.kind, w.key.name) for w in move.writes)
        return carries(api, clock, move, content)

    def with_inventory(
        memory: ClusterMemory, desired: DesiredCluster, plan: ClusterPlan, live: LiveCluster
    ) -> ClusterMemory:
        before = {(e.kind, e.name) for e in memory.inventory}
        learnt = learns(memory, desired, plan, live)
        kept = [e for e in learnt.inventory if (e.kind, e.name) in before | this.known]
        return replace(learnt, inventory=tuple(kept))

    patch.setattr(executing, "carry_out", carry_out)
    patch.setattr(progress, "with_inventory", with_inventory)
    patch.setattr(desk, "with_inventory", with_inventory)


def modules_are_made_under_a_name_of_the_moment(patch: pytest.MonkeyPatch) -> None:
    numbers = count()

    def create(api: ClusterApi, resource: Resource, write: Create, dry_run: DryRun) -> None:
        body = {**write.body, "metadata": {**metadata(write.body), "name": f"edge-1-new-{next(numbers)}"}}
        api.create(GLOBAL_CLUSTER, resource, body, dry_run=dry_run)

    patch.setattr(acting, "_create_module", create)


def the_intent_is_not_remembered_before_the_act(patch: pytest.MonkeyPatch) -> None:
    remembers = transitions.about_to

    def about_to(
        memory: ClusterMemory, act: Act, desired: DesiredCluster, live: LiveCluster, now: datetime
    ) -> ClusterMemory:
        return replace(remembers(memory, act, desired, live, now), begun=memory.begun, created=memory.created)

    patch.setattr(desk, "about_to", about_to)


def nodes_are_not_read_at_first(patch: pytest.MonkeyPatch) -> None:
    moves = executing._moves_nodes

    def blind(cluster: DesiredCluster, live: LiveCluster | None) -> bool:
        return live is not None and not isinstance(live.pools, Unknown) and moves(cluster, live)

    patch.setattr(executing, "_moves_nodes", blind)


def what_arrives_late_is_nobodys(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(inventory, "_made", lambda _key, _live: None)


def writes(step: Step) -> bool:
    return step.sort is Sort.WRITE


def write_of_a(step: Step) -> bool:
    return writes(step) and step.what.endswith("50-worker-a")


def saves(step: Step) -> bool:
    return step.sort is Sort.SAVE


@dataclass(frozen=True, slots=True)
class Fault:
    patch: Patch
    case: Case
    rule: Rule
    told: str
    """In what the harness says."""


FAULTS = (
    Fault(brackets_of_others_are_not_seen, BRACKET, write_of_a, "paused by us, in the middle of a step"),
    Fault(
        what_was_written_is_learnt_from_answers_alone, BRACKET, writes, "the memory/clusters/edge-1/inventory"
    ),
    Fault(modules_are_made_under_a_name_of_the_moment, INSTALLATION, writes, "we made 2, undisturbed 1"),
    Fault(the_intent_is_not_remembered_before_the_act, TAKEN_BACK, writes, "disk/edge-1-w1/files//etc/b"),
    Fault(nodes_are_not_read_at_first, INSTALLATION, saves, "the memory/clusters/edge-1/touched"),
    Fault(what_arrives_late_is_nobodys, TAKEN_BACK, writes, "disk/edge-1-w1/files//etc/b"),
)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.patch.__name__)
def test_a_fault_that_only_a_crash_brings_to_light_is_found(
    fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    if GROUND.get() is not EMBEDDED:
        pytest.skip("a fork copies the embedded servers and no others")
    fault.patch(monkeypatch)
    tally = crash(fault.case, fault.rule)
    assert any(fault.told in verdict.failure for verdict in tally.failures), tally.failures
