"""The same requests to two API servers, and whether they answer the same: code, error, value, order, ownership.

What a step needs of the server (the version that was read, an identity) it reads from the server it asks, so that only
the meaning of the answers is compared.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Protocol

from gitops_mc.app.ports import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, Request, Response
from tests.apiserver.drawn_bodies import Obj
from tests.apiserver.drawn_requests import KINDS, Step

Answer = tuple[int, Any]


class Handler(Protocol):
    """An API server."""

    def handle(self, request: Request) -> Response: ...


@dataclass(frozen=True, slots=True)
class Peer:
    """A server, and the token that may do everything there."""

    server: Handler
    token: str

    def send(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
        query = tuple(more.pop("query", {}).items())
        sent = b"" if body is None else json.dumps(body).encode()
        answer = self.server.handle(Request(method, path, query=query, body=sent, token=self.token, **more))
        return answer.status, json.loads(answer.body)


def answered(peer: Peer, kind: str, step: Step) -> Answer:
    """What a server answers to a step, without what is its own: identities, versions, times."""
    collection = _collection(kind)
    path = f"{collection}/{step.name}"
    query = {"fieldManager": step.manager}
    words = step.what.split()
    if "--dry-run" in words:
        query["dryRun"] = "All"
    if "status" in words:
        path = f"{path}/status"
    match words[0]:
        case "apply":
            query["force"] = step.force
            found = peer.send("PATCH", path, step.body, query=query, content_type=APPLY_PATCH)
        case "create":
            found = peer.send("POST", collection, step.body, query=query)
        case "replace":
            version = "1" if "old" in words else _version(peer, f"{collection}/{step.name}")
            metadata = {**step.body["metadata"], "resourceVersion": version}
            found = peer.send(
                "PUT", path, {**step.body, "metadata": metadata}, query=query, content_type=JSON
            )
        case "merge":
            found = peer.send("PATCH", path, step.body, query=query, content_type=MERGE_PATCH)
        case "patch":
            found = peer.send("PATCH", path, step.body, query=query, content_type=JSON_PATCH)
        case _:
            found = peer.send("DELETE", path, step.body)
    return found[0], _visible(found[1])


def _collection(kind: str) -> str:
    api_version, plural = KINDS[kind]
    return f"/apis/{api_version}/{plural}"


def left(peer: Peer, kind: str, name: str) -> Answer:
    """The object at the end, or that it is not there."""
    status, body = peer.send("GET", f"{_collection(kind)}/{name}")
    return status, _visible(body)


def clean(peer: Peer, kind: str, names: tuple[str, ...]) -> None:
    for name in names:
        path = f"{_collection(kind)}/{name}"
        peer.send("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE_PATCH)
        peer.send("DELETE", path)


def _version(peer: Peer, path: str) -> str:
    status, body = peer.send("GET", path)
    return str(body["metadata"]["resourceVersion"]) if status == 200 else "1"


def _visible(body: Obj) -> Any:
    if body["kind"] == "Status":
        details = body.get("details") or {}
        causes = {
            (c.get("reason"), c.get("field"), _same(c.get("message"))) for c in details.get("causes", ())
        }
        return body.get("reason"), _without_causes(body), sorted(causes, key=str)
    metadata = body["metadata"]
    return {
        "labels": metadata.get("labels"),
        "annotations": metadata.get("annotations"),
        "finalizers": metadata.get("finalizers"),
        "leaving": "deletionTimestamp" in metadata,
        "generation": metadata.get("generation"),
        "spec": body.get("spec"),
        "status": body.get("status"),
        "owners": sorted(
            (
                (e["manager"], e["operation"], e.get("subresource", ""), e["fieldsV1"])
                for e in metadata.get("managedFields", ())
            ),
            key=str,
        ),
    }


def _without_causes(body: Obj) -> str:
    """The message. Of several things that are wrong a real server tells in the order of a Go map, one now and another then,
    and some more than once: those of a 422 are compared as causes, those that keep an object from being typed in order.
    """
    message = _same(body.get("message"))
    if body.get("reason") == "Invalid":
        return message.partition(" is invalid: ")[0]
    if message.startswith("failed to create typed patch object"):
        first, *others = message.split("\n")
        return "\n".join([first, *sorted(others)])
    return message


_OWN = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|(?<=in record \()\d+|(?<=ResourceVersion: )\d+")


def _same(message: str | None) -> str:
    """A message without the identities and versions of its own server."""
    return _OWN.sub("...", message or "")
