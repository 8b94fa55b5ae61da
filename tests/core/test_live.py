"""What was read twice: a body that has not moved is the same object, so that what is worked out of it is worked out once."""

from __future__ import annotations

from datetime import UTC, datetime

from gitops_mc.core.live import objects, unmoved
from gitops_mc.core.model import JsonObject, Known, Unknown

AT = datetime(2026, 1, 1, tzinfo=UTC)


def body(name: str, version: str, uid: str = "u", **more: str) -> JsonObject:
    return {"metadata": {"name": name, "uid": uid, "resourceVersion": version}, **more}


def test_where_nothing_has_moved_the_whole_collection_is_the_one_before() -> None:
    before = objects({"a": body("a", "1"), "b": body("b", "2")})
    assert unmoved(Known(before, AT), objects({"b": body("b", "2"), "a": body("a", "1")})) is before


def test_what_has_moved_is_new_and_the_rest_is_as_it_was() -> None:
    before = objects({"a": body("a", "1"), "b": body("b", "2")})
    moved = body("a", "3")
    found = unmoved(Known(before, AT), objects({"a": moved, "b": body("b", "2")}))
    assert found["a"] is moved
    assert found["b"] is before["b"]


def test_an_object_made_again_under_its_name_is_another_one() -> None:
    before = objects({"a": body("a", "1")})
    again = body("a", "1", uid="other")
    assert unmoved(Known(before, AT), objects({"a": again}))["a"] is again


def test_a_version_that_comes_again_with_other_content_is_not_believed() -> None:
    """etcd was restored from a copy: versions run backwards."""
    before = objects({"a": body("a", "7", said="before")})
    again = body("a", "7", said="after the restore")
    assert unmoved(Known(before, AT), objects({"a": again}))["a"] is again


def test_what_is_gone_is_gone_and_what_came_is_there() -> None:
    before = objects({"a": body("a", "1"), "b": body("b", "2")})
    assert list(unmoved(Known(before, AT), objects({"b": body("b", "2")}))) == ["b"]
    assert list(unmoved(Known(before, AT), objects({"a": body("a", "1"), "c": body("c", "2")}))) == ["a", "c"]
    assert not unmoved(Known(before, AT), objects({}))


def test_a_body_without_a_version_proves_nothing() -> None:
    before = objects({"a": body("a", "", said="before")})
    now = objects({"a": body("a", "", said="now")})
    assert unmoved(Known(before, AT), now)["a"]["said"] == "now"


def test_after_a_look_that_failed_all_is_new() -> None:
    now = objects({"a": body("a", "1")})
    assert unmoved(Unknown("no answer", AT), now) is now
