"""Who is let in, what they may do, and what the server says of itself."""

from __future__ import annotations

import pytest

from gitops_mc.app.ports import MERGE_PATCH, Request, Transport
from tests.contracts.api import EDGE, Api, path_of

REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
MACHINE_CONFIGS = path_of("machineconfigs")


def _may(api: Api, verb: str, resource: str) -> bool:
    attributes = {"verb": verb, "group": "machineconfiguration.alauda.io", "resource": resource}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = api.send("POST", REVIEW, body)
    assert answer.status == 201
    return bool(answer.body["status"]["allowed"])


def test_an_unknown_token_is_unauthorized(stranger: Transport) -> None:
    answer = Api(stranger, "x").list("machineconfigs")
    assert (answer.status, answer.body["reason"]) == (401, "Unauthorized")


def test_a_verb_that_is_not_granted_is_forbidden_by_name(reader: Transport, api: Api) -> None:
    only_reads = Api(reader, "x")
    assert only_reads.list("machineconfigs").status == 200
    refused = only_reads.apply("machineconfigs", name := api.name(), {})
    assert (refused.status, refused.body["reason"]) == (403, "Forbidden")
    assert refused.body["message"] == (
        f'machineconfigs.machineconfiguration.alauda.io "{name}" is forbidden: User "reader" cannot patch resource '
        '"machineconfigs" in API group "machineconfiguration.alauda.io" at the cluster scope'
    )
    assert api.get("machineconfigs", name).status == 404


def test_an_access_review_says_what_will_be_allowed(reader: Transport, api: Api) -> None:
    assert _may(api, "patch", "machineconfigs")
    assert _may(Api(reader, "x"), "list", "machineconfigs")
    assert not _may(Api(reader, "x"), "patch", "machineconfigs")


def test_discovery_lists_groups_and_resources(api: Api) -> None:
    groups = {group["name"] for group in api.send("GET", "/apis").body["groups"]}
    assert "machineconfiguration.alauda.io" in groups
    found = api.send("GET", "/apis/machineconfiguration.alauda.io/v1alpha1")
    names = {row["name"] for row in found.body["resources"]}
    assert {"machineconfigs", "machineconfigpools", "machineconfigpools/status"} <= names
    assert "machineconfigs/status" not in names
    assert {"namespaces", "nodes"} <= {row["name"] for row in api.send("GET", "/api/v1").body["resources"]}


@pytest.mark.parametrize("path", ["", "/v1", "/v1/widgets", "/v1/widgets/a"])
def test_a_group_that_is_not_installed_is_no_page_and_no_status(transport: Transport, path: str) -> None:
    answer = transport.send(EDGE, Request("GET", f"/apis/example.com{path}"), timeout=10)
    assert (answer.status, answer.body) == (404, b"404 page not found\n")


def test_a_kind_that_a_built_in_group_does_not_have_is_not_found(api: Api) -> None:
    for path in ("/api/v1/widgets", "/apis/apps/v1/widgets/a", "/apis/apps/v9/deployments"):
        answer = api.send("GET", path)
        assert (answer.status, answer.body["reason"]) == (404, "NotFound")
        assert answer.body["message"] == "the server could not find the requested resource"


def test_the_version_is_told(api: Api) -> None:
    assert api.send("GET", "/version").body["major"] == "1"


def test_a_method_that_a_collection_of_a_built_in_kind_does_not_have_is_not_allowed(api: Api) -> None:
    for method in ("PUT", "PATCH"):
        answer = api.send(method, "/api/v1/nodes", {}, content_type=MERGE_PATCH)
        assert (answer.status, answer.body["reason"]) == (405, "MethodNotAllowed")


def test_a_write_to_a_collection_of_a_custom_kind_lacks_a_name(api: Api) -> None:
    for method in ("PUT", "PATCH"):
        answer = api.send(method, MACHINE_CONFIGS, {}, content_type=MERGE_PATCH)
        assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
        assert answer.body["message"] == "name must be provided"


def test_a_body_that_is_no_json_is_a_bad_request(transport: Transport, api: Api) -> None:
    request = Request("POST", MACHINE_CONFIGS, body=b"{nonsense")
    assert transport.send(api.cluster, request, timeout=10).status == 400
