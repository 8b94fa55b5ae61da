"""JSON patch with `test`: how the product writes what it has read, or not at all."""

from __future__ import annotations

from tests.contracts.api import Api

POOL = {"maxUnavailable": 1, "paused": False}


def test_a_patch_whose_test_holds_changes_all_of_it_at_once(api: Api) -> None:
    made = api.create("machineconfigpools", name := api.name(), POOL, annotations={"a/b": "1"})
    changed = api.patch(
        "machineconfigpools",
        name,
        [
            {"op": "test", "path": "/metadata/resourceVersion", "value": made.version},
            {"op": "replace", "path": "/spec/paused", "value": True},
            {"op": "add", "path": "/metadata/annotations/gitops-mc.io~1bracket", "value": "{}"},
        ],
    )
    assert changed.status == 200
    assert changed.body["spec"] == {"maxUnavailable": 1, "paused": True}
    assert changed.metadata["annotations"] == {"a/b": "1", "gitops-mc.io/bracket": "{}"}


def test_a_patch_whose_test_fails_changes_nothing_and_answers_422(api: Api) -> None:
    made = api.create("machineconfigpools", name := api.name(), POOL)
    refused = api.patch(
        "machineconfigpools",
        name,
        [
            {"op": "replace", "path": "/spec/paused", "value": True},
            {"op": "test", "path": "/metadata/resourceVersion", "value": "1"},
        ],
    )
    assert (refused.status, refused.body["reason"]) == (422, "Invalid")
    assert refused.body["message"] == "the server rejected our request due to an error in our request"
    assert api.get("machineconfigpools", name).body == made.body


def test_a_path_that_is_not_there_fails_the_patch(api: Api) -> None:
    api.create("machineconfigpools", name := api.name(), POOL)
    for operation in (
        {"op": "remove", "path": "/metadata/annotations/x"},
        {"op": "replace", "path": "/spec/nodeSelector/matchLabels", "value": {}},
        {"op": "test", "path": "/metadata/annotations/x", "value": "1"},
        {"op": "add", "path": "/metadata/annotations/x", "value": "1"},
    ):
        assert api.patch("machineconfigpools", name, [operation]).status == 422


def test_operations_on_lists_insert_append_replace_and_remove(api: Api) -> None:
    api.create("machineconfigs", name := api.name(), {"kernelArguments": ["a", "b"]})
    changed = api.patch(
        "machineconfigs",
        name,
        [
            {"op": "add", "path": "/spec/kernelArguments/0", "value": "first"},
            {"op": "add", "path": "/spec/kernelArguments/-", "value": "last"},
            {"op": "replace", "path": "/spec/kernelArguments/1", "value": "A"},
            {"op": "remove", "path": "/spec/kernelArguments/2"},
            {"op": "copy", "from": "/spec/kernelArguments/0", "path": "/spec/kernelArguments/-"},
            {"op": "move", "from": "/spec/kernelArguments/1", "path": "/spec/kernelArguments/0"},
        ],
    )
    assert changed.body["spec"]["kernelArguments"] == ["A", "first", "last", "first"]


def test_a_patch_cannot_rename_or_reidentify_an_object(api: Api) -> None:
    api.create("machineconfigpools", name := api.name(), POOL)
    rename = [{"op": "replace", "path": "/metadata/name", "value": "other"}]
    assert api.patch("machineconfigpools", name, rename).status == 400
    other = [{"op": "replace", "path": "/metadata/uid", "value": "other"}]
    assert api.patch("machineconfigpools", name, other).causes == {("FieldValueInvalid", "metadata.uid")}


def test_a_strategic_merge_patch_of_a_custom_resource_is_an_unsupported_media_type(api: Api) -> None:
    api.create("machineconfigpools", name := api.name(), POOL)
    path = f"/apis/machineconfiguration.alauda.io/v1alpha1/machineconfigpools/{name}"
    strategic = "application/strategic-merge-patch+json"
    answer = api.send("PATCH", path, {"spec": {"paused": True}}, content_type=strategic)
    assert (answer.status, answer.body["reason"]) == (415, "UnsupportedMediaType")
