"""Fields that a kind does not have: refused, warned of, or dropped, as the request says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitops_mc.app.ports import JSON, JSON_PATCH, MERGE_PATCH
from tests.sandbox.apiserver_asking import CONFIGS, Asking, obj

MACHINE = "machineconfiguration.alauda.io/v1alpha1"
HANDLED = 'MachineConfig in version "v1alpha1" cannot be handled as a MachineConfig'
UNKNOWN = 'unknown field "metadata.foo", unknown field "bogus", unknown field "spec.b"'
WARNING = '299 - "unknown field \\"metadata.foo\\"", 299 - "unknown field \\"bogus\\"", 299 - "unknown field \\"spec.b\\""'


def _body(name: str = "new") -> dict[str, Any]:
    return obj(MACHINE, "MachineConfig", name, foo=1) | {"spec": {"b": 1}, "bogus": 2}


def _asking() -> Asking:
    asking = Asking()
    asking.config("a")
    return asking


WRITES = {
    "create": ("POST", CONFIGS, _body(), JSON),
    "merge patch": ("PATCH", f"{CONFIGS}/a", _body("a"), MERGE_PATCH),
    "JSON patch": ("PATCH", f"{CONFIGS}/a", [{"op": "add", "path": "/spec/b", "value": 1}], JSON_PATCH),
}


@pytest.mark.parametrize("directive", ["", "Warn"])
def test_unknown_fields_are_dropped_and_the_answer_warns_of_them(directive: str) -> None:
    asking = _asking()
    query = {"fieldValidation": directive} if directive else {}
    request = asking.request("POST", CONFIGS, _body(), query=query)
    answer = asking.server.handle(request)
    assert (answer.status, answer.headers["warning"]) == (201, WARNING)
    assert json.loads(answer.body)["spec"] == {}


@pytest.mark.parametrize("write", WRITES)
def test_nothing_is_said_where_it_is_to_be_ignored(write: str) -> None:
    asking = _asking()
    method, path, body, content_type = WRITES[write]
    query = {"fieldValidation": "Ignore"}
    answer = asking.server.handle(asking.request(method, path, body, query=query, content_type=content_type))
    assert answer.status in (200, 201)
    assert "warning" not in answer.headers


def test_a_body_with_unknown_fields_is_a_bad_request_when_the_request_is_strict() -> None:
    status, found = _asking().send("POST", CONFIGS, _body(), query={"fieldValidation": "Strict"})
    assert (status, found["message"]) == (
        400,
        f"{HANDLED}: strict decoding error: {UNKNOWN}",
    )


@pytest.mark.parametrize("write", ["merge patch", "JSON patch"])
def test_a_patch_that_adds_unknown_fields_is_invalid_when_the_request_is_strict(write: str) -> None:
    method, path, body, content_type = WRITES[write]
    query = {"fieldValidation": "Strict"}
    status, found = _asking().send(method, path, body, query=query, content_type=content_type)
    assert (status, found["reason"], found["details"]["causes"][0]["field"]) == (422, "Invalid", "patch")
    assert found["message"].startswith(' "" is invalid: patch: Invalid value: "{')
    assert found["message"].endswith('unknown field "spec.b"')


def test_a_directive_that_there_is_not_is_invalid() -> None:
    status, found = _asking().send("POST", CONFIGS, _body(), query={"fieldValidation": "Loose"})
    assert (status, found["details"]["causes"][0]["message"]) == (
        422,
        'Unsupported value: "Loose": supported values: "", "Ignore", "Strict", "Warn"',
    )


def test_a_body_in_another_format_is_an_unsupported_media_type() -> None:
    for content_type in ("application/vnd.kubernetes.protobuf", "text/plain"):
        assert _asking().send("POST", CONFIGS, _body(), content_type=content_type)[0] == 415
