"""Strategic merge patches of built-in kinds. What is expected was measured on a real kube-apiserver 1.36."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_mc.sandbox.apiserver.strategic import STRATEGIC_PATCH
from tests.sandbox.apiserver_asking import CONFIGS, Asking, obj

PATH = "/apis/apps/v1/namespaces/default/deployments"


def _deployment() -> dict[str, Any]:
    env = [{"name": "E", "value": "1"}]
    containers = [{"name": name, "image": "i", "env": env} for name in "abc"]
    pod = {"containers": containers, "volumes": [{"name": "v", "emptyDir": {}}]}
    metadata = {"finalizers": ["e.com/a", "e.com/b"], "labels": {"a": "1", "b": "2"}}
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    return obj("apps/v1", "Deployment", "d", **metadata) | {
        "spec": {"strategy": strategy, "template": {"spec": pod}}
    }


def _patched(patch: Any) -> dict[str, Any]:
    asking = Asking()
    asking.ok("POST", PATH, _deployment())
    return asking.ok("PATCH", f"{PATH}/d", patch, content_type=STRATEGIC_PATCH)


CONTAINERS: dict[str, tuple[dict[str, Any], list[tuple[str, str, str]]]] = {
    "one of them": (
        {"containers": [{"name": "b", "image": "k"}]},
        [("a", "i", "E"), ("b", "k", "E"), ("c", "i", "E")],
    ),
    "a new one, in an order": (
        {
            "containers": [{"name": "n", "image": "j"}],
            "$setElementOrder/containers": [{"name": "c"}, {"name": "n"}, {"name": "a"}],
        },
        [("b", "i", "E"), ("c", "i", "E"), ("n", "j", ""), ("a", "i", "E")],
    ),
    "one less, in an order": (
        {
            "containers": [{"name": "b", "$patch": "delete"}],
            "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
        },
        [("c", "i", "E"), ("a", "i", "E")],
    ),
    "all of them": ({"containers": [{"$patch": "replace"}, {"name": "z", "image": "j"}]}, [("z", "j", "")]),
    "a list in a list": (
        {"containers": [{"name": "b", "env": [{"name": "F", "value": "2"}]}]},
        [("a", "i", "E"), ("b", "i", "FE"), ("c", "i", "E")],
    ),
}


@pytest.mark.parametrize("what", CONTAINERS)
def test_lists_merge_by_their_key(what: str) -> None:
    patch, expected = CONTAINERS[what]
    found = _patched({"spec": {"template": {"spec": patch}}})["spec"]["template"]["spec"]["containers"]
    told = [(c["name"], c["image"], "".join(e["name"] for e in c.get("env", ()))) for c in found]
    assert told == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"$deleteFromPrimitiveList/finalizers": ["e.com/a"]}, ["e.com/b"]),
        ({"finalizers": ["e.com/c"]}, ["e.com/c", "e.com/a", "e.com/b"]),
        (
            {"finalizers": ["e.com/c"], "$setElementOrder/finalizers": ["e.com/c", "e.com/b"]},
            ["e.com/c", "e.com/a", "e.com/b"],
        ),
    ],
)
def test_sets_grow_and_shrink(patch: dict[str, Any], expected: list[str]) -> None:
    assert _patched({"metadata": patch})["metadata"]["finalizers"] == expected


def test_maps_are_replaced_and_members_kept_where_a_directive_says_so() -> None:
    replaced = _patched({"metadata": {"labels": {"$patch": "replace", "c": "3"}}})
    assert replaced["metadata"]["labels"] == {"c": "3"}
    assert _patched({"metadata": {"labels": {"$patch": "delete"}}})["metadata"].get("labels") in (None, {})
    kept = _patched({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}})
    assert kept["spec"]["strategy"] == {"type": "Recreate"}
    assert (
        "volumes"
        not in _patched({"spec": {"template": {"spec": {"volumes": None}}}})["spec"]["template"]["spec"]
    )


def test_an_unknown_directive_is_a_failure_as_it_is_on_a_real_server() -> None:
    asking = Asking()
    asking.ok("POST", PATH, _deployment())
    patch = {"metadata": {"labels": {"$patch": "foo"}}}
    status, found = asking.send("PATCH", f"{PATH}/d", patch, content_type=STRATEGIC_PATCH)
    assert (status, found["message"]) == (500, "unknown patch type: foo in map")


def test_a_custom_resource_takes_none() -> None:
    asking = Asking()
    asking.config("a")
    status, found = asking.send("PATCH", f"{CONFIGS}/a", {}, content_type=STRATEGIC_PATCH)
    assert (status, found["reason"]) == (415, "UnsupportedMediaType")
