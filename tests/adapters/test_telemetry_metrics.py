"""The metrics of whole rollouts, as Prometheus would scrape them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from gitops_mc.adapters.telemetry_metrics import Metrics
from gitops_mc.adapters.telemetry_rows import PREFIX, ROWS, MetricKind, Row
from gitops_mc.adapters.telemetry_transport import MeasuredTransport
from gitops_mc.app.looks import Look, Pace
from gitops_mc.app.ports import JSON_PATCH, Request, Response
from gitops_mc.app.telemetry_ports import Credential, FleetMode
from gitops_mc.core.errors import UnreachableError
from gitops_mc.core.model import Commit
from gitops_mc.core.render.polls import PollFailed, PollGood, PollRefused
from gitops_mc.core.rollout.moves import Done, Halted, Standing
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config

FLEET = "ops/prod"
NOW = datetime(2026, 5, 1, 10, 42, tzinfo=UTC)
GOOD = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
BAD = machine_config("50-worker-app", files={"/etc/app.conf": "BROKEN\n"}, app_service=UNIT)


class Scraped:
    """Metrics, and what a scrape of them says."""

    def __init__(self) -> None:
        self.now = NOW
        self.metrics = Metrics("1.2.3", lambda: self.now)

    def series(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        text = generate_latest(self.metrics.registry).decode()
        return {
            (sample.name.removeprefix(PREFIX), tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name.startswith(PREFIX)
        }

    def value(self, name: str, **labels: str) -> float | None:
        return self.series().get((name, tuple(sorted(labels.items()))))

    def of(self, look: Look) -> Scraped:
        self.now = look.at
        self.metrics.looked(FLEET, look)
        return self


@pytest.fixture
def scraped() -> Scraped:
    return Scraped()


def rolled(files: dict[str, str], fault: FaultId | None = None) -> RolloutWorld:
    world = RolloutWorld(files=files, pace=Pace(every=timedelta(seconds=20)))
    if fault is not None:
        world.faults.set(fault)
    world.run()
    return world


def everywhere(config: str) -> dict[str, str]:
    return {f"clusters/edge-{n}/app.yaml": config for n in (1, 2, 3)}


def test_a_rollout_is_seen_from_its_first_pass_to_its_end(scraped: Scraped) -> None:
    world = rolled(everywhere(GOOD))
    progress: list[float] = []
    waiting: list[float] = []
    for look in world.looks:
        scraped.of(look)
        progress.append(scraped.value("rollout_progress_ratio", fleet=FLEET) or 0.0)
        waiting.append(scraped.value("gate_waiting_seconds", fleet=FLEET, cluster="edge-1") or 0.0)
        states = [scraped.value("clusters", fleet=FLEET, state=s.value) or 0.0 for s in Standing]
        assert sum(states) == 3
        open_waves = [
            v
            for (n, labels), v in scraped.series().items()
            if n == "wave_state" and ("wave", "rest") in labels
        ]
        assert sum(open_waves) == 1
    assert progress == sorted(progress)
    assert (progress[0], progress[-1]) == (0.0, 1.0)
    assert (waiting[0], waiting[-1]) == (0.0, 0.0)
    assert max(waiting) > 60
    assert scraped.value("wave_state", fleet=FLEET, wave="rest", state="done") == 1
    assert scraped.value("last_pass_timestamp_seconds", fleet=FLEET) == world.last.at.timestamp()


def test_a_gate_that_waits_goes_on_waiting_between_two_passes(scraped: Scraped) -> None:
    world = RolloutWorld(files=everywhere(GOOD), pace=Pace(every=timedelta(seconds=20)))
    world.run(until=lambda look: len(look.written) > 0)
    world.run(until=lambda look: any(c.standing is Standing.IN_FLIGHT for c in look.decision.clusters))
    scraped.of(world.last)
    before = scraped.value("gate_waiting_seconds", fleet=FLEET, cluster="edge-1")
    scraped.now += timedelta(seconds=90)
    assert scraped.value("gate_waiting_seconds", fleet=FLEET, cluster="edge-1") == (before or 0.0) + 90


def test_a_halt_a_failure_and_their_end_are_seen(scraped: Scraped) -> None:
    world = rolled(everywhere(GOOD), FaultId.NODE_DEGRADED)
    scraped.of(world.last)
    assert scraped.value("halted", fleet=FLEET) == 0
    world.files.update(everywhere(BAD))
    assert isinstance(world.run(), Halted)
    scraped.of(world.last)
    assert scraped.value("halted", fleet=FLEET) == 1
    assert scraped.value("clusters", fleet=FLEET, state="failed") == 1
    world.files.update(everywhere(GOOD))
    assert isinstance(world.run(), Done)
    assert scraped.of(world.last).value("halted", fleet=FLEET) == 0


def test_drift_is_counted_and_what_is_not_known_has_no_number(scraped: Scraped) -> None:
    world = rolled(everywhere(GOOD))
    scraped.of(world.last)
    assert scraped.value("drift_objects", fleet=FLEET, cluster="edge-1") == 0
    assert scraped.value("refusals", fleet=FLEET, cluster="edge-1") == 0
    fresh = RolloutWorld(files=everywhere(GOOD))
    fresh.faults.set(FaultId.GATEWAY_GONE)
    fresh.run(until=lambda look: True)
    scraped.of(fresh.last)
    assert scraped.value("drift_objects", fleet=FLEET, cluster="edge-1") is None
    assert scraped.value("refusals", fleet=FLEET, cluster="edge-1") is None


def test_a_fault_of_the_whole_fleet_is_one_number(scraped: Scraped) -> None:
    world = rolled(everywhere(GOOD))
    assert scraped.of(world.last).value("fleet_fault", fleet=FLEET) == 0
    world.faults.set(FaultId.GATEWAY_GONE)
    world.run(hours=1, until=lambda look: all(x.dark is not None for x in look.live.values()))
    assert scraped.of(world.last).value("fleet_fault", fleet=FLEET) == 1


def test_what_is_gone_has_no_series_any_more(scraped: Scraped) -> None:
    world = rolled(everywhere(GOOD))
    scraped.of(world.last)
    for cluster in ("edge-1", "edge-3", "global"):
        scraped.metrics.requested(FLEET, cluster, "read", "2xx", 0.1)
        scraped.metrics.wrote(FLEET, cluster, "MachineConfig", "accepted")
    scraped.metrics.requested("ops/other", "edge-3", "read", "2xx", 0.1)
    del world.files["clusters/edge-3/app.yaml"]
    world.run(
        until=lambda look: len(look.decision.clusters) == 2 or look.decision.clusters[-1].cluster != "edge-3"
    )
    view = [c for c in world.last.decision.clusters if c.cluster != "edge-3"]
    scraped.of(replace(world.last, decision=replace(world.last.decision, clusters=tuple(view))))
    left = {labels for _, labels in scraped.series() if ("cluster", "edge-3") in labels}
    assert {dict(labels)["fleet"] for labels in left} == {"ops/other"}
    assert scraped.value("api_requests_total", fleet=FLEET, cluster="global", code="2xx") == 1
    scraped.metrics.stepped(FLEET, 1.0)
    scraped.metrics.forgotten(FLEET)
    scraped.metrics.forgotten("never/seen")
    assert [labels for _, labels in scraped.series() if ("fleet", FLEET) in labels] == []


def test_three_hundred_clusters_make_a_bounded_number_of_series(scraped: Scraped) -> None:
    names = tuple(f"edge-{n:03}" for n in range(300))
    world = RolloutWorld(spec=simple_fleet("edge-000"), files={f"clusters/{n}/app.yaml": GOOD for n in names})
    world.run(until=lambda look: True)
    scraped.of(world.last)
    for name in names:
        for code in ("2xx", "3xx", "4xx", "5xx", "none", "other"):
            for verb in ("read", "create", "patch", "replace", "delete", "other"):
                scraped.metrics.requested(FLEET, name, verb, code, 0.1)
        for kind in ("MachineConfig", "MachineConfigPool", "MachineConfiguration", "ModuleInfo"):
            for result in ("accepted", "refused", "failed"):
                scraped.metrics.wrote(FLEET, name, kind, result)
    scraped.metrics.stepped(FLEET, 1.0)
    of_clusters = [labels for _, labels in scraped.series() if "cluster" in dict(labels)]
    assert len(of_clusters) <= 300 * 22  # 6 classes of answers, 12 kinds of writes, and 4 others
    assert len(scraped.series()) - len(of_clusters) < 200


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_has_a_series_once_there_is_something_to_say(scraped: Scraped, row: Row) -> None:
    _everything(scraped)
    name = row.full.removeprefix(PREFIX) + ("_bucket" if row.kind is MetricKind.HISTOGRAM else "")
    assert name in {name for name, _ in scraped.series()}


_WORLD: list[RolloutWorld] = []


def _everything(scraped: Scraped) -> None:
    if not _WORLD:
        _WORLD.append(rolled(everywhere(GOOD)))
    metrics = scraped.of(_WORLD[0].last).metrics
    metrics.stepped(FLEET, 0.3)
    metrics.polled(FLEET, PollGood(Commit("a")), NOW)
    metrics.troubled(FLEET)
    metrics.moded(FLEET, FleetMode.SUSPENDED)
    metrics.expires(FLEET, Credential.GATEWAY, NOW)
    metrics.requested(FLEET, "edge-1", "read", "2xx", 0.1)
    metrics.wrote(FLEET, "edge-1", "MachineConfig", "accepted")
    metrics.saved(FLEET, "saved")
    metrics.webhook(FLEET, 202)
    metrics.events("created")
    metrics.notified(FLEET, "sent")


def test_no_series_is_there_that_is_in_no_row_and_no_label_but_its_row_names(scraped: Scraped) -> None:
    _everything(scraped)
    known = {
        row.full.removeprefix(PREFIX): set(row.labels) for row in ROWS if row.kind is not MetricKind.HISTOGRAM
    }
    for row in ROWS:
        if row.kind is MetricKind.HISTOGRAM:
            known |= {f"{row.name}_{part}": {*row.labels} for part in ("sum", "count")}
            known[f"{row.name}_bucket"] = {*row.labels, "le"}
    for name, labels in scraped.series():
        assert {key for key, _ in labels} == known[name], name


def test_polls_by_result_and_when_the_last_good_one_was(scraped: Scraped) -> None:
    scraped.metrics.polled(FLEET, PollGood(Commit("a")), NOW)
    scraped.metrics.polled(FLEET, PollFailed("no route"), NOW)
    scraped.metrics.polled(FLEET, PollRefused("not signed"), NOW + timedelta(seconds=60))
    assert scraped.value("last_good_poll_timestamp_seconds", fleet=FLEET) == NOW.timestamp()
    assert [scraped.value("polls_total", fleet=FLEET, result=r) for r in ("good", "failed", "refused")] == [
        1,
        1,
        1,
    ]


def test_a_credential_that_says_no_end_has_no_number(scraped: Scraped) -> None:
    scraped.metrics.expires(FLEET, Credential.GATEWAY, NOW)
    scraped.metrics.expires(FLEET, Credential.GIT, None)
    assert (
        scraped.value("token_expiry_timestamp_seconds", fleet=FLEET, credential="gateway") == NOW.timestamp()
    )
    assert scraped.value("token_expiry_timestamp_seconds", fleet=FLEET, credential="git") is None
    scraped.metrics.expires(FLEET, Credential.GATEWAY, None)
    assert scraped.value("token_expiry_timestamp_seconds", fleet=FLEET, credential="gateway") is None


def test_suspended_and_elsewhere_are_two_things(scraped: Scraped) -> None:
    for mode, numbers in (
        (FleetMode.SUSPENDED, (1, 0)),
        (FleetMode.ELSEWHERE, (0, 1)),
        (FleetMode.ACTIVE, (0, 0)),
    ):
        scraped.metrics.moded(FLEET, mode)
        assert (
            scraped.value("suspended", fleet=FLEET),
            scraped.value("active_elsewhere", fleet=FLEET),
        ) == numbers


# ----------------------------------------------------------------------------------------------------------- transport


class Answers:
    """A transport that gives one answer after the other, or none."""

    def __init__(self, *statuses: int | None) -> None:
        self.statuses = list(statuses)

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        status = self.statuses.pop(0)
        if status is None:
            raise UnreachableError("no answer")
        return Response(status, b"{}")


MC = "/apis/machineconfiguration.alauda.io/v1alpha1/machineconfigs"
ROLLOUT = "/apis/gitops-mc.io/v1alpha1/namespaces/ops/clusterrollouts/edge-1"


def sent(scraped: Scraped, request: Request, *statuses: int | None) -> None:
    transport = MeasuredTransport(Answers(*statuses), FLEET, scraped.metrics, iter(range(1000)).__next__)
    for status in statuses:
        try:
            assert transport.send("edge-1", request, timeout=1.0).status == status
        except UnreachableError:
            assert status is None


def test_requests_are_counted_by_cluster_and_class_of_answer(scraped: Scraped) -> None:
    sent(scraped, Request("GET", MC), 200, 200, 404, 500, None, 101)
    found = {
        dict(labels)["code"]: value
        for (name, labels), value in scraped.series().items()
        if name == "api_requests_total"
    }
    assert found == {"2xx": 2, "4xx": 1, "5xx": 1, "none": 1, "other": 1}
    assert scraped.value("api_request_seconds_by_cluster_total", fleet=FLEET, cluster="edge-1") == 6
    assert scraped.value("api_request_seconds_count", verb="read") == 6
    assert [name for name, _ in scraped.series() if name.startswith("writes")] == []


def test_writes_are_counted_by_kind_and_what_became_of_them(scraped: Scraped) -> None:
    sent(scraped, Request("PATCH", f"{MC}/a"), 200, 201, 409, 422, 429, 500, None)

    def count(result: str) -> float | None:
        return scraped.value(
            "writes_total", fleet=FLEET, cluster="edge-1", kind="MachineConfig", result=result
        )

    assert [count(result) for result in ("accepted", "refused", "failed")] == [2, 2, 3]


@pytest.mark.parametrize(
    "request_",
    [
        Request("PATCH", f"{MC}/a", query=(("dryRun", "All"),)),
        Request("DELETE", f"{MC}/a", body=b'{"dryRun": ["All"]}'),
        Request("POST", "/api/v1/namespaces/ops/events"),
        Request("POST", f"{MC}extra"),
        Request("PUT", "/apis/coordination.k8s.io/v1/namespaces/ops/leases/x"),
    ],
)
def test_what_changes_nothing_of_ours_is_no_write(scraped: Scraped, request_: Request) -> None:
    sent(scraped, request_, 200)
    assert [name for name, _ in scraped.series() if name.startswith(("writes", "memory"))] == []


def test_a_real_deletion_is_a_write(scraped: Scraped) -> None:
    sent(scraped, Request("DELETE", f"{MC}/a", body=b'{"preconditions": {"uid": "x"}}'), 200)
    assert (
        scraped.value("writes_total", fleet=FLEET, cluster="edge-1", kind="MachineConfig", result="accepted")
        == 1
    )


def test_the_controller_itself_remembers_nothing(scraped: Scraped) -> None:
    """A process on standby asks for a poll by an annotation on the Fleet: no save of a memory."""
    answered = MeasuredTransport(Answers(200), "", scraped.metrics, lambda: 0.0)
    answered.send("global", Request("PATCH", ROLLOUT, content_type=JSON_PATCH), timeout=1.0)
    assert [name for name, _ in scraped.series() if name.startswith("memory")] == []


def test_what_is_remembered_is_counted_as_saved_or_in_conflict(scraped: Scraped) -> None:
    sent(scraped, Request("PATCH", ROLLOUT, content_type=JSON_PATCH), 200, 409, 422, None)
    assert [
        scraped.value("memory_saves_total", fleet=FLEET, result=r) for r in ("saved", "conflict", "failed")
    ] == [1, 1, 2]
