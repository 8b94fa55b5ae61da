from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gitops_mc.app.ports import JSON, Request, Response
from gitops_mc.core.errors import UnreachableError, UsageError
from gitops_mc.sandbox.behind import Behind
from gitops_mc.sandbox.faults import FAULTS, FOREVER, FaultBoard, FaultId, parse_fault
from gitops_mc.sandbox.virtual import VirtualClock
from tests.sandbox.platform_world import EDGE, World, config

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def later(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def test_every_fault_has_a_row_with_a_sentence() -> None:
    assert set(FAULTS) == set(FaultId)
    assert all(len(kind.sentence.split()) > 3 for kind in FAULTS.values())


def test_a_fault_holds_for_its_clusters_within_its_window() -> None:
    board = FaultBoard()
    fault = board.set("late-render", cluster="edge-*", start=later(10), end=later(20), seconds=7)
    assert [bool(board.active(FaultId.LATE_RENDER, "edge-1", later(s))) for s in (9, 10, 19, 20)] == [
        False, True, True, False,
    ]  # fmt: skip
    assert board.active(FaultId.LATE_RENDER, "prod", later(15)) == ()
    assert fault.delay() == timedelta(seconds=7)
    assert [board.next_change(later(s)) for s in (0, 10, 20)] == [later(10), later(20), FOREVER]


def test_the_fault_set_last_counts_and_subjects_are_globs() -> None:
    board = FaultBoard()
    board.set(FaultId.DRIFT, node="n*", path="/first")
    last = board.set(FaultId.DRIFT, node="n1", path="/last")
    found = board.find(FaultId.DRIFT, "c", T0, node="n1")
    other = board.find(FaultId.DRIFT, "c", T0, node="n2")
    assert found is last
    assert other is not None
    assert other.text("path") == "/first"
    board.clear(last)
    assert board.find(FaultId.DRIFT, "c", T0, node="n1") is other


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("late-rendr", "did you mean late-render?"),
        ("late-render:secs=3", "it knows: seconds"),
        ("late-render:seconds", "write it as name=value"),
        ("late-render:seconds=soon", ""),
    ],
)
def test_what_is_not_understood_is_refused_with_a_hint(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_fault(FaultBoard(), text, T0)
    assert caught.value.hint == hint


def test_a_fault_can_be_written_as_text() -> None:
    board = FaultBoard()
    parsed = parse_fault(board, "http-error:cluster=edge-1,status=429,nth=3,after=30,for=60", T0)
    assert (parsed.cluster, parsed.start, parsed.end) == ("edge-1", later(30), later(90))
    assert (parsed.number("status"), parsed.number("nth"), parsed.number("times")) == (429, 3, 1)


# ------------------------------------------------------------------------------------------------- on the transport

POOLS = Request("GET", "/apis/machineconfiguration.alauda.io/v1alpha1/machineconfigpools")
NODES = Request("GET", "/api/v1/nodes")
MACHINE_CONFIGS = "/apis/machineconfiguration.alauda.io/v1alpha1/machineconfigs"
CREATE = Request("POST", MACHINE_CONFIGS, body=json.dumps(config("50-worker-a")).encode(), content_type=JSON)


class Calls:
    def __init__(self) -> None:
        self.world = World()
        self.transport = self.world.fleet.transport(self.world.clock)

    def send(self, request: Request, cluster: str = EDGE, timeout: float = 10) -> Response:
        return self.transport.send(cluster, request, timeout=timeout)

    def status(self, request: Request) -> int:
        return self.send(request).status

    def dark(self, request: Request) -> float:
        """Seconds until the call is given up."""
        before = self.world.seconds()
        with pytest.raises(UnreachableError):
            self.send(request)
        return self.world.seconds() - before

    def exists(self) -> bool:
        return self.world.edge.get("machineconfigs", "50-worker-a") is not None


def test_without_faults_a_call_costs_no_time() -> None:
    calls = Calls()
    assert calls.status(POOLS) == 200
    assert calls.world.seconds() == 0


@pytest.mark.parametrize("status", [401, 403, 409, 422, 429, 500])
def test_the_nth_matching_call_answers_an_error_and_takes_no_effect(status: int) -> None:
    calls = Calls()
    calls.world.faults.set(FaultId.HTTP_ERROR, method="POST", path="*/machineconfigs", nth=2, status=status)
    assert calls.status(POOLS) == 200
    calls.status(CREATE)
    calls.world.edge.delete("machineconfigs", "50-worker-a")
    response = calls.send(CREATE)
    body = json.loads(response.body)
    assert (response.status, body["kind"], body["code"]) == (status, "Status", status)
    assert ("retry-after" in response.headers) == (status == 429)
    assert not calls.exists()
    assert calls.status(CREATE) == 201


@pytest.mark.parametrize(
    ("fault", "exists"), [(FaultId.TIMEOUT_BEFORE, False), (FaultId.TIMEOUT_AFTER, True)]
)
def test_a_time_out_before_or_after_the_write_took_effect(fault: FaultId, exists: bool) -> None:  # noqa: FBT001
    calls = Calls()
    calls.world.faults.set(fault, method="POST")
    assert calls.dark(CREATE) == 10
    assert calls.exists() is exists


@pytest.mark.parametrize(("how", "cost"), [("timeout", 10), ("refused", 0)])
def test_a_dark_cluster_costs_a_time_out_or_is_refused_at_once(how: str, cost: float) -> None:
    calls = Calls()
    calls.world.faults.set(FaultId.GATEWAY_GONE, cluster=EDGE, how=how)
    assert calls.dark(NODES) == cost
    assert calls.send(NODES, "global").status == 200


def test_a_dark_cluster_may_be_answered_for_by_the_gateway_itself() -> None:
    calls = Calls()
    calls.world.faults.set(FaultId.GATEWAY_GONE, cluster=EDGE, how="bad-gateway")
    response = calls.send(NODES)
    assert (response.status, response.headers["content-type"]) == (502, "text/html")


def test_behind_an_http_gateway_tokens_are_the_clients_and_a_dark_cluster_is_answered_for() -> None:
    world = World()
    servers = Behind(world.fleet.servers, lambda inner: world.fleet.faulty(inner, world.clock))
    known = replace(NODES, token=world.fleet.token)
    assert (servers[EDGE].handle(known).status, servers[EDGE].handle(NODES).status) == (200, 401)
    world.faults.set(FaultId.GATEWAY_GONE, cluster=EDGE)
    assert servers[EDGE].handle(known).status == 504
    assert world.seconds() == servers.timeout


def test_latency_is_paid_and_one_beyond_the_time_out_is_a_time_out() -> None:
    calls = Calls()
    slow = calls.world.faults.set(FaultId.LATENCY, seconds=0.5)
    calls.send(NODES)
    assert calls.world.seconds() == 0.5
    calls.world.faults.clear(slow)
    calls.world.faults.set(FaultId.LATENCY, seconds=30)
    assert calls.dark(NODES) == 10


def test_a_dry_run_is_refused_and_the_write_itself_is_not() -> None:
    calls = Calls()
    calls.world.faults.set(FaultId.DRY_RUN_REFUSED)
    dry = Request("POST", MACHINE_CONFIGS, query=(("dryRun", "All"),), body=CREATE.body)
    assert calls.status(dry) == 400
    assert calls.status(CREATE) == 201


def test_a_reader_may_read_and_not_write() -> None:
    world = World()
    reader = world.fleet.transport(world.clock, token=world.fleet.reader_token)
    assert reader.send(EDGE, POOLS, timeout=1).status == 200
    assert reader.send(EDGE, CREATE, timeout=1).status == 403


def test_jitter_is_drawn_by_the_seed_alone() -> None:
    def spent(seed: int) -> float:
        world = World(seed=seed)
        world.faults.set(FaultId.LATENCY, seconds=0.1, jitter=1.0)
        world.fleet.transport(world.clock).send(EDGE, NODES, timeout=10)
        return world.seconds()

    assert spent(1) == spent(1) != spent(2)
    assert 0.1 < spent(1) < 1.1


def test_the_clock_of_a_job_pays_for_its_own_time_outs() -> None:
    clock = VirtualClock()
    start = clock.now()
    _, end = clock.account(lambda: clock.wait(clock.now() + timedelta(seconds=10)))
    assert (clock.now(), end) == (start, start + timedelta(seconds=10))
