"""Carrying out moves against an embedded API server."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from gitops_mc.app.act import carry_out
from gitops_mc.app.api import RESOURCES, ClusterApi
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.diff import Create
from gitops_mc.core.model import Content, JsonObject, Kind, ResourceKey, name_of
from gitops_mc.core.rollout.moves import Apply, PoolPatch, Unpause
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer
from gitops_mc.sandbox.transport import DirectTransport
from gitops_mc.sandbox.virtual import VirtualClock

MODULE = ResourceKey("edge", Kind.MODULE_INFO, "machine-config")
BODY: JsonObject = {
    "apiVersion": "cluster.alauda.io/v1alpha1",
    "kind": "ModuleInfo",
    "metadata": {"name": "edge-0123", "labels": {"cpaas.io/module-name": "machine-config"}},
    "spec": {"version": "v4.3.0", "config": {}},
}
CONTENT = Content("c")


class NamesItself:
    """A platform that refuses names of its own form: only it gives those."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if request.method == "POST" and name_of(json.loads(request.body)) == "edge-0123":
            cause = {
                "reason": "FieldValueForbidden",
                "field": "metadata.name",
                "message": "the platform names it",
            }
            status = {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "reason": "Invalid",
                "message": "metadata.name: Forbidden",
                "code": 422,
                "details": {"causes": [cause]},
            }
            return Response(422, json.dumps(status).encode(), {"content-type": "application/json"})
        return self._inner.send(cluster, request, timeout=timeout)


def world() -> tuple[VirtualClock, Transport]:
    clock = VirtualClock(datetime(2026, 1, 1, tzinfo=UTC))
    servers = {name: ApiServer(name, now=clock.now) for name in ("global", "edge")}
    servers["edge"].install_machine_apis()
    return clock, DirectTransport(servers, ADMIN_TOKEN)


def api(transport: Transport, clock: VirtualClock) -> ClusterApi:
    return ClusterApi(transport, clock, jitter=lambda: 0.0)


def test_a_module_is_created_under_its_computed_name() -> None:
    clock, transport = world()
    client = api(transport, clock)
    outcome = carry_out(client, clock, Apply("edge", "module:x", (Create(MODULE, BODY, "d"),)), CONTENT)
    assert not outcome.stops
    assert [name_of(m) for m in client.list("global", RESOURCES["ModuleInfo"])] == ["edge-0123"]


def test_where_the_platform_refuses_that_name_a_temporary_one_is_used_once() -> None:
    clock, transport = world()
    client = api(NamesItself(transport), clock)
    outcome = carry_out(client, clock, Apply("edge", "module:x", (Create(MODULE, BODY, "d"),)), CONTENT)
    assert not outcome.stops
    assert [name_of(m) for m in client.list("global", RESOURCES["ModuleInfo"])] == ["edge-temporary-name"]


def test_a_step_with_a_write_the_server_refuses_is_not_begun() -> None:
    clock, transport = world()
    client = api(transport, clock)

    def config(name: str, spec: JsonObject) -> Create:
        meta = {"name": name}
        body = {
            "apiVersion": Kind.MACHINE_CONFIG.api_version,
            "kind": "MachineConfig",
            "metadata": meta,
            "spec": spec,
        }
        return Create(ResourceKey("edge", Kind.MACHINE_CONFIG, name), body, "d")

    writes = (config("50-a", {"config": {}}), config("60-b", {"bogus": 1}))
    outcome = carry_out(client, clock, Apply("edge", "pools:worker", writes), CONTENT)
    assert outcome.fault is not None
    assert outcome.fault.key.name == "60-b"
    assert "bogus" in outcome.fault.reason
    assert client.list("edge", RESOURCES["MachineConfig"]) == ()


def test_a_patch_decided_on_an_older_pool_does_nothing_and_says_what_was_stale() -> None:
    clock, transport = world()
    client = api(transport, clock)
    pool = {
        "apiVersion": Kind.MACHINE_CONFIG_POOL.api_version,
        "kind": "MachineConfigPool",
        "metadata": {"name": "worker"},
        "spec": {"paused": True},
    }
    client.create("edge", RESOURCES["MachineConfigPool"], pool)
    patch = (
        {"op": "test", "path": "/metadata/resourceVersion", "value": "999"},
        {"op": "add", "path": "/spec/paused", "value": False},
    )
    outcome = carry_out(
        client, clock, Unpause("edge", "pools:worker", (PoolPatch("worker", patch),)), CONTENT
    )
    assert outcome.stale
    assert outcome.about == ResourceKey("edge", Kind.MACHINE_CONFIG_POOL, "worker")
    assert client.get("edge", RESOURCES["MachineConfigPool"], "worker")["spec"]["paused"] is True
