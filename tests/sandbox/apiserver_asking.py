"""Asking an embedded API server in few words, for its own tests."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from gitops_mc.app.ports import JSON, MERGE_PATCH, Request, Response
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer, Watch

CONFIGS = "/apis/machineconfiguration.alauda.io/v1alpha1/machineconfigs"
NODES = "/api/v1/nodes"


@dataclass
class Time:
    """A clock that stands until it is moved."""

    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class Asking:
    cluster: str = "edge-01"
    token: str = ADMIN_TOKEN
    time: Time = field(default_factory=Time)
    server: ApiServer = field(init=False)

    def __post_init__(self) -> None:
        self.server = ApiServer(self.cluster, now=self.time)
        self.server.install_machine_apis()

    def request(self, method: str, path: str, body: Any = None, **more: Any) -> Request:
        query = tuple((key, str(value)) for key, value in more.pop("query", {}).items())
        data = b"" if body is None else json.dumps(body).encode()
        more.setdefault("token", self.token)
        return Request(method, path, query=query, body=data, **more)

    def send(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, dict[str, Any]]:
        answer: Response = self.server.handle(self.request(method, path, body, **more))
        return answer.status, json.loads(answer.body) if answer.headers["content-type"].startswith(
            JSON
        ) else {}

    def ok(self, method: str, path: str, body: Any = None, **more: Any) -> dict[str, Any]:
        status, found = self.send(method, path, body, **more)
        assert status in (200, 201), found
        return found

    def config(self, name: str, config: Any = None, **metadata: Any) -> dict[str, Any]:
        """Create a MachineConfig."""
        body = obj("machineconfiguration.alauda.io/v1alpha1", "MachineConfig", name, **metadata)
        return self.ok("POST", CONFIGS, body | {"spec": {"config": config or {}}})

    def merge(self, path: str, patch: Any, **query: Any) -> dict[str, Any]:
        return self.ok("PATCH", path, patch, content_type=MERGE_PATCH, query=query)

    def events(self, path: str, accept: str = JSON, **query: Any) -> list[dict[str, Any]]:
        """What a watch begins with."""
        watch = self.server.open_watch(
            self.request("GET", path, accept=accept, query={"watch": "true", **query})
        )
        assert isinstance(watch, Watch), watch.body
        return [json.loads(line) for line in watch.poll()]

    def names(self, path: str, **query: Any) -> list[str]:
        return [item["metadata"]["name"] for item in self.ok("GET", path, query=query, accept=JSON)["items"]]


def obj(api_version: str, kind: str, name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}}
