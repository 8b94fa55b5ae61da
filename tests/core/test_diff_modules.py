"""What the diff says of ModuleInfos, which the platform renames, relabels and fills with defaults."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gitops_mc.core.diff import (
    Adopt,
    Create,
    Delete,
    NewerLive,
    RefusalCause,
    Touch,
    Update,
    diff_cluster,
    final_name,
)
from gitops_mc.core.live import Fact, LiveCluster, objects, unread
from gitops_mc.core.model import (
    CLUSTER_LABEL,
    DOWNGRADE_ANNOTATION,
    GLOBAL_CLUSTER,
    MODULE_LABEL,
    PRUNE_ANNOTATION,
    DesiredCluster,
    JsonObject,
    Kind,
    Known,
    Manifest,
    Place,
    ResourceKey,
    content_of,
)
from tests.core.diff_world import NOW, RefusedError, World, key, module

MODULE = Kind.MODULE_INFO
KEY = key(MODULE, "logcenter")
FINAL = "edge-01-f19548b2f26e2b69056ee17e18543e0d"


@pytest.fixture
def world() -> World:
    return World()


def annotated(body: JsonObject, **annotations: str) -> JsonObject:
    names = {"prune": PRUNE_ANNOTATION, "downgrade": DOWNGRADE_ANNOTATION}
    found = {names[name]: value for name, value in annotations.items()}
    return {**body, "metadata": {**body["metadata"], "annotations": found}}


def set_live(world: World, spec: JsonObject) -> None:
    """Somebody changes the module in the platform's own pages."""
    world.merge_patch(MODULE, final_name("edge-01", "logcenter"), {"spec": spec}, manager="platform")


def test_a_module_is_created_under_the_name_it_ends_up_with(world: World) -> None:
    (change,) = world.diff(module()).changes
    assert isinstance(change, Create)
    assert change.body["metadata"]["name"] == final_name("edge-01", "logcenter")
    assert change.touch is Touch.PURE_ADDITION


def test_defaults_of_the_platform_are_no_difference(world: World) -> None:
    world.roll(module(config={"storage": {"size": 10}}))
    set_live(world, {"config": {"storage": {"class": "default"}, "replicas": 3}, "entrypoint": "/x"})
    found = world.diff(module(config={"storage": {"size": 10}}))
    assert found.unchanged == (KEY,)
    assert [*found.changes, *found.drifts] == []


def test_a_re_creation_under_another_uid_without_our_labels_is_still_the_same_module(world: World) -> None:
    world.roll(module())
    world.delete(MODULE, final_name("edge-01", "logcenter"))
    world.create(module(), manager="platform")
    assert world.diff(module()).unchanged == (KEY,)


def test_a_module_without_any_label_is_known_by_its_final_name(world: World) -> None:
    world.roll(module())
    bare = world.get(MODULE, final_name("edge-01", "logcenter"))
    del bare["metadata"]["labels"]
    live = unread("edge-01", NOW)
    modules = Known(objects({bare["metadata"]["name"]: bare}), NOW)
    found = diff_cluster(
        DesiredCluster("edge-01", (Manifest(KEY, module(), Place("m.yaml")),), content_of(())),
        _with_modules(live, modules),
        world.inventory,
        fleet="factory",
    )
    assert found.unchanged == (KEY,)


def test_an_instance_for_global_is_told_by_its_owner(world: World) -> None:
    world.create(module())
    body = world.get(MODULE, "edge-01-logcenter")
    body["metadata"]["labels"] = {MODULE_LABEL: "logcenter"}
    body["metadata"]["ownerReferences"] = [
        {"apiVersion": "platform.tkestack.io/v1", "kind": "Cluster", "name": GLOBAL_CLUSTER, "uid": "u"}
    ]
    there = ResourceKey(GLOBAL_CLUSTER, MODULE, "logcenter")
    found = diff_cluster(
        DesiredCluster(GLOBAL_CLUSTER, (Manifest(there, module(), Place("m.yaml")),), content_of(())),
        _with_modules(unread(GLOBAL_CLUSTER, NOW), Known(objects({"x": body}), NOW)),
        {},
        fleet="factory",
    )
    (change,) = found.changes
    assert isinstance(change, Adopt)


def _with_modules(live: LiveCluster, modules: Fact) -> LiveCluster:
    return replace(live, modules=modules)


def test_a_change_is_a_patch_that_fails_on_anything_but_what_was_read(world: World) -> None:
    world.roll(module(config={"a/b": {"x": [1, 2]}, "keep": True}))
    (change,) = world.diff(module(version="v4.2.0", config={"a/b": {"x": [1]}, "new": {"y": 1}})).changes
    assert isinstance(change, Update)
    assert [(f.path, f.before, f.after) for f in change.fields][-1] == ("spec.version", "v4.1.0", "v4.2.0")
    assert {"op": "replace", "path": "/spec/config/a~1b/x", "value": [1]} in change.patch
    set_live(world, {"config": {"late": 1}})
    with pytest.raises(RefusedError):
        world.write(change)
    world.roll(module(version="v4.2.0", config={"a/b": {"x": [1]}, "new": {"y": 1}}))
    spec = world.get(MODULE, final_name("edge-01", "logcenter"))["spec"]
    assert spec["version"] == "v4.2.0"
    assert spec["config"] == {"a/b": {"x": [1]}, "keep": True, "new": {"y": 1}, "late": 1}


def test_equal_values_made_by_another_are_adopted_by_remembering_alone(world: World) -> None:
    world.create(module(), manager="platform")
    (change,) = world.roll(module()).changes
    assert isinstance(change, Adopt)
    assert not change.sent
    assert change.touch is Touch.CHANGES_EXISTING
    assert [w.verb for w in world.on_global.writes] == ["create"]
    assert world.diff(module()).unchanged == (KEY,)


def test_two_live_instances_of_one_module_are_an_error_that_names_both(world: World) -> None:
    world.roll(module())
    world.create(module())
    found = world.diff(module(version="v4.2.0"))
    assert found.changes == ()
    assert found.refusals[0].cause is RefusalCause.AMBIGUOUS
    assert "edge-01-logcenter" in found.refusals[0].reason


def test_an_instance_that_is_being_deleted_is_not_counted(world: World) -> None:
    world.create(module())
    world.merge_patch(MODULE, "edge-01-logcenter", {"metadata": {"finalizers": ["moduleinfo"]}})
    world.delete(MODULE, "edge-01-logcenter")
    assert world.diff(module()).refusals[0].cause is RefusalCause.BEING_DELETED
    world.create({**module(), "metadata": {**module()["metadata"], "name": "edge-01-second"}})
    (change,) = world.diff(module()).changes
    assert isinstance(change, Adopt)


def test_what_a_cluster_plugin_instance_makes_is_reported_and_not_taken_over(world: World) -> None:
    body = module()
    body["metadata"]["labels"]["create-by"] = "cluster-transformer"
    world.create(body, manager="platform")
    found = world.diff(module(version="v4.2.0"))
    assert found.changes == ()
    assert found.refusals[0].cause is RefusalCause.PLATFORM_MADE


# ------------------------------------------------------------------------------------------------------- versions


def test_a_newer_live_version_is_reported_and_written_never(world: World) -> None:
    world.roll(module())
    set_live(world, {"version": "v4.2.0"})
    found = world.diff(module())
    assert found.newer == (NewerLive(KEY, "v4.2.0", "v4.1.0"),)
    assert [*found.changes, *found.drifts, *found.refusals] == []


def test_a_newer_live_version_does_not_stop_a_change_of_the_config(world: World) -> None:
    world.roll(module(config={"size": 1}))
    set_live(world, {"version": "v4.2.0"})
    found = world.roll(module(config={"size": 2}))
    assert found.newer
    (change,) = found.changes
    assert isinstance(change, Update)
    assert [f.path for f in change.fields] == ["spec.config.size"]
    assert world.get(MODULE, final_name("edge-01", "logcenter"))["spec"]["version"] == "v4.2.0"


def test_a_downgrade_in_git_is_refused_until_it_is_asked_for_by_name(world: World) -> None:
    world.roll(module(version="v4.2.0"))
    (refused,) = world.diff(module(version="v4.1.0")).refusals
    assert refused.cause is RefusalCause.DOWNGRADE
    assert world.diff(annotated(module(version="v4.1.0"), downgrade="v4.0.0")).refusals
    (change,) = world.roll(annotated(module(version="v4.1.0"), downgrade="v4.1.0")).changes
    assert isinstance(change, Update)
    assert world.get(MODULE, final_name("edge-01", "logcenter"))["spec"]["version"] == "v4.1.0"


def test_an_upgrade_by_the_platform_may_be_taken_back_by_name(world: World) -> None:
    world.roll(module(version="v4.1.0"))
    set_live(world, {"version": "v4.2.0"})
    (change,) = world.diff(annotated(module(version="v4.0.0"), downgrade="v4.0.0")).changes
    assert isinstance(change, Update)


def test_an_empty_config_is_no_difference_from_none(world: World) -> None:
    world.create(module())
    (change,) = world.diff(module(config={})).changes
    assert isinstance(change, Adopt)


def test_true_is_not_one(world: World) -> None:
    world.create(module(config={"enabled": 1}))
    (change,) = world.diff(module(config={"enabled": True})).changes
    assert isinstance(change, Update)


def test_a_module_labelled_for_another_cluster_is_not_ours_whatever_its_name(world: World) -> None:
    world.roll(module())
    body = module()
    body["metadata"] = {
        "name": final_name("edge-01", "logcenter"),
        "labels": {**body["metadata"]["labels"], CLUSTER_LABEL: "edge-02"},
    }
    modules = Known(objects({body["metadata"]["name"]: body}), NOW)
    found = diff_cluster(
        DesiredCluster("edge-01", (Manifest(KEY, module(), Place("m.yaml")),), content_of(())),
        _with_modules(unread("edge-01", NOW), modules),
        world.inventory,
        fleet="factory",
    )
    assert found.unchanged == ()
    assert "was deleted" in found.drifts[0].reason


def test_versions_nobody_can_order_are_refused(world: World) -> None:
    world.roll(module(version="nightly"))
    assert world.diff(module(version="v4.1.0")).refusals[0].cause is RefusalCause.DOWNGRADE


# ---------------------------------------------------------------------------------------------------------- drift


def test_a_value_changed_in_the_platform_is_listed_and_not_written(world: World) -> None:
    world.roll(module(config={"size": 1}))
    set_live(world, {"config": {"size": 9}})
    found = world.diff(module(config={"size": 1}))
    assert found.changes == ()
    assert [(f.path, f.before, f.after) for f in found.drifts[0].fields] == [("spec.config.size", 1, 9)]


def test_a_changed_value_that_git_changes_too_is_refused(world: World) -> None:
    world.roll(module(config={"size": 1, "other": 1}))
    set_live(world, {"config": {"size": 9}})
    (refused,) = world.diff(module(config={"size": 2, "other": 1})).refusals
    assert refused.cause is RefusalCause.DRIFTED
    (refused,) = world.diff(module(config={"size": 1, "other": 2})).refusals
    assert refused.cause is RefusalCause.DRIFTED
    world.git_wins = frozenset({KEY})
    world.roll(module(config={"size": 1, "other": 2}))
    assert world.get(MODULE, final_name("edge-01", "logcenter"))["spec"]["config"] == {"size": 1, "other": 2}
    assert world.diff(module(config={"size": 1, "other": 2})).changes == (), (
        "and is not written again and again"
    )


def test_git_may_take_the_live_side(world: World) -> None:
    world.roll(module(config={"size": 1, "other": 1}))
    set_live(world, {"config": {"size": 9}})
    (change,) = world.diff(module(config={"size": 9, "other": 2})).changes
    assert isinstance(change, Update)
    assert [f.path for f in change.fields] == ["spec.config.other"]


def test_a_field_that_leaves_git_stays_and_is_said_to_stay(world: World) -> None:
    world.roll(module(config={"size": 1, "other": 1}))
    (change,) = world.diff(module(config={"size": 1})).changes
    assert isinstance(change, Adopt)
    assert "spec.config.other left Git and stays" in change.notes[0]


def test_a_module_deleted_in_the_platform_is_not_installed_again(world: World) -> None:
    world.roll(module())
    world.delete(MODULE, final_name("edge-01", "logcenter"))
    found = world.diff(module())
    assert found.changes == ()
    assert found.drifts[0].key == KEY


# ------------------------------------------------------------------------------------------------------- deletion


def test_a_module_gone_from_git_is_a_candidate_by_the_inventory_alone(world: World) -> None:
    world.roll(module(), module("other"))
    world.merge_patch(
        MODULE, final_name("edge-01", "logcenter"), {"metadata": {"labels": {"gitops-mc.io/fleet": None}}}
    )
    found = world.diff(module("other"))
    (change,) = found.changes
    assert isinstance(change, Delete)
    assert change.name == final_name("edge-01", "logcenter")


def test_machine_config_is_only_a_candidate_when_confirmed(world: World) -> None:
    world.roll(module("machine-config"), module())
    assert world.diff(module()).changes == ()
    world.roll(annotated(module("machine-config"), prune="confirmed"), module())
    (change,) = world.diff(module()).changes
    assert isinstance(change, Delete)
    assert change.prune == "confirmed"


def test_a_prune_mark_of_ours_goes_when_git_drops_it(world: World) -> None:
    name = final_name("edge-01", "logcenter")
    world.roll(annotated(module(), prune="confirmed"))
    assert world.get(MODULE, name)["metadata"]["annotations"][PRUNE_ANNOTATION] == "confirmed"
    (change,) = world.roll(module()).changes
    assert isinstance(change, Update)
    assert PRUNE_ANNOTATION not in world.get(MODULE, name)["metadata"].get("annotations", {})
    world.merge_patch(MODULE, name, {"metadata": {"annotations": {PRUNE_ANNOTATION: "disabled"}}})
    assert world.diff(module()).unchanged == (KEY,)


def test_the_final_name_is_the_one_the_platform_computes() -> None:
    assert final_name("edge-01", "logcenter") == FINAL


def test_nothing_in_a_patch_but_what_changes_and_what_is_tested(world: World) -> None:
    world.roll(module(config={"secret": "s3cret", "size": 1}))
    (change,) = world.diff(module(config={"secret": "s3cret", "size": 2})).changes
    assert isinstance(change, Update)
    writes = [operation for operation in change.patch if operation["op"] != "test"]
    assert "s3cret" not in json.dumps(writes)
