"""etcd was restored from a copy: resourceVersions run backwards, and one that was seen may come again with other content."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from gitops_mc.app.api import RESOURCES, ClusterApi
from gitops_mc.app.observe import ClusterReader, Interest
from gitops_mc.app.ports import Request, Response
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import JsonObject, Known
from gitops_mc.sandbox.apiserver import ApiServer, User
from gitops_mc.sandbox.client import ApiClient
from gitops_mc.sandbox.virtual import VirtualClock

START = datetime(2026, 1, 1, tzinfo=UTC)
TOKEN, EDGE = "t", "edge-1"


def config(argument: str) -> JsonObject:
    return {
        "apiVersion": "machineconfiguration.alauda.io/v1alpha1",
        "kind": "MachineConfig",
        "metadata": {"name": "50-worker-app"},
        "spec": {"kernelArguments": [argument]},
    }


def pool(most: int) -> JsonObject:
    return {
        "apiVersion": "machineconfiguration.alauda.io/v1alpha1",
        "kind": "MachineConfigPool",
        "metadata": {"name": "worker"},
        "spec": {"maxUnavailable": most},
    }


def history(at: datetime, argument: str, most: int) -> ApiServer:
    """A server whose objects have the same names, uids and versions whatever stands in them."""
    server = ApiServer(EDGE, now=lambda: at, tokens={TOKEN: User("admin")})
    server.install_machine_apis()
    person = ApiClient(server, TOKEN, "kubectl-edit")
    person.create("machineconfigs", config(argument))
    person.create("machineconfigpools", pool(most))
    return server


@dataclass
class Cluster:
    """A transport to one cluster, whose server may be another one from now on; counts bodies of configs."""

    server: ApiServer
    bodies: list[str] = field(default_factory=list)

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if request.path.startswith(RESOURCES["MachineConfig"].collection() + "/"):
            self.bodies.append(request.path)
        return self.server.handle(replace(request, token=TOKEN))


def seen(live: LiveCluster) -> tuple[object, object]:
    assert isinstance(live.configs, Known)
    assert isinstance(live.pools, Known)
    (one,), (other,) = live.configs.value.values(), live.pools.value.values()
    return one["spec"]["kernelArguments"], other["spec"]["maxUnavailable"]


def test_nothing_that_was_read_before_the_restore_is_believed_after_it() -> None:
    cluster = Cluster(history(START, "before", 1))
    clock = VirtualClock(START)
    reader = ClusterReader(ClusterApi(cluster, clock, jitter=random.Random(0).random), EDGE, clock)
    live = reader.read(None, Interest())
    live = reader.read(live, Interest())
    assert seen(live) == (["before"], 1)
    assert len(cluster.bodies) == 1, "what has not moved is not read again"
    cluster.server = history(START + timedelta(hours=1), "after", 2)
    live = reader.read(live, Interest())
    assert seen(live) == (["after"], 2)
