"""Edits by hand: listed, refused where Git changes them too, and never undone by themselves."""

from __future__ import annotations

import pytest

from gitops_mc.core.diff import (
    Adopt,
    Create,
    Delete,
    Ownership,
    RefusalCause,
    Touch,
    Update,
)
from gitops_mc.core.model import (
    BRACKET_ANNOTATION,
    FIELD_MANAGER,
    Kind,
)
from tests.core.diff_world import (
    NAME,
    World,
    chrony,
    edited,
    key,
    policy,
    pool,
)
from tests.core.machine_configs import file

CONFIG, POOL, POLICY = Kind.MACHINE_CONFIG, Kind.MACHINE_CONFIG_POOL, Kind.MACHINE_CONFIGURATION


@pytest.fixture
def world() -> World:
    return World()


def test_an_edit_by_hand_is_listed_and_not_written(world: World) -> None:
    world.roll(chrony())
    world.merge_patch(CONFIG, NAME, edited("data:,emergency"))
    found = world.diff(chrony())
    assert [*found.changes, *found.unchanged] == []
    (drift,) = found.drifts
    assert drift.managers == ("kubectl-edit",)
    assert [(f.before, f.after) for f in drift.fields] == [
        (file("/etc/chrony.conf", "data:,server%20a"), file("/etc/chrony.conf", "data:,emergency"))
    ]


def test_an_edit_by_hand_that_git_changes_too_is_refused(world: World) -> None:
    world.roll(chrony())
    world.merge_patch(CONFIG, NAME, edited("data:,emergency"))
    found = world.diff(chrony("data:,server%20b"))
    (refused,) = found.refusals
    assert found.changes == ()
    assert refused.cause is RefusalCause.DRIFTED
    assert "kubectl-edit" in refused.reason


def test_a_kernel_argument_set_by_hand_is_not_rebooted_away_by_a_change_of_a_file(world: World) -> None:
    world.roll(chrony("data:,server%20a", "nosmt"))
    world.merge_patch(CONFIG, NAME, {"spec": {"kernelArguments": ["mitigations=off"]}})
    (refused,) = world.diff(chrony("data:,server%20b", "nosmt")).refusals
    assert refused.cause is RefusalCause.DRIFTED


def test_putting_the_live_values_into_git_ends_the_refusal_without_a_reboot(world: World) -> None:
    world.roll(chrony())
    world.merge_patch(CONFIG, NAME, edited("data:,emergency"))
    before = world.get(CONFIG, NAME)["spec"]
    (change,) = world.roll(chrony("data:,emergency")).changes
    assert isinstance(change, Adopt)
    assert world.get(CONFIG, NAME)["spec"] == before
    assert world.diff(chrony("data:,emergency")).unchanged == (key(CONFIG, NAME),)


def test_git_may_take_the_live_side_and_change_something_else_in_one_commit(world: World) -> None:
    world.roll(chrony("data:,server%20a", "nosmt"))
    world.merge_patch(CONFIG, NAME, {"spec": {"kernelArguments": ["mitigations=off"]}})
    (change,) = world.roll(chrony("data:,server%20b", "mitigations=off")).changes
    assert isinstance(change, Update)
    assert [f.path for f in change.fields] == ["spec.config.storage.files[/etc/chrony.conf]"]


def test_an_edit_undone_by_hand_is_told_as_ownership_taken(world: World) -> None:
    world.roll(chrony())
    world.merge_patch(CONFIG, NAME, edited("data:,emergency"))
    world.merge_patch(CONFIG, NAME, edited("data:,server%20a"))
    (drift,) = world.diff(chrony()).drifts
    assert drift.fields == ()
    assert "values are as in Git" in drift.reason
    assert drift.managers == ("kubectl-edit",)


def test_an_object_deleted_by_hand_is_made_again_only_when_a_human_says_that_git_wins(world: World) -> None:
    world.roll(chrony())
    world.delete(CONFIG, NAME)
    found = world.diff(chrony())
    assert found.changes == ()
    assert "deleted since we wrote it" in found.drifts[0].reason
    changed = world.diff(chrony("data:,server%20b"))
    assert changed.changes == ()
    assert changed.refusals[0].cause is RefusalCause.DRIFTED
    world.git_wins = frozenset({key(CONFIG, NAME)})
    (change,) = world.diff(chrony("data:,server%20b")).changes
    assert isinstance(change, Create)


def test_an_object_deleted_and_made_again_by_hand_is_not_ours_to_change(world: World) -> None:
    world.roll(chrony())
    world.delete(CONFIG, NAME)
    world.create(chrony("data:,theirs"))
    assert world.diff(chrony()).drifts[0].key == key(CONFIG, NAME)
    (refused,) = world.diff(chrony("data:,server%20b")).refusals
    assert refused.cause is RefusalCause.DRIFTED
    assert "made again" in refused.reason


def test_a_human_may_say_that_git_wins(world: World) -> None:
    world.roll(chrony("data:,server%20a"))
    world.merge_patch(CONFIG, NAME, edited("data:,emergency"))
    world.git_wins = frozenset({key(CONFIG, NAME)})
    (refused,) = world.diff(chrony("data:,server%20a")).refusals
    assert refused.cause is RefusalCause.CONFLICT
    (change,) = world.roll(chrony("data:,server%20a", adopt_from="kubectl-edit")).changes
    assert isinstance(change, Update)
    assert change.ownership is Ownership.TAKE
    assert (
        world.get(CONFIG, NAME)["spec"]["config"]["storage"]["files"][0]["contents"]["source"]
        == "data:,server%20a"
    )


def test_a_human_may_have_an_object_made_again(world: World) -> None:
    world.roll(chrony())
    world.delete(CONFIG, NAME)
    world.git_wins = frozenset({key(CONFIG, NAME)})
    (change,) = world.roll(chrony()).changes
    assert isinstance(change, Create)
    assert world.diff(chrony()).changes == (), "what Git has won is not written again and again"


def test_an_object_made_again_by_hand_with_the_values_of_git_is_adopted(world: World) -> None:
    world.roll(chrony())
    world.delete(CONFIG, NAME)
    world.create(chrony("data:,server%20b"))
    (change,) = world.roll(chrony("data:,server%20b")).changes
    assert isinstance(change, Adopt)


def test_a_write_that_memory_missed_is_told_from_drift_by_the_mark(world: World) -> None:
    world.roll(chrony("data:,server%20a"))
    remembered = dict(world.inventory)
    world.roll(chrony("data:,server%20b"))
    world.inventory = dict(remembered)
    assert world.diff(chrony("data:,server%20b")).unchanged == (key(CONFIG, NAME),)
    (change,) = world.diff(chrony("data:,server%20c")).changes
    assert isinstance(change, Update)
    (change,) = world.diff(pool()).changes[1:]
    assert isinstance(change, Delete)


def test_an_object_we_made_again_and_memory_missed_is_no_drift(world: World) -> None:
    world.roll(chrony("data:,server%20a"))
    remembered = dict(world.inventory)
    world.delete(CONFIG, NAME)
    world.git_wins = frozenset({key(CONFIG, NAME)})
    world.roll(chrony("data:,server%20b"))
    world.git_wins = frozenset()
    world.inventory = remembered
    (change,) = world.diff(chrony("data:,server%20c")).changes
    assert isinstance(change, Update)


def test_lost_memory_rewrites_nothing(world: World) -> None:
    bodies = (chrony(), pool(), policy("/etc/chrony.conf"))
    world.roll(*bodies)
    world.inventory = {}
    found = world.diff(*bodies)
    assert found.changes == ()
    assert len(found.unchanged) == len(bodies)


def test_a_change_of_our_own_object_counts_as_changing_a_value_somebody_set(world: World) -> None:
    world.roll(chrony())
    world.inventory = {}
    (change,) = world.diff(chrony("data:,server%20b")).changes
    assert change.touch is Touch.CHANGES_EXISTING


def test_dropping_a_map_that_somebody_wrote_into_is_refused_since_no_conflict_would_stop_it(
    world: World,
) -> None:
    world.roll(chrony())
    world.merge_patch(CONFIG, NAME, edited("data:,emergency"))
    without = chrony()
    del without["spec"]["config"]["storage"]
    (refused,) = world.diff(without).refusals
    assert refused.cause is RefusalCause.DRIFTED
    assert refused.managers == ("kubectl-edit",)
    assert [f.path for f in refused.fields] == ["spec.config.storage.files[/etc/chrony.conf]"]


def test_dropping_a_map_takes_no_addition_of_another_along(world: World) -> None:
    world.roll(chrony())
    luks = {"spec": {"config": {"storage": {"luks": [{"name": "data"}]}}}}
    world.merge_patch(CONFIG, NAME, luks)
    assert world.diff(chrony()).unchanged == (key(CONFIG, NAME),)
    without = chrony()
    del without["spec"]["config"]["storage"]
    (refused,) = world.diff(without).refusals
    assert refused.conflicts[0].fields == ("spec.config.storage.luks",)


def test_dropping_an_entry_whose_actions_somebody_changed_is_refused(world: World) -> None:
    world.roll(policy("/etc/a", "/etc/b"))
    entries = policy("/etc/a", "/etc/b", action="Reboot")["spec"]["nodeDisruptionPolicy"]["files"]
    changed = [entries[0], policy("/etc/b")["spec"]["nodeDisruptionPolicy"]["files"][0]]
    world.merge_patch(POLICY, "cluster", {"spec": {"nodeDisruptionPolicy": {"files": changed}}})
    (refused,) = world.diff(policy("/etc/b")).refusals
    assert refused.cause is RefusalCause.DRIFTED


def test_pausing_a_pool_for_a_step_is_no_drift_and_no_conflict(world: World) -> None:
    world.roll(pool())
    bracket = {"metadata": {"annotations": {BRACKET_ANNOTATION: "{}"}}, "spec": {"paused": True}}
    world.merge_patch(POOL, "infra", bracket, manager=FIELD_MANAGER)
    assert world.diff(pool()).unchanged == (key(POOL, "infra"),)
    assert world.diff(pool(paused=False)).unchanged == (key(POOL, "infra"),)
    (change,) = world.roll(pool(maxUnavailable=2)).changes
    assert isinstance(change, Update)
    assert world.get(POOL, "infra")["spec"]["paused"] is True


def test_a_pool_that_is_paused_otherwise_than_its_manifest_says_is_told(world: World) -> None:
    world.roll(pool(paused=True))
    (drift,) = world.diff(pool(paused=True)).drifts
    assert [(f.path, f.before) for f in drift.fields] == [("spec.paused", True)]


def test_a_null_in_a_manifest_takes_nothing_from_anybody(world: World) -> None:
    world.apply(pool(maxUnavailable=2), manager="operator")
    body = {
        **pool(),
        "spec": {"maxUnavailable": None, "machineConfigSelector": pool()["spec"]["machineConfigSelector"]},
    }
    (change,) = world.roll(body).changes
    assert isinstance(change, Adopt)
    assert world.get(POOL, "infra")["spec"]["maxUnavailable"] == 2


def test_a_crash_after_the_union_leads_on_to_the_final_list_even_with_lost_memory(world: World) -> None:
    world.roll(policy("/etc/a", "/etc/b"))
    (change,) = world.diff(policy("/etc/b")).changes
    assert isinstance(change, Update)
    assert change.union_body is not None
    world.apply(change.union_body)
    world.inventory = {}
    (rest,) = world.roll(policy("/etc/b")).changes
    assert isinstance(rest, Update)
    files = world.get(POLICY, "cluster")["spec"]["nodeDisruptionPolicy"]["files"]
    assert [entry["path"] for entry in files] == ["/etc/b"]
