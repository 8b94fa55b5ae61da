"""An API server with pods and budgets on it, and what a plan that drains nodes finds there."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from gitops_mc.app.api import ClusterApi, Patience
from gitops_mc.app.observe_drains import observe_drains
from gitops_mc.app.ports import JSON, MERGE_PATCH, Request, Response
from gitops_mc.core.errors import UnreachableError
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import DesiredCluster, JsonObject, content_of
from gitops_mc.core.plan import ClusterPlan
from gitops_mc.core.preview.hindrances import Drains, DrainsNotRead, HindranceKind
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.preview import ClusterPreview
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer, Rule, User
from gitops_mc.sandbox.virtual import VirtualClock
from tests.core.gate_worlds import MASTER_LABEL, cluster, node, pool
from tests.core.test_preview_nodes import impact

START = datetime(2026, 1, 1, tzinfo=UTC)
EDGE, READER = "edge-01", "reader"
MAY_READ = Rule(("list",), ("", "policy"), ("pods", "poddisruptionbudgets"))
POOLS = [pool("worker"), pool("master", roles=["master"], label=MASTER_LABEL)]
AsAdmin = Callable[[Request], Response]


@dataclass
class Recorded:
    """A transport that notes what it carried, and can be made slow, deaf or forgetful."""

    server: ApiServer
    clock: VirtualClock
    slow: timedelta = timedelta(0)
    gone: int = 0
    """Pages after the first that are answered with 410."""
    deaf: str = ""
    asked: list[str] = field(default_factory=list)

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        query = dict(request.query)
        self.asked.append(f"{request.path}?{query.get('fieldSelector', '')}")
        self.clock.wait(self.clock.now() + self.slow)
        if self.deaf and request.path.endswith(self.deaf):
            raise UnreachableError(f"{cluster} did not answer within {timeout}")
        if "continue" in query and self.gone:
            self.gone -= 1
            told = {
                "kind": "Status",
                "reason": "Expired",
                "message": "the continue token is too old",
                "code": 410,
            }
            return Response(410, json.dumps(told).encode())
        return self.server.handle(replace(request, token=READER))

    def pods_asked(self) -> list[str]:
        return [asked for asked in self.asked if "/pods?" in asked]


@dataclass
class World:
    transport: Recorded
    clock: VirtualClock
    api: ClusterApi

    def read(self, cluster_preview: ClusterPreview) -> Drains | DrainsNotRead | None:
        return observe_drains(self.api, self.clock, cluster_preview)


def world(pods: Iterable[JsonObject], budgets: Iterable[JsonObject] = (), *, page: int = 5) -> World:
    clock = VirtualClock(START)
    server = ApiServer("edge-01", now=clock.now)
    server.grant(READER, User(READER, (MAY_READ,)))
    fill(lambda request: server.handle(replace(request, token=ADMIN_TOKEN)), pods, budgets)
    transport = Recorded(server, clock)
    api = ClusterApi(transport, clock, jitter=random.Random(0).random, patience=Patience(page=page))
    return World(transport, clock, api)


def fill(handle: AsAdmin, pods: Iterable[JsonObject], budgets: Iterable[JsonObject]) -> None:
    """Each made by whoever makes it, and then given its status by whoever writes that."""
    pods, budgets = tuple(pods), tuple(budgets)
    for name in sorted({body["metadata"]["namespace"] for body in (*pods, *budgets)}):
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        _sent(handle, "POST", "/api/v1/namespaces", space, 201, 409)
        _sent(handle, "POST", f"/api/v1/namespaces/{name}/serviceaccounts", account, 201, 409, 404)
    for body in pods:
        _put(handle, {"apiVersion": "v1", "kind": "Pod", **body}, "/api/v1/namespaces/{}/pods")
    for body in budgets:
        made = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", **body}
        _put(handle, made, "/apis/policy/v1/namespaces/{}/poddisruptionbudgets")


def _put(handle: AsAdmin, body: JsonObject, path: str) -> None:
    meta = {key: value for key, value in body["metadata"].items() if key != "generation"}
    where = path.format(meta["namespace"])
    _sent(handle, "POST", where, {**body, "metadata": meta}, 201)
    _sent(handle, "PATCH", f"{where}/{meta['name']}/status", {"status": body["status"]}, 200)


def _sent(handle: AsAdmin, method: str, path: str, body: JsonObject, *expected: int) -> None:
    kind = MERGE_PATCH if method == "PATCH" else JSON
    answer = handle(Request(method, path, body=json.dumps(body).encode(), content_type=kind))
    assert answer.status in expected, answer.body


def plan(*nodes: str, of: int = 3, live: LiveCluster | None = None) -> ClusterPreview:
    """A plan that reboots these of so many workers; names are `n1` and so on."""
    live = live or cluster(POOLS, nodes=[node(f"n{at + 1}") for at in range(of)])
    desired = DesiredCluster("edge-01", (), content_of(()))
    drained = ClusterPlan("edge-01", desired.content, impacts=(impact(*nodes),) if nodes else ())
    return ClusterPreview(desired, live, "", Standing.READY, "", drained)


def kinds(found: Drains | DrainsNotRead | None) -> list[tuple[str, HindranceKind, str]]:
    assert isinstance(found, Drains), found
    return [(h.node, h.kind, h.subject) for h in found.hindrances]
