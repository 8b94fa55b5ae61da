"""The platform's gateway in front of real API servers: every cluster under its path, by bearer token, watches included."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gitops_mc.adapters.kube import GatewayTransport
from gitops_mc.app.ports import Request
from gitops_mc.sandbox.gateway import RunningGateway, start
from tests.apiserver.clusters import RealClusters
from tests.apiserver.rights import ADMIN, PRODUCT, READER

pytestmark = pytest.mark.apiserver
NAMESPACES = "/api/v1/namespaces"


@pytest.fixture(scope="module")
def gateway(real_clusters: RealClusters) -> Iterator[RunningGateway]:
    real_clusters.start("global", "edge-01")
    gateway = start(real_clusters.servers)
    yield gateway
    gateway.stop()


def _through(gateway: RunningGateway, folder: Path, token: str) -> GatewayTransport:
    (folder / "token").write_text(token)
    return GatewayTransport(gateway.url, folder / "token")


def test_each_path_is_a_cluster_of_its_own(
    gateway: RunningGateway, real_clusters: RealClusters, tmp_path: Path
) -> None:
    transport = _through(gateway, tmp_path, ADMIN.token)
    uids = set()
    for cluster in ("global", "edge-01"):
        found = json.loads(
            transport.send(cluster, Request("GET", f"{NAMESPACES}/kube-system"), timeout=10).body
        )
        uids.add(found["metadata"]["uid"])
    assert len(uids) == 2
    version = json.loads(transport.send("edge-01", Request("GET", "/version"), timeout=10).body)
    assert version["gitVersion"] == real_clusters.version
    transport.close()


def test_a_cluster_that_nobody_knows_is_no_answer_of_an_api_server(
    gateway: RunningGateway, tmp_path: Path
) -> None:
    transport = _through(gateway, tmp_path, ADMIN.token)
    answer = transport.send("nowhere", Request("GET", NAMESPACES), timeout=10)
    assert (answer.status, answer.body) == (404, b"404 page not found\n")
    transport.close()


@pytest.mark.parametrize(
    ("token", "path", "status"),
    [
        (PRODUCT.token, "/api/v1/nodes", 200),
        (PRODUCT.token, "/api/v1/secrets", 403),
        (PRODUCT.token, "/apis/apps/v1/namespaces/cpaas-system/deployments/a", 404),
        (READER.token, "/api/v1/secrets", 200),
        ("nobody", "/api/v1/nodes", 401),
    ],
)
def test_a_token_opens_what_its_role_says(
    gateway: RunningGateway, tmp_path: Path, token: str, path: str, status: int
) -> None:
    transport = _through(gateway, tmp_path, token)
    assert transport.send("edge-01", Request("GET", path), timeout=10).status == status
    transport.close()


def test_a_watch_brings_events_as_they_happen_and_ends_when_asked_to(
    gateway: RunningGateway, tmp_path: Path
) -> None:
    transport = _through(gateway, tmp_path, ADMIN.token)
    version = json.loads(transport.send("edge-01", Request("GET", NAMESPACES), timeout=10).body)["metadata"]
    connection = http.client.HTTPConnection(urlsplit(gateway.url).netloc, timeout=10)
    query = f"watch=1&timeoutSeconds=2&resourceVersion={version['resourceVersion']}"
    headers = {"Authorization": f"Bearer {ADMIN.token}"}
    connection.request("GET", f"/kubernetes/edge-01{NAMESPACES}?{query}", headers=headers)
    stream = connection.getresponse()
    name = tmp_path.name.replace("_", "-")
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    made = transport.send("edge-01", Request("POST", NAMESPACES, body=json.dumps(body).encode()), timeout=10)
    assert made.status == 201
    event = json.loads(stream.readline())
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", name)
    assert stream.read() == b""
    connection.close()
    transport.close()
