"""Events of core/v1, as they are written and counted up here: what the server takes, and what it refuses."""

from __future__ import annotations

from typing import Any

from gitops_mc.app.ports import JSON_PATCH
from tests.contracts.api import Answer, Api

EVENTS = "/api/v1/namespaces/default/events"
NOW = "2026-05-01T10:42:00Z"


def event(name: str, **more: Any) -> dict[str, Any]:
    about = {
        "apiVersion": "gitops-mc.io/v1alpha1",
        "kind": "Fleet",
        "namespace": "default",
        "name": name,
        "uid": f"uid-{name}",
    }
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "involvedObject": about,
        "type": "Warning",
        "reason": "Halted",
        "message": "no new write anywhere",
        "count": 1,
        "firstTimestamp": NOW,
        "lastTimestamp": NOW,
        "source": {"component": "gitops-mc"},
        "reportingComponent": "gitops-mc",
        "reportingInstance": "pod-a",
        **more,
    }


def sent(api: Api, body: dict[str, Any]) -> Answer:
    return api.send("POST", EVENTS, body)


def test_an_event_about_an_object_of_its_namespace_is_taken_whether_or_not_that_object_is_there(
    api: Api,
) -> None:
    made = sent(api, event(name := api.name()))
    assert made.status == 201
    kept = {
        k: made.body[k]
        for k in ("reason", "message", "count", "firstTimestamp", "source", "reportingInstance")
    }
    assert kept == {k: event(name)[k] for k in kept}


def test_it_is_counted_up_by_a_json_patch(api: Api) -> None:
    sent(api, event(name := api.name()))
    changes = [
        {"op": "add", "path": "/count", "value": 2},
        {"op": "add", "path": "/lastTimestamp", "value": "2026-05-01T10:50:00Z"},
    ]
    counted = api.send("PATCH", f"{EVENTS}/{name}", changes, content_type=JSON_PATCH)
    assert counted.status == 200
    assert (counted.body["count"], counted.body["lastTimestamp"]) == (2, "2026-05-01T10:50:00Z")
    assert counted.body["firstTimestamp"] == NOW


def test_it_is_found_by_the_object_it_is_about(api: Api) -> None:
    sent(api, event(api.name()))
    sent(api, event(name := api.name()))
    selector = f"involvedObject.uid=uid-{name},involvedObject.kind=Fleet,reason=Halted"
    found = api.send("GET", EVENTS, query={"fieldSelector": selector})
    assert [item["metadata"]["name"] for item in found.body["items"]] == [name]


def test_the_same_name_again_already_exists(api: Api) -> None:
    sent(api, event(name := api.name()))
    again = sent(api, event(name))
    assert (again.status, again.body["reason"]) == (409, "AlreadyExists")


def test_an_event_about_an_object_of_another_namespace_is_refused(api: Api) -> None:
    body = event(api.name())
    body["involvedObject"] |= {"namespace": "kube-system"}
    refused = sent(api, body)
    assert (refused.status, refused.body["reason"]) == (422, "Invalid")
    assert [(c["reason"], c["field"], c["message"]) for c in refused.body["details"]["causes"]] == [
        (
            "FieldValueInvalid",
            "involvedObject.namespace",
            'Invalid value: "kube-system": does not match event.namespace',
        )
    ]


def test_events_about_objects_without_a_namespace_stand_in_default_and_nowhere_else(api: Api) -> None:
    body = event(api.name())
    body["involvedObject"] |= {"namespace": ""}
    assert sent(api, body).status == 201
    api.create("namespaces", other := api.name())
    body["metadata"] = {"name": api.name(), "namespace": other}
    refused = api.send("POST", f"/api/v1/namespaces/{other}/events", body)
    assert refused.status == 422
    assert refused.causes == {("FieldValueInvalid", "involvedObject.namespace")}
