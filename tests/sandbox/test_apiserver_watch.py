"""Watches of the embedded API server."""

from __future__ import annotations

import json
from typing import Any

from gitops_mc.app.ports import Response
from gitops_mc.sandbox.apiserver import Watch
from tests.sandbox.apiserver_asking import CONFIGS, Asking


def _watch(asking: Asking, path: str = CONFIGS, **query: Any) -> Watch:
    found = asking.server.open_watch(asking.request("GET", path, query={"watch": "true", **query}))
    assert isinstance(found, Watch)
    return found


def _events(watch: Watch) -> list[tuple[str, str]]:
    """Type and name, or what else there is to say."""
    result = []
    for line in watch.poll():
        assert line.endswith(b"\n")
        event = json.loads(line)
        found = event["object"]
        result.append((event["type"], found.get("metadata", {}).get("name") or str(found.get("code", ""))))
    return result


def _version(asking: Asking) -> str:
    return str(asking.ok("GET", CONFIGS)["metadata"]["resourceVersion"])


def test_a_watch_from_a_version_sees_what_came_after_it_and_nothing_else() -> None:
    asking = Asking()
    asking.config("a")
    watch = _watch(asking, resourceVersion=_version(asking))
    assert _events(watch) == []
    asking.config("b")
    asking.merge(f"{CONFIGS}/a", {"spec": {"kernelArguments": ["x"]}})
    asking.ok("DELETE", f"{CONFIGS}/b")
    assert _events(watch) == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
    assert _events(watch) == []


def test_a_watch_without_a_version_begins_with_all_there_is() -> None:
    asking = Asking()
    asking.config("a")
    asking.config("b")
    watch = _watch(asking)
    asking.config("c")
    assert _events(watch) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]


def test_a_later_watch_from_the_same_version_sees_the_same() -> None:
    asking = Asking()
    start = _version(asking)
    for name in ("a", "b"):
        asking.config(name)
    assert _events(_watch(asking, resourceVersion=start)) == [("ADDED", "a"), ("ADDED", "b")]


def test_an_object_that_leaves_a_selector_is_deleted_for_its_watch_and_comes_back_added() -> None:
    asking = Asking()
    watch = _watch(asking, labelSelector="in=yes")
    asking.config("a", labels={"in": "yes"})
    asking.config("b", labels={"in": "no"})
    asking.merge(f"{CONFIGS}/a", {"metadata": {"labels": {"in": "no"}}})
    asking.merge(f"{CONFIGS}/a", {"metadata": {"labels": {"in": "yes"}}})
    asking.ok("DELETE", f"{CONFIGS}/b")
    assert _events(watch) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a")]


def test_one_object_can_be_watched_by_its_name() -> None:
    asking = Asking()
    watch = _watch(asking, f"{CONFIGS}/a")
    asking.config("a")
    asking.config("b")
    assert _events(watch) == [("ADDED", "a")]


def test_too_old_a_version_is_told_on_the_stream_with_410_and_ends_it() -> None:
    asking = Asking()
    start = _version(asking)
    asking.config("a")
    asking.server.compact()
    watch = _watch(asking, resourceVersion=start)
    assert _events(watch) == [("ERROR", "410")]
    assert watch.closed
    assert _events(watch) == []


def test_a_watch_that_lags_behind_a_compaction_ends_with_410() -> None:
    asking = Asking()
    watch = _watch(asking, resourceVersion=_version(asking))
    asking.config("a")
    asking.server.compact()
    assert _events(watch) == [("ERROR", "410")]


def test_bookmarks_tell_how_far_a_quiet_watch_has_come() -> None:
    asking = Asking()
    watch = _watch(asking, resourceVersion=_version(asking), allowWatchBookmarks="true")
    asking.merge("/api/v1/namespaces/default", {"metadata": {"labels": {"a": "b"}}})
    assert _events(watch) == []
    asking.time.pass_(61)
    (line,) = watch.poll()
    bookmark = json.loads(line)
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"] == {"resourceVersion": _version(asking)}
    assert watch.poll() == ()


def test_initial_events_end_with_a_marked_bookmark() -> None:
    asking = Asking()
    asking.config("a")
    watch = _watch(asking, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", resourceVersion=1)
    first, second = (json.loads(line) for line in watch.poll())
    assert (first["type"], second["type"]) == ("ADDED", "BOOKMARK")
    assert second["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_handle_answers_a_watch_with_what_is_there_at_once() -> None:
    asking = Asking()
    asking.config("a")
    answer = asking.server.handle(asking.request("GET", CONFIGS, query={"watch": "true"}))
    assert answer.status == 200
    assert json.loads(answer.body)["object"]["metadata"]["name"] == "a"


def test_a_watch_that_is_not_allowed_is_answered_as_any_other_request() -> None:
    asking = Asking(token="nobody")
    refused = asking.server.open_watch(asking.request("GET", CONFIGS, query={"watch": "true"}))
    assert isinstance(refused, Response)
    assert refused.status == 401


def test_a_closed_watch_says_nothing_more() -> None:
    asking = Asking()
    watch = _watch(asking)
    watch.close()
    asking.config("a")
    assert watch.poll() == ()
