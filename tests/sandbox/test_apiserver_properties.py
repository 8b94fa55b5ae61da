"""What holds of merging and ownership whatever the objects are."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.app.ports import APPLY_PATCH, JSON_PATCH, MERGE_PATCH
from gitops_mc.sandbox.apiserver.fieldsets import (
    decode,
    difference,
    encode,
    intersection,
    paths,
    union,
)
from gitops_mc.sandbox.apiserver.patches import json_patch, merge_patch
from gitops_mc.sandbox.apiserver.typed import merged_order
from tests.sandbox.apiserver_asking import Asking, obj

MACHINE = "machineconfiguration.alauda.io/v1alpha1"
PATH = f"/apis/{MACHINE}/machineconfigurations/cluster"
often = settings(max_examples=150, derandomize=True, deadline=None)

orders = st.lists(st.sampled_from("abcdefg"), unique=True, max_size=6)
trees: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.just({}), lambda below: st.dictionaries(st.sampled_from(["f:a", "f:b", "f:c"]), below, max_size=3)
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from("xyz"),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), below, max_size=3)
    ),
    max_leaves=8,
)
maps = st.dictionaries(st.sampled_from(["a", "b", "c"]), values, max_size=3)


@often
@given(orders, orders)
def test_a_merged_list_has_every_entry_once_and_keeps_the_order_applied(
    live: list[str], applied: list[str]
) -> None:
    merged = merged_order(live, applied)
    assert sorted(merged) == sorted({*live, *applied})
    assert [entry for entry in merged if entry in applied] == applied


@often
@given(orders)
def test_applying_the_same_order_again_moves_nothing(live: list[str]) -> None:
    assert merged_order(live, live) == live


@often
@given(orders, orders)
def test_entries_of_others_keep_their_order_among_themselves(live: list[str], applied: list[str]) -> None:
    merged = merged_order(live, applied)
    foreign = [entry for entry in live if entry not in applied]
    assert [entry for entry in merged if entry in foreign] == foreign


def _members(fields: dict[str, Any]) -> set[str]:
    return set(paths(decode(fields)))


@often
@given(trees, trees)
def test_the_algebra_of_field_sets_is_that_of_sets(left: dict[str, Any], right: dict[str, Any]) -> None:
    one, other = decode(left), decode(right)
    assert set(paths(union(one, other))) == _members(left) | _members(right)
    assert set(paths(difference(one, other))) == _members(left) - _members(right)
    assert set(paths(intersection(one, other))) == _members(left) & _members(right)
    assert decode(encode(one)) == one


@often
@given(maps, maps)
def test_a_merge_patch_changes_only_its_result(target: dict[str, Any], patch: dict[str, Any]) -> None:
    before = json.dumps([target, patch])
    merged = merge_patch(target, patch)
    assert json.dumps([target, patch]) == before
    again = merge_patch(
        merged, patch
    )  # a list in the place of an object keeps its nulls, one in that of a list does not
    assert merge_patch(again, patch) == again


@often
@given(maps, values)
def test_a_json_patch_reads_back_what_it_wrote(target: dict[str, Any], value: Any) -> None:
    before = json.dumps(target)
    patch = [{"op": "add", "path": "/a", "value": value}, {"op": "test", "path": "/a", "value": value}]
    assert json_patch(target, patch)["a"] == value
    assert json.dumps(target) == before


entries = st.lists(
    st.tuples(st.sampled_from(["/a", "/b", "/c"]), st.sampled_from(["None", "Drain", "Reboot"])),
    unique_by=lambda entry: entry[0],
    max_size=3,
)
steps = st.lists(st.tuples(st.sampled_from(["one", "two"]), entries), min_size=1, max_size=4)


SHIPPED = obj(MACHINE, "MachineConfiguration", "cluster") | {
    "spec": {"nodeDisruptionPolicy": {"sshkey": {"actions": [{"type": "None"}]}}}
}
"""What the operator has there: with it, spec is never emptied."""


def _files(chosen: list[tuple[str, str]]) -> dict[str, Any]:
    if not chosen:
        return {"spec": {}}
    files = [{"path": path, "actions": [{"type": action}]} for path, action in chosen]
    return {"spec": {"nodeDisruptionPolicy": {"files": files}}}


def _apply(asking: Asking, manager: str, chosen: list[tuple[str, str]]) -> tuple[int, dict[str, Any]]:
    body = obj(MACHINE, "MachineConfiguration", "cluster") | _files(chosen)
    query = {"fieldManager": manager, "force": "true"}
    return asking.send("PATCH", PATH, body, content_type=APPLY_PATCH, query=query)


def _entries(found: dict[str, Any]) -> set[tuple[str, str]]:
    files = found["spec"].get("nodeDisruptionPolicy", {}).get("files") or []
    return {(entry["path"], entry["actions"][0]["type"]) for entry in files}


@often
@given(steps)
def test_what_is_applied_is_there_and_a_repetition_writes_nothing(
    history: list[tuple[str, list[tuple[str, str]]]],
) -> None:
    asking = Asking()
    for manager, chosen in history:
        status, found = _apply(asking, manager, chosen)
        if status == 422:
            # an entry was taken over by force and is now dropped: its key alone stays with the other (required);
            # or nothing is left of spec, which is null then (invalid type)
            reasons = {c["reason"] for c in found["details"]["causes"]}
            assert reasons <= {"FieldValueRequired", "FieldValueTypeInvalid", "FieldValueInvalid"}
            continue
        assert set(chosen) <= _entries(found)
        writes = asking.server.writes
        assert _apply(asking, manager, chosen)[1] == found
        assert asking.server.writes == writes


@often
@given(steps)
def test_what_everybody_stops_applying_is_gone(history: list[tuple[str, list[tuple[str, str]]]]) -> None:
    asking = Asking()
    asking.ok("PATCH", PATH, SHIPPED, content_type=APPLY_PATCH, query={"fieldManager": "operator"})
    for manager, chosen in history:
        assert _apply(asking, manager, [(f"/{manager}{path}", action) for path, action in chosen])[0] < 300
    for manager in sorted({manager for manager, _ in history}):
        assert _apply(asking, manager, [])[0] < 300
    assert _entries(asking.ok("GET", PATH)) == set()


@often
@given(entries, entries)
def test_who_updates_owns_what_changed_and_nobody_else_does(
    first: list[tuple[str, str]], second: list[tuple[str, str]]
) -> None:
    asking = Asking()
    _apply(asking, "one", first)
    found = asking.ok("PATCH", PATH, _files(second), content_type=MERGE_PATCH, query={"fieldManager": "hand"})
    owned = {e["manager"]: _members(e["fieldsV1"]) for e in found["metadata"].get("managedFields", ())}
    changed = {path for path, _ in set(second) - set(first)}
    for path in changed:
        field = f'.spec.nodeDisruptionPolicy.files[path="{path}"].actions'
        assert [manager for manager, fields in owned.items() if field in fields] == ["hand"]


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 2)
    | st.sampled_from(["", "a", "/spec", "f:x", "None", "Reboot"]),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(
            st.sampled_from(["op", "path", "value", "a", "actions", "type", "files", "name"]),
            below,
            max_size=3,
        )
    ),
    max_leaves=8,
)
wild_objects = st.fixed_dictionaries(
    {},
    optional={
        "apiVersion": st.just(MACHINE) | anything,
        "kind": st.just("MachineConfiguration") | anything,
        "metadata": st.fixed_dictionaries(
            {"name": st.just("cluster")},
            optional=dict.fromkeys(
                (
                    "labels",
                    "annotations",
                    "managedFields",
                    "finalizers",
                    "ownerReferences",
                    "uid",
                    "resourceVersion",
                ),
                anything,
            ),
        )
        | anything,
        "spec": st.fixed_dictionaries({}, optional={"nodeDisruptionPolicy": anything}) | anything,
        "status": anything,
    },
)
wild_calls = st.tuples(
    st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    st.sampled_from([PATH, f"{PATH}/status", PATH.rpartition("/")[0]]),
    st.sampled_from([APPLY_PATCH, MERGE_PATCH, JSON_PATCH, "text/plain"]),
    wild_objects | anything,
)


@often
@given(st.lists(wild_calls, max_size=4))
def test_whatever_is_sent_is_answered_with_json_and_never_breaks_the_server(
    calls: list[tuple[str, str, str, Any]],
) -> None:
    asking = Asking()
    body = obj(MACHINE, "MachineConfiguration", "cluster") | _files([("/a", "None")])
    asking.ok("POST", PATH.rpartition("/")[0], body)
    for method, path, content_type, wild in calls:
        query = {"fieldManager": "m", "labelSelector": "a,!b"}
        status, answer = asking.send(method, path, wild, content_type=content_type, query=query)
        assert status in (200, 201, 400, 404, 405, 409, 415, 422) or "typed patch object" in answer["message"]
    asking.ok("GET", PATH.rpartition("/")[0])
