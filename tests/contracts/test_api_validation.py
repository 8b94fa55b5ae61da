"""What the machine kinds' own schemas and rules refuse, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.api import MACHINE, Api, path_of

ALONE = "action can only be specified standalone, as it will override any other actions"


def _files(*actions: dict[str, Any]) -> dict[str, Any]:
    return {"nodeDisruptionPolicy": {"files": [{"path": "/etc/a", "actions": list(actions)}]}}


FILE_ACTIONS = "spec.nodeDisruptionPolicy.files[0].actions"
REFUSED = [
    (_files({"type": "Reboot"}, {"type": "Drain"}), FILE_ACTIONS, f"Reboot {ALONE}"),
    (_files({"type": "None"}, {"type": "Drain"}), FILE_ACTIONS, f"None {ALONE}"),
    (
        _files({"type": "Restart"}),
        f"{FILE_ACTIONS}[0]",
        "restart is required when type is Restart, and forbidden otherwise",
    ),
    (
        _files({"type": "Drain", "reload": {"serviceName": "a.service"}}),
        f"{FILE_ACTIONS}[0]",
        "reload is required when type is Reload, and forbidden otherwise",
    ),
    (
        _files({"type": "Restart", "restart": {"serviceName": "chronyd"}}),
        f"{FILE_ACTIONS}[0].restart.serviceName",
        "Invalid ${SERVICETYPE} in service name.",
    ),
    (_files({"type": "Explode"}), f"{FILE_ACTIONS}[0].type", 'Unsupported value: "Explode"'),
    (_files(*[{"type": "Drain"}] * 11), FILE_ACTIONS, "must have at most 10 items"),
    (
        {"nodeDisruptionPolicy": {"files": [{"path": "/etc/a"}]}},
        FILE_ACTIONS,
        "Required value",
    ),
    (
        {"nodeDisruptionPolicy": {"sshkey": {"actions": "None"}}},
        "spec.nodeDisruptionPolicy.sshkey.actions",
        "must be of type array",
    ),
    (
        {"nodeDisruptionPolicy": {"files": [{"path": "/etc/a", "actions": [{"type": "None"}]}] * 2}},
        "spec.nodeDisruptionPolicy.files[1]",
        "Duplicate value",
    ),
]


@pytest.mark.parametrize(("spec", "field", "words"), REFUSED)
def test_the_rules_of_a_disruption_policy_are_kept(api: Api, spec: Any, field: str, words: str) -> None:
    refused = api.create("machineconfigurations", name := api.name(), spec)
    assert (refused.status, refused.body["reason"]) == (422, "Invalid")
    causes = refused.body["details"]["causes"]
    assert any(c["field"] == field and words in c["message"] for c in causes)
    assert words in refused.body["message"]
    assert api.get("machineconfigurations", name).status == 404


def test_the_rules_hold_for_a_dry_run_of_an_apply_as_well(api: Api) -> None:
    spec = _files({"type": "Reboot"}, {"type": "Drain"})
    refused = api.apply("machineconfigurations", api.name(), spec, query={"dryRun": "All"})
    assert refused.status == 422
    assert refused.causes == {("FieldValueInvalid", FILE_ACTIONS)}


def test_unknown_fields_are_dropped_from_writes_other_than_apply(api: Api) -> None:
    made = api.create("machineconfigs", name := api.name(), {"config": {"any": 1}, "osImageURL": "x"})
    assert made.body["spec"] == {"config": {"any": 1}}
    patched = api.merge("machineconfigs", name, {"spec": {"fips": True, "kernelArguments": ["a"]}})
    assert patched.body["spec"] == {"config": {"any": 1}, "kernelArguments": ["a"]}


def test_max_unavailable_is_a_number_or_a_string(api: Api) -> None:
    assert api.create("machineconfigpools", api.name(), {"maxUnavailable": "10%"}).status == 201
    refused = api.create("machineconfigpools", api.name(), {"maxUnavailable": True})
    assert refused.status == 422


def test_a_pool_needs_a_spec(api: Api) -> None:
    assert ("FieldValueRequired", "spec") in api.create("machineconfigpools", api.name()).causes


def test_names_and_label_values_keep_to_the_rules_of_kubernetes(api: Api) -> None:
    assert api.create("machineconfigs", "Not_A_Name", {}).causes == {("FieldValueInvalid", "metadata.name")}
    bad = api.create("machineconfigs", api.name(), {}, labels={"a": "not a value"})
    assert bad.causes == {("FieldValueInvalid", "metadata.labels")}


def test_metadata_of_wrong_types_is_a_bad_request(api: Api) -> None:
    for wrong in ({"labels": {"a": 1}}, {"labels": ["a"]}, {"annotations": {"a": True}}, {"finalizers": "a"}):
        refused = api.create("machineconfigs", api.name(), {}, **wrong)
        assert (refused.status, refused.body["reason"]) == (400, "BadRequest")


def test_a_body_of_another_kind_than_the_path_is_invalid_and_not_to_be_applied(api: Api) -> None:
    pool = api.obj("machineconfigpools", name := api.name(), {})
    refused = api.send("POST", path_of("machineconfigs"), pool)
    assert (refused.status, refused.body["reason"]) == (422, "Invalid")
    assert refused.body["message"] == (
        f'MachineConfigPool.machineconfiguration.alauda.io "{name}" is invalid: kind: Invalid value: '
        '"MachineConfigPool": must be MachineConfig'
    )
    applied = api.apply("machineconfigs", name, body=pool)
    assert (applied.status, applied.body["reason"]) == (400, "BadRequest")
    assert applied.body["message"] == f"invalid object type: {MACHINE}, Kind=MachineConfigPool"


def test_a_body_of_another_version_than_the_path_is_a_bad_request(api: Api) -> None:
    body = api.obj("machineconfigs", api.name(), {}) | {"apiVersion": "v1"}
    refused = api.send("POST", path_of("machineconfigs"), body)
    assert (refused.status, refused.body["reason"]) == (400, "BadRequest")
    assert refused.body["message"] == (
        f"the API version in the data (v1) does not match the expected API version ({MACHINE})"
    )


def test_a_body_of_another_name_than_the_path_is_a_bad_request(api: Api) -> None:
    body = api.obj("machineconfigs", "one-name", {})
    refused = api.apply("machineconfigs", "other-name", body=body)
    assert refused.status == 400
    assert refused.body["message"] == (
        "the name of the object (one-name) does not match the name on the URL (other-name)"
    )
