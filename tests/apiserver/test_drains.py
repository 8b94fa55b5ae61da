"""Pods and budgets on a real API server: it takes what the tests build, and a preview finds there what it finds in the embedded one."""

from __future__ import annotations

import random

import pytest

from gitops_mc.app.api import ClusterApi, Patience
from gitops_mc.app.observe_drains import observe_drains
from gitops_mc.core.model import JsonObject
from gitops_mc.core.preview.hindrances import Drains, DrainsNotRead
from gitops_mc.sandbox.transport import DirectTransport
from gitops_mc.sandbox.virtual import VirtualClock
from tests.apiserver.clusters import RealClusters
from tests.apiserver.installed import administrator
from tests.apiserver.rights import GATEWAY
from tests.app.drain_worlds import EDGE, START, fill, plan, world
from tests.core.pod_worlds import EMPTY_DIR, budget, pod, static
from tests.deploy.rendering import DEPLOY

pytestmark = pytest.mark.apiserver
PODS = [
    *(pod(f"web-{at}", f"n{at}") for at in (1, 2, 3)),
    pod("db-0", "n1", owner=("StatefulSet", "db"), volumes=[EMPTY_DIR]),
    pod("agent-1", "n1", owner=("DaemonSet", "agent")),
    pod("run-1", "n1", owner=("Job", "run"), phase="Succeeded"),
    pod("debug", "n1", owner=None),
    static("etcd", "n1"),
]
BUDGETS: list[JsonObject] = [
    budget(),
    budget("db", healthy=1, needed=1, expected=1),
    budget("loose", selector={"matchLabels": {"app": "debug"}}, allowed=1, maxUnavailable="50%"),
]


@pytest.mark.parametrize("of", [3, 40], ids=["all pods", "pods of a node"])
def test_a_preview_finds_on_a_real_server_what_it_finds_on_the_embedded_one(
    real_clusters: RealClusters, tmp_path_factory: pytest.TempPathFactory, of: int
) -> None:
    """Under the rights of deploy/workload-pods, page by page; before they are applied it says that it may not."""
    real_clusters.start(EDGE)
    server, clock = real_clusters.servers[EDGE], VirtualClock(START)
    admin = administrator(real_clusters, EDGE, tmp_path_factory.mktemp("admin"))
    transport = DirectTransport({EDGE: server}, GATEWAY.token)
    api = ClusterApi(transport, clock, jitter=random.Random(0).random, patience=Patience(page=2))
    admin.said("delete", "clusterrolebinding", "gitops-mc-pods", "--ignore-not-found")
    refused = observe_drains(api, clock, plan("n1", of=of))
    assert isinstance(refused, DrainsNotRead)
    assert "403" in refused.reason
    admin.said("apply", "-k", str(DEPLOY / "workload-pods"))
    if of == 3:
        fill(server.as_admin, PODS, BUDGETS)
    found = observe_drains(api, clock, plan("n1", of=of))
    embedded = world(PODS, BUDGETS, page=2).read(plan("n1", of=of))
    assert isinstance(found, Drains)
    assert isinstance(embedded, Drains)
    assert found.hindrances == embedded.hindrances
    assert len(found.hindrances) == 5
