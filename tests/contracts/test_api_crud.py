"""Objects come, change and go."""

from __future__ import annotations

from tests.contracts.api import Api, path_of

POOL = {"machineConfigSelector": {"matchLabels": {"r": "w"}}, "maxUnavailable": 1}


def test_a_created_object_has_identity_generation_and_times(api: Api) -> None:
    made = api.create("machineconfigpools", name := api.name(), POOL)
    assert made.status == 201
    assert made.metadata["name"] == name
    assert made.metadata["generation"] == 1
    assert {"uid", "resourceVersion", "creationTimestamp"} <= made.metadata.keys()
    assert api.get("machineconfigpools", name).body == made.body


def test_creating_it_again_is_a_conflict_that_says_already_exists(api: Api) -> None:
    api.create("machineconfigpools", name := api.name(), POOL)
    again = api.create("machineconfigpools", name, POOL)
    assert (again.status, again.body["reason"]) == (409, "AlreadyExists")
    assert again.body["message"] == (
        f'machineconfigpools.machineconfiguration.alauda.io "{name}" already exists'
    )


def test_a_missing_object_is_not_found_in_the_words_of_its_resource(api: Api) -> None:
    found = api.get("machineconfigs", "nobody-made-this")
    assert (found.status, found.body["reason"]) == (404, "NotFound")
    assert (
        found.body["message"] == 'machineconfigs.machineconfiguration.alauda.io "nobody-made-this" not found'
    )
    assert found.body["details"]["name"] == "nobody-made-this"


def test_generate_name_gives_different_names(api: Api) -> None:
    body = api.obj("machineconfigs", "", {"config": {}})
    body["metadata"] = {"generateName": "gen-"}
    path = "/apis/machineconfiguration.alauda.io/v1alpha1/machineconfigs"
    names = [api.send("POST", path, body).metadata["name"] for _ in range(3)]
    assert len(set(names)) == 3
    assert all(name.startswith("gen-") for name in names)


def test_an_update_with_a_stale_resource_version_changes_nothing(api: Api) -> None:
    made = api.create("machineconfigpools", name := api.name(), POOL)
    api.merge("machineconfigpools", name, {"spec": {"paused": True}})
    stale = api.put("machineconfigpools", made.body | {"spec": POOL | {"maxUnavailable": 3}})
    assert (stale.status, stale.body["reason"]) == (409, "Conflict")
    assert "the object has been modified" in stale.body["message"]
    assert api.get("machineconfigpools", name).body["spec"] == POOL | {"paused": True}


def test_an_update_without_a_resource_version_is_refused_for_custom_resources(api: Api) -> None:
    api.create("machineconfigpools", name := api.name(), POOL)
    refused = api.put("machineconfigpools", api.obj("machineconfigpools", name, POOL))
    assert refused.status == 422
    assert refused.causes == {("FieldValueInvalid", "metadata.resourceVersion")}


def test_an_update_of_an_object_that_was_made_anew_is_a_conflict(api: Api) -> None:
    first = api.create("machineconfigpools", name := api.name(), POOL)
    api.delete("machineconfigpools", name)
    api.create("machineconfigpools", name, POOL)
    refused = api.put("machineconfigpools", first.body)
    assert (refused.status, refused.body["reason"]) == (409, "Conflict")


def test_a_merge_patch_sets_and_removes_fields(api: Api) -> None:
    api.create("machineconfigpools", name := api.name(), POOL)
    changed = api.merge("machineconfigpools", name, {"spec": {"maxUnavailable": None, "paused": True}})
    assert changed.body["spec"] == {"machineConfigSelector": POOL["machineConfigSelector"], "paused": True}


def test_a_write_that_changes_nothing_keeps_the_resource_version(api: Api) -> None:
    made = api.create("machineconfigpools", name := api.name(), POOL)
    same = api.merge("machineconfigpools", name, {"spec": {"maxUnavailable": 1}})
    assert (same.status, same.version) == (200, made.version)


def test_generation_counts_changes_of_spec_but_not_of_metadata_or_status(api: Api) -> None:
    api.create("machineconfigpools", name := api.name(), POOL)
    labelled = api.merge("machineconfigpools", name, {"metadata": {"labels": {"a": "b"}}})
    reported = api.merge("machineconfigpools", name, {"status": {"machineCount": 3}}, "status")
    paused = api.merge("machineconfigpools", name, {"spec": {"paused": True}})
    assert [a.metadata["generation"] for a in (labelled, reported, paused)] == [1, 1, 2]


def test_status_is_written_only_through_its_subresource_and_nothing_else_is(api: Api) -> None:
    api.create("machineconfigpools", name := api.name(), POOL)
    main = api.merge("machineconfigpools", name, {"status": {"machineCount": 3}})
    assert "status" not in main.body
    status = api.merge(
        "machineconfigpools", name, {"status": {"machineCount": 3}, "spec": {"paused": True}}, "status"
    )
    assert status.body["status"] == {"machineCount": 3}
    assert status.body["spec"] == POOL
    kept = api.put("machineconfigpools", status.body | {"spec": POOL | {"paused": False}, "status": {}})
    assert kept.body["status"] == {"machineCount": 3}


def test_a_kind_without_status_has_no_such_endpoint(api: Api) -> None:
    api.create("machineconfigs", name := api.name(), {"config": {}})
    assert api.merge("machineconfigs", name, {"status": {}}, "status").status == 404


def test_deletion_answers_success_and_the_object_is_gone(api: Api) -> None:
    made = api.create("machineconfigs", name := api.name(), {"config": {}})
    gone = api.delete("machineconfigs", name)
    assert (gone.status, gone.body["status"]) == (200, "Success")
    assert gone.body["details"]["uid"] == made.metadata["uid"]
    assert api.get("machineconfigs", name).status == 404


def test_finalizers_hold_an_object_until_the_last_has_gone(api: Api) -> None:
    api.create("machineconfigs", name := api.name(), {"config": {}}, finalizers=["example.com/a"])
    held = api.delete("machineconfigs", name)
    assert held.status == 200
    assert "deletionTimestamp" in held.metadata
    assert "deletionTimestamp" in api.get("machineconfigs", name).metadata
    more = {"metadata": {"finalizers": ["example.com/a", "example.com/b"]}}
    assert api.merge("machineconfigs", name, more).causes == {("FieldValueForbidden", "metadata.finalizers")}
    api.merge("machineconfigs", name, {"metadata": {"finalizers": None}})
    assert api.get("machineconfigs", name).status == 404


def test_deletion_keeps_to_its_preconditions(api: Api) -> None:
    made = api.create("machineconfigs", name := api.name(), {"config": {}})
    for wrong in ({"uid": "00000000-0000-0000-0000-000000000000"}, {"resourceVersion": "1"}):
        refused = api.delete("machineconfigs", name, {"preconditions": wrong})
        assert (refused.status, refused.body["reason"]) == (409, "Conflict")
    right = {"uid": made.metadata["uid"], "resourceVersion": made.version}
    assert api.delete("machineconfigs", name, {"preconditions": right}).status == 200


def test_a_dry_run_answers_as_the_real_thing_and_keeps_nothing(api: Api) -> None:
    dry = {"dryRun": "All", "fieldManager": "maker"}
    tried = api.create("machineconfigpools", name := api.name(), POOL, query=dry)
    assert (tried.status, tried.body["spec"]) == (201, POOL)
    assert api.get("machineconfigpools", name).status == 404
    made = api.create("machineconfigpools", name, POOL)
    tried = api.merge("machineconfigpools", name, {"spec": {"paused": True}}, dryRun="All")
    assert (tried.body["spec"]["paused"], tried.metadata["generation"]) == (True, 2)
    assert api.get("machineconfigpools", name).body == made.body


def test_a_deletion_is_tried_by_its_body_where_it_has_one_and_by_its_query_only_where_it_has_none(
    api: Api,
) -> None:
    api.create("machineconfigs", name := api.name(), {})
    path, dry = path_of("machineconfigs", name), {"dryRun": "All"}
    for body, query in ((None, dry), ({"dryRun": ["All"]}, {})):
        assert api.send("DELETE", path, body, query=query).status == 200
        assert api.get("machineconfigs", name).status == 200
    assert api.send("DELETE", path, {"propagationPolicy": "Background"}, query=dry).status == 200
    assert api.get("machineconfigs", name).status == 404
