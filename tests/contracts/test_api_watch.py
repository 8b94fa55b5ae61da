"""Watches: what is told, in which order, and how one ends that asks for what is forgotten."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from gitops_mc.app.ports import Request, Response, Transport
from tests.contracts.api import EDGE, Api, path_of
from tests.contracts.watching import Event, Watched

METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


def _mark(api: Api) -> str:
    """A label's value that only this test uses."""
    return api.prefix[-40:].strip("-")


def _told(events: Iterable[Event]) -> list[tuple[str, str]]:
    return [(kind, obj["metadata"].get("name", "")) for kind, obj in events]


def test_a_watch_tells_what_happens_after_the_version_that_was_read(api: Api, watched: Watched) -> None:
    api.create("machineconfigs", api.name(), {})
    since = api.list("machineconfigs").version
    api.create("machineconfigs", name := api.name(), {"config": {"a": 1}})
    changed = api.merge("machineconfigs", name, {"spec": {"config": {"a": 2}}})
    api.delete("machineconfigs", name)
    events = list(watched.events(3, resourceVersion=since))
    assert _told(events) == [("ADDED", name), ("MODIFIED", name), ("DELETED", name)]
    assert events[1][1] == changed.body
    versions = [int(obj["metadata"]["resourceVersion"]) for _, obj in events]
    assert versions == sorted(set(versions))
    assert events[2][1]["spec"] == {"config": {"a": 2}}


def test_a_watch_without_a_version_begins_with_what_is_there(api: Api, watched: Watched) -> None:
    api.create("machineconfigs", name := api.name(), {}, labels={"mark": _mark(api)})
    chosen = f"mark={_mark(api)}"
    assert _told(watched.events(1, labelSelector=chosen)) == [("ADDED", name)]
    assert _told(watched.events(1, labelSelector=chosen, resourceVersion="0")) == [("ADDED", name)]


def test_initial_events_end_with_a_bookmark_that_says_so(api: Api, watched: Watched) -> None:
    mark = _mark(api)
    for _ in range(2):
        api.create("machineconfigs", api.name(), {}, labels={"mark": mark})
    asked = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    *first, (kind, last) = watched.events(3, labelSelector=f"mark={mark}", **asked)
    assert [what for what, _ in first] == ["ADDED", "ADDED"]
    assert kind == "BOOKMARK"
    assert last["kind"] == "MachineConfig"
    assert last["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(last["metadata"]["resourceVersion"]) >= int(first[-1][1]["metadata"]["resourceVersion"])


def test_what_enters_and_leaves_a_selection_comes_and_goes(api: Api, watched: Watched) -> None:
    mark = _mark(api)
    since = api.list("machineconfigs").version
    api.create("machineconfigs", name := api.name(), {})
    api.merge("machineconfigs", name, {"metadata": {"labels": {"mark": mark}}})
    api.merge("machineconfigs", name, {"spec": {"config": {}}})
    api.merge("machineconfigs", name, {"metadata": {"labels": {"mark": None}}})
    told = _told(watched.events(3, resourceVersion=since, labelSelector=f"mark={mark}"))
    assert told == [("ADDED", name), ("MODIFIED", name), ("DELETED", name)]


def test_a_watch_of_one_name_tells_of_nothing_else(api: Api, watched: Watched) -> None:
    since = api.list("machineconfigs").version
    api.create("machineconfigs", api.name(), {})
    api.create("machineconfigs", name := api.name(), {})
    told = _told(watched.events(1, resourceVersion=since, fieldSelector=f"metadata.name={name}"))
    assert told == [("ADDED", name)]


def test_a_watch_of_metadata_has_no_bodies(api: Api, watched: Watched) -> None:
    since = api.list("machineconfigs").version
    api.create("machineconfigs", name := api.name(), {"config": {"a": 1}})
    ((kind, obj),) = watched.events(1, accept=METADATA, resourceVersion=since)
    assert (kind, obj["kind"], obj["metadata"]["name"]) == ("ADDED", "PartialObjectMetadata", name)
    assert "spec" not in obj


def test_a_watch_from_a_version_that_is_forgotten_is_an_error_of_410_and_ends(
    api: Api, watched: Watched
) -> None:
    api.create("machineconfigs", api.name(), {})
    watched.forget()
    ((kind, status),) = watched.events(1, resourceVersion="1")
    assert (kind, status["kind"], status["code"], status["reason"]) == ("ERROR", "Status", 410, "Expired")


def test_a_watch_that_is_not_granted_is_refused_at_once(watched: Watched) -> None:
    refused = Watched(watched.server, "nobody", watched.forget).open()
    assert isinstance(refused, Response)
    assert refused.status == 401


@pytest.mark.parametrize("switch", ["1", "true", "True", "yes", ""])
def test_whatever_is_not_no_asks_for_a_watch(api: Api, watched: Watched, switch: str) -> None:
    mark = _mark(api)
    api.create("machineconfigs", name := api.name(), {}, labels={"mark": mark})
    told = _told(watched.events(1, watch=switch, labelSelector=f"mark={mark}"))
    assert told == [("ADDED", name)]


@pytest.mark.parametrize("switch", ["0", "false", "False"])
def test_where_no_watch_is_asked_for_there_is_a_list(transport: Transport, switch: str) -> None:
    request = Request("GET", path_of("machineconfigs"), query=(("watch", switch), ("limit", "1")))
    assert json.loads(transport.send(EDGE, request, timeout=10).body)["kind"] == "MachineConfigList"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"labelSelector": "a in b"}, 400),
        ({"timeoutSeconds": "x"}, 400),
        ({"resourceVersion": "x"}, 500),
        ({"sendInitialEvents": "true"}, 422),
        ({"resourceVersionMatch": "NotOlderThan"}, 422),
    ],
)
def test_a_watch_that_makes_no_sense_is_refused_at_once(
    watched: Watched, query: dict[str, str], status: int
) -> None:
    refused = watched.open(**query)
    assert isinstance(refused, Response)
    assert refused.status == status
