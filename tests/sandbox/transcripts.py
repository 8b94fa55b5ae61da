"""What a real kube-apiserver 1.36 answered to 952 requests on the machine kinds, and how a server is asked the same again.

Compared are the code; of an error the reason, the message and the causes; of an object labels, annotations,
generation, spec with the order of list elements, and managedFields.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from gitops_mc.app.ports import APPLY_PATCH, JSON, MERGE_PATCH, Request, Response

TRANSCRIPTS = Path(__file__).parents[1] / "data" / "api-transcripts.jsonl"
GROUP_PATH = "/apis/machineconfiguration.alauda.io/v1alpha1"
PLURALS = {
    "MachineConfig": "machineconfigs",
    "MachineConfigPool": "machineconfigpools",
    "MachineConfiguration": "machineconfigurations",
}
REQUESTS = 952

EMPTIED = frozenset(
    {
        (21, 1),
        (44, 4),
        (44, 5),
        (44, -1),
        (45, 4),
        (45, -1),
        (115, 2),
        (115, 3),
        (115, 4),
        (115, -1),
        (156, 5),
        (156, -1),
        (158, 6),
        (173, 3),
    }
)
"""Seed and step of what was recorded of a server (1.36.0 to 1.36.2) that keeps a container empty when an apply takes its
last member away, and of what follows from that. Servers before and after make it null, which is refused where the field
may not be null (structured-merge-diff, issues 305 and 331).
"""


class Handler(Protocol):
    """An API server."""

    def handle(self, request: Request) -> Response: ...


def _send(server: Handler, token: str, method: str, path: str, **fields: Any) -> Response:
    body = json.dumps(fields.pop("body")).encode() if "body" in fields else b""
    return server.handle(Request(method, path, body=body, token=token, **fields))


def _ask(server: Handler, token: str, path: str, step: dict[str, Any]) -> Response:
    query: tuple[tuple[str, str], ...] = (("fieldManager", step["manager"]),)
    match step["op"]:
        case "apply" | "apply-dry-run":
            query += (("force", str(step["force"]).lower()),)
            query += (("dryRun", "All"),) if step["op"] == "apply-dry-run" else ()
            return _send(
                server, token, "PATCH", path, query=query, body=step["body"], content_type=APPLY_PATCH
            )
        case "merge-patch":
            return _send(
                server, token, "PATCH", path, query=query, body=step["body"], content_type=MERGE_PATCH
            )
        case "replace-spec":
            found = _send(server, token, "GET", path)
            if found.status != 200:
                return found
            body = json.loads(found.body) | {"spec": step["body"]["spec"]}
            return _send(server, token, "PUT", path, query=query, body=body, content_type=JSON)
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


def replayed(server_of: Callable[[], Handler], token: str) -> dict[tuple[int, int], Row]:
    """By seed and number of the step (-1: the object at the end). Each sequence asks a server of its own, or one that
    has forgotten the last: what a sequence leaves is deleted.
    """
    rows: dict[tuple[int, int], Row] = {}
    for line in TRANSCRIPTS.read_text().splitlines():
        sequence = json.loads(line)
        server = server_of()
        name = next(s["body"]["metadata"]["name"] for s in sequence["steps"] if "metadata" in s["body"])
        path = f"{GROUP_PATH}/{PLURALS[sequence['kind']]}/{name}"
        for number, step in enumerate(sequence["steps"]):
            answer = _answer(_ask(server, token, path, step))
            rows[sequence["seed"], number] = (step, _expected(step["answer"]), answer)
        found = _send(server, token, "GET", path)
        last = _answer(found)["object"] if found.status == 200 else None
        final = sequence["final"]
        right = final and final | {"managedFields": _managers(final["managedFields"])}
        rows[sequence["seed"], -1] = ({"op": "get", "manager": ""}, right, last)
        _send(server, token, "DELETE", path)
    return rows
