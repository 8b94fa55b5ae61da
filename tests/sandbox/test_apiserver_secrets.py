"""`stringData` of a Secret: merged into `data` by every kind of write, and never kept."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from gitops_mc.app.ports import APPLY_PATCH, JSON_PATCH, MERGE_PATCH
from gitops_mc.sandbox.apiserver.strategic import STRATEGIC_PATCH
from tests.sandbox.apiserver_asking import Asking, obj

SECRETS = "/api/v1/namespaces/default/secrets"
BODY = obj("v1", "Secret", "s")


def coded(**data: str) -> dict[str, str]:
    return {name: b64encode(value.encode()).decode() for name, value in data.items()}


@pytest.fixture
def asking() -> Asking:
    found = Asking()
    found.ok("POST", SECRETS, BODY | {"data": coded(a="one", b="two"), "stringData": {"b": "Zwö", "c": "3"}})
    return found


def kept(asking: Asking) -> Any:
    body = asking.ok("GET", f"{SECRETS}/s")
    assert "stringData" not in body
    return body["data"]


def test_a_new_one_has_it_in_data_over_what_stands_there(asking: Asking) -> None:
    assert kept(asking) == coded(a="one", b="Zwö", c="3")


@pytest.mark.parametrize("form", [MERGE_PATCH, STRATEGIC_PATCH])
def test_a_patch_of_it_leaves_the_other_keys(asking: Asking, form: str) -> None:
    asking.ok("PATCH", f"{SECRETS}/s", {"stringData": {"a": "eins"}}, content_type=form)
    assert kept(asking) == coded(a="eins", b="Zwö", c="3")


def test_json_patch_put_and_apply_do_the_same(asking: Asking) -> None:
    patch = [{"op": "add", "path": "/stringData", "value": {"c": "drei"}}]
    asking.ok("PATCH", f"{SECRETS}/s", patch, content_type=JSON_PATCH)
    assert kept(asking) == coded(a="one", b="Zwö", c="drei")
    asking.ok("PUT", f"{SECRETS}/s", BODY | {"stringData": {"d": "vier"}})
    assert kept(asking) == coded(d="vier")
    for value in ("five", "fünf", "fünf"):
        applied = BODY | {"stringData": {"e": value}}
        query = {"fieldManager": "mei"}
        asking.ok("PATCH", f"{SECRETS}/s", applied, content_type=APPLY_PATCH, query=query)
        assert kept(asking) == coded(d="vier", e=value)


def test_one_that_is_applied_first_has_it_in_data_too() -> None:
    asking = Asking()
    applied = BODY | {"stringData": {"e": "five"}}
    asking.ok("PATCH", f"{SECRETS}/s", applied, content_type=APPLY_PATCH, query={"fieldManager": "mei"})
    assert kept(asking) == coded(e="five")


def test_values_that_are_no_strings_are_refused(asking: Asking) -> None:
    status, told = asking.send("PATCH", f"{SECRETS}/s", {"stringData": {"a": 1}}, content_type=MERGE_PATCH)
    assert (status, told["reason"]) == (400, "BadRequest")
    assert kept(asking) == coded(a="one", b="Zwö", c="3")


def test_no_other_kind_is_touched() -> None:
    asking = Asking()
    body = obj("v1", "ConfigMap", "c") | {"stringData": {"a": "b"}}
    asking.ok("POST", "/api/v1/namespaces/default/configmaps", body)
    found = asking.ok("GET", "/api/v1/namespaces/default/configmaps/c")
    assert "data" not in found
