"""One cluster's API in few words, for the contract tests; it asks through the Transport port alone."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gitops_mc.app.ports import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, Request, Transport

MACHINE = "machineconfiguration.alauda.io/v1alpha1"
KINDS = {
    "machineconfigs": (MACHINE, "MachineConfig"),
    "machineconfigpools": (MACHINE, "MachineConfigPool"),
    "machineconfigurations": (MACHINE, "MachineConfiguration"),
    "namespaces": ("v1", "Namespace"),
}
EDGE = "edge-01"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: dict[str, Any]

    @property
    def metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = self.body["metadata"]
        return found

    @property
    def version(self) -> str:
        return str(self.metadata["resourceVersion"])

    @property
    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.body["items"]]

    @property
    def causes(self) -> set[tuple[str, str]]:
        """Reason and field of each cause."""
        return {(c["reason"], c["field"]) for c in self.body["details"]["causes"]}

    def owners(self) -> dict[tuple[str, str], Any]:
        """fieldsV1 by manager and operation."""
        return {(e["manager"], e["operation"]): e["fieldsV1"] for e in self.metadata.get("managedFields", ())}


def path_of(plural: str, name: str = "", subresource: str = "") -> str:
    api_version, _ = KINDS[plural]
    root = "api" if "/" not in api_version else "apis"
    return "/" + "/".join(filter(None, (root, api_version, plural, name, subresource)))


@dataclass(frozen=True, slots=True)
class Api:
    """One cluster seen through a transport."""

    transport: Transport
    prefix: str
    cluster: str = EDGE
    _counter: Iterator[int] = field(default_factory=itertools.count)

    def name(self) -> str:
        return f"{self.prefix}-{next(self._counter)}"

    def send(self, method: str, path: str, body: Any = None, **more: Any) -> Answer:
        query = tuple((key, str(value)) for key, value in more.pop("query", {}).items())
        data = b"" if body is None else json.dumps(body).encode()
        response = self.transport.send(
            self.cluster, Request(method, path, query=query, body=data, **more), timeout=10
        )
        return Answer(response.status, json.loads(response.body))

    def obj(self, plural: str, name: str, spec: Any = None, **metadata: Any) -> dict[str, Any]:
        api_version, kind = KINDS[plural]
        found = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}}
        return found if spec is None else found | {"spec": spec}

    def get(self, plural: str, name: str) -> Answer:
        return self.send("GET", path_of(plural, name))

    def list(self, plural: str, accept: str = JSON, **query: Any) -> Answer:
        return self.send("GET", path_of(plural), accept=accept, query=query)

    def create(self, plural: str, name: str, spec: Any = None, **more: Any) -> Answer:
        query = more.pop("query", {"fieldManager": "maker"})
        return self.send("POST", path_of(plural), self.obj(plural, name, spec, **more), query=query)

    def apply(self, plural: str, name: str, spec: Any = None, **more: Any) -> Answer:
        query = {"fieldManager": more.pop("manager", "gitops-mc")} | more.pop("query", {})
        body = more.pop("body", None) or self.obj(plural, name, spec, **more)
        return self.send("PATCH", path_of(plural, name), body, query=query, content_type=APPLY_PATCH)

    def merge(self, plural: str, name: str, patch: Any, subresource: str = "", **query: Any) -> Answer:
        path = path_of(plural, name, subresource)
        return self.send("PATCH", path, patch, query=query, content_type=MERGE_PATCH)

    def patch(self, plural: str, name: str, operations: Any) -> Answer:
        return self.send("PATCH", path_of(plural, name), operations, content_type=JSON_PATCH)

    def put(self, plural: str, body: dict[str, Any], subresource: str = "", **query: Any) -> Answer:
        return self.send("PUT", path_of(plural, body["metadata"]["name"], subresource), body, query=query)

    def delete(self, plural: str, name: str, options: Any = None) -> Answer:
        return self.send("DELETE", path_of(plural, name), options)
