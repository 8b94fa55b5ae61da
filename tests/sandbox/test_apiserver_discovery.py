"""What the embedded API server says of itself, and what it says of what it does not have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitops_mc.app.ports import Request, Response
from gitops_mc.sandbox.apiserver import ApiServer, Rule, User
from tests.sandbox.apiserver_asking import CONFIGS, NODES, Asking

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
KUBECTL = (
    f"{AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)
MACHINE = CONFIGS.removesuffix("/machineconfigs")
PLAIN = (404, b"404 page not found\n", "text/plain; charset=utf-8")


def _raw(path: str, method: str = "GET", *, server: ApiServer | None = None, **more: Any) -> Response:
    query = tuple(more.pop("query", {}).items())
    return (server or Asking().server).handle(Request(method, path, query=query, token="admin", **more))


def _read_only() -> ApiServer:
    asking = Asking()
    asking.server.grant("admin", User("reader", (Rule(verbs=("get", "list", "watch")),)))
    return asking.server


def _aggregated(path: str) -> dict[str, Any]:
    answer = _raw(path, accept=KUBECTL)
    assert answer.headers["content-type"] == AGGREGATED
    found: dict[str, Any] = json.loads(answer.body)
    assert (found["kind"], found["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    return found


def _legacy() -> set[tuple[str, str, str]]:
    """Group version, name and verbs of everything that legacy discovery leads to."""
    asking = Asking()
    versions = [g["preferredVersion"]["groupVersion"] for g in asking.ok("GET", "/apis")["groups"]]
    lists = [asking.ok("GET", f"/apis/{version}") for version in versions] + [asking.ok("GET", "/api/v1")]
    return {
        (found["groupVersion"], row["name"], ",".join(row["verbs"]))
        for found in lists
        for row in found["resources"]
    }


def test_both_forms_of_discovery_tell_the_same() -> None:
    told = set()
    for item in (*_aggregated("/api")["items"], *_aggregated("/apis")["items"]):
        group = item["metadata"].get("name", "")
        for version in item["versions"]:
            api_version = f"{group}/{version['version']}" if group else version["version"]
            for row in version["resources"]:
                told.add((api_version, row["resource"], ",".join(row["verbs"])))
                for sub in row.get("subresources", ()):
                    name = f"{row['resource']}/{sub['subresource']}"
                    told.add((api_version, name, ",".join(sub["verbs"])))
    assert told == _legacy()
    assert ("v1", "nodes/status", "get,patch,update") in told


def test_short_names_and_categories_are_what_kubectl_goes_by() -> None:
    rows = {row["name"]: row for row in Asking().ok("GET", MACHINE)["resources"]}
    assert rows["machineconfigpools"]["shortNames"] == ["mcp"]
    assert "machineconfigs/status" not in rows
    in_all = [
        r["name"] for r in Asking().ok("GET", "/apis/apps/v1")["resources"] if r.get("categories") == ["all"]
    ]
    assert in_all == ["daemonsets", "deployments"]


def test_a_group_is_told_by_itself() -> None:
    group = Asking().ok("GET", "/apis/machineconfiguration.alauda.io")
    assert (group["kind"], group["preferredVersion"]["version"]) == ("APIGroup", "v1alpha1")


def test_what_is_installed_later_is_discovered_then() -> None:
    asking = Asking()
    asking.server = ApiServer("edge-01", now=asking.time)
    asking.send("GET", "/apis", accept=AGGREGATED)
    asking.server.install_machine_apis()
    found = asking.ok("GET", "/apis", accept=AGGREGATED)
    assert "machineconfiguration.alauda.io" in [item["metadata"]["name"] for item in found["items"]]


@pytest.mark.parametrize(
    "path",
    [
        *("/foo", "/apis/foo.io", "/apis/foo.io/v1", "/apis/foo.io/v1/bars", "/apis/foo.io/v1/bars/x"),
        *(f"{MACHINE}/foos", f"{MACHINE}/foos/x", "/healthz/foo"),
    ],
)
def test_what_no_api_serves_is_plain_text(path: str) -> None:
    answer = _raw(path)
    assert (answer.status, answer.body, answer.headers["content-type"]) == PLAIN


@pytest.mark.parametrize(
    "path",
    ["/api/v2", "/api/v1/foos", "/api/v1/namespaces/default/foos", "/apis/apps/v9", "/apis/apps/v1/foos/x"],
)
def test_what_a_built_in_group_does_not_have_is_a_status(path: str) -> None:
    status, found = Asking().send("GET", path)
    assert (status, found["reason"], found["details"]) == (404, "NotFound", {})


@pytest.mark.parametrize("sub", ["status", "scale"])
def test_a_subresource_that_a_custom_resource_does_not_have_is_named(sub: str) -> None:
    asking = Asking()
    asking.config("a")
    status, found = asking.send("GET", f"{CONFIGS}/a/{sub}")
    name = 'machineconfigs.machineconfiguration.alauda.io "a" not found'
    assert (status, found["message"]) == (404, name)


def test_access_is_looked_at_before_the_path_is() -> None:
    server = _read_only()
    answers = {
        path: json.loads(_raw(path, method, server=server).body)["message"]
        for method, path in (("GET", "/foo"), ("POST", "/apis/foo.io/v1/bars"), ("DELETE", "/api/v1/foos/x"))
    }
    assert answers == {
        "/foo": 'forbidden: User "reader" cannot get path "/foo"',
        "/apis/foo.io/v1/bars": 'bars.foo.io is forbidden: User "reader" cannot create resource "bars" in API group '
        '"foo.io" at the cluster scope',
        "/api/v1/foos/x": 'foos "x" is forbidden: User "reader" cannot delete resource "foos" in API group "" at the '
        "cluster scope",
    }
    assert _raw("/apis/foo.io/v1/bars", server=server).body == PLAIN[1]


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/ping"])
def test_the_server_is_healthy(path: str) -> None:
    assert _raw(path).body == b"ok"
    assert _raw(path, query={"verbose": ""}).body.endswith(b"check passed\n")


def test_documents_are_read_and_nothing_else() -> None:
    assert [_raw(path, "POST").status for path in ("/api", "/apis/apps/v1", "/version")] == [405, 405, 405]


def test_namespaces_are_not_deleted_all_at_once_nor_is_what_is_in_all_of_them() -> None:
    statuses = [_raw(path, "DELETE").status for path in ("/api/v1/namespaces", "/api/v1/pods")]
    assert statuses == [405, 405]
    assert _raw("/api/v1/namespaces/default/pods", "DELETE").status == 200


def test_a_namespace_is_active_and_labelled_with_its_name() -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}
    made = Asking().ok("POST", "/api/v1/namespaces", body)
    assert (made["status"], made["metadata"]["labels"]) == (
        {"phase": "Active"},
        {"kubernetes.io/metadata.name": "x"},
    )


def test_an_answer_is_put_on_many_lines_when_it_is_asked_for() -> None:
    plain, pretty = (_raw(NODES, query=query).body for query in ({"pretty": "false"}, {"pretty": "true"}))
    assert (b"\n" in plain, json.loads(plain) == json.loads(pretty)) == (False, True)
    assert pretty.startswith(b'{\n  "kind": "NodeList"')
    assert _raw(f"{NODES}/x", query={"pretty": "1"}).body.startswith(b"{\n")


OPTIONS = {
    "resourceVersion=foo": (400, "BadRequest"),
    "limit=foo": (400, "BadRequest"),
    "resourceVersion=99999": (504, "Timeout"),
    "resourceVersionMatch=Exact": (422, "Invalid"),
    "sendInitialEvents=true": (422, "Invalid"),
    "watch=true&sendInitialEvents=true": (422, "Invalid"),
    "watch=true&resourceVersionMatch=NotOlderThan": (422, "Invalid"),
}


@pytest.mark.parametrize("text", OPTIONS)
def test_options_that_a_real_server_refuses_are_refused(text: str) -> None:
    query = dict(part.split("=") for part in text.split("&"))
    status, found = Asking().send("GET", NODES, query=query)
    assert (status, found["reason"]) == OPTIONS[text]
