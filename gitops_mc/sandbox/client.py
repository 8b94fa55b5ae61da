"""How actors talk to an API server: a small client of `handle`, and a cache that reads again what was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import msgspec

from gitops_mc.app.ports import JSON, JSON_PATCH, MERGE_PATCH, Request, Response
from gitops_mc.core.errors import ApiError
from gitops_mc.core.model import JsonObject, metadata, name_of

_MACHINE = "/apis/machineconfiguration.alauda.io/v1alpha1"
_MODULE = "/apis/cluster.alauda.io/v1alpha1"
_APPS = "/apis/apps/v1/namespaces/cpaas-system"

COLLECTIONS: Mapping[str, str] = MappingProxyType(
    {
        "nodes": "/api/v1/nodes",
        "namespaces": "/api/v1/namespaces",
        "pods": "/api/v1/pods",
        "poddisruptionbudgets": "/apis/policy/v1/poddisruptionbudgets",
        "deployments": f"{_APPS}/deployments",
        "daemonsets": f"{_APPS}/daemonsets",
        "appreleases": "/apis/operator.alauda.io/v1alpha1/namespaces/cpaas-system/appreleases",
        "machineconfigs": f"{_MACHINE}/machineconfigs",
        "machineconfigpools": f"{_MACHINE}/machineconfigpools",
        "machineconfigurations": f"{_MACHINE}/machineconfigurations",
        "moduleplugins": f"{_MODULE}/moduleplugins",
        "moduleconfigs": f"{_MODULE}/moduleconfigs",
        "moduleinfoes": f"{_MODULE}/moduleinfoes",
        "clusters": "/apis/platform.tkestack.io/v1/clusters",
    }
)
"""Where the objects stand that actors read and write; components live in cpaas-system, pods and budgets in any namespace."""


_ANYWHERE = ("pods", "poddisruptionbudgets")


class Handler(Protocol):
    """An API server, as an actor sees it."""

    def handle(self, request: Request) -> Response: ...


@dataclass(frozen=True, slots=True)
class Touch:
    """A write was accepted: on which object, and in whose name."""

    resource: str
    name: str
    user: str


class ApiClient:
    """One user's calls to one API server. `manager` is the field manager its writes are recorded under."""

    def __init__(self, server: Handler, token: str, manager: str) -> None:
        self._server = server
        self._token = token
        self._manager = manager

    def get(self, resource: str, name: str, namespace: str = "") -> JsonObject | None:
        """The object, or None where there is none."""
        response = self._send("GET", f"{_collection(resource, namespace)}/{name}")
        return None if response.status == 404 else _body(response)

    def list_all(self, resource: str, *, fields: str = "") -> list[JsonObject]:
        """All objects that a field selector takes; where the API itself is not served, none. Items carry no kind, as on a real
        server.
        """
        query = (("fieldSelector", fields),) if fields else ()
        response = self._send("GET", COLLECTIONS[resource], query=query)
        items: list[JsonObject] = [] if response.status == 404 else _body(response)["items"]
        return items

    def create(self, resource: str, body: JsonObject) -> JsonObject:
        namespace = str(metadata(body).get("namespace", "")) if resource in _ANYWHERE else ""
        return _body(self._write("POST", _collection(resource, namespace), body, JSON))

    def replace(self, resource: str, body: JsonObject) -> JsonObject:
        return _body(self._write("PUT", f"{COLLECTIONS[resource]}/{name_of(body)}", body, JSON))

    def merge(self, resource: str, name: str, patch: JsonObject, namespace: str = "") -> JsonObject:
        return _body(self._write("PATCH", f"{_collection(resource, namespace)}/{name}", patch, MERGE_PATCH))

    def merge_status(self, resource: str, name: str, status: JsonObject, namespace: str = "") -> JsonObject:
        path = f"{_collection(resource, namespace)}/{name}/status"
        return _body(self._write("PATCH", path, {"status": status}, MERGE_PATCH))

    def json_patch(self, resource: str, name: str, operations: list[JsonObject]) -> JsonObject:
        return _body(self._write("PATCH", f"{COLLECTIONS[resource]}/{name}", operations, JSON_PATCH))

    def delete(self, resource: str, name: str, namespace: str = "") -> None:
        """Delete an object; one that is gone is no error."""
        response = self._send("DELETE", f"{_collection(resource, namespace)}/{name}")
        if response.status != 404:
            _body(response)

    def _write(
        self, method: str, path: str, body: JsonObject | list[JsonObject], content_type: str
    ) -> Response:
        query = (("fieldManager", self._manager),)
        return self._send(method, path, msgspec.json.encode(body), content_type, query)

    def _send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        content_type: str = JSON,
        query: tuple[tuple[str, str], ...] = (),
    ) -> Response:
        request = Request(method, path, query=query, body=body, content_type=content_type, token=self._token)
        return self._server.handle(request)


class Cache:
    """The objects of one resource: listed once, then read again one by one where a write touched them."""

    def __init__(self, client: ApiClient, resource: str) -> None:
        self._client = client
        self._resource = resource
        self._objects: dict[str, JsonObject] | None = None
        self._touched: set[str] = set()

    def touch(self, name: str) -> None:
        self._touched.add(name)

    def objects(self) -> list[JsonObject]:
        """All objects as they are now, by name."""
        if self._objects is None:
            self._objects = {name_of(o): o for o in self._client.list_all(self._resource)}
            self._touched.clear()
        for name in sorted(self._touched):
            found = self._client.get(self._resource, name)
            if found is None:
                self._objects.pop(name, None)
            else:
                self._objects[name] = found
        self._touched.clear()
        return [self._objects[name] for name in sorted(self._objects)]

    def get(self, name: str) -> JsonObject | None:
        return next((o for o in self.objects() if name_of(o) == name), None)

    def keep(self, written: JsonObject) -> None:
        """What a write of our own answered: no need to read it again."""
        if self._objects is not None:
            self._objects[name_of(written)] = written


def _collection(resource: str, namespace: str) -> str:
    path = COLLECTIONS[resource]
    if not namespace:
        return path
    root, _, plural = path.rpartition("/")
    return f"{root}/namespaces/{namespace}/{plural}"


def _body(response: Response) -> JsonObject:
    """The answered object. Raises ApiError for any status but success."""
    body: JsonObject = msgspec.json.decode(response.body)
    if response.status >= 300:
        raise ApiError(
            str(body.get("message", "")), status=response.status, reason=str(body.get("reason", ""))
        )
    return body
