"""The identity of an installation: made once, whoever else begins at the same moment."""

from __future__ import annotations

import random
from dataclasses import dataclass

from gitops_mc.app.api import ClusterApi
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.bootstrap.controller import installation_identity
from gitops_mc.core.model import GLOBAL_CLUSTER
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer
from gitops_mc.sandbox.transport import DirectTransport
from gitops_mc.sandbox.virtual import VirtualClock


@dataclass
class Overtaken:
    """Another replica makes the ConfigMap between the first look of this one and its first write."""

    inner: Transport
    other: ClusterApi
    identity: str = ""

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if request.method == "POST" and not self.identity:
            self.identity = installation_identity(self.other)
        return self.inner.send(cluster, request, timeout=timeout)


def test_replicas_that_begin_together_have_one_identity() -> None:
    clock = VirtualClock()
    servers = {GLOBAL_CLUSTER: ApiServer(GLOBAL_CLUSTER, now=clock.now)}
    straight = DirectTransport(servers, ADMIN_TOKEN)
    jitter = random.Random(0).random
    overtaken = Overtaken(straight, ClusterApi(straight, clock, jitter=jitter))
    late = installation_identity(ClusterApi(overtaken, clock, jitter=jitter))
    assert late == overtaken.identity != ""
    assert installation_identity(ClusterApi(straight, clock, jitter=jitter)) == late
