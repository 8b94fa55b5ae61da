"""A cluster with a real (embedded) API server under the diff: objects get there as they do in life."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from gitops_mc.app.ports import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, Request
from gitops_mc.core.diff import (
    Adopt,
    Change,
    ClusterDiff,
    Create,
    Delete,
    Ownership,
    Update,
    Written,
    diff_cluster,
)
from gitops_mc.core.live import LiveCluster, MachineApis, objects, unread
from gitops_mc.core.model import (
    ADOPT_ANNOTATION,
    CLUSTER_LABEL,
    FIELD_MANAGER,
    MODULE_LABEL,
    DesiredCluster,
    JsonObject,
    Kind,
    Known,
    Manifest,
    Place,
    ResourceKey,
    Unknown,
    content_of,
    labels_of,
    name_of,
    uid_of,
)
from gitops_mc.sandbox.apiserver import ApiServer
from gitops_mc.sandbox.apiserver.server import ADMIN_TOKEN
from tests.core.machine_configs import file, machine_config

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CLUSTER = "edge-01"
NAME = "50-worker-chrony"
FLEET = "factory"


class RefusedError(Exception):
    """The server said no; `code` is the status, `fields` the fields that conflict."""

    def __init__(self, code: int, answer: JsonObject) -> None:
        super().__init__(f"{code} {answer.get('message', '')}")
        self.code = code
        self.fields = sorted(cause["field"] for cause in answer.get("details", {}).get("causes", ()))


def manifest(body: JsonObject) -> Manifest:
    kind = Kind(body["kind"])
    name = labels_of(body)[MODULE_LABEL] if kind is Kind.MODULE_INFO else name_of(body)
    return Manifest(ResourceKey(CLUSTER, kind, name), body, Place(f"clusters/{CLUSTER}/{name}.yaml"))


def desired(*bodies: JsonObject) -> DesiredCluster:
    manifests = tuple(sorted((manifest(body) for body in bodies), key=lambda m: m.key))
    return DesiredCluster(CLUSTER, manifests, content_of(manifests))


def key(kind: Kind, name: str) -> ResourceKey:
    return ResourceKey(CLUSTER, kind, name)


class World:
    """One cluster, its ModuleInfos, and what the rollout remembers of its writes."""

    def __init__(self) -> None:
        self.server = ApiServer(CLUSTER, now=lambda: NOW)
        self.server.install_machine_apis()
        self.on_global = ApiServer("global", now=lambda: NOW)
        self.inventory: dict[ResourceKey, Written] = {}
        self.git_wins: frozenset[ResourceKey] = frozenset()

    def call(
        self, method: str, kind: Kind, name: str = "", body: Any = None, mime: str = JSON, **query: str
    ) -> Any:
        server = self.on_global if kind is Kind.MODULE_INFO else self.server
        path = f"/apis/{kind.api_version}/{kind.plural}" + (f"/{name}" if name else "")
        data = b"" if body is None else json.dumps(body).encode()
        asked = Request(method, path, tuple(query.items()), data, mime, token=ADMIN_TOKEN)
        response = server.handle(asked)
        answer = json.loads(response.body)
        if response.status >= 400:
            raise RefusedError(response.status, answer)
        return answer

    def apply(self, body: JsonObject, *, manager: str = FIELD_MANAGER, force: str = "false") -> JsonObject:
        kind = Kind(body["kind"])
        found: JsonObject = self.call(
            "PATCH", kind, name_of(body), body, APPLY_PATCH, fieldManager=manager, force=force
        )
        return found

    def create(self, body: JsonObject, *, manager: str = "kubectl-create") -> JsonObject:
        found: JsonObject = self.call("POST", Kind(body["kind"]), "", body, fieldManager=manager)
        return found

    def merge_patch(
        self, kind: Kind, name: str, patch: JsonObject, *, manager: str = "kubectl-edit"
    ) -> JsonObject:
        found: JsonObject = self.call("PATCH", kind, name, patch, MERGE_PATCH, fieldManager=manager)
        return found

    def get(self, kind: Kind, name: str) -> JsonObject:
        found: JsonObject = self.call("GET", kind, name)
        return found

    def delete(self, kind: Kind, name: str) -> None:
        self.call("DELETE", kind, name)

    def live(self) -> LiveCluster:
        def known(kind: Kind) -> Known[Mapping[str, JsonObject]]:
            items = [
                {"apiVersion": kind.api_version, "kind": kind.value, **item}
                for item in self.call("GET", kind)["items"]
                if kind is not Kind.MODULE_INFO or labels_of(item).get(CLUSTER_LABEL, CLUSTER) == CLUSTER
            ]
            return Known(objects({name_of(item): item for item in items}), NOW)

        return replace(
            unread(CLUSTER, NOW),
            machine_apis=Known(MachineApis(served=True), NOW),
            configs=known(Kind.MACHINE_CONFIG),
            pools=known(Kind.MACHINE_CONFIG_POOL),
            policies=known(Kind.MACHINE_CONFIGURATION),
            modules=known(Kind.MODULE_INFO),
        )

    def diff(self, *bodies: JsonObject) -> ClusterDiff:
        return diff_cluster(
            desired(*bodies), self.live(), self.inventory, fleet=FLEET, git_wins=self.git_wins
        )

    def roll(self, *bodies: JsonObject) -> ClusterDiff:
        """Diff and write everything, deletions too, as the rollout does; the diff that was written."""
        found = self.diff(*bodies)
        for change in found.changes:
            self.write(change)
        return found

    def write(self, change: Change) -> None:
        kind, name = change.key.kind, change.key.name
        match change:
            case Delete():
                self.call("DELETE", kind, change.name)
                self.inventory.pop(change.key, None)
                return
            case Adopt() if not change.sent:
                answer = change.body
            case Create() if kind is Kind.MODULE_INFO:
                answer = self.create(change.body, manager=FIELD_MANAGER)
            case Update() if change.patch:
                answer = self.call("PATCH", kind, name_of(change.body), list(change.patch), JSON_PATCH)
            case Create():
                answer = self.apply(change.body)
            case _:
                if isinstance(change, Update) and change.union_body is not None:
                    union = self.apply(change.union_body)
                    body = change.body["metadata"] | {"resourceVersion": union["metadata"]["resourceVersion"]}
                    answer = self.apply({**change.body, "metadata": body})
                else:
                    force = "true" if change.ownership is Ownership.TAKE else "false"
                    answer = self.apply(change.body, force=force)
        assert uid_of(answer), name
        self.inventory[change.key] = Written(change.digest, uid_of(answer), name_of(answer), change.leaves)


def unknown_everything() -> LiveCluster:
    return unread(CLUSTER, NOW)


def blind(live: LiveCluster, *facts: str) -> LiveCluster:
    """The same cluster with some facts not obtained."""
    return replace(live, **{fact: Unknown("timed out", NOW) for fact in facts})  # type: ignore[arg-type]


def policy(*files: str, units: Iterable[str] = (), action: str = "None", **spec: Any) -> JsonObject:
    """MachineConfiguration `cluster` with an entry for each file and unit."""
    lists = {
        "files": [{"path": path, "actions": [{"type": action}]} for path in files],
        "units": [{"name": name, "actions": [{"type": action}]} for name in units],
    }
    disruption = {name: entries for name, entries in lists.items() if entries}
    return {
        "apiVersion": Kind.MACHINE_CONFIGURATION.api_version,
        "kind": "MachineConfiguration",
        "metadata": {"name": "cluster"},
        "spec": {"nodeDisruptionPolicy": {**disruption, **spec}},
    }


def pool(name: str = "infra", **spec: Any) -> JsonObject:
    return {
        "apiVersion": Kind.MACHINE_CONFIG_POOL.api_version,
        "kind": "MachineConfigPool",
        "metadata": {"name": name},
        "spec": {
            "machineConfigSelector": {"matchLabels": {"role": name}},
            "nodeSelector": {"matchLabels": {f"node-role.kubernetes.io/{name}": ""}},
            **spec,
        },
    }


def module(name: str = "logcenter", version: str = "v4.1.0", **spec: Any) -> JsonObject:
    return {
        "apiVersion": Kind.MODULE_INFO.api_version,
        "kind": "ModuleInfo",
        "metadata": {
            "name": f"{CLUSTER}-{name}",
            "labels": {CLUSTER_LABEL: CLUSTER, MODULE_LABEL: name, "cpaas.io/module-type": "plugin"},
        },
        "spec": {"version": version, **spec},
    }


def chrony(source: str = "data:,server%20a", *arguments: str, **annotations: str) -> JsonObject:
    """MachineConfig `50-worker-chrony` with one file."""
    body = machine_config(NAME, files=[file("/etc/chrony.conf", source)], kernel_arguments=arguments)
    if annotations:
        body["metadata"]["annotations"] = {ADOPT_ANNOTATION: annotations["adopt_from"]}
    return body


def edited(source: str) -> JsonObject:
    """A merge patch that puts another file into it."""
    return {"spec": {"config": {"storage": {"files": [file("/etc/chrony.conf", source)]}}}}
