"""Tables: what kubectl prints. Columns of custom resources are those of the definitions that real servers get."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from gitops_mc.sandbox.apiserver.columns import human, printed
from gitops_mc.sandbox.apiserver.resources import RESOURCES, Resource
from gitops_mc.sandbox.apiserver.tables import columns_of
from tests.apiserver.clusters import definitions
from tests.sandbox.apiserver_asking import CONFIGS, NODES, Asking, obj

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
KUBECTL = f"{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
POOLS = CONFIGS.replace("machineconfigs", "machineconfigpools")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _table(asking: Asking, path: str, **query: Any) -> tuple[list[str], list[list[Any]]]:
    found = asking.ok("GET", path, accept=KUBECTL, query=query)
    assert (found["kind"], found["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    names = [c["name"] for c in found["columnDefinitions"] if c["priority"] == 0]
    return names, [row["cells"][: len(names)] for row in found["rows"]]


@pytest.mark.parametrize("definition", definitions(), ids=lambda d: d["spec"]["names"]["plural"])
def test_a_custom_resource_has_the_columns_of_its_definition(definition: dict[str, Any]) -> None:
    plural = definition["spec"]["names"]["plural"]
    resource = next(r for r in RESOURCES if r.plural == plural)
    declared = definition["spec"]["versions"][0].get("additionalPrinterColumns")
    if declared is None:
        assert [c.name for c in columns_of(resource)] == ["Name", "Age"]
        return
    wanted = [printed(c["name"], c["type"], c["jsonPath"], c.get("description", "")) for c in declared]
    assert [c.definition() for c in columns_of(resource)[1:]] == [c.definition() for c in wanted]


def test_a_pool_is_printed_with_its_conditions_and_counts_and_cells_that_are_missing_stay_empty() -> None:
    asking = Asking()
    asking.ok(
        "POST", POOLS, obj("machineconfiguration.alauda.io/v1alpha1", "MachineConfigPool", "w") | {"spec": {}}
    )
    status = {
        "configuration": {"name": "rendered-w-1"},
        "conditions": [{"type": "Updating", "status": "False"}, {"type": "Updated", "status": "True"}],
        "machineCount": 3,
    }
    asking.merge(f"{POOLS}/w/status", {"status": status})
    asking.time.pass_(3 * 3600 + 60)
    names, rows = _table(asking, POOLS)
    assert names == [
        *("Name", "Config", "Updated", "Updating", "Degraded", "MachineCount", "ReadyMachineCount"),
        *("UpdatedMachineCount", "DegradedMachineCount", "Age"),
    ]
    assert rows == [["w", "rendered-w-1", "True", "False", None, 3, None, None, None, "3h1m"]]


def test_a_node_is_printed_as_kubectl_prints_one() -> None:
    asking = Asking()
    labels = {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/edge": "", "x": "y"}
    node = obj("v1", "Node", "n1", labels=labels) | {
        "spec": {"unschedulable": True},
        "status": {
            "conditions": [{"type": "Ready", "status": "False"}],
            "nodeInfo": {"kubeletVersion": "v1.33.0"},
        },
    }
    asking.ok("POST", NODES, node)
    assert _table(asking, NODES) == (
        ["Name", "Status", "Roles", "Age", "Version"],
        [["n1", "NotReady,SchedulingDisabled", "edge,worker", "0s", "v1.33.0"]],
    )


BUILT_IN: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "pods": (
        {
            "spec": {"containers": [{"name": "a"}, {"name": "b"}]},
            "status": {
                "phase": "Running",
                "containerStatuses": [
                    {"ready": True, "restartCount": 2},
                    {"ready": False, "restartCount": 1, "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
                ],
            },
        },
        ["x", "1/2", "CrashLoopBackOff", "3", "0s"],
    ),
    "configmaps": ({"data": {"a": "1"}, "binaryData": {"b": "aGk="}}, ["x", 2, "0s"]),
    "deployments": (
        {"spec": {"replicas": 3}, "status": {"readyReplicas": 1, "updatedReplicas": 2}},
        ["x", "1/3", 2, 0, "0s"],
    ),
    "daemonsets": (
        {
            "spec": {"template": {"spec": {"nodeSelector": {"b": "2", "a": "1"}}}},
            "status": {"numberReady": 4},
        },
        ["x", 0, 0, 4, 0, 0, "a=1,b=2", "0s"],
    ),
    "events": (
        {
            "lastTimestamp": "2025-12-31T23:59:00Z",
            "type": "Warning",
            "reason": "Failed",
            "involvedObject": {"kind": "Node", "name": "n1"},
            "message": "no luck\n",
        },
        ["60s", "Warning", "Failed", "node/n1", "no luck"],
    ),
    "poddisruptionbudgets": ({"spec": {"minAvailable": "50%"}}, ["x", "50%", "N/A", 0, "0s"]),
    "leases": ({"spec": {"holderIdentity": "me"}}, ["x", "me", "0s"]),
}


@pytest.mark.parametrize("plural", BUILT_IN)
def test_a_built_in_kind_has_the_columns_of_a_real_server(plural: str) -> None:
    body, cells = BUILT_IN[plural]
    resource = next(r for r in RESOURCES if r.plural == plural)
    shown = [c for c in columns_of(resource) if c.priority == 0]
    whole = {"metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}, **body}
    assert [c.read(whole, NOW) for c in shown] == cells


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda r: r.plural)
def test_an_object_with_nothing_in_it_can_be_printed(resource: Resource) -> None:
    cells = [c.read({"metadata": {"name": "x"}}, NOW) for c in columns_of(resource)]
    assert "x" in cells


def test_rows_carry_as_much_of_the_object_as_is_asked_for() -> None:
    asking = Asking()
    asking.config("a")
    kinds = {}
    for include in ("", "Metadata", "Object", "None"):
        row = asking.ok("GET", CONFIGS, accept=TABLE, query={"includeObject": include})["rows"][0]
        kinds[include] = row.get("object", {}).get("kind")
    assert kinds == {
        "": "PartialObjectMetadata",
        "Metadata": "PartialObjectMetadata",
        "Object": "MachineConfig",
        "None": None,
    }
    assert asking.send("GET", CONFIGS, accept=TABLE, query={"includeObject": "All"})[0] == 400


def test_pages_of_a_table_go_on_where_the_last_one_ended() -> None:
    asking = Asking()
    for name in "abc":
        asking.config(name)
    first = asking.ok("GET", CONFIGS, accept=TABLE, query={"limit": 2})
    rest = asking.ok("GET", CONFIGS, accept=TABLE, query={"continue": first["metadata"]["continue"]})
    assert [row["cells"][0] for row in (*first["rows"], *rest["rows"])] == ["a", "b", "c"]


def test_one_object_is_a_table_of_one_row() -> None:
    asking = Asking()
    asking.config("a")
    assert [row[0] for row in _table(asking, f"{CONFIGS}/a")[1]] == ["a"]


def test_the_first_event_of_a_watch_alone_says_what_the_columns_are() -> None:
    asking = Asking()
    asking.config("a")
    asking.config("b")
    found = [e["object"] for e in asking.events(CONFIGS, KUBECTL)]
    assert [row["cells"][0] for table in found for row in table["rows"]] == ["a", "b"]
    assert [table["columnDefinitions"] is None for table in found] == [False, True]


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("text/html", 406),
        ("application/json;as=Table;v=v9;g=meta.k8s.io", 406),
        ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", 406),
        ("application/vnd.kubernetes.protobuf,application/json", 200),
        ("application/json, */*", 200),
        ("", 200),
    ],
)
def test_a_form_that_cannot_be_had_is_not_acceptable(accept: str, status: int) -> None:
    assert Asking().send("GET", CONFIGS, accept=accept)[0] == status


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *(
            (-5, "<invalid>"),
            (-1, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (599, "9m59s"),
            (600, "10m"),
        ),
        *((3 * 3600 - 1, "179m"), (3 * 3600, "3h"), (3 * 3600 + 60, "3h1m"), (8 * 3600 + 60, "8h")),
        *((48 * 3600, "2d"), (50 * 3600, "2d2h"), (8 * 86400 + 3600, "8d"), (729 * 86400, "729d")),
        *((730 * 86400, "2y"), (732 * 86400, "2y2d"), (9 * 365 * 86400, "9y")),
    ],
)
def test_ages_are_worded_as_kubectl_words_them(seconds: int, text: str) -> None:
    assert human(seconds) == text


def test_a_path_that_no_column_may_have_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be read from"):
        printed("X", "string", ".spec..x")
