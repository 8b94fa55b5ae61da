"""One client, two ways to a server: called directly, and over HTTP through the gateway. The same answers, word for word."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from gitops_mc.adapters.kube import GatewayTransport, KubeconfigTransport
from gitops_mc.adapters.system import SystemClock
from gitops_mc.app.api import ClusterApi, DryRun, Force, Patience, resource
from gitops_mc.app.ports import JSON_PATCH, Request
from gitops_mc.core.errors import (
    AlreadyExistsError,
    ApiError,
    ApplyConflictError,
    ForbiddenError,
    GitopsMcError,
    GoneError,
    InvalidError,
    MalformedApplyError,
    NotFoundError,
    StaleError,
    UnauthorizedError,
)
from gitops_mc.core.model import resource_version, uid_of
from gitops_mc.sandbox.apiserver import ApiServer, Rule, User
from gitops_mc.sandbox.gateway import start, write_kubeconfig
from gitops_mc.sandbox.transport import DirectTransport

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gitops_mc.app.ports import Transport

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ADMIN, READER = "admin", "reader"
CONFIG, POOL, POLICY = (
    resource("MachineConfig"),
    resource("MachineConfigPool"),
    resource("MachineConfiguration"),
)
MODULE, NODE = resource("ModuleInfo"), resource("Node")
MACHINE = "machineconfiguration.alauda.io/v1alpha1"


def fleet() -> dict[str, ApiServer]:
    servers = {name: ApiServer(name, now=lambda: NOW) for name in ("global", "edge-01", "edge-02")}
    servers["edge-01"].install_machine_apis()
    for server in servers.values():
        server.grant(READER, User("reader", (Rule(verbs=("get", "list", "watch")),)))
    return servers


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways to a fleet; one gateway serves the fleet of whichever test is running."""

    url: str
    served: dict[str, ApiServer]

    def to(self, way: str, servers: dict[str, ApiServer], token: str, folder: Path) -> Transport:
        self.served.clear()
        self.served.update(servers)
        match way:
            case "direct":
                return DirectTransport(servers, token)
            case "gateway":
                (folder / "token").write_text(token)
                return GatewayTransport(self.url, folder / "token")
            case _:
                write_kubeconfig(folder / "kubeconfig", self.url, servers, token)
                return KubeconfigTransport(folder / "kubeconfig", {name: name for name in servers})


@pytest.fixture(scope="module")
def ways() -> Iterator[Ways]:
    served: dict[str, ApiServer] = {}
    gateway = start(served)
    yield Ways(gateway.url, served)
    gateway.stop()


def client(transport: Transport, **patience: int) -> ClusterApi:
    return ClusterApi(transport, SystemClock(), jitter=lambda: 0.0, patience=Patience(attempts=1, **patience))


WAYS = ["direct", "gateway", "kubeconfig"]


@pytest.fixture(params=WAYS)
def api(request: pytest.FixtureRequest, ways: Ways, tmp_path: Path) -> ClusterApi:
    return client(ways.to(request.param, fleet(), ADMIN, tmp_path), page=3)


@pytest.fixture(params=WAYS)
def reader(request: pytest.FixtureRequest, ways: Ways, tmp_path: Path) -> ClusterApi:
    return client(ways.to(request.param, fleet(), READER, tmp_path))


def config(name: str, *, role: str = "worker", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": MACHINE,
        "kind": "MachineConfig",
        "metadata": {"name": name, "labels": {"machineconfiguration.alauda.io/role": role}},
        "spec": {"config": {"ignition": {"version": "3.4.0"}}, **spec},
    }


def decided_on(read: dict[str, Any], desired: dict[str, Any]) -> dict[str, Any]:
    """What was read, pinned in what is sent."""
    pins = {"uid": uid_of(read), "resourceVersion": resource_version(read)}
    return desired | {"metadata": desired["metadata"] | pins}


def test_what_is_applied_is_what_is_read_and_it_is_ours(api: ClusterApi) -> None:
    applied = api.apply("edge-01", CONFIG, config("50-a", kernelArguments=["a=1"]))
    assert api.get("edge-01", CONFIG, "50-a") == applied
    assert [f["manager"] for f in applied["metadata"]["managedFields"]] == ["gitops-mc"]


def test_an_update_pinned_to_what_was_read_goes_through_once(api: ClusterApi) -> None:
    read = api.apply("edge-01", CONFIG, config("50-a"))
    update = decided_on(read, config("50-a", kernelArguments=["a=1"]))
    assert api.apply("edge-01", CONFIG, update)["spec"]["kernelArguments"] == ["a=1"]
    with pytest.raises(StaleError):
        api.apply("edge-01", CONFIG, update | {"spec": config("x", kernelArguments=["a=2"])["spec"]})


def test_an_update_of_an_object_that_was_made_anew_is_stale(api: ClusterApi) -> None:
    read = api.apply("edge-01", CONFIG, config("50-a"))
    api.delete("edge-01", CONFIG, "50-a", uid=uid_of(read), version=resource_version(read))
    with pytest.raises(StaleError):
        api.apply("edge-01", CONFIG, decided_on(read, config("50-a")))
    with pytest.raises(NotFoundError):
        api.get("edge-01", CONFIG, "50-a")


def test_a_dry_run_says_what_would_be_and_leaves_it(api: ClusterApi) -> None:
    would = api.apply("edge-01", CONFIG, config("50-a"), dry_run=DryRun.SERVER)
    assert would["spec"] == config("50-a")["spec"]
    with pytest.raises(NotFoundError):
        api.get("edge-01", CONFIG, "50-a")


def policy(*actions: str) -> dict[str, Any]:
    spec = {"nodeDisruptionPolicy": {"sshkey": {"actions": [{"type": a} for a in actions]}}}
    return {
        "apiVersion": MACHINE,
        "kind": "MachineConfiguration",
        "metadata": {"name": "cluster"},
        "spec": spec,
    }


def test_a_conflict_names_the_other_manager_and_its_fields_and_force_takes_them(api: ClusterApi) -> None:
    api.create("edge-01", POLICY, {**policy("None"), "metadata": {"name": "cluster"}})
    desired = policy("Reboot")
    with pytest.raises(ApplyConflictError) as caught:
        api.apply("edge-01", POLICY, desired)
    assert {c.field for c in caught.value.causes} == {".spec.nodeDisruptionPolicy.sshkey.actions"}
    assert all(c.manager for c in caught.value.causes)
    taken = api.apply("edge-01", POLICY, desired, force=Force.TAKE_OVER)
    assert taken["spec"] == desired["spec"]


def test_a_field_outside_the_schema_is_refused(api: ClusterApi) -> None:
    with pytest.raises(MalformedApplyError, match=r"\.spec\.bogus: field not declared in schema"):
        api.apply("edge-01", CONFIG, config("50-a", bogus=1))
    with pytest.raises(InvalidError, match="bogus"):
        api.create("edge-01", CONFIG, config("50-a", bogus=1))


def test_a_value_that_the_schema_refuses_has_its_field_among_the_causes(api: ClusterApi) -> None:
    with pytest.raises(InvalidError) as caught:
        api.apply("edge-01", POLICY, policy("Reboot", "None"))
    assert {c.field for c in caught.value.causes} == {"spec.nodeDisruptionPolicy.sshkey.actions"}


def test_a_second_create_is_told(api: ClusterApi) -> None:
    api.create("edge-01", CONFIG, config("50-a"))
    with pytest.raises(AlreadyExistsError):
        api.create("edge-01", CONFIG, config("50-a"))


def test_a_json_patch_whose_test_fails_is_stale_and_changes_nothing(api: ClusterApi) -> None:
    read = api.create("edge-01", POOL, pool("worker"))
    pause = {"op": "add", "path": "/spec/paused", "value": True}

    def testing(version: str) -> list[dict[str, Any]]:
        return [{"op": "test", "path": "/metadata/resourceVersion", "value": version}, pause]

    patched = api.json_patch("edge-01", POOL, "worker", testing(resource_version(read)))
    assert patched["spec"]["paused"] is True
    with pytest.raises(StaleError):
        api.json_patch("edge-01", POOL, "worker", testing(resource_version(read)))
    assert api.get("edge-01", POOL, "worker") == patched


def pool(name: str) -> dict[str, Any]:
    return {"apiVersion": MACHINE, "kind": "MachineConfigPool", "metadata": {"name": name}, "spec": {}}


def test_only_the_object_that_was_read_is_deleted(api: ClusterApi) -> None:
    read = api.create("edge-01", CONFIG, config("50-a"))
    for other, old in (("another", resource_version(read)), (uid_of(read), "1")):
        with pytest.raises(StaleError):
            api.delete("edge-01", CONFIG, "50-a", uid=other, version=old)
    uid, version = uid_of(read), resource_version(read)
    api.delete("edge-01", CONFIG, "50-a", uid=uid, version=version, dry_run=DryRun.SERVER)
    api.delete("edge-01", CONFIG, "50-a", uid=uid, version=version)
    with pytest.raises(NotFoundError):
        api.delete("edge-01", CONFIG, "50-a", uid=uid, version=version)


def test_lists_come_whole_in_pages_and_by_selector(api: ClusterApi) -> None:
    for number in range(8):
        api.create("edge-01", CONFIG, config(f"5{number}-a", role="worker" if number % 2 else "master"))
    assert [o["metadata"]["name"] for o in api.list("edge-01", CONFIG)] == [f"5{n}-a" for n in range(8)]
    labelled = api.list("edge-01", CONFIG, labels="machineconfiguration.alauda.io/role in (master)")
    assert [o["metadata"]["name"] for o in labelled] == ["50-a", "52-a", "54-a", "56-a"]
    assert len(api.list("edge-01", CONFIG, fields="metadata.name=53-a")) == 1
    assert api.list("edge-01", NODE) == ()


def test_a_list_of_metadata_has_no_bodies(api: ClusterApi) -> None:
    api.create("edge-01", CONFIG, config("50-a"))
    (found,) = api.list_metadata("edge-01", CONFIG)
    assert (found["metadata"]["name"], "spec" in found) == ("50-a", False)
    assert resource_version(found)


def test_what_a_cluster_serves_is_told_from_what_it_does_not(api: ClusterApi) -> None:
    asked = [("edge-01", MACHINE), ("edge-02", MACHINE), ("edge-02", "v1"), ("global", MODULE.group_version)]
    assert [api.serves(*a) for a in asked] == [True, False, True, True]
    with pytest.raises(NotFoundError):
        api.list("edge-02", CONFIG)


def test_a_cluster_that_the_gateway_does_not_know_is_not_an_empty_one(api: ClusterApi) -> None:
    for ask in (lambda: api.serves("edge-09", MACHINE), lambda: api.list("edge-09", NODE)):
        with pytest.raises(GitopsMcError) as caught:
            ask()
        assert not isinstance(caught.value, ApiError)


def test_a_reader_reads_and_is_told_what_it_may_not(reader: ClusterApi) -> None:
    assert reader.list("edge-01", CONFIG) == ()
    assert reader.can_i("edge-01", "list", CONFIG).allowed
    assert not reader.can_i("edge-01", "patch", CONFIG).allowed
    with pytest.raises(ForbiddenError, match='User "reader" cannot patch'):
        reader.apply("edge-01", CONFIG, config("50-a"))


@pytest.mark.parametrize("way", WAYS)
def test_an_unknown_token_is_unauthorized(way: str, ways: Ways, tmp_path: Path) -> None:
    asking = client(ways.to(way, fleet(), "nobody", tmp_path))
    with pytest.raises(UnauthorizedError):
        asking.get("edge-01", NODE, "n1")


@pytest.mark.parametrize("way", WAYS)
def test_a_list_that_outlives_its_token_begins_anew(way: str, ways: Ways, tmp_path: Path) -> None:
    servers = fleet()
    transport = ways.to(way, servers, ADMIN, tmp_path)
    asking = client(transport)
    for number in range(5):
        asking.create("edge-01", CONFIG, config(f"5{number}-a"))
    once = client(Compacting(transport, servers["edge-01"], lists=1), page=2)
    assert len(once.list("edge-01", CONFIG)) == 5
    always = client(Compacting(transport, servers["edge-01"], lists=99), page=2)
    with pytest.raises(GoneError):
        always.list("edge-01", CONFIG)


class Compacting:
    """Lets the server forget its history after the first page of so many lists."""

    def __init__(self, transport: Transport, server: ApiServer, lists: int) -> None:
        self._transport, self._server, self._left = transport, server, lists

    def send(self, cluster: str, request: Request, *, timeout: float) -> Any:
        answer = self._transport.send(cluster, request, timeout=timeout)
        if self._left and "continue" not in dict(request.query):
            self._left -= 1
            self._server.compact()
        return answer


def test_every_answer_is_the_same_byte_for_byte_on_every_way(ways: Ways, tmp_path: Path) -> None:
    body = json.dumps(config("50-ä/b")).encode()
    named = json.dumps(config("50-a")).encode()
    base = f"/apis/{MACHINE}/machineconfigs"
    requests = [
        Request("POST", base, (("fieldManager", "x"),), named),
        Request("POST", base, body=named),
        Request("POST", base, body=body),
        Request("POST", base, body=b"{"),
        Request("GET", f"{base}/50-a"),
        Request("GET", base, (("limit", "1"), ("labelSelector", "a in (b,c)"), ("empty", ""))),
        Request("GET", base, (("labelSelector", "((("),)),
        Request("GET", f"{base}/a%2Fb"),
        Request("GET", f"{base}/nosuch"),
        Request(
            "PATCH",
            f"{base}/50-a",
            body=b'[{"op":"test","path":"/kind","value":"x"}]',
            content_type=JSON_PATCH,
        ),
        Request("PATCH", f"{base}/50-a", body=b"{}", content_type="application/strategic-merge-patch+json"),
        Request("PUT", f"{base}/50-a", body=named),
        Request("DELETE", base),
        Request("DELETE", f"{base}/50-a", (("dryRun", "All"),)),
        Request("GET", "/apis"),
        Request("GET", "/api/v1"),
        Request("GET", "/version"),
        Request("GET", "/apis/nosuch.group/v1"),
        Request("GET", "/nowhere"),
    ]

    def answers(way: str) -> list[tuple[int, bytes, str]]:
        folder = tmp_path / way
        folder.mkdir()
        transport = ways.to(way, fleet(), ADMIN, folder)
        found = [transport.send("edge-01", r, timeout=10) for r in requests]
        return [(a.status, a.body, a.headers.get("content-type", "")) for a in found]

    direct = answers("direct")
    assert {200, 201, 400, 404, 409, 422} <= {status for status, _, _ in direct}
    assert answers("gateway") == direct
    assert answers("kubeconfig") == direct
