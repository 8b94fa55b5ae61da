"""From `kubectl apply` to `kubectl apply --server-side`: what the server does for the manager `kubectl`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitops_mc.app.ports import APPLY_PATCH
from gitops_mc.sandbox.apiserver.last_applied import ANNOTATION
from tests.sandbox.apiserver_asking import CONFIGS, Asking, obj


def _body(version: str, **annotations: str) -> dict[str, Any]:
    metadata = {"annotations": annotations} if annotations else {}
    body = obj("machineconfiguration.alauda.io/v1alpha1", "MachineConfig", "a", **metadata)
    return body | {"spec": {"config": {"ignition": {"version": version}}}}


def _applied_by_kubectl(annotation: str | None = None) -> Asking:
    """As `kubectl apply` on the client's side leaves it."""
    asking = Asking()
    text = json.dumps(_body("3.4.0")) if annotation is None else annotation
    query = {"fieldManager": "kubectl-client-side-apply"}
    asking.ok("POST", CONFIGS, _body("3.4.0", **{ANNOTATION: text}), query=query)
    return asking


def _apply(asking: Asking, version: str, manager: str) -> tuple[int, dict[str, Any]]:
    query = {"fieldManager": manager}
    return asking.send("PATCH", f"{CONFIGS}/a", _body(version), query=query, content_type=APPLY_PATCH)


def test_kubectl_takes_what_it_had_applied_before() -> None:
    status, found = _apply(_applied_by_kubectl(), "3.5.0", "kubectl")
    assert (status, found["spec"]["config"]["ignition"]["version"]) == (200, "3.5.0")


def test_the_annotation_says_what_was_applied_last() -> None:
    _, found = _apply(_applied_by_kubectl(), "3.5.0", "kubectl")
    text = found["metadata"]["annotations"][ANNOTATION]
    assert (text[-1], json.loads(text)) == ("\n", _body("3.5.0"))


def test_nobody_else_may_and_nobody_else_changes_the_annotation() -> None:
    asking = _applied_by_kubectl()
    status, found = _apply(asking, "3.5.0", "gitops-mc")
    assert (status, found["reason"]) == (409, "Conflict")
    _, found = _apply(asking, "3.4.0", "gitops-mc")
    assert json.loads(found["metadata"]["annotations"][ANNOTATION]) == _body("3.4.0")


def test_what_somebody_else_has_changed_since_is_a_conflict() -> None:
    asking = _applied_by_kubectl()
    asking.merge(f"{CONFIGS}/a", {"spec": {"config": {"ignition": {"version": "3.3.0"}}}}, fieldManager="vi")
    status, found = _apply(asking, "3.5.0", "kubectl")
    assert (status, found["details"]["causes"][0]["message"][:18]) == (409, 'conflict with "vi"')


@pytest.mark.parametrize("annotation", ["{", "[]", '{"apiVersion": "v1"}', ""])
def test_an_annotation_that_says_nothing_gives_nothing_away(annotation: str) -> None:
    assert _apply(_applied_by_kubectl(annotation), "3.5.0", "kubectl")[0] == 409


def test_who_applies_what_is_there_already_owns_it_without_a_time() -> None:
    asking = Asking()
    times = []
    for manager, version in (("m1", "3.4.0"), ("m2", "3.4.0"), ("m2", "3.4.0"), ("m1", "3.4.0")):
        _, found = _apply(asking, version, manager)
        times.append({e["manager"]: e.get("time") for e in found["metadata"]["managedFields"]})
        asking.time.pass_(60)
    first = "2026-01-01T00:00:00Z"
    assert times == [{"m1": first}, *[{"m1": first, "m2": None}] * 3]
