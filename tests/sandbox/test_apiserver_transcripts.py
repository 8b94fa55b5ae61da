"""952 requests on the machine kinds, and what a real kube-apiserver 1.36 answered: the embedded server says the same.

Compared are the code; of an error the reason, the message and the causes; of an object labels, annotations,
generation, spec with the order of list elements, and managedFields.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from gitops_mc.app.ports import APPLY_PATCH, JSON, MERGE_PATCH, Request, Response
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer

TRANSCRIPTS = Path(__file__).parents[1] / "data" / "api-transcripts.jsonl"
GROUP_PATH = "/apis/machineconfiguration.alauda.io/v1alpha1"
PLURALS = {
    "MachineConfig": "machineconfigs",
    "MachineConfigPool": "machineconfigpools",
    "MachineConfiguration": "machineconfigurations",
}
REQUESTS = 952

# (seed, step): why the embedded server answers otherwise
DIFFERENCES: dict[tuple[int, int], str] = {}


def _server() -> ApiServer:
    server = ApiServer("edge-01", now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    server.install_machine_apis()
    return server


def _send(server: ApiServer, method: str, path: str, **fields: Any) -> Response:
    body = json.dumps(fields.pop("body")).encode() if "body" in fields else b""
    return server.handle(Request(method, path, body=body, token=ADMIN_TOKEN, **fields))


def _ask(server: ApiServer, path: str, step: dict[str, Any]) -> Response:
    query: tuple[tuple[str, str], ...] = (("fieldManager", step["manager"]),)
    match step["op"]:
        case "apply" | "apply-dry-run":
            query += (("force", str(step["force"]).lower()),)
            query += (("dryRun", "All"),) if step["op"] == "apply-dry-run" else ()
            return _send(server, "PATCH", path, query=query, body=step["body"], content_type=APPLY_PATCH)
        case "merge-patch":
            return _send(server, "PATCH", path, query=query, body=step["body"], content_type=MERGE_PATCH)
        case "replace-spec":
            found = _send(server, "GET", path)
            if found.status != 200:
                return found
            body = json.loads(found.body) | {"spec": step["body"]["spec"]}
            return _send(server, "PUT", path, query=query, body=body, content_type=JSON)
        case other:
            raise AssertionError(other)


def _managers(entries: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    rows = [
        {
            "manager": entry["manager"],
            "operation": entry["operation"],
            "subresource": entry.get("subresource"),
            "fieldsV1": entry["fieldsV1"],
        }
        for entry in entries or ()
    ]
    return sorted(rows, key=lambda row: (row["manager"], row["operation"]))


def _visible(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj["metadata"]
    return {
        "labels": metadata.get("labels"),
        "annotations": metadata.get("annotations"),
        "generation": metadata.get("generation"),
        "spec": obj.get("spec"),
        "managedFields": _managers(metadata.get("managedFields")),
    }


def _answer(response: Response) -> dict[str, Any]:
    body = json.loads(response.body)
    if response.status < 300:
        return {"code": response.status, "object": _visible(body)}
    causes = body.get("details", {}).get("causes", [])
    return {
        "code": response.status,
        "reason": body.get("reason"),
        "message": body["message"],
        "causes": sorted(
            ({key: cause.get(key) for key in ("reason", "field", "message")} for cause in causes), key=str
        ),
    }


def _expected(answer: dict[str, Any]) -> dict[str, Any]:
    if "object" in answer:
        obj = answer["object"]
        return {"code": answer["code"], "object": obj | {"managedFields": _managers(obj["managedFields"])}}
    return answer | {"causes": sorted(answer["causes"], key=str)}


Row = tuple[dict[str, Any], Any, Any]
"""A step, what is right, what came."""


@cache
def _replayed() -> dict[tuple[int, int], Row]:
    """By seed and number of the step (-1: the object at the end)."""
    rows: dict[tuple[int, int], Row] = {}
    for line in TRANSCRIPTS.read_text().splitlines():
        sequence = json.loads(line)
        server = _server()
        name = next(s["body"]["metadata"]["name"] for s in sequence["steps"] if "metadata" in s["body"])
        path = f"{GROUP_PATH}/{PLURALS[sequence['kind']]}/{name}"
        for number, step in enumerate(sequence["steps"]):
            rows[sequence["seed"], number] = (
                step,
                _expected(step["answer"]),
                _answer(_ask(server, path, step)),
            )
        found = _send(server, "GET", path)
        last = _answer(found)["object"] if found.status == 200 else None
        final = sequence["final"]
        right = final and final | {"managedFields": _managers(final["managedFields"])}
        rows[sequence["seed"], -1] = ({"op": "get", "manager": ""}, right, last)
    return rows


def test_every_recorded_request_is_answered_as_a_real_server_answered_it() -> None:
    rows = _replayed()
    different = {key for key, (_, right, found) in rows.items() if found != right}
    assert Counter(number >= 0 for _, number in rows)[True] == REQUESTS
    assert different == set(DIFFERENCES)


def test_no_difference_touches_what_our_own_manager_does() -> None:
    ours = {key for key, (step, _, _) in _replayed().items() if step["manager"] == "gitops-mc"}
    assert len(ours) > 400
    assert not ours & set(DIFFERENCES)
