"""What the diff says of the machine kinds, on objects with real ownership."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest

from gitops_mc.core.diff import (
    ABSENT,
    Adopt,
    Create,
    Delete,
    Ownership,
    RefusalCause,
    Touch,
    Update,
    Written,
    applied_digest,
    diff_cluster,
)
from gitops_mc.core.live import Fact, MachineApis
from gitops_mc.core.model import (
    ADOPT_ANNOTATION,
    APPLIED_ANNOTATION,
    BRACKET_ANNOTATION,
    FIELD_MANAGER,
    FLEET_LABEL,
    JsonObject,
    Kind,
    Known,
    Place,
    Problem,
    canonical_json,
)
from gitops_mc.core.model import ClusterScope as Scope
from tests.core.diff_world import (
    CLUSTER,
    FLEET,
    NOW,
    RefusedError,
    World,
    blind,
    desired,
    key,
    policy,
    pool,
    unknown_everything,
)
from tests.core.machine_configs import file, machine_config

CONFIG, POOL, POLICY = Kind.MACHINE_CONFIG, Kind.MACHINE_CONFIG_POOL, Kind.MACHINE_CONFIGURATION
NAME = "50-worker-chrony"


@pytest.fixture
def world() -> World:
    return World()


def chrony(source: str = "data:,server%20a", *arguments: str, **annotations: str) -> JsonObject:
    body = machine_config(NAME, files=[file("/etc/chrony.conf", source)], kernel_arguments=arguments)
    if annotations:
        body["metadata"]["annotations"] = {ADOPT_ANNOTATION: annotations["adopt_from"]}
    return body


def edited(source: str) -> JsonObject:
    return {"spec": {"config": {"storage": {"files": [file("/etc/chrony.conf", source)]}}}}


# ------------------------------------------------------------------------------------------------- what is sent


def test_an_object_that_is_not_there_is_created_with_our_marks(world: World) -> None:
    (change,) = world.diff(chrony()).changes
    assert isinstance(change, Create)
    assert change.body["metadata"]["labels"][FLEET_LABEL] == FLEET
    assert change.body["metadata"]["annotations"] == {APPLIED_ANNOTATION: change.digest}
    assert change.touch is Touch.PURE_ADDITION


def test_paused_is_left_out_of_every_apply(world: World) -> None:
    (change,) = world.diff(pool(paused=True)).changes
    assert isinstance(change, Create)
    assert "paused" not in change.body["spec"]


def test_what_was_applied_is_unchanged_and_nothing_more_is_said(world: World) -> None:
    bodies = (chrony(), pool(paused=False), policy("/etc/chrony.conf"))
    assert len(world.roll(*bodies).changes) == 3
    found = world.diff(*bodies)
    assert [*found.changes, *found.drifts, *found.orphans, *found.refusals] == []
    assert found.unchanged == (key(POLICY, "cluster"), key(POOL, "infra"), key(CONFIG, NAME))


def test_an_update_carries_the_uid_and_resource_version_it_was_decided_on(world: World) -> None:
    world.roll(chrony())
    (change,) = world.diff(chrony("data:,server%20b")).changes
    world.merge_patch(CONFIG, NAME, {"metadata": {"labels": {"x": "y"}}})
    assert isinstance(change, Update)
    with pytest.raises(RefusedError, match="409"):
        world.apply(change.body)


def test_the_entry_that_changes_is_named_with_both_values(world: World) -> None:
    world.roll(chrony())
    (change,) = world.diff(chrony("data:,server%20b", "nosmt")).changes
    assert isinstance(change, Update)
    assert [(f.path, f.before, f.after) for f in change.fields] == [
        (
            "spec.config.storage.files[/etc/chrony.conf]",
            file("/etc/chrony.conf", "data:,server%20a"),
            file("/etc/chrony.conf", "data:,server%20b"),
        ),
        ("spec.kernelArguments", [], ["nosmt"]),
    ]


# ---------------------------------------------------------------------------------------------------- encodings


def test_the_same_bytes_in_another_encoding_are_no_change(world: World) -> None:
    world.roll(chrony("data:,server%20a"))
    again = base64.b64encode(b"server a").decode()
    assert world.diff(chrony(f"data:text/plain;base64,{again}")).changes == ()


def test_an_object_made_by_kubectl_in_another_encoding_is_adopted_with_its_bytes(world: World) -> None:
    made = chrony(f"data:;base64,{base64.b64encode(b'server a').decode()}")
    made["spec"]["config"]["storage"]["files"][0]["overwrite"] = True
    world.create(made)
    before = world.get(CONFIG, NAME)["spec"]
    (change,) = world.roll(chrony("data:,server%20a")).changes
    assert isinstance(change, Adopt)
    assert world.get(CONFIG, NAME)["spec"] == before
    assert world.diff(chrony("data:,server%20a")).unchanged == (key(CONFIG, NAME),)


def test_an_entry_beside_a_changed_one_keeps_its_live_bytes(world: World) -> None:
    world.roll(machine_config(NAME, files=[file("/a", "data:,x"), file("/b", "data:;base64,eA==")]))
    (change,) = world.roll(machine_config(NAME, files=[file("/a", "data:,y"), file("/b", "data:,x")])).changes
    assert isinstance(change, Update)
    assert [f.path for f in change.fields] == ["spec.config.storage.files[/a]"]
    assert world.get(CONFIG, NAME)["spec"]["config"]["storage"]["files"][1] == file("/b", "data:;base64,eA==")


def test_the_digest_of_a_manifest_never_moves() -> None:
    """It stands on objects in clusters: another value for the same manifest would have each of them written again."""
    body = chrony("data:,server%20a", "nosmt")
    body["spec"]["config"]["systemd"] = {
        "units": [{"name": "a.service", "enabled": True, "contents": "[Unit]"}]
    }
    assert applied_digest(CONFIG, NAME, body) == (
        "dc14d48e9b1195cae5f7427991d7fd7539db53b8b1cf1366b14c89233e32c57b"
    )
    assert applied_digest(POOL, "infra", pool(maxUnavailable="10%", paused=True)) == (
        "68741cc9c1aa440c30bda5c561aba53f8087a11156fbccaf75e6fe3cb972dc6d"
    )
    assert applied_digest(POLICY, "cluster", policy("/etc/a", units=["b.service"])) == (
        "4ce9c554883d509e2546a88ba4f06600db83f9318332b15613d3d6e55bafe773"
    )


# -------------------------------------------------------------------------------------------- drift and refusals


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


def test_an_object_deleted_by_hand_is_not_made_again_until_git_changes_it(world: World) -> None:
    world.roll(chrony())
    world.delete(CONFIG, NAME)
    found = world.diff(chrony())
    assert found.changes == ()
    assert "deleted by hand" in found.drifts[0].reason
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


def test_entries_that_go_are_kept_in_the_union_until_the_final_list(world: World) -> None:
    world.roll(policy("/etc/a", "/etc/b", units=["c.service"]))
    (change,) = world.diff(policy("/etc/b", "/etc/d")).changes
    assert isinstance(change, Update)
    assert change.entries_that_go == ("files[/etc/a]", "units[c.service]")
    assert change.union_body is not None
    world.apply(change.union_body)
    union = world.get(POLICY, "cluster")["spec"]["nodeDisruptionPolicy"]
    assert {e["path"] for e in union["files"]} == {"/etc/a", "/etc/b", "/etc/d"}
    assert [e["name"] for e in union["units"]] == ["c.service"]
    (rest,) = world.diff(policy("/etc/b", "/etc/d")).changes
    assert isinstance(rest, Update)
    assert rest.entries_that_go == ("files[/etc/a]", "units[c.service]")
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


# ---------------------------------------------------------------------------------------- orphans and what is unknown


def test_what_left_git_is_an_orphan_and_a_candidate_when_it_is_provably_ours(world: World) -> None:
    world.roll(chrony(), pool())
    found = world.diff(pool())
    (change,) = found.changes
    assert isinstance(change, Delete)
    assert change.key == key(CONFIG, NAME)
    assert found.orphans[0].reason == ""


def test_the_prune_annotation_is_read_from_the_live_object(world: World) -> None:
    world.roll(chrony(), pool())
    world.merge_patch(CONFIG, NAME, {"metadata": {"annotations": {"gitops-mc.io/prune": "disabled"}}})
    (change,) = world.diff(pool()).changes
    assert isinstance(change, Delete)
    assert change.prune == "disabled"


def test_without_inventory_or_label_an_orphan_is_no_candidate(world: World) -> None:
    world.roll(chrony(), pool("infra"), pool("gpu"))
    del world.inventory[key(CONFIG, NAME)]
    world.merge_patch(POOL, "gpu", {"metadata": {"labels": {FLEET_LABEL: None}}})
    found = world.diff(pool("infra"))
    assert found.changes == ()
    assert [o.reason for o in found.orphans] == [
        "its label gitops-mc.io/fleet is gone",
        "it is not in the inventory of what we wrote",
    ]


def test_an_orphan_changed_by_hand_is_no_candidate(world: World) -> None:
    world.roll(chrony(), pool())
    world.merge_patch(CONFIG, NAME, edited("data:,emergency"))
    found = world.diff(pool())
    assert found.changes == ()
    assert "changed by hand" in found.orphans[0].reason


@pytest.mark.parametrize(
    ("kind", "body"), [(POLICY, policy("/etc/a")), (POOL, pool("worker")), (POOL, pool("master"))]
)
def test_protected_objects_are_never_candidates(world: World, kind: Kind, body: JsonObject) -> None:
    world.roll(chrony(), body)
    found = world.diff(chrony())
    assert found.changes == ()
    assert found.orphans[0].key.kind is kind
    assert "never deleted" in found.orphans[0].reason


def test_objects_of_others_are_not_mentioned(world: World) -> None:
    world.create(chrony())
    assert world.diff(pool("infra")).orphans == ()


def test_nothing_is_a_candidate_after_an_incomplete_read_of_either_side(world: World) -> None:
    world.roll(chrony(), pool())
    live, inventory = world.live(), world.inventory
    blocked = replace(
        desired(pool()), problems=(Problem(Place("a.yaml", 1, 1), "yaml", "", "bad", "", Scope(CLUSTER)),)
    )
    for git, cluster in ((desired(), live), (blocked, live), (desired(pool()), blind(live, "modules"))):
        found = diff_cluster(git, cluster, inventory, fleet=FLEET)
        assert not [c for c in found.changes if isinstance(c, Delete)]
        assert found.orphans[0].reason


def test_with_every_fact_unknown_nothing_is_said_to_change_or_to_stay() -> None:
    found = diff_cluster(desired(chrony(), pool(), policy("/etc/a")), unknown_everything(), {}, fleet=FLEET)
    assert [*found.changes, *found.drifts, *found.unchanged, *found.orphans] == []
    assert {n.kind for n in found.not_read} == set(Kind)


def test_where_the_machine_kinds_are_not_served_yet_everything_is_to_be_created(world: World) -> None:
    live = replace(
        unknown_everything(), machine_apis=Known(MachineApis(served=False), NOW), modules=world.live().modules
    )
    found = diff_cluster(desired(chrony(), pool()), live, {}, fleet=FLEET)
    assert [type(c) for c in found.changes] == [Create, Create]


def test_inputs_are_left_as_they_are(world: World) -> None:
    world.roll(chrony(), policy("/etc/a", "/etc/b"))
    bodies = (chrony("data:,b"), policy("/etc/b"))
    live = world.live()
    before = canonical_json([bodies, *map(_value, (live.configs, live.policies))])
    diff_cluster(desired(*bodies), live, world.inventory, fleet=FLEET)
    assert canonical_json([bodies, *map(_value, (live.configs, live.policies))]) == before


def _value(fact: Fact) -> JsonObject:
    assert isinstance(fact, Known)
    return dict(fact.value)
