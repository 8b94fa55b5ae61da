"""Kinds that are defined at run time, on the embedded API server."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from gitops_mc.app.ports import APPLY_PATCH
from gitops_mc.sandbox.apiserver.resources import RESOURCES
from tests.apiserver.clusters import definitions
from tests.sandbox.apiserver_asking import Asking, obj
from tests.sandbox.test_apiserver_tables import TABLE

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
VERSION = "example.com/v1"
WIDGETS = f"/apis/{VERSION}/namespaces/default/widgets"
STATUS = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "description": "How large it is."},
        "color": {"type": "string", "enum": ["red", "blue"]},
        "parts": {
            "type": "array",
            "maxItems": 2,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}},
        },
        "data": {"type": "object", "additionalProperties": {"type": "string"}},
        "most": {"x-kubernetes-int-or-string": True},
    },
}


def definition(spec: Any = SPEC, **version: Any) -> dict[str, Any]:
    names = {
        "plural": "widgets",
        "kind": "Widget",
        "listKind": "WidgetList",
        "singular": "widget",
        "shortNames": ["w"],
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": STATUS}}}
    columns = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1}]
    whole = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": schema,
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
        **version,
    }
    body = obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.example.com")
    return body | {
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [whole]}
    }


def widget(name: str, **spec: Any) -> dict[str, Any]:
    return obj(VERSION, "Widget", name) | {"spec": {"size": 1, **spec}}


def _asking() -> Asking:
    asking = Asking()
    asking.ok("POST", CRDS, definition())
    return asking


def test_a_defined_kind_is_served_at_once_and_its_definition_says_so() -> None:
    asking = _asking()
    made = asking.ok("GET", f"{CRDS}/widgets.example.com")
    assert {c["type"]: c["status"] for c in made["status"]["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    asking.ok("POST", WIDGETS, widget("a"))
    assert asking.names(WIDGETS) == ["a"]
    assert asking.ok("GET", f"/apis/{VERSION}/widgets")["kind"] == "WidgetList"
    assert Asking().send("GET", WIDGETS)[0] == 404


def test_a_defined_kind_is_discovered_described_and_printed() -> None:
    asking = _asking()
    row = asking.ok("GET", f"/apis/{VERSION}")["resources"][0]
    assert (row["name"], row["shortNames"], row["namespaced"]) == ("widgets", ["w"], True)
    told = asking.ok("GET", f"/openapi/v3/apis/{VERSION}")["components"]["schemas"]["com.example.v1.Widget"]
    assert told["properties"]["spec"]["properties"]["size"] == SPEC["properties"]["size"]
    asking.ok("POST", WIDGETS, widget("a", size=7))
    table = asking.ok("GET", WIDGETS, accept=TABLE)
    assert [(c["name"], c["priority"]) for c in table["columnDefinitions"]] == [("Name", 0), ("Size", 1)]
    assert table["rows"][0]["cells"] == ["a", 7]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"size": "x"}, "spec.size"),
        ({"size": 0}, "spec.size"),
        ({"color": "green"}, "spec.color"),
        ({"parts": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}, "spec.parts"),
        ({"parts": [{"name": "a"}, {"name": "a"}]}, "spec.parts[1]"),
        ({"data": {"a": 1}}, "spec.data.a"),
        ({"most": True}, "spec.most"),
    ],
)
def test_objects_are_validated_as_the_definition_says(spec: dict[str, Any], field: str) -> None:
    status, found = _asking().send("POST", WIDGETS, widget("a", **spec))
    assert (status, found["details"]["causes"][0]["field"]) == (422, field)


def test_unknown_fields_are_dropped_and_the_status_has_its_own_path() -> None:
    asking = _asking()
    body = widget("a", bogus=1) | {"status": {"phase": "X"}}
    made = asking.ok("POST", WIDGETS, body)
    assert (made["spec"], "status" in made, made["metadata"]["generation"]) == ({"size": 1}, False, 1)
    moved = asking.merge(f"{WIDGETS}/a/status", {"status": {"phase": "Y"}, "spec": {"size": 5}})
    assert (moved["status"], moved["spec"]) == ({"phase": "Y"}, {"size": 1})


def test_lists_merge_by_the_keys_of_the_definition() -> None:
    asking = _asking()
    for manager, name in (("m1", "a"), ("m2", "b")):
        body = widget("x", parts=[{"name": name, "n": 1}])
        query = {"fieldManager": manager}
        asking.ok("PATCH", f"{WIDGETS}/x", body, query=query, content_type=APPLY_PATCH)
    parts = asking.ok("GET", f"{WIDGETS}/x")["spec"]["parts"]
    assert [part["name"] for part in parts] == ["a", "b"]


def test_a_definition_that_goes_takes_its_objects_along_and_watches_see_them_go() -> None:
    asking = _asking()
    asking.ok("POST", WIDGETS, widget("a"))
    watch = asking.server.open_watch(asking.request("GET", WIDGETS, query={"watch": "true"}))
    asking.ok("DELETE", f"{CRDS}/widgets.example.com")
    assert [json.loads(line)["type"] for line in watch.poll()] == ["ADDED", "DELETED"]  # type: ignore[union-attr]
    assert asking.send("GET", WIDGETS)[0] == 404
    asking.ok("POST", CRDS, definition())
    assert asking.names(WIDGETS) == []


def test_a_definition_that_changes_holds_for_what_is_written_then_and_watches_go_on() -> None:
    asking = _asking()
    watch = asking.server.open_watch(asking.request("GET", WIDGETS, query={"watch": "true"}))
    wider = deepcopy(SPEC)
    wider["properties"]["size"] = {"type": "string"}
    versions = definition(wider)["spec"]["versions"]
    asking.merge(f"{CRDS}/widgets.example.com", {"spec": {"versions": versions}})
    asking.ok("POST", WIDGETS, widget("a", size="large"))
    assert [json.loads(line)["type"] for line in watch.poll()] == ["ADDED"]  # type: ignore[union-attr]


def test_a_definition_that_is_only_tried_serves_nothing() -> None:
    asking = Asking()
    asking.ok("POST", CRDS, definition(), query={"dryRun": "All"})
    assert asking.send("GET", WIDGETS)[0] == 404


BEYOND = {
    "x-kubernetes-validations": [{"rule": "self.size > 0"}],
    "default": {},
    "oneOf": [],
    "maxProperties": 1,
    "type": "number",
    "additionalProperties": True,
}


@pytest.mark.parametrize("word", BEYOND)
def test_what_a_definition_asks_for_and_would_not_get_is_refused(word: str) -> None:
    asking = Asking()
    status, found = asking.send("POST", CRDS, definition({**SPEC, word: BEYOND[word]}))
    where = f"spec.versions[0].schema.openAPIV3Schema.properties[spec].{word}"
    assert (status, found["details"]["causes"][0]["field"]) == (422, where)
    assert asking.send("GET", WIDGETS)[0] == 404


WRONG: dict[str, Any] = {
    "another name": {"metadata": {"name": "other.example.com"}},
    "a group of Kubernetes": {"spec": {"group": "x.k8s.io"}, "metadata": {"name": "widgets.x.k8s.io"}},
    "a scope": {"spec": {"scope": "World"}},
    "no versions": {"spec": {"versions": []}},
    "not stored": {"spec": {"versions": [{"name": "v1", "served": True, "storage": False}]}},
    "a list kind": {"spec": {"names": {"plural": "widgets", "kind": "Widget", "listKind": "Widgets"}}},
    "a singular": {"spec": {"names": {"plural": "widgets", "kind": "Widget", "singular": "w"}}},
    "no kind": {"spec": {"names": {"plural": "widgets"}}},
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_definition_is_invalid(what: str) -> None:
    body = definition()
    for member, values in WRONG[what].items():
        body[member] = {**body[member], **values}
    status, found = Asking().send("POST", CRDS, body)
    assert (status, found["reason"]) == (422, "Invalid")


@pytest.mark.parametrize(
    "version", [{"subresources": {"scale": {}}}, {"additionalPrinterColumns": [{"name": "X"}]}]
)
def test_subresources_and_columns_that_cannot_be_had_are_refused(version: dict[str, Any]) -> None:
    assert Asking().send("POST", CRDS, definition(SPEC, **version))[0] == 422


def test_kinds_that_the_server_brings_along_are_not_defined_a_second_time() -> None:
    known = {resource.plural for resource in RESOURCES}
    for brought in definitions():
        assert brought["spec"]["names"]["plural"] in known
        assert Asking().send("POST", CRDS, brought)[0] == 422
