"""Pods and budgets of a cluster, read through the port from an embedded server: page by page, by node or all of them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from gitops_mc.app.api import ClusterApi, Patience
from gitops_mc.app.observe_drains import FEW_NAMESPACES, LONGEST, observe_drains, observe_fleet_drains
from gitops_mc.app.ports import MERGE_PATCH, Clock, Request, Response
from gitops_mc.core.errors import UnreachableError
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import JsonObject, Unknown, content_of
from gitops_mc.core.model.desired import DesiredCluster
from gitops_mc.core.plan import ClusterPlan
from gitops_mc.core.preview.model import Drains, DrainsNotRead, HindranceKind
from gitops_mc.core.preview.workloads import survey
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.preview import ClusterPreview
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer, Rule, User
from gitops_mc.sandbox.virtual import VirtualClock, VirtualWorkers
from tests.core.gate_worlds import MASTER_LABEL, cluster, node, pool
from tests.core.pod_worlds import budget, pod, static
from tests.core.test_preview_nodes import impact

START = datetime(2026, 1, 1, tzinfo=UTC)
READER = "reader"
MAY_READ = Rule(("list",), ("", "policy"), ("pods", "poddisruptionbudgets"))
POOLS = [pool("worker"), pool("master", roles=["master"], label=MASTER_LABEL)]


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
    clock: Clock
    api: ClusterApi

    def read(self, cluster_preview: ClusterPreview) -> Drains | DrainsNotRead | None:
        return observe_drains(self.api, self.clock, cluster_preview)


def world(pods: Iterable[JsonObject], budgets: Iterable[JsonObject] = (), *, page: int = 5) -> World:
    clock = VirtualClock(START)
    server = ApiServer("edge-01", now=clock.now)
    server.grant(READER, User(READER, (MAY_READ,)))
    pods, budgets = tuple(pods), tuple(budgets)
    spaces = {body["metadata"]["namespace"] for body in (*pods, *budgets)}
    for name in sorted(spaces - {"kube-system"}):
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        _sent(server, "POST", "/api/v1/namespaces", space)
    for body in pods:
        _put(server, {"apiVersion": "v1", "kind": "Pod", **body}, "/api/v1/namespaces/{}/pods")
    for body in budgets:
        budget_body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", **body}
        _put(server, budget_body, "/apis/policy/v1/namespaces/{}/poddisruptionbudgets")
    transport = Recorded(server, clock)
    api = ClusterApi(transport, clock, jitter=random.Random(0).random, patience=Patience(page=page))
    return World(transport, clock, api)


def _put(server: ApiServer, body: JsonObject, path: str) -> None:
    """As whoever makes it, and then as whoever writes its status."""
    meta = body["metadata"]
    where = path.format(meta["namespace"])
    meta = {key: value for key, value in meta.items() if key != "generation"}
    made = _sent(server, "POST", where, {**body, "metadata": meta})
    assert made["metadata"]["name"] == meta["name"]
    _sent(server, "PATCH", f"{where}/{meta['name']}/status", {"status": body["status"]})


def _sent(server: ApiServer, method: str, path: str, body: JsonObject) -> JsonObject:
    kind = {"PATCH": MERGE_PATCH}.get(method, "application/json")
    answer = server.handle(
        Request(method, path, body=json.dumps(body).encode(), content_type=kind, token=ADMIN_TOKEN)
    )
    assert answer.status < 300, answer.body
    found: JsonObject = json.loads(answer.body)
    return found


def plan(*nodes: str, of: int = 3, live: LiveCluster | None = None) -> ClusterPreview:
    """A plan that reboots these of so many workers; names are `n1` and so on."""
    live = live or cluster(POOLS, nodes=[node(f"n{at + 1}") for at in range(of)])
    desired = DesiredCluster("edge-01", (), content_of(()))
    drained = ClusterPlan("edge-01", desired.content, impacts=(impact(*nodes),) if nodes else ())
    return ClusterPreview(desired, live, "", Standing.READY, "", drained)


def kinds(found: Drains | DrainsNotRead | None) -> list[tuple[str, HindranceKind, str]]:
    assert isinstance(found, Drains), found
    return [(h.node, h.kind, h.subject) for h in found.hindrances]


WEB = [pod(f"web-{at}", f"n{at}") for at in (1, 2, 3)]
OTHERS = [
    pod("db-1", "n2", owner=("StatefulSet", "db")),
    pod("agent-1", "n1", owner=("DaemonSet", "agent")),
    pod("run-1", "n1", owner=("Job", "run"), phase="Succeeded"),
    static("etcd", "n1"),
]


def test_what_the_server_says_of_budgets_and_pods_is_what_is_told() -> None:
    found = world([*WEB, *OTHERS], [budget()]).read(plan("n1", "n2"))
    assert kinds(found) == [
        ("n1", HindranceKind.BUDGET, "shop/web"),
        ("n2", HindranceKind.BUDGET, "shop/web"),
        ("n1", HindranceKind.SINGLE, "kube-system/etcd"),
        ("n2", HindranceKind.SINGLE, "shop/db"),
    ]


def test_where_nothing_is_drained_nothing_is_asked() -> None:
    there = world(WEB)
    assert there.read(plan()) is None
    assert there.transport.asked == []


def test_few_nodes_of_many_are_asked_for_by_name_and_counted_in_their_namespaces() -> None:
    elsewhere = [pod(f"x-{at}", "n9", namespace="bank") for at in range(30)]
    there = world([*WEB, *OTHERS, *elsewhere], [budget()])
    found = there.read(plan("n2", of=40))
    assert kinds(found) == [
        ("n2", HindranceKind.BUDGET, "shop/web"),
        ("n2", HindranceKind.SINGLE, "shop/db"),
    ]
    asked = {a.partition(",")[0] for a in there.transport.pods_asked()}
    assert asked == {"/api/v1/pods?spec.nodeName=n2", "/api/v1/namespaces/shop/pods?status.phase!=Succeeded"}


def test_a_replica_on_a_node_that_is_not_drained_counts_both_ways() -> None:
    pods = [pod("web-1", "n1"), pod("web-2", "n30")]
    assert kinds(world(pods).read(plan("n1", of=40))) == []
    assert kinds(world(pods).read(plan("n1", of=3))) == []


def test_both_ways_of_reading_give_the_same() -> None:
    draw = random.Random(7)
    owners = [("Deployment", f"d{at}") for at in range(60)] + [
        ("StatefulSet", "db"),
        ("DaemonSet", "a"),
        None,
    ]
    pods = [
        pod(f"p{at}", f"n{draw.randint(1, 40)}", owner=draw.choice(owners), namespace=draw.choice(["a", "b"]))
        for at in range(120)
    ]
    for first in (1, 11, 21):
        nodes = [f"n{at}" for at in range(first, first + 5)]
        by_node, all_of_them = (world(pods).read(plan(*nodes, of=of)) for of in (40, 39))
        assert isinstance(by_node, Drains)
        assert isinstance(all_of_them, Drains)
        assert by_node.hindrances == all_of_them.hindrances != ()


def test_pods_of_many_namespaces_are_counted_in_one_list() -> None:
    pods = [pod(f"web-{at}", "n1", namespace=f"s{at}") for at in range(FEW_NAMESPACES + 1)]
    there = world(pods, page=100)
    assert len(kinds(there.read(plan("n1", of=40)))) == FEW_NAMESPACES + 1
    assert [a.partition("?")[0] for a in there.transport.pods_asked()] == ["/api/v1/pods", "/api/v1/pods"]


def test_finished_pods_are_not_even_sent() -> None:
    there = world([*WEB, pod("run-1", owner=("Job", "run"), phase="Failed")])
    there.read(plan("n1"))
    assert all(
        "status.phase!=Succeeded,status.phase!=Failed" in asked for asked in there.transport.pods_asked()
    )


# --------------------------------------------------------------------------------------------------------- not read


@pytest.mark.parametrize("resource", ["pods", "poddisruptionbudgets"])
def test_a_token_that_may_not_list_them_still_says_what_the_nodes_say_and_why_it_knows_no_more(
    resource: str,
) -> None:
    there = world(WEB, [budget()])
    rest = {"pods", "poddisruptionbudgets"} - {resource}
    there.transport.server.grant(READER, User(READER, (Rule(("list",), ("", "policy"), tuple(rest)),)))
    live = cluster(POOLS, nodes=[node("n1"), node("n2"), node("m1", labels=[])])
    found = there.read(plan("n1", live=live))
    assert isinstance(found, DrainsNotRead)
    assert "403" in found.reason
    assert resource in found.reason
    assert "an option of the installation" in found.reason
    assert [n.nodes for n in found.notes] == [("m1",)]


def test_a_server_that_does_not_answer_is_not_read_and_never_nothing_in_the_way() -> None:
    there = world(WEB, [budget()])
    there.transport.deaf = "/pods"
    found = there.read(plan("n1"))
    assert isinstance(found, DrainsNotRead)
    assert "did not answer" in found.reason


def test_pods_that_take_too_long_are_not_read() -> None:
    there = world([*WEB, *(pod(f"x-{at}") for at in range(40))])
    there.transport.slow = LONGEST / 4
    found = there.read(plan("n1"))
    assert isinstance(found, DrainsNotRead)
    assert f"took longer than {LONGEST.total_seconds():.0f} seconds" in found.reason
    assert len(there.transport.asked) < 8


def test_a_list_that_expires_in_the_middle_is_begun_anew_and_nothing_counts_twice() -> None:
    there = world([*WEB, *(pod(f"x-{at}", "n9") for at in range(9))], [budget()])
    there.transport.gone = 2
    assert kinds(there.read(plan("n1"))) == [("n1", HindranceKind.BUDGET, "shop/web")]
    there.transport.gone = 99
    found = there.read(plan("n1"))
    assert isinstance(found, DrainsNotRead)
    assert "expired 3 times" in found.reason


def test_of_a_cluster_whose_nodes_were_not_read_it_is_not_known() -> None:
    there = world(WEB)
    live = replace(cluster(POOLS), nodes=Unknown("not needed", START))
    preview = plan("n1", live=live)
    assert preview.plan is not None
    unnamed = replace(preview, plan=replace(preview.plan, impacts=(impact(count=3),)))
    found = there.read(unnamed)
    assert isinstance(found, DrainsNotRead)
    assert there.transport.asked == []


# ---------------------------------------------------------------------------------------------------------- the fleet


def test_a_cluster_that_is_too_slow_holds_up_no_other() -> None:
    there = world(WEB, [budget()])
    fast, none = plan("n1"), plan()
    late = replace(fast, desired=replace(fast.desired, name="edge-02"))
    idle = replace(none, desired=replace(none.desired, name="edge-03"))
    clock = there.clock
    assert isinstance(clock, VirtualClock)

    class Late(Recorded):
        def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
            if cluster == "edge-02":
                self.clock.wait(self.clock.now() + 2 * LONGEST)
            return super().send(cluster, request, timeout=timeout)

    api = ClusterApi(Late(there.transport.server, clock), clock, jitter=random.Random(0).random)
    found = observe_fleet_drains(api, clock, VirtualWorkers(clock), [fast, late, idle])
    assert set(found) == {"edge-01", "edge-02"}
    assert kinds(found["edge-01"]) == [("n1", HindranceKind.BUDGET, "shop/web")]
    slow = found["edge-02"]
    assert isinstance(slow, DrainsNotRead)
    assert "no answer within 60 seconds" in slow.reason


def test_only_what_is_asked_of_a_pod_is_kept() -> None:
    body = pod("web-1")
    body["spec"]["containers"] = [{"name": "a", "env": [{"name": "PASSWORD", "value": "hunter2"}]}]
    kept, replicas = survey([body], frozenset({"n1"}), {})
    assert "web-1" in repr(kept)
    assert "hunter2" not in repr((kept, replicas))
