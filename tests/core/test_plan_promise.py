"""What a preview promises, and what a later plan does beyond that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_mc.core.diff import ABSENT, Adopt, Change, Create, Delete, FieldChange, Touch, Update
from gitops_mc.core.disruption import NONE, REBOOT, Action, ActionType, Cause, Disruption
from gitops_mc.core.ignition import ChangeKind, Entry, EntryChange, EntryKind
from gitops_mc.core.model import Content, Kind, ResourceKey
from gitops_mc.core.plan import (
    NOTHING,
    ClusterPlan,
    NodeImpact,
    PoolImpact,
    Refusal,
    Step,
    StepKind,
    beyond,
    promise_of,
)
from gitops_mc.core.plan.promise import MOST_MARKS

KEY = ResourceKey("edge-1", Kind.MACHINE_CONFIG, "50-worker-app")
RESTART = Action(ActionType.RESTART, "app.service")
FILE = EntryChange(Entry(EntryKind.FILE, "/etc/app.conf"), ChangeKind.CHANGED)


def update(*values: tuple[str, object], version: str = "7") -> Update:
    fields = tuple(FieldChange(path, ABSENT, value) for path, value in values)
    return Update(KEY, {}, "d" * 64, "uid", version, fields, Touch.CHANGES_EXISTING)


def impact(
    *actions: Action, nodes: Sequence[str] = ("n1",), changes: Sequence[EntryChange] = (FILE,)
) -> PoolImpact:
    stands = NodeImpact(tuple(nodes), len(nodes), Disruption(actions, ()))
    return PoolImpact("worker", tuple(changes), (stands,), 1, timedelta(minutes=20 * len(nodes)))


def plan(
    *writes: Change, impacts: Sequence[PoolImpact] = (), refusals: Sequence[Refusal] = ()
) -> ClusterPlan:
    steps = (Step(StepKind.POOLS, "worker", writes, ("worker",)),) if writes else ()
    return ClusterPlan("edge-1", Content("c"), steps, tuple(impacts), tuple(refusals))


SHOWN = plan(
    update(("spec.a", 1), ("spec.b", 2)), impacts=[impact(RESTART)], refusals=[Refusal("limits", "7 of 5")]
)


@pytest.mark.parametrize(
    "later",
    [
        SHOWN,
        plan(
            update(("spec.a", 1), ("spec.b", 2), version="8"),
            impacts=[impact(RESTART, nodes=("x", "y"))],
            refusals=[Refusal("limits", "8 of 5")],
        ),
        plan(update(("spec.a", 1)), impacts=[impact(RESTART)], refusals=SHOWN.refusals),
        plan(Adopt(KEY, {}, "d", "uid", "9", ("kubectl",)), refusals=SHOWN.refusals),
        plan(refusals=SHOWN.refusals),
    ],
    ids=[
        "the same",
        "other nodes, times, versions and numbers",
        "a field is as wanted by now",
        "equal by hand",
        "nothing is left to do",
    ],
)
def test_who_does_no_more_than_was_shown_keeps_the_promise(later: ClusterPlan) -> None:
    assert beyond(promise_of(SHOWN), later) == ()


@pytest.mark.parametrize(
    ("later", "told"),
    [
        (replace(SHOWN, impacts=(impact(REBOOT),)), "pool worker: nodes go through: reboot, drain"),
        (replace(SHOWN, impacts=(impact(RESTART, NONE),)), "pool worker: nodes go through: nothing restarts"),
        (replace(SHOWN, refusals=()), "no longer refused: limits"),
        (replace(SHOWN, unforeseen="nodes were not read"), "what happens to nodes is not known: nodes were not read"),
        (replace(SHOWN, impacts=(impact(RESTART, changes=(FILE, EntryChange(Entry(EntryKind.UNIT, "x.service"), ChangeKind.REMOVED))),)), "pool worker: unit x.service removed"),
        (plan(update(("spec.a", 1), ("spec.c", 3)), impacts=SHOWN.impacts, refusals=SHOWN.refusals), "MachineConfig 50-worker-app: spec.c is set"),
        (plan(update(("spec.a", 9)), impacts=SHOWN.impacts, refusals=SHOWN.refusals), "MachineConfig 50-worker-app: spec.a is set"),
        (plan(Create(KEY, {}, "d" * 64), impacts=SHOWN.impacts, refusals=SHOWN.refusals), "MachineConfig 50-worker-app is created"),
        (plan(Delete(KEY, KEY.name, "uid", "7", {}), impacts=SHOWN.impacts, refusals=SHOWN.refusals), "MachineConfig 50-worker-app is deleted"),
    ],
)  # fmt: skip
def test_what_was_not_shown_is_told(later: ClusterPlan, told: str) -> None:
    found = beyond(promise_of(SHOWN), later)
    assert found[0].startswith(told)
    assert len(found) == 1


def test_a_harmless_change_that_becomes_a_reboot_counts_although_a_node_of_the_pool_rebooted_anyway() -> None:
    """One node stands at an older config and reboots; nine were to restart a service, until somebody took the policy away."""

    def pool(actions: tuple[Action, ...]) -> PoolImpact:
        unit = Entry(EntryKind.UNIT, "chronyd.service")
        late = Cause(Entry(EntryKind.UNIT, "old.service"), ChangeKind.CHANGED, "no policy", (REBOOT,))
        own = Cause(unit, ChangeKind.CHANGED, "policy", actions)
        behind = NodeImpact(("n1",), 1, Disruption((REBOOT,), (late, own)))
        rest = NodeImpact(("n2",), 9, Disruption(actions, (own,)))
        return PoolImpact("worker", (FILE,), (behind, rest), 1, timedelta(hours=1))

    promise = promise_of(plan(impacts=[pool((RESTART,))]))
    assert beyond(promise, plan(impacts=[pool((RESTART,))])) == ()
    (told,) = beyond(promise, plan(impacts=[pool((REBOOT,))]))
    assert told == "pool worker: unit chronyd.service changed asks for reboot, drain"


def test_no_digest_of_a_value_is_told() -> None:
    for told in (
        *beyond(NOTHING, plan(update(("spec.a", "hunter2")))),
        *beyond(NOTHING, plan(Create(KEY, {}, "d" * 64))),
    ):
        assert not re.search(r"[0-9a-f]{8}", told)


def test_of_many_the_first_are_told_and_the_rest_counted() -> None:
    found = beyond(NOTHING, plan(update(*((f"spec.x{n:02}", n) for n in range(20)))))
    assert len(found) == 7
    assert found[-1] == "and 14 more"


def test_a_promise_too_long_to_remember_is_compared_as_a_whole() -> None:
    long = plan(update(*((f"spec.x{n}", n) for n in range(MOST_MARKS + 1))))
    promise = promise_of(long)
    assert promise.marks == ()
    assert beyond(promise, long) == ()
    assert beyond(promise, plan()) == ()
    (told,) = beyond(promise, SHOWN)
    assert "not those that were shown" in told
