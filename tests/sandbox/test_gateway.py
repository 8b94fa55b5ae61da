"""The gateway's own part: paths, watches, the inventory, a clean end."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import stat
import subprocess
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import yaml

from gitops_mc.adapters.system import SystemClock
from gitops_mc.app.ports import Request
from gitops_mc.sandbox.apiserver import ApiServer
from gitops_mc.sandbox.behind import Behind
from gitops_mc.sandbox.faults import FaultBoard, FaultId
from gitops_mc.sandbox.faulty import FaultyTransport
from gitops_mc.sandbox.gateway import RunningGateway, start, write_kubeconfig

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NODES = "/api/v1/nodes"
MODULES = "/apis/cluster.alauda.io/v1alpha1/moduleinfoes"
CLUSTERS = "/apis/platform.tkestack.io/v1/clusters"
QUICK = 5.0


@pytest.fixture
def servers() -> dict[str, ApiServer]:
    return {name: ApiServer(name, now=lambda: datetime.now(UTC)) for name in ("global", "edge-01")}


@pytest.fixture
def gateway(servers: dict[str, ApiServer]) -> Iterator[RunningGateway]:
    running = start(servers)
    yield running
    running.stop()


def call(
    gateway: RunningGateway, path: str, *, method: str = "GET", token: str = "admin", body: Any = None
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(urlsplit(gateway.url).netloc, timeout=QUICK)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with closing(connection):
        connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        data = answer.read()
    return answer.status, json.loads(data) if data[:1] == b"{" else data


def node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def add(server: ApiServer, path: str, body: dict[str, Any]) -> None:
    assert server.handle(Request("POST", path, body=json.dumps(body).encode(), token="admin")).status == 201


def test_each_cluster_has_its_own_path(gateway: RunningGateway, servers: dict[str, ApiServer]) -> None:
    assert call(gateway, f"/kubernetes/edge-01{NODES}", method="POST", body=node("n1"))[0] == 201
    assert [len(call(gateway, f"/kubernetes/{c}{NODES}")[1]["items"]) for c in servers] == [0, 1]


def test_a_cluster_that_joins_later_is_served(gateway: RunningGateway, servers: dict[str, ApiServer]) -> None:
    assert call(gateway, f"/kubernetes/edge-02{NODES}") == (404, b"404 page not found\n")
    servers["edge-02"] = ApiServer("edge-02", now=lambda: datetime.now(UTC))
    assert call(gateway, f"/kubernetes/edge-02{NODES}")[0] == 200


def test_tokens_are_judged_by_the_server(gateway: RunningGateway) -> None:
    for token in ("", "wrong"):
        status, body = call(gateway, f"/kubernetes/edge-01{NODES}", token=token)
        assert (status, body["reason"]) == (401, "Unauthorized")
    assert call(gateway, f"/as/wrong/kubernetes/edge-01{NODES}", token="")[0] == 401
    assert call(gateway, f"/as/admin/kubernetes/edge-01{NODES}", token="")[0] == 200


def test_modules_answer_at_the_platforms_root_and_nothing_else_does(gateway: RunningGateway) -> None:
    assert call(gateway, MODULES)[1]["kind"] == "ModuleInfoList"
    assert call(gateway, f"{MODULES}/nosuch")[0] == 404
    assert call(gateway, MODULES.replace("moduleinfoes", "moduleconfigs")) == (404, b"404 page not found\n")
    assert call(gateway, NODES)[0] == 404


def test_the_inventory_shows_registered_clusters_to_those_who_may_see_them(
    gateway: RunningGateway, servers: dict[str, ApiServer]
) -> None:
    registered = {"apiVersion": "platform.tkestack.io/v1", "kind": "Cluster", "spec": {}}
    metadata = {"name": "edge-01", "labels": {"cpaas.io/os-linux": "true"}}
    add(servers["global"], CLUSTERS, registered | {"metadata": metadata})
    status, body = call(gateway, "/auth/v1/clusters")
    assert (status, body["kind"]) == (200, "ClusterList")
    assert [i["metadata"]["labels"] for i in body["items"]] == [{"cpaas.io/os-linux": "true"}]
    endpoints = body["items"][0]["spec"]["kubernetesApiEndpoints"]["serverEndpoints"]
    assert endpoints[0]["serverAddress"] == f"{gateway.url}/kubernetes/edge-01"
    assert call(gateway, "/auth/v1/clusters", token="wrong")[0] == 401


def watching(
    gateway: RunningGateway, query: str = ""
) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(urlsplit(gateway.url).netloc, timeout=QUICK)
    path = f"/kubernetes/edge-01{NODES}?watch=1{query}"
    connection.request("GET", path, headers={"Authorization": "Bearer admin"})
    return connection, connection.getresponse()


def test_a_watch_brings_each_event_as_it_happens(
    gateway: RunningGateway, servers: dict[str, ApiServer]
) -> None:
    add(servers["edge-01"], NODES, node("n1"))
    connection, stream = watching(gateway)
    with closing(connection):
        assert stream.status == 200
        seen = [json.loads(stream.readline())]
        add(servers["edge-01"], NODES, node("n2"))
        seen.append(json.loads(stream.readline()))
    assert [(e["type"], e["object"]["metadata"]["name"]) for e in seen] == [("ADDED", "n1"), ("ADDED", "n2")]


def test_a_watch_ends_after_the_time_asked_for(gateway: RunningGateway) -> None:
    began = time.monotonic()
    connection, stream = watching(gateway, "&timeoutSeconds=1")
    with closing(connection):
        assert stream.read() == b""
    assert 0.9 < time.monotonic() - began < QUICK


def test_a_watch_from_a_version_that_is_forgotten_ends_with_410(
    gateway: RunningGateway, servers: dict[str, ApiServer]
) -> None:
    for name in ("n1", "n2", "n3"):
        add(servers["edge-01"], NODES, node(name))
    servers["edge-01"].compact()
    connection, stream = watching(gateway, "&resourceVersion=1")
    with closing(connection):
        (event,) = [json.loads(line) for line in stream.read().splitlines()]
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_a_watch_that_is_refused_is_an_answer(gateway: RunningGateway) -> None:
    status, body = call(gateway, f"/kubernetes/edge-01{NODES}?watch=1", token="wrong")
    assert (status, body["code"]) == (401, 401)


def test_many_callers_at_once_lose_nothing(gateway: RunningGateway) -> None:
    def caller(number: int) -> None:
        for turn in range(10):
            call(gateway, f"/kubernetes/edge-01{NODES}", method="POST", body=node(f"n{number}-{turn}"))

    threads = [threading.Thread(target=caller, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(QUICK)
    assert len(call(gateway, f"/kubernetes/edge-01{NODES}")[1]["items"]) == 80


def test_it_stops_in_the_midst_of_a_watch_and_frees_its_port(servers: dict[str, ApiServer]) -> None:
    gateway = start(servers)
    connection, _ = watching(gateway)
    began = time.monotonic()
    gateway.stop()
    assert time.monotonic() - began < QUICK
    connection.close()
    port = urlsplit(gateway.url).port
    assert port is not None
    again = start(servers, port)
    assert again.url == gateway.url
    assert call(again, f"/kubernetes/edge-01{NODES}")[0] == 200
    again.stop()


def test_a_port_that_is_taken_is_an_error(servers: dict[str, ApiServer]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        start(servers, taken.getsockname()[1])


def test_the_kubeconfig_is_private_and_has_a_context_for_each_cluster(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.touch(0o644)
    write_kubeconfig(path, "http://127.0.0.1:1", ["edge 01", "global"], "to/ken")
    config = yaml.safe_load(path.read_text())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [c["name"] for c in config["contexts"]] == ["edge 01", "global"]
    assert config["current-context"] == "edge 01"
    assert config["clusters"][0]["cluster"]["server"] == "http://127.0.0.1:1/as/to%2Fken/kubernetes/edge%2001"


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on this machine")
def test_kubectl_works_against_it(
    gateway: RunningGateway, servers: dict[str, ApiServer], tmp_path: Path
) -> None:
    add(servers["edge-01"], NODES, node("n1"))
    write_kubeconfig(tmp_path / "kubeconfig", gateway.url, servers, "admin")

    def kubectl(*arguments: str) -> str:
        command = [
            "kubectl",
            "--kubeconfig",
            "kubeconfig",
            "--cache-dir",
            "cache",
            "--context",
            "edge-01",
            *arguments,
        ]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=20
        ).stdout

    assert "n1" in kubectl("get", "nodes")
    assert "n1" in kubectl("describe", "node", "n1")
    assert kubectl("get", "node", "n1", "-o", "jsonpath={.metadata.name}") == "n1"


def test_faults_show_as_a_gateway_shows_them(servers: dict[str, ApiServer]) -> None:
    board = FaultBoard()
    board.set(FaultId.HTTP_ERROR, cluster="edge-01", status=503)
    board.set(FaultId.GATEWAY_GONE, cluster="global", how="refused")
    faulty = Behind(servers, lambda inner: FaultyTransport(inner, board, SystemClock()))
    gateway = start(faulty)
    try:
        status, body = call(gateway, f"/kubernetes/edge-01{NODES}")
        assert (status, body["reason"]) == (503, "ServiceUnavailable")
        assert call(gateway, f"/kubernetes/edge-01{NODES}", token="wrong")[0] == 401
        status, page = call(gateway, f"/kubernetes/global{NODES}")
        assert (status, page[:6]) == (504, b"<html>")
        assert call(gateway, f"/kubernetes/nosuch{NODES}")[0] == 404
    finally:
        gateway.stop()
