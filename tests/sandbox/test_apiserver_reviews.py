"""Reviews of the caller's own access, in JSON and in the binary form that kubectl sends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitops_mc.app.ports import JSON, Request
from gitops_mc.sandbox.apiserver import ApiServer, Rule, User
from tests.sandbox.apiserver_asking import Asking

ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
RULES = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
PROTOBUF = "application/vnd.kubernetes.protobuf"


def _server() -> ApiServer:
    asking = Asking()
    rules = (
        Rule(("get", "list"), ("",), ("nodes", "pods/log")),
        Rule(("patch",), ("machineconfiguration.alauda.io",)),
    )
    asking.server.grant("some", User("some", rules))
    asking.server.grant("all", User("all"))
    return asking.server


def _ask(path: str, body: bytes, token: str, content_type: str = JSON) -> tuple[int, dict[str, Any]]:
    answer = _server().handle(Request("POST", path, body=body, token=token, content_type=content_type))
    assert answer.headers["content-type"] == JSON
    return answer.status, json.loads(answer.body)


def _may(token: str, **spec: Any) -> bool:
    status, found = _ask(ACCESS, json.dumps({"spec": spec}).encode(), token)
    assert status == 201
    return bool(found["status"]["allowed"])


ALLOWED = (
    ("get", "", "nodes", ""),
    ("get", "", "pods", "log"),
    ("patch", "machineconfiguration.alauda.io", "machineconfigs", ""),
)
REFUSED = (("get", "", "pods", ""), ("delete", "", "nodes", ""), ("patch", "apps", "deployments", ""))


@pytest.mark.parametrize("asked", [*ALLOWED, *REFUSED])
def test_access_is_what_the_rules_say(asked: tuple[str, ...]) -> None:
    attributes = dict(zip(("verb", "group", "resource", "subresource"), asked, strict=True))
    assert _may("some", resourceAttributes=attributes) is (asked in ALLOWED)
    assert _may("all", resourceAttributes=attributes)


def test_paths_that_name_no_resource_are_open_where_a_cluster_has_them_open() -> None:
    paths = ("/version", "/apis/apps/v1", "/openapi/v3", "/logs", "/metrics")
    assert [_may("some", nonResourceAttributes={"verb": "get", "path": p}) for p in paths] == [True] * 3 + [
        False
    ] * 2
    assert not _may("some", nonResourceAttributes={"verb": "post", "path": "/version"})
    assert _may("all", nonResourceAttributes={"verb": "get", "path": "/logs"})


def test_a_question_must_be_about_one_thing() -> None:
    status, found = _ask(ACCESS, b'{"spec": {}}', "some")
    assert (status, found["details"]["causes"][0]["field"]) == (422, "spec.resourceAttributes")


def test_the_rules_of_a_user_are_told_with_what_everybody_may() -> None:
    _, found = _ask(RULES, b'{"spec": {"namespace": "default"}}', "some")
    rules = found["status"]["resourceRules"]
    assert {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["nodes", "pods/log"]} in rules
    assert "selfsubjectaccessreviews" in {r for rule in rules for r in rule["resources"]}
    assert found["status"]["incomplete"] is False
    assert _ask(RULES, b'{"spec": {}}', "some")[0] == 400


def test_a_user_is_told_who_it_is() -> None:
    _, found = _ask(SELF, b"{}", "some")
    assert found["status"]["userInfo"] == {"username": "some", "groups": ["system:authenticated"]}


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def _binary(kind: str, raw: bytes) -> bytes:
    """As kubectl sends it: a magic word, then type and object."""
    version = _field(1, b"authorization.k8s.io/v1") + _field(2, kind.encode())
    return b"k8s\x00" + _field(1, version) + _field(2, raw) + _field(3, b"") + _field(4, b"")


def test_kubectls_binary_form_is_read() -> None:
    asked = _field(1, b"default") + _field(2, b"get") + _field(5, b"nodes")
    raw = _field(1, b"") + _field(2, _field(1, asked)) + _field(3, b"\x08\x00")
    status, found = _ask(ACCESS, _binary("SelfSubjectAccessReview", raw), "some", PROTOBUF)
    assert status == 201
    assert found["spec"] == {
        "resourceAttributes": {"namespace": "default", "verb": "get", "resource": "nodes"}
    }
    assert found["status"]["allowed"] is True


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"k8s\x00\x0a\xff", b"k8s\x00\x0a\x05ab", b"k8s\x00\x12\x02\x0f\x00"]
)
def test_what_is_not_that_form_is_a_bad_request(body: bytes) -> None:
    status, found = _ask(ACCESS, body, "some", PROTOBUF)
    assert (status, found["reason"]) in ((400, "BadRequest"), (422, "Invalid"))


@pytest.mark.parametrize("path", [ACCESS, RULES, SELF])
def test_reviews_are_created_and_nothing_else(path: str) -> None:
    assert Asking().send("GET", path)[0] == 405
