"""Other field managers: conflicts, adoption, and the policy that several owners share."""

from __future__ import annotations

import pytest

from gitops_mc.core.diff import (
    ABSENT,
    Adopt,
    Delete,
    Ownership,
    RefusalCause,
    Touch,
    Update,
    Written,
    diff_cluster,
)
from gitops_mc.core.model import (
    ADOPT_ANNOTATION,
    APPLIED_ANNOTATION,
    FLEET_LABEL,
    JsonObject,
    Kind,
)
from tests.core.diff_world import (
    NAME,
    RefusedError,
    World,
    chrony,
    desired,
    edited,
    key,
    policy,
    pool,
)
from tests.core.machine_configs import machine_config

CONFIG, POOL, POLICY = Kind.MACHINE_CONFIG, Kind.MACHINE_CONFIG_POOL, Kind.MACHINE_CONFIGURATION


@pytest.fixture
def world() -> World:
    return World()


# ------------------------------------------------------------------------------------------ conflicts and adoption


def test_a_conflict_names_the_manager_and_the_fields_as_the_server_does(world: World) -> None:
    world.apply(policy("/etc/a", sshkey={"actions": [{"type": "Reboot"}]}), manager="operator")
    body = policy("/etc/b", sshkey={"actions": [{"type": "None"}]})
    (refused,) = world.diff(body).refusals
    assert refused.cause is RefusalCause.CONFLICT
    assert refused.managers == ("operator",)
    assert '"operator" owns spec.nodeDisruptionPolicy.sshkey.actions' in refused.reason
    with pytest.raises(RefusedError, match=r'"operator": .spec.nodeDisruptionPolicy.sshkey.actions'):
        world.apply(body)


def test_adopt_from_takes_over_only_when_every_conflicting_manager_is_named(world: World) -> None:
    world.create(chrony("data:,theirs"))
    world.merge_patch(CONFIG, NAME, {"spec": {"kernelArguments": ["quiet"]}}, manager="ansible")
    body = chrony("data:,server%20a", "nosmt", adopt_from="kubectl-create")
    assert world.diff(body).refusals[0].managers == ("ansible", "kubectl-create")
    body = chrony("data:,server%20a", "nosmt", adopt_from="kubectl-create, ansible")
    (change,) = world.roll(body).changes
    assert isinstance(change, Update)
    assert (change.ownership, change.touch) == (Ownership.TAKE, Touch.CHANGES_EXISTING)
    assert not [note for note in change.notes if "kernelArguments" in note or "storage.files" in note]
    assert any("spec.config.ignition.version too" in note for note in change.notes)
    assert world.get(CONFIG, NAME)["spec"]["kernelArguments"] == ["nosmt"]


@pytest.mark.parametrize("trace", ["managed fields", "annotation", "inventory"])
def test_adopt_from_never_forces_what_we_have_owned_before(world: World, trace: str) -> None:
    if trace == "managed fields":
        world.apply(chrony("data:,server%20a", "nosmt"))
        world.merge_patch(CONFIG, NAME, edited("data:,emergency"))
    else:
        world.create(chrony("data:,emergency"))
    if trace == "annotation":
        world.merge_patch(CONFIG, NAME, {"metadata": {"annotations": {APPLIED_ANNOTATION: "0" * 64}}})
    if trace == "inventory":
        world.inventory[key(CONFIG, NAME)] = Written("0" * 64, "", NAME)
    found = world.diff(chrony("data:,server%20b", "nosmt", adopt_from="kubectl-edit,kubectl-create"))
    assert found.changes == ()
    assert found.refusals[0].cause in {RefusalCause.CONFLICT, RefusalCause.DRIFTED}


_KEYS = {"users": [{"name": "boot", "sshAuthorizedKeys": ["emergency"]}]}


@pytest.mark.parametrize("edit", [edited("data:,emergency"), {"spec": {"config": {"passwd": _KEYS}}}])
def test_naming_the_co_owner_never_undoes_what_he_set_since_the_adoption(
    world: World, edit: JsonObject
) -> None:
    world.create(chrony("data:,server%20a"), manager="kubectl-edit")
    world.roll(chrony("data:,server%20a"))
    world.merge_patch(CONFIG, NAME, edit)
    wanted = chrony("data:,server%20b", adopt_from="kubectl-edit")
    wanted["spec"]["config"]["passwd"] = {"users": [{"name": "boot", "sshAuthorizedKeys": ["ours"]}]}
    found = world.diff(wanted)
    assert found.changes == ()
    assert found.refusals[0].cause in {RefusalCause.CONFLICT, RefusalCause.DRIFTED}


def test_adopting_says_that_the_co_owner_keeps_fields_alive(world: World) -> None:
    world.create(chrony("data:,server%20a", "nosmt"), manager="kubectl-client-side-apply")
    (change,) = world.roll(chrony("data:,server%20a", "nosmt")).changes
    assert isinstance(change, Adopt)
    assert change.managers == ("kubectl-client-side-apply",)
    assert change.touch is Touch.CHANGES_EXISTING
    assert any("spec.kernelArguments" in note and "does not remove" in note for note in change.notes)
    without = chrony("data:,server%20a")
    del without["spec"]["kernelArguments"]
    (later,) = world.roll(without).changes
    assert any("spec.kernelArguments is dropped from Git but stays" in note for note in later.notes)  # type: ignore[union-attr]
    assert world.get(CONFIG, NAME)["spec"]["kernelArguments"] == ["nosmt"]


def test_what_was_adopted_with_equal_values_is_changed_by_git_when_the_co_owner_is_named(
    world: World,
) -> None:
    world.create(chrony("data:,server%20a", "nosmt"), manager="kubectl-client-side-apply")
    world.roll(chrony("data:,server%20a", "nosmt"))
    changed = "data:,server%20b"
    (refused,) = world.diff(chrony(changed, "nosmt")).refusals
    assert refused.cause is RefusalCause.CONFLICT
    assert f"set {ADOPT_ANNOTATION}: kubectl-client-side-apply" in refused.reason
    (update,) = world.roll(chrony(changed, "nosmt", adopt_from="kubectl-client-side-apply")).changes
    assert isinstance(update, Update)
    assert update.ownership is Ownership.TAKE
    file = world.get(CONFIG, NAME)["spec"]["config"]["storage"]["files"][0]
    assert file["contents"]["source"] == changed


def test_what_the_co_owner_has_edited_since_is_not_forced_though_he_is_named(world: World) -> None:
    world.create(chrony("data:,server%20a", "nosmt"), manager="kubectl-client-side-apply")
    world.roll(chrony("data:,server%20a", "nosmt"))
    world.merge_patch(CONFIG, NAME, edited("data:,emergency"), manager="kubectl-client-side-apply")
    found = world.diff(chrony("data:,server%20b", "nosmt", adopt_from="kubectl-client-side-apply"))
    assert found.changes == ()
    assert found.refusals[0].cause is RefusalCause.DRIFTED


def test_a_copied_mark_that_another_manager_owns_is_a_conflict_too(world: World) -> None:
    world.roll(chrony())
    exported = world.get(CONFIG, NAME)
    kept = {"name": NAME, "annotations": exported["metadata"]["annotations"]}
    world.apply({**chrony(), "metadata": kept}, manager="ansible")
    (refused,) = world.diff(chrony("data:,server%20a", "nosmt")).refusals
    assert refused.managers == ("ansible",)
    assert APPLIED_ANNOTATION in refused.reason


def test_an_object_of_another_fleet_is_not_taken(world: World) -> None:
    world.create(chrony())
    world.merge_patch(CONFIG, NAME, {"metadata": {"labels": {FLEET_LABEL: "other"}}})
    (refused,) = world.diff(chrony()).refusals
    assert refused.cause is RefusalCause.FOREIGN_FLEET


def test_objects_of_the_default_fleet_are_ours_whoever_ran_us(world: World) -> None:
    found = diff_cluster(desired(chrony()), world.live(), {}, fleet="default")
    world.write(found.changes[0])
    assert world.diff(chrony()).unchanged == (key(CONFIG, NAME),)
    assert [c.key.name for c in world.diff(pool()).changes if isinstance(c, Delete)] == [NAME]


def test_a_renamed_fleet_goes_on_with_the_objects_it_remembers(world: World) -> None:
    world.roll(chrony())
    body = chrony("data:,server%20b")
    found = diff_cluster(desired(body), world.live(), world.inventory, fleet="renamed")
    (change,) = found.changes
    assert isinstance(change, Update)
    assert change.body["metadata"]["labels"][FLEET_LABEL] == "renamed"


@pytest.mark.parametrize("name", ["00-worker", "rendered-worker-1", "render-worker-1"])
def test_a_protected_name_is_never_written(world: World, name: str) -> None:
    found = world.diff(machine_config(name))
    assert found.changes == ()
    assert found.refusals[0].cause is RefusalCause.PROTECTED


def test_an_object_that_is_being_deleted_is_waited_for(world: World) -> None:
    world.roll(chrony())
    world.merge_patch(CONFIG, NAME, {"metadata": {"finalizers": ["example.com/hold"]}})
    world.delete(CONFIG, NAME)
    assert world.diff(chrony("data:,b")).refusals[0].cause is RefusalCause.BEING_DELETED


# ---------------------------------------------------------------------------------------------- MachineConfiguration


def test_entries_are_added_to_a_policy_others_own_and_that_is_a_pure_addition(world: World) -> None:
    world.apply(policy("/etc/theirs", sshkey={"actions": [{"type": "None"}]}), manager="operator")
    (change,) = world.roll(policy("/etc/ours")).changes
    assert isinstance(change, Update)
    assert change.touch is Touch.PURE_ADDITION
    assert [(f.path, f.before) for f in change.fields] == [
        ("spec.nodeDisruptionPolicy.files[/etc/ours]", ABSENT)
    ]
    standing = world.get(POLICY, "cluster")["spec"]["nodeDisruptionPolicy"]
    assert {e["path"] for e in standing["files"]} == {"/etc/ours", "/etc/theirs"}
    assert "sshkey" in standing


def test_sharing_an_entry_somebody_set_is_no_pure_addition(world: World) -> None:
    world.apply(policy("/etc/theirs"), manager="operator")
    (change,) = world.diff(policy("/etc/theirs", "/etc/ours")).changes
    assert change.touch is Touch.CHANGES_EXISTING


def test_taking_an_entry_away_is_no_pure_addition(world: World) -> None:
    world.roll(policy("/etc/a", "/etc/b"))
    (change,) = world.diff(policy("/etc/b")).changes
    assert change.touch is Touch.CHANGES_EXISTING


def gone_in(change: Update) -> list[str]:
    return [f.path.removeprefix("spec.nodeDisruptionPolicy.") for f in change.fields if f.after is ABSENT]


def test_entries_that_go_are_kept_in_the_union_until_the_final_list(world: World) -> None:
    world.roll(policy("/etc/a", "/etc/b", units=["c.service"]))
    (change,) = world.diff(policy("/etc/b", "/etc/d")).changes
    assert isinstance(change, Update)
    assert gone_in(change) == ["files[/etc/a]", "units[c.service]"]
    assert change.union_body is not None
    world.apply(change.union_body)
    union = world.get(POLICY, "cluster")["spec"]["nodeDisruptionPolicy"]
    assert {e["path"] for e in union["files"]} == {"/etc/a", "/etc/b", "/etc/d"}
    assert [e["name"] for e in union["units"]] == ["c.service"]
    (rest,) = world.diff(policy("/etc/b", "/etc/d")).changes
    assert isinstance(rest, Update)
    assert gone_in(rest) == ["files[/etc/a]", "units[c.service]"]
    world.apply(rest.body)
    final = world.get(POLICY, "cluster")["spec"]["nodeDisruptionPolicy"]
    assert {e["path"] for e in final["files"]} == {"/etc/b", "/etc/d"}
    assert "units" not in final or final["units"] == []


def test_an_entry_another_manager_shares_stays_and_is_said_to_stay(world: World) -> None:
    world.apply(policy("/etc/a"), manager="operator")
    world.roll(policy("/etc/a", "/etc/b"))
    (change,) = world.diff(policy("/etc/b")).changes
    assert isinstance(change, Adopt)
    assert any(
        "files[/etc/a].actions is dropped from Git but stays: operator" in note for note in change.notes
    )


def test_another_order_in_git_is_an_update_and_settles(world: World) -> None:
    world.roll(policy("/etc/a", "/etc/b"))
    (change,) = world.roll(policy("/etc/b", "/etc/a")).changes
    assert isinstance(change, Update)
    assert [(f.before, f.after) for f in change.fields] == [(["/etc/a", "/etc/b"], ["/etc/b", "/etc/a"])]
    assert change.touch is Touch.CHANGES_EXISTING
    assert world.diff(policy("/etc/b", "/etc/a")).unchanged == (key(POLICY, "cluster"),)


def test_an_order_moved_by_another_is_shown_and_no_emergency(world: World) -> None:
    world.roll(policy("/etc/a", "/etc/b"))
    moved = policy("/etc/b", "/etc/a")["spec"]
    world.apply({**policy(), "spec": moved}, manager="operator")
    found = world.diff(policy("/etc/a", "/etc/b"))
    assert [*found.changes, *found.refusals] == []
    assert found.drifts[0].fields[0].path == "spec.nodeDisruptionPolicy.files (order)"
    (change,) = world.diff(policy("/etc/a", "/etc/b", "/etc/c")).changes
    assert isinstance(change, Update)
    assert change.fields[0].path == "spec.nodeDisruptionPolicy.files (order)"
