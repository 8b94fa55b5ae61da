"""Lists: selectors, pages, metadata alone."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_mc.app.ports import METADATA_LIST
from tests.contracts.api import Api

LABELS = {"one": {"tier": "a", "n": "1"}, "two": {"tier": "b", "n": "2"}, "three": {"other": ""}}


def _made(api: Api) -> tuple[str, dict[str, str]]:
    """Three configs under a label of their own; names by nick."""
    mark = api.name()
    names = {nick: f"{mark}-{nick}" for nick in LABELS}
    for nick, labels in LABELS.items():
        api.create(
            "machineconfigs", names[nick], {"config": {"big": "x" * 100}}, labels=labels | {"mark": mark}
        )
    return mark, names


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        ("tier=a", {"one"}),
        ("tier==b", {"two"}),
        ("tier!=a", {"two", "three"}),
        ("tier", {"one", "two"}),
        ("!tier", {"three"}),
        ("tier in (a, b)", {"one", "two"}),
        ("tier notin (a)", {"two", "three"}),
        ("tier in (a,b),n!=1", {"two"}),
        ("other=", {"three"}),
        ("n>1", {"two"}),
        ("n<2", {"one"}),
    ],
)
def test_label_selectors_choose(api: Api, selector: str, chosen: set[str]) -> None:
    mark, names = _made(api)
    found = api.list("machineconfigs", labelSelector=f"mark={mark},{selector}")
    assert found.status == 200
    assert set(found.names) == {names[nick] for nick in chosen}


def test_a_selector_that_cannot_be_read_is_a_bad_request(api: Api) -> None:
    assert api.list("machineconfigs", labelSelector="a in b").status == 400


def test_field_selectors_choose_by_name_and_know_no_other_field_of_a_custom_resource(api: Api) -> None:
    _, names = _made(api)
    assert api.list("machineconfigs", fieldSelector=f"metadata.name={names['two']}").names == [names["two"]]
    assert api.list("machineconfigs", fieldSelector="spec.config=1").status == 400


def test_a_metadata_list_has_names_labels_and_versions_but_no_bodies(api: Api) -> None:
    mark, names = _made(api)
    found = api.list("machineconfigs", accept=METADATA_LIST, labelSelector=f"mark={mark}")
    assert found.body["kind"] == "PartialObjectMetadataList"
    assert set(found.names) == set(names.values())
    for item in found.body["items"]:
        assert item["kind"] == "PartialObjectMetadata"
        assert {"resourceVersion", "labels", "uid"} <= item["metadata"].keys()
        assert "spec" not in item


def test_a_list_says_its_kind_and_a_version_not_older_than_its_items(api: Api) -> None:
    mark, _ = _made(api)
    found = api.list("machineconfigs", labelSelector=f"mark={mark}")
    assert (found.body["kind"], found.body["apiVersion"]) == (
        "MachineConfigList",
        "machineconfiguration.alauda.io/v1alpha1",
    )
    assert int(found.version) >= max(int(i["metadata"]["resourceVersion"]) for i in found.body["items"])


def test_items_of_built_in_kinds_do_not_repeat_their_kind(api: Api) -> None:
    assert all("kind" not in item for item in api.list("namespaces").body["items"])


def test_pages_are_of_one_moment_and_give_every_object_once(api: Api) -> None:
    mark, names = _made(api)
    chosen: dict[str, Any] = {"labelSelector": f"mark={mark}", "limit": 2}
    first = api.list("machineconfigs", **chosen)
    api.delete("machineconfigs", names["one"])
    api.create("machineconfigs", f"{mark}-later", {"config": {}}, labels={"mark": mark})
    second = api.list("machineconfigs", **chosen, **{"continue": first.metadata["continue"]})
    assert (len(first.names), len(second.names)) == (2, 1)
    assert {*first.names, *second.names} == set(names.values())
    assert first.version == second.version
    assert second.metadata["continue"] == ""


def test_a_continue_token_that_makes_no_sense_is_a_bad_request(api: Api) -> None:
    assert api.list("machineconfigs", limit=1, **{"continue": "nonsense"}).status == 400
