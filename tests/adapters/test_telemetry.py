"""Whole rollouts as log, metrics and Kubernetes Events tell them, on an embedded fleet."""

from __future__ import annotations

import base64
import gc
import io
import itertools
import json
import random
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest

from gitops_mc.adapters.telemetry_events import KubernetesEvents, reference
from gitops_mc.adapters.telemetry_log import Log
from gitops_mc.adapters.telemetry_metrics import Metrics
from gitops_mc.app.api import RESOURCES, ClusterApi
from gitops_mc.app.forge_ports import ForgeWell
from gitops_mc.app.log_events import Level
from gitops_mc.app.looks import Look, Pace
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.app.telemetry import Telemetry
from gitops_mc.app.telemetry_ports import FleetMode
from gitops_mc.core.custom.shown import Pulled
from gitops_mc.core.errors import UnauthorizedError, UnreachableError
from gitops_mc.core.model import GLOBAL_CLUSTER, Commit, JsonObject
from gitops_mc.core.policy import DEFAULT_POLICY
from gitops_mc.core.redact import Redactor
from gitops_mc.core.rollout.moves import Done, Halted
from gitops_mc.sandbox.faults import FaultId
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config

FLEET = "ops/prod"
SECRET = "correct horse battery"


def config(text: str) -> str:
    return machine_config("50-worker-app", files={"/etc/app.conf": f"{text}\n"}, app_service=UNIT)


def everywhere(text: str) -> dict[str, str]:
    return {f"clusters/edge-{n}/app.yaml": config(text) for n in (1, 2, 3)}


@dataclass
class Lease:
    leads: bool = False
    holder: str = ""
    transitions: int = 0
    trouble: str = ""


@dataclass
class Poller:
    pulled: Pulled = field(default_factory=Pulled)
    before: Commit = Commit("")  # noqa: RUF009 - a text


class Observed:
    """A rollout whose every pass is told of."""

    def __init__(
        self,
        files: dict[str, str],
        redact: Callable[[str], str] = lambda text: text,
        wrap: Callable[[Transport], Transport] = lambda transport: transport,
    ) -> None:
        self.world = RolloutWorld(files=files, pace=Pace(every=timedelta(seconds=10)), wrap=wrap)
        self.redact = redact
        self.api = ClusterApi(
            self.world.fleet.transport(self.world.clock), self.world.clock, jitter=random.Random(0).random
        )
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ops"}}
        self.api.create(GLOBAL_CLUSTER, RESOURCES["Namespace"], namespace)
        self.stream = io.StringIO()
        self.beats = 0
        self.telemetry = self.process()

    def process(self) -> Telemetry:
        """A fresh process that knows nothing of what the last one told."""
        clock = self.world.clock
        log = Log(self.stream, clock.now, redact=self.redact, level=Level.DEBUG)
        self.metrics = Metrics("1", clock.now)
        self.events = KubernetesEvents(
            self.api,
            _reference,
            log,
            self.metrics,
            now=clock.now,
            instance="pod-a",
            redact=self.redact,
        )
        return Telemetry(
            log,
            self.metrics,
            clock.now,
            self._beat,
            identity="pod-a",
            namespace="ops",
            herald=self.events,
        )

    def _beat(self) -> None:
        self.beats += 1

    def run(self, **more: Any) -> object:
        begun = len(self.world.looks)
        until = more.pop("until", lambda look: False)

        def told(look: Look) -> bool:
            self.telemetry.looked(FLEET, look)
            self.telemetry.stepped(FLEET, 0.1)
            self.events.flush()
            return bool(until(look))

        outlook = self.world.run(until=told, **more)
        assert len(self.world.looks) > begun
        return outlook

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def logged(self, *but: str) -> list[str]:
        quiet = {"pass_done", "write_accepted", "step_started", *but}
        return [line["event"] for line in self.lines if line["event"] not in quiet]

    @property
    def written(self) -> tuple[JsonObject, ...]:
        return self.api.list(GLOBAL_CLUSTER, RESOURCES["Event"], namespace="ops")


def _reference(fleet: str, cluster: str) -> JsonObject | None:
    kind, name = ("ClusterRollout", cluster) if cluster else ("Fleet", "prod")
    meta = {"namespace": "ops", "name": name, "uid": f"uid-{name}"}
    return reference({"apiVersion": "gitops-mc.io/v1alpha1", "kind": kind, "metadata": meta})


def test_an_installation_is_told_in_order_and_each_thing_once() -> None:
    observed = Observed(everywhere("one"))
    assert isinstance(observed.run(), Done)
    told = observed.logged()
    assert told[0] == "wave_opened"
    assert told[-1] == "rollout_done"
    assert Counter(told) == {
        "wave_opened": 2,
        "cluster_started": 3,
        "cluster_passed": 3,
        "wave_done": 2,
        "rollout_done": 1,
    }
    written = {(e["involvedObject"]["name"], e["reason"], e["count"]) for e in observed.written}
    assert {("edge-1", "Started", 1), ("edge-3", "Passed", 1), ("prod", "RolloutDone", 1)} <= written
    assert {e["type"] for e in observed.written} == {"Normal"}


def test_an_event_of_the_log_is_an_event_in_kubernetes_with_the_same_words() -> None:
    observed = Observed(everywhere("one"))
    observed.run()
    logged = Counter(
        line["reason"] for line in observed.lines if line["event"] not in {"pass_done", "write_accepted"}
    )
    assert logged == Counter({event["message"]: event["count"] for event in observed.written})


def test_a_write_is_logged_with_cluster_step_and_revision() -> None:
    observed = Observed(everywhere("one"))
    observed.run()
    written = [line for line in observed.lines if line["event"] == "write_accepted"]
    assert {line["cluster"] for line in written} == {"edge-1", "edge-2", "edge-3"}
    assert all(line["revision"] and line["fleet"] == FLEET for line in written)
    assert "MachineConfig 50-worker-app created" in {line["what"] for line in written}


def test_a_failure_its_halt_and_its_repair_are_told_once_each() -> None:
    observed = Observed(everywhere("one"))
    observed.world.faults.set(FaultId.NODE_DEGRADED)
    observed.run()
    before = len(observed.logged())
    observed.world.files.update(everywhere("BROKEN"))
    assert isinstance(observed.run(), Halted)
    failing = observed.logged()[before:]
    assert [failing.count(name) for name in ("cluster_failed", "halted", "halt_lifted")] == [1, 1, 0]
    observed.world.files.update(everywhere("fixed"))
    assert isinstance(observed.run(), Done)
    repaired = observed.logged()[before + len(failing) :]
    assert [repaired.count(name) for name in ("halted", "halt_lifted", "cluster_failed")] == [0, 1, 0]
    assert repaired.count("cluster_passed") == 3
    failed = [e for e in observed.written if e["reason"] == "Failed"]
    assert [(e["type"], e["involvedObject"]["name"]) for e in failed] == [("Warning", "edge-1")]


def test_a_process_that_begins_while_it_is_halted_tells_what_stands_and_the_events_count_up() -> None:
    observed = Observed(everywhere("one"))
    observed.world.faults.set(FaultId.NODE_DEGRADED)
    observed.run()
    observed.world.files.update(everywhere("BROKEN"))
    observed.run()
    before = len(observed.logged())
    observed.telemetry = observed.process()
    observed.run(until=lambda look: True)
    again = observed.logged()[before:]
    assert "halted" in again
    assert "cluster_failed" in again
    assert "cluster_passed" not in again
    assert [e["count"] for e in observed.written if e["reason"] == "Halted"] == [2]


def test_a_gateway_that_is_gone_is_one_fault_and_no_news_of_any_cluster() -> None:
    observed = Observed(everywhere("one"))
    observed.run()
    before = len(observed.logged())
    gone = observed.world.faults.set(FaultId.GATEWAY_GONE)
    observed.world.files.update(everywhere("two"))
    observed.run(hours=1)
    observed.world.faults.clear(gone)
    assert isinstance(observed.run(), Done)
    told = [name for name in observed.logged()[before:] if name != "events_not_written"]
    assert told.count("fault") == told.count("fault_over") == 1
    assert "cluster_unreachable" not in told
    assert told.count("cluster_passed") == 3


def test_nothing_that_is_told_twice_of_one_pass_is_told() -> None:
    observed = Observed(everywhere("one"))
    observed.run()
    for look in observed.world.looks:
        fresh = observed.process()
        observed.telemetry = fresh
        fresh.looked(FLEET, look)
        before = len(observed.logged())
        fresh.looked(FLEET, look)
        assert observed.logged()[before:] == []


@dataclass
class Quoting:
    """A server that quotes what it was sent when it refuses it, as admission webhooks do."""

    inner: Transport

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if request.method == "GET" or "machineconfigs" not in request.path:
            return self.inner.send(cluster, request, timeout=timeout)
        message = f"denied the request: {request.body.decode()}"
        told = {"kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422, "message": message}
        return Response(422, json.dumps(told).encode())


def test_a_secret_that_a_server_quotes_is_in_no_log_and_no_event() -> None:
    spellings = (SECRET, quote(SECRET), base64.b64encode(SECRET.encode()).decode()[:20])
    shown = {}
    for name, redact in (
        ("open", lambda text: text),
        ("redacted", Redactor(DEFAULT_POLICY.sensitive, [SECRET.encode()]).redact),
    ):
        observed = Observed(everywhere(SECRET), redact, Quoting)
        observed.run(hours=1)
        texts = (observed.stream.getvalue(), json.dumps(observed.written))
        shown[name] = [sum(text.count(spelling) for spelling in spellings) for text in texts]
    assert min(shown["open"]) > 0, "the server's words are told, or this proves nothing"
    assert shown["redacted"] == [0, 0]


# -------------------------------------------------------------------------------------------------- the controller itself


@pytest.fixture
def observed() -> Observed:
    return Observed(everywhere("one"))


def test_polls_are_told_apart_by_whether_the_source_answered(observed: Observed) -> None:
    now = observed.world.clock.now()
    later = now + timedelta(minutes=1)

    def poll(commit: str, polled: datetime, problem: str = "") -> None:
        observed.telemetry.polled(FLEET, Poller(Pulled(Commit(commit), polled, problem)))

    poll("a", now)
    poll("a", now, "no route to git.example")
    poll("a", later, "commit b is not followed: fleet.yaml:3: unknown key")
    poll("c", later + timedelta(minutes=1))
    assert [line["result"] for line in observed.lines if line["event"] == "poll_done"] == [
        "good",
        "failed",
        "refused",
        "good",
    ]
    assert observed.logged("poll_done") == [
        "poll_failed",
        "poll_recovered",
        "revision_refused",
        "revision_found",
    ]


def test_the_lease_is_told_when_it_changes_hands(observed: Observed) -> None:
    for lease in (
        Lease(),
        Lease(holder="pod-b"),
        Lease(holder="pod-b"),
        Lease(leads=True, holder="pod-a", transitions=3),
    ):
        observed.telemetry.led(lease)
    observed.telemetry.lost("not renewed for 20 s")
    assert observed.logged() == ["lease_watched", "lease_watched", "lease_taken", "lease_lost"]
    assert observed.metrics.registry.get_sample_value("gitops_mc_leader") == 1
    assert observed.metrics.registry.get_sample_value("gitops_mc_lease_transitions") == 3


def test_a_fleet_that_is_gone_is_forgotten_with_everything_about_it(observed: Observed) -> None:
    observed.run()
    observed.telemetry.listed(frozenset({"prod"}))
    assert "fleet_forgotten" not in observed.logged()
    observed.telemetry.listed(frozenset())
    assert observed.logged()[-1] == "fleet_forgotten"
    assert observed.metrics.registry.get_sample_value("gitops_mc_halted", {"fleet": FLEET}) is None


def test_a_forge_that_answers_when_its_fleet_is_gone_brings_nothing_back(observed: Observed) -> None:
    observed.telemetry.polled(FLEET, Poller(Pulled(Commit("a" * 40), observed.world.clock.now())))
    observed.telemetry.listed(frozenset())
    observed.telemetry.forged(FLEET, UnreachableError("down"))
    observed.telemetry.listed(frozenset())
    assert observed.logged().count("fleet_forgotten") == 1
    assert "forge_failed" not in observed.logged()
    assert observed.telemetry.beside(FLEET) == {}


@pytest.mark.parametrize(
    ("end", "told"), [(ForgeWell.TAKES_AGAIN, ["forge_recovered"]), (ForgeWell.NONE_NAMED, [])]
)
def test_trouble_with_a_forge_is_shown_until_it_is_over(
    observed: Observed, end: ForgeWell, told: list[str]
) -> None:
    observed.telemetry.polled(FLEET, Poller(Pulled(Commit("a" * 40), observed.world.clock.now())))
    observed.telemetry.forged(FLEET, UnauthorizedError("answered 401", status=401, hint="another token"))
    assert observed.telemetry.beside(FLEET) == {"forge": {"problem": "answered 401; another token"}}
    observed.telemetry.forged(FLEET, end)
    assert observed.telemetry.beside(FLEET) == {}
    assert [e for e in observed.logged() if "forge_" in e] == ["forge_failed", *told]


def test_a_fleet_that_comes_back_from_another_installation_shows_no_trouble_of_before(
    observed: Observed,
) -> None:
    observed.telemetry.moded(FLEET, FleetMode.ACTIVE)
    observed.telemetry.polled(FLEET, Poller(Pulled(Commit("a" * 40), observed.world.clock.now())))
    observed.telemetry.forged(FLEET, UnreachableError("down"))
    observed.telemetry.moded(FLEET, FleetMode.ELSEWHERE)
    observed.telemetry.moded(FLEET, FleetMode.ACTIVE)
    assert observed.telemetry.beside(FLEET) == {}


def test_what_a_human_asked_for_is_told_in_both_places(observed: Observed) -> None:
    observed.telemetry.ordered(FLEET, ("wave rest is approved",))
    observed.events.flush()
    assert observed.logged() == ["ordered"]
    assert [(e["reason"], e["message"]) for e in observed.written] == [("Ordered", "wave rest is approved")]


def test_a_trouble_is_a_warning_and_is_counted(observed: Observed) -> None:
    observed.telemetry.troubled(FLEET, "changed meanwhile, looking again")
    assert [(line["event"], line["level"]) for line in observed.lines] == [("fleet_troubled", "warning")]
    assert observed.metrics.registry.get_sample_value("gitops_mc_troubles_total", {"fleet": FLEET}) == 1


def test_the_same_trouble_on_every_pass_is_logged_once_a_minute_with_how_often_it_was(
    observed: Observed,
) -> None:
    for _ in range(60):
        observed.telemetry.troubled(FLEET, "the Fleet cannot be read")
        observed.world.clock.wait(observed.world.clock.now() + timedelta(seconds=2))
    observed.telemetry.troubled(FLEET, "another one")
    told = [(line["reason"], line["times"]) for line in observed.lines]
    assert told == [("the Fleet cannot be read", 1), ("the Fleet cannot be read", 30), ("another one", 1)]
    assert observed.metrics.registry.get_sample_value("gitops_mc_troubles_total", {"fleet": FLEET}) == 61


def test_whoever_calls_the_webhook_without_the_secret_does_not_fill_the_log(observed: Observed) -> None:
    for _ in range(1000):
        observed.telemetry.webhook("", 401)
    observed.telemetry.webhook(FLEET, 202)
    told = [(line["fleet"], line["answer"], line["times"]) for line in observed.lines]
    assert told == [("", 401, 1), (FLEET, 202, 1)]
    name, labels = "gitops_mc_webhook_requests_total", {"fleet": "", "code": "401"}
    assert observed.metrics.registry.get_sample_value(name, labels) == 1000


@pytest.mark.slow
def test_pass_after_pass_nothing_grows(observed: Observed) -> None:
    observed.run()
    look = observed.world.last
    quiet = observed.process()
    quiet.log = Log(io.StringIO(), observed.world.clock.now)
    quiet.looked(FLEET, look)
    tracemalloc.start()
    try:
        found = []
        for _ in range(6):
            for _ in range(100):
                quiet.looked(FLEET, look)
            gc.collect()
            found.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    grown = [after - before for before, after in itertools.pairwise(found)]
    assert min(grown) < 1000, (
        f"{grown}: what grows with 100 passes does so in every round; the rest of the process may not"
    )


def test_a_beat_reaches_the_pulse(observed: Observed) -> None:
    observed.telemetry.beat(observed.world.clock.now())
    assert observed.beats == 1


def test_a_bug_in_telling_is_logged_and_goes_no_further(observed: Observed) -> None:
    observed.telemetry.polled(FLEET, None)  # type: ignore[arg-type]
    observed.telemetry.looked(FLEET, None)  # type: ignore[arg-type]
    observed.telemetry.failed("prod", ValueError("x"))
    assert [(line["event"], line["where"]) for line in observed.lines] == [
        ("crashed", "telling of a poll"),
        ("crashed", "telling of a pass"),
        ("crashed", "the loop of ops/prod"),
    ]


def test_a_webhook_that_hears_nobody_is_told_once_by_the_leader_and_when_it_hears_again(
    observed: Observed,
) -> None:
    observed.telemetry.hooked(FLEET, "Secret hook is not there")
    assert observed.logged() == []  # on standby: the leader tells
    observed.telemetry.leads = True
    for problem in ("", "Secret hook is not there", "Secret hook is not there", "", ""):
        observed.telemetry.hooked(FLEET, problem)
    observed.events.flush()
    assert observed.logged() == ["webhook_deaf", "webhook_hears"]
    (deaf, _) = observed.written
    assert (deaf["reason"], deaf["type"]) == ("WebhookDeaf", "Warning")
    assert deaf["message"] == "its webhook takes no request, and the poll goes on: Secret hook is not there"


def test_a_lease_that_nobody_can_have_is_told_once_a_minute(observed: Observed) -> None:
    for _ in range(20):
        observed.telemetry.led(Lease(trouble="namespace nope is not there"))
        observed.world.clock.wait_for(5)
    assert observed.logged() == ["lease_troubled", "lease_troubled"]
    observed.telemetry.led(Lease(leads=True, holder="pod-a"))
    assert observed.logged()[-1] == "lease_taken"
    assert not observed.telemetry.trouble
