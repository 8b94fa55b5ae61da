"""Server-side apply: who owns what, and what happens when two want the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.api import Api

NONE = [{"type": "None"}]
DRAIN = [{"type": "Drain"}]


def _policy(*paths: str, actions: Any = NONE) -> dict[str, Any]:
    return {"nodeDisruptionPolicy": {"files": [{"path": path, "actions": actions} for path in paths]}}


def _paths(spec: dict[str, Any]) -> list[str]:
    return [entry["path"] for entry in spec["nodeDisruptionPolicy"]["files"]]


def test_an_apply_creates_and_owns_exactly_what_it_says(api: Api) -> None:
    made = api.apply("machineconfigpools", api.name(), {"maxUnavailable": 1}, labels={"a": "b"})
    assert made.status == 201
    assert made.owners() == {
        ("gitops-mc", "Apply"): {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:maxUnavailable": {}}}
    }


def test_a_second_manager_adds_its_entry_to_a_list_map_and_leaves_the_others(api: Api) -> None:
    sshkey = {"nodeDisruptionPolicy": {"sshkey": {"actions": NONE}}}
    api.apply("machineconfigurations", name := api.name(), sshkey, manager="operator")
    both = api.apply("machineconfigurations", name, _policy("/etc/chrony.conf"))
    assert both.status == 200
    assert both.body["spec"]["nodeDisruptionPolicy"].keys() == {"files", "sshkey"}
    assert both.owners()["operator", "Apply"] == {
        "f:spec": {"f:nodeDisruptionPolicy": {"f:sshkey": {"f:actions": {}}}}
    }
    assert both.owners()["gitops-mc", "Apply"] == {
        "f:spec": {
            "f:nodeDisruptionPolicy": {
                "f:files": {'k:{"path":"/etc/chrony.conf"}': {".": {}, "f:actions": {}, "f:path": {}}}
            }
        }
    }


def test_a_conflict_names_the_manager_and_the_field_and_changes_nothing(api: Api) -> None:
    made = api.apply("machineconfigurations", name := api.name(), _policy("/etc/a"), manager="operator")
    refused = api.apply("machineconfigurations", name, _policy("/etc/a", actions=DRAIN))
    field = '.spec.nodeDisruptionPolicy.files[path="/etc/a"].actions'
    assert (refused.status, refused.body["reason"]) == (409, "Conflict")
    assert refused.body["message"] == f'Apply failed with 1 conflict: conflict with "operator": {field}'
    assert refused.body["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "operator"', "field": field}
    ]
    assert api.get("machineconfigurations", name).body == made.body


def test_a_conflict_with_somebody_who_updated_names_the_version_used(api: Api) -> None:
    api.create("machineconfigpools", name := api.name(), {"maxUnavailable": 1})
    refused = api.apply("machineconfigpools", name, {"maxUnavailable": 2})
    assert refused.body["message"] == (
        'Apply failed with 1 conflict: conflict with "maker" using machineconfiguration.alauda.io/v1alpha1: '
        ".spec.maxUnavailable"
    )


@pytest.mark.parametrize("switch", ["true", "1", "yes", ""])
def test_force_takes_the_fields_over(api: Api, switch: str) -> None:
    api.apply("machineconfigpools", name := api.name(), {"maxUnavailable": 1}, manager="operator")
    taken = api.apply("machineconfigpools", name, {"maxUnavailable": 2}, query={"force": switch})
    assert taken.body["spec"] == {"maxUnavailable": 2}
    assert set(taken.owners()) == {("gitops-mc", "Apply")}


@pytest.mark.parametrize("switch", ["false", "False", "0"])
def test_what_is_not_forced_is_a_conflict(api: Api, switch: str) -> None:
    api.apply("machineconfigpools", name := api.name(), {"maxUnavailable": 1}, manager="operator")
    assert api.apply("machineconfigpools", name, {"maxUnavailable": 2}, query={"force": switch}).status == 409


def test_equal_values_are_owned_together_and_stay_while_one_owner_is_left(api: Api) -> None:
    api.create("machineconfigpools", name := api.name(), {"maxUnavailable": 1})
    both = api.apply("machineconfigpools", name, {"maxUnavailable": 1})
    assert set(both.owners()) == {("gitops-mc", "Apply"), ("maker", "Update")}
    dropped = api.apply("machineconfigpools", name, {})
    assert dropped.body["spec"] == {"maxUnavailable": 1}
    assert ("f:maxUnavailable" in str(dropped.owners()["gitops-mc", "Apply"])) is False


def test_a_field_that_is_no_longer_applied_goes_if_nobody_else_owns_it(api: Api) -> None:
    api.apply("machineconfigpools", name := api.name(), {"maxUnavailable": 1, "paused": False})
    left = api.apply("machineconfigpools", name, {"maxUnavailable": 1})
    assert left.body["spec"] == {"maxUnavailable": 1}


def test_an_entry_of_a_list_map_that_is_no_longer_applied_goes(api: Api) -> None:
    api.apply("machineconfigurations", name := api.name(), _policy("/etc/a", "/etc/b"))
    left = api.apply("machineconfigurations", name, _policy("/etc/b"))
    assert _paths(left.body["spec"]) == ["/etc/b"]


def test_atomic_lists_are_owned_whole(api: Api) -> None:
    def files(*paths: str) -> dict[str, Any]:
        return {"config": {"storage": {"files": [{"path": path} for path in paths]}}}

    api.apply("machineconfigs", name := api.name(), files("/etc/a"), manager="operator")
    refused = api.apply("machineconfigs", name, files("/etc/a", "/etc/b"))
    assert {field for _, field in refused.causes} == {".spec.config.storage.files"}


def test_maps_below_a_free_form_field_merge_key_by_key(api: Api) -> None:
    api.apply("machineconfigs", name := api.name(), {"config": {"a": {"x": 1}}}, manager="operator")
    merged = api.apply("machineconfigs", name, {"config": {"a": {"y": 2}}})
    assert merged.body["spec"]["config"] == {"a": {"x": 1, "y": 2}}


def test_atomic_maps_are_owned_whole(api: Api) -> None:
    def selector(role: str) -> dict[str, Any]:
        return {"nodeSelector": {"matchLabels": {role: ""}}}

    api.apply("machineconfigpools", name := api.name(), selector("a"), manager="operator")
    refused = api.apply("machineconfigpools", name, selector("b"))
    assert {field for _, field in refused.causes} == {".spec.nodeSelector"}


def test_the_applied_order_of_entries_wins_and_foreign_ones_stay_before_their_neighbours(api: Api) -> None:
    api.apply("machineconfigurations", name := api.name(), _policy("/d", "/b", "/c"))
    merged = api.apply("machineconfigurations", name, _policy("/c", "/a", "/d"), manager="operator")
    assert _paths(merged.body["spec"]) == ["/b", "/c", "/a", "/d"]


def test_an_apply_that_changes_nothing_is_no_write(api: Api) -> None:
    made = api.apply("machineconfigpools", name := api.name(), {"maxUnavailable": 1})
    again = api.apply("machineconfigpools", name, {"maxUnavailable": 1})
    assert (again.status, again.version) == (200, made.version)


def test_an_apply_can_be_tied_to_the_version_and_identity_it_was_decided_on(api: Api) -> None:
    made = api.apply("machineconfigpools", name := api.name(), {"maxUnavailable": 1})
    tied = {"uid": made.metadata["uid"], "resourceVersion": made.version}
    changed = api.apply("machineconfigpools", name, {"maxUnavailable": 2}, **tied)
    assert changed.status == 200
    stale = api.apply("machineconfigpools", name, {"maxUnavailable": 3}, **tied)
    assert (stale.status, stale.body["reason"]) == (409, "Conflict")
    assert "the object has been modified" in stale.body["message"]
    other = api.apply("machineconfigpools", name, {"maxUnavailable": 3}, uid="other")
    assert other.causes == {("FieldValueInvalid", "metadata.uid")}


def test_an_apply_with_a_uid_never_creates(api: Api) -> None:
    refused = api.apply("machineconfigpools", name := api.name(), {"maxUnavailable": 1}, uid="gone")
    assert (refused.status, refused.body["reason"]) == (409, "Conflict")
    assert "uid mismatch" in refused.body["message"]
    assert api.get("machineconfigpools", name).status == 404


def test_a_dry_run_of_an_apply_shows_the_merged_object_and_conflicts(api: Api) -> None:
    made = api.apply("machineconfigpools", name := api.name(), {"maxUnavailable": 1}, manager="operator")
    dry = {"dryRun": "All"}
    tried = api.apply("machineconfigpools", name, {"paused": False}, query=dry)
    assert tried.body["spec"] == {"maxUnavailable": 1, "paused": False}
    assert api.apply("machineconfigpools", name, {"maxUnavailable": 2}, query=dry).status == 409
    assert api.get("machineconfigpools", name).body == made.body


def test_a_field_outside_the_schema_is_refused_with_500(api: Api) -> None:
    refused = api.apply("machineconfigs", name := api.name(), {"osImageURL": "x"})
    assert refused.status == 500
    assert refused.body["message"] == (
        f"failed to create typed patch object (/{name}; machineconfiguration.alauda.io/v1alpha1, "
        "Kind=MachineConfig): .spec.osImageURL: field not declared in schema"
    )
    assert "reason" not in refused.body


@pytest.mark.parametrize(
    ("plural", "spec", "place"),
    [
        ("machineconfigpools", {"paused": "yes"}, ".spec.paused: expected boolean"),
        ("machineconfigs", {"kernelArguments": "quiet"}, ".spec.kernelArguments: expected list"),
        ("machineconfigs", {"kernelArguments": [1]}, ".spec.kernelArguments[0]: expected string"),
        (
            "machineconfigurations",
            {"nodeDisruptionPolicy": {"files": [{"path": "/etc/a", "bogus": 1}]}},
            '.spec.nodeDisruptionPolicy.files[path="/etc/a"].bogus: field not declared in schema',
        ),
        (
            "machineconfigurations",
            {"nodeDisruptionPolicy": {"files": [{"actions": NONE}]}},
            '.spec.nodeDisruptionPolicy.files: element 0: associative list with keys has an element that omits all key fields ["path"] ',
        ),
        (
            "machineconfigurations",
            _policy("/etc/a", "/etc/a"),
            '.spec.nodeDisruptionPolicy.files: duplicate entries for key [path="/etc/a"]',
        ),
    ],
)
def test_what_cannot_be_typed_is_refused_with_500(api: Api, plural: str, spec: Any, place: str) -> None:
    refused = api.apply(plural, api.name(), spec)
    assert refused.status == 500
    assert refused.body["message"].startswith("failed to create typed patch object (")
    assert place in refused.body["message"]


def test_an_apply_needs_a_field_manager(api: Api) -> None:
    refused = api.apply("machineconfigpools", api.name(), {}, query={"fieldManager": ""})
    assert refused.status == 422
    assert refused.causes == {("FieldValueRequired", "fieldManager")}


def test_status_is_not_owned_by_who_applies_the_object(api: Api) -> None:
    body = api.obj("machineconfigpools", name := api.name(), {"paused": False})
    made = api.apply("machineconfigpools", name, body=body | {"status": {"machineCount": 3}})
    assert "status" not in made.body
    assert "f:status" not in made.owners()["gitops-mc", "Apply"]
