"""The embedded API server beyond what every API server does: its log, its determinism, its table of kinds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitops_mc.app.ports import APPLY_PATCH, JSON_PATCH, MERGE_PATCH
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer, Rule, User
from gitops_mc.sandbox.apiserver.definitions import DEFINITIONS
from gitops_mc.sandbox.apiserver.resources import RESOURCES, Where
from tests.sandbox.apiserver_asking import CONFIGS, NODES, Asking, Time, obj

PODS = "/api/v1/namespaces/default/pods"
MACHINE = "machineconfiguration.alauda.io/v1alpha1"


def test_the_log_has_every_accepted_write_with_who_what_and_both_states() -> None:
    asking = Asking()
    made = asking.config("a", {"x": 1})
    asking.time.pass_(5)
    changed = asking.merge(f"{CONFIGS}/a", {"spec": {"kernelArguments": ["q"]}}, fieldManager="hand")
    asking.ok("DELETE", f"{CONFIGS}/a")
    create, patch, delete = asking.server.writes
    assert [w.seq for w in asking.server.writes] == [1, 2, 3]
    assert (create.verb, create.before, create.after) == ("create", None, made)
    assert (patch.verb, patch.manager, patch.user) == ("patch", "hand", "admin")
    assert (patch.before, patch.after) == (made, changed)
    assert (patch.resource, patch.name) == ("machineconfigs.machineconfiguration.alauda.io", "a")
    assert patch.resource_version == changed["metadata"]["resourceVersion"]
    assert patch.time == asking.time.now
    assert (delete.verb, delete.before, delete.after) == ("delete", changed, None)
    assert asking.server.writes_after(1) == (patch, delete)


def test_dry_runs_refusals_and_writes_that_change_nothing_are_not_in_the_log() -> None:
    asking = Asking()
    made = asking.config("a", {"x": 1})
    seen = asking.server.writes
    asking.merge(f"{CONFIGS}/a", {"spec": {"kernelArguments": ["q"]}}, dryRun="All")
    asking.merge(f"{CONFIGS}/a", {"spec": {"config": {"x": 1}}})
    asking.ok("DELETE", f"{CONFIGS}/a", query={"dryRun": "All"})
    asking.ok("DELETE", f"{CONFIGS}/a", {"dryRun": ["All"]})
    status, _ = asking.send("POST", CONFIGS, obj(MACHINE, "MachineConfig", "a"))
    assert status == 409
    status, _ = asking.send(
        "PUT", f"{CONFIGS}/a", made | {"metadata": made["metadata"] | {"resourceVersion": "1"}}
    )
    assert status == 409
    assert asking.server.writes == seen


def test_a_write_by_status_names_the_subresource() -> None:
    asking = Asking()
    asking.ok("POST", NODES, obj("v1", "Node", "n1"))
    asking.merge(f"{NODES}/n1/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    assert [w.subresource for w in asking.server.writes] == ["", "status"]


def test_a_release_of_the_last_finalizer_is_logged_as_the_end_of_the_object() -> None:
    asking = Asking()
    asking.config("a", finalizers=["example.com/hold"])
    asking.ok("DELETE", f"{CONFIGS}/a")
    asking.merge(f"{CONFIGS}/a", {"metadata": {"finalizers": None}})
    marked, released = asking.server.writes[1:]
    assert (marked.verb, marked.after is None) == ("delete", False)
    assert (released.verb, released.after) == ("patch", None)


def _story(asking: Asking) -> list[bytes]:
    asking.config("a", {"x": 1})
    asking.merge(f"{CONFIGS}/a", {"metadata": {"labels": {"l": "v"}}})
    body = obj(MACHINE, "MachineConfig", "a") | {"spec": {"kernelArguments": ["k"]}}
    asking.ok("PATCH", f"{CONFIGS}/a", body, content_type=APPLY_PATCH, query={"fieldManager": "gitops-mc"})
    generated = obj(MACHINE, "MachineConfig", "") | {"metadata": {"generateName": "gen-"}}
    asking.ok("POST", CONFIGS, generated)
    return [
        asking.server.handle(asking.request("GET", path)).body for path in (CONFIGS, "/api/v1/namespaces")
    ]


def test_the_same_requests_give_the_same_bytes_in_another_server() -> None:
    assert _story(Asking()) == _story(Asking())


def test_clusters_give_different_uids_to_objects_of_one_name() -> None:
    uids = {Asking(cluster).config("a")["metadata"]["uid"] for cluster in ("edge-01", "edge-02", "global")}
    assert len(uids) == 3


def test_machine_kinds_are_not_found_before_they_are_installed() -> None:
    asking = Asking()
    asking.server = ApiServer("edge-01", now=asking.time)
    assert asking.send("GET", CONFIGS)[0] == 404
    assert asking.send("GET", "/apis/machineconfiguration.alauda.io/v1alpha1")[0] == 404
    asking.server.install_machine_apis()
    assert asking.names(CONFIGS) == []


@pytest.mark.parametrize(
    "resource", [r for r in RESOURCES if r.where is Where.GLOBAL], ids=lambda r: r.plural
)
def test_kinds_of_the_platform_are_served_on_the_global_cluster_alone(resource: Any) -> None:
    path = f"/apis/{resource.api_version}/{resource.plural}"
    assert Asking("global").names(path) == []
    assert Asking("edge-01").send("GET", path)[0] == 404


@pytest.mark.parametrize("resource", [r for r in RESOURCES if r.id != DEFINITIONS], ids=lambda r: r.plural)
def test_every_kind_of_the_table_can_be_created_read_patched_and_deleted(resource: Any) -> None:
    asking = Asking("global")
    root = "api" if not resource.group else "apis"
    space = "/namespaces/cpaas-system" if resource.namespaced else ""
    path = f"/{root}/{resource.api_version}{space}/{resource.plural}"
    body = obj(resource.api_version, resource.kind, "one")
    specs = {
        "ModuleInfo": {"version": "v1"},
        "ModuleConfig": {"deleteable": True, "description": {}, "logo": "", "name": "m"},
        "ModulePlugin": {"deleteable": True, "description": {}, "logo": "", "name": "m"},
    }
    about = {"involvedObject": {"namespace": "cpaas-system"}} if resource.kind == "Event" else {}
    made = asking.ok("POST", path, body | about | {"spec": specs.get(resource.kind, {})})
    assert asking.ok("GET", f"{path}/one") == made
    asking.merge(f"{path}/one", {"metadata": {"labels": {"a": "b"}}})
    assert asking.names(path, labelSelector="a=b") == ["one"]
    asking.ok("DELETE", f"{path}/one")
    assert asking.names(path, labelSelector="a=b") == []


def test_a_token_can_be_revoked_and_its_rights_changed() -> None:
    asking = Asking()
    asking.server.grant("t", User("someone", (Rule(("get", "list"), ("",), ("nodes",)),)))
    assert asking.send("GET", NODES, token="t")[0] == 200
    assert asking.send("GET", CONFIGS, token="t")[0] == 403
    assert asking.send("POST", NODES, obj("v1", "Node", "n"), token="t")[0] == 403
    asking.server.grant("t", User("someone"))
    assert asking.send("GET", CONFIGS, token="t")[0] == 200
    asking.server.revoke("t")
    assert asking.send("GET", NODES, token="t")[0] == 401


def test_a_right_to_the_object_is_none_to_its_status() -> None:
    asking = Asking()
    asking.ok("POST", NODES, obj("v1", "Node", "n1"))
    asking.server.grant("t", User("someone", (Rule(("patch",), ("",), ("nodes",)),)))
    patch: dict[str, Any] = {"content_type": MERGE_PATCH, "token": "t"}
    assert asking.send("PATCH", f"{NODES}/n1", {"metadata": {}}, **patch)[0] == 200
    status, refused = asking.send("PATCH", f"{NODES}/n1/status", {"status": {}}, **patch)
    assert status == 403
    assert 'cannot patch resource "nodes/status" in API group ""' in refused["message"]


def test_pods_can_be_selected_by_their_node_and_listed_over_all_namespaces() -> None:
    asking = Asking()
    for namespace, name, node in (("default", "a", "n1"), ("default", "b", "n2"), ("kube-system", "c", "n1")):
        body = obj("v1", "Pod", name) | {"spec": {"nodeName": node}}
        asking.ok("POST", f"/api/v1/namespaces/{namespace}/pods", body)
    assert asking.names("/api/v1/pods", fieldSelector="spec.nodeName=n1") == ["a", "c"]
    assert asking.names(PODS, fieldSelector="spec.nodeName=n1") == ["a"]
    assert asking.names("/api/v1/pods", fieldSelector="metadata.namespace!=default") == ["c"]


def test_an_object_needs_its_namespace() -> None:
    status, refused = Asking().send("POST", "/api/v1/namespaces/nowhere/pods", obj("v1", "Pod", "a"))
    assert (status, refused["message"]) == (404, 'namespaces "nowhere" not found')


def test_conditions_of_a_node_have_an_owner_each() -> None:
    asking = Asking()
    asking.ok("POST", NODES, obj("v1", "Node", "n1"))
    for kind, manager in (("Ready", "kubelet"), ("Disk", "doctor")):
        body = obj("v1", "Node", "n1") | {"status": {"conditions": [{"type": kind, "status": "True"}]}}
        path = f"{NODES}/n1/status"
        asking.ok("PATCH", path, body, content_type=APPLY_PATCH, query={"fieldManager": manager})
    node = asking.ok("GET", f"{NODES}/n1")
    assert [c["type"] for c in node["status"]["conditions"]] == ["Ready", "Disk"]
    assert {(e["manager"], e["subresource"]) for e in node["metadata"]["managedFields"]} == {
        ("kubelet", "status"),
        ("doctor", "status"),
    }


def test_a_strategic_merge_patch_merges_lists_of_built_in_kinds_by_key() -> None:
    asking = Asking()
    conditions = [{"type": "Ready", "status": "True", "reason": "a"}, {"type": "Disk", "status": "False"}]
    asking.ok(
        "POST", NODES, obj("v1", "Node", "n1", labels={"a": "1"}) | {"status": {"conditions": conditions}}
    )
    strategic: dict[str, Any] = {"content_type": "application/strategic-merge-patch+json"}
    labelled = asking.ok("PATCH", f"{NODES}/n1", {"metadata": {"labels": {"a": None, "b": "2"}}}, **strategic)
    assert labelled["metadata"]["labels"] == {"b": "2"}
    news = [
        {"type": "Ready", "status": "False"},
        {"type": "Disk", "$patch": "delete"},
        {"type": "New", "status": "True"},
    ]
    patch = {"status": {"$setElementOrder/conditions": [], "conditions": news}}
    node = asking.ok("PATCH", f"{NODES}/n1/status", patch, **strategic)
    assert node["status"]["conditions"] == [
        {"type": "Ready", "status": "False", "reason": "a"},
        {"type": "New", "status": "True"},
    ]


def test_a_page_is_gone_after_a_compaction() -> None:
    asking = Asking()
    for name in ("a", "b"):
        asking.config(name)
    token = asking.ok("GET", CONFIGS, query={"limit": 1})["metadata"]["continue"]
    asking.server.compact()
    status, refused = asking.send("GET", CONFIGS, query={"limit": 1, "continue": token})
    assert (status, refused["reason"]) == (410, "Expired")


def test_a_collection_is_deleted_as_far_as_the_selector_goes() -> None:
    asking = Asking()
    asking.config("a", labels={"k": "v"})
    asking.config("b")
    asking.ok("DELETE", CONFIGS, query={"labelSelector": "k=v"})
    assert asking.names(CONFIGS) == ["b"]


def test_unknown_fields_are_refused_when_the_request_is_strict() -> None:
    body = obj(MACHINE, "MachineConfig", "a") | {"spec": {"fips": True}}
    status, refused = Asking().send("POST", CONFIGS, body, query={"fieldValidation": "Strict"})
    assert (status, refused["message"]) == (
        400,
        'MachineConfig in version "v1alpha1" cannot be handled as a MachineConfig: strict decoding error: unknown field "spec.fips"',
    )


def test_too_large_a_request_is_refused() -> None:
    status, refused = Asking().send("POST", CONFIGS, {"spec": "x" * 3 * 1024 * 1024})
    assert (status, refused["reason"]) == (413, "RequestEntityTooLarge")


def test_ownership_can_be_reset_and_is_then_nobodys_until_somebody_applies() -> None:
    asking = Asking()
    asking.config("a", {"x": 1})
    reset = asking.merge(f"{CONFIGS}/a", {"metadata": {"managedFields": [{}]}})
    assert "managedFields" not in reset["metadata"]
    body = obj(MACHINE, "MachineConfig", "a") | {"spec": {"kernelArguments": ["k"]}}
    found = asking.ok(
        "PATCH", f"{CONFIGS}/a", body, content_type=APPLY_PATCH, query={"fieldManager": "gitops-mc"}
    )
    assert [e["manager"] for e in found["metadata"]["managedFields"]] == ["gitops-mc", "before-first-apply"]


def test_a_map_of_which_the_last_applied_key_goes_is_null_and_refused_where_none_may_be() -> None:
    asking = Asking()
    body = obj(MACHINE, "MachineConfig", "a")
    apply: dict[str, Any] = {"content_type": APPLY_PATCH, "query": {"fieldManager": "gitops-mc"}}
    asking.ok("PATCH", f"{CONFIGS}/a", body | {"spec": {"config": {"x": {"y": 1}}}}, **apply)
    left = asking.ok("PATCH", f"{CONFIGS}/a", body | {"spec": {"config": {"x": {}}}}, **apply)
    assert left["spec"] == {"config": {"x": None}}
    status, refused = asking.send("PATCH", f"{CONFIGS}/a", body | {"spec": {"config": {}}}, **apply)
    assert status == 422
    assert [c["field"] for c in refused["details"]["causes"]] == ["spec.config"]


def test_an_apply_that_says_nothing_owns_nothing() -> None:
    asking = Asking()
    body = obj(MACHINE, "MachineConfig", "a")
    query = {"fieldManager": "gitops-mc"}
    made = asking.ok("PATCH", f"{CONFIGS}/a", body, content_type=APPLY_PATCH, query=query)
    assert "managedFields" not in made["metadata"]


def test_true_in_the_place_of_one_is_a_change() -> None:
    asking = Asking()
    made = asking.config("a", {"x": {"y": 1}})
    changed = asking.merge(f"{CONFIGS}/a", {"spec": {"config": {"x": {"y": True}}}}, fieldManager="hand")
    assert changed["spec"]["config"]["x"]["y"] is True
    assert changed["metadata"]["generation"] == made["metadata"]["generation"] + 1
    assert "hand" in {e["manager"] for e in changed["metadata"]["managedFields"]}


def test_a_patch_leaves_what_was_answered_before_as_it_was() -> None:
    asking = Asking()
    asking.config("a", {"list": [1, 2]}, annotations={"k": "v"})
    before = asking.server.writes[-1].after
    kept = json.dumps(before)
    operations = [
        {"op": "add", "path": "/spec/config/list/0", "value": 0},
        {"op": "remove", "path": "/metadata/annotations/k"},
    ]
    asking.ok("PATCH", f"{CONFIGS}/a", operations, content_type=JSON_PATCH)
    asking.merge(f"{CONFIGS}/a", {"spec": {"config": {"list": None}}})
    assert json.dumps(before) == kept


def test_ownership_keeps_its_time_until_it_changes() -> None:
    asking = Asking()
    asking.config("a", {"x": 1})
    asking.time.pass_(60)
    found = asking.merge(f"{CONFIGS}/a", {"spec": {"kernelArguments": ["k"]}}, fieldManager="hand")
    times = {e["manager"]: e["time"] for e in found["metadata"]["managedFields"]}
    assert times == {"admin": "2026-01-01T00:00:00Z", "hand": "2026-01-01T00:01:00Z"}


def test_a_server_of_its_own_tokens_knows_no_other() -> None:
    server = ApiServer("edge-01", now=Time(), tokens={"mine": User("me")})
    asking = Asking()
    asking.server = server
    assert asking.send("GET", NODES, token="mine")[0] == 200
    assert asking.send("GET", NODES, token=ADMIN_TOKEN)[0] == 401
