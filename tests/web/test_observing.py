"""The controller as it runs, seen over real HTTP: probes, metrics, the webhook, and its Events, connected as in the product."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pytest

from gitops_mc.app.controller.fleet_loop import FleetLoop
from gitops_mc.bootstrap.means import Data
from gitops_mc.bootstrap.observing import Observing
from gitops_mc.web.serving import Running
from tests.scenarios.controller_world import NAMESPACE, ControllerWorld, Replica
from tests.scenarios.rollout_world import UNIT, machine_config
from tests.web.asking import ask

CONFIG = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
SECRET = b"a long secret"
HOOK = f"/webhook/{NAMESPACE}/prod"
KNOWN = {"X-Gitlab-Token": SECRET.decode()}


class Process:
    """A controller's process with everything that watches it."""

    def __init__(self) -> None:
        self.world = ControllerWorld()
        self.world.push({f"clusters/edge-{n}/app.yaml": CONFIG for n in (1, 2, 3)})
        self.stream = io.StringIO()
        self.observing = Observing(self.stream, self.world.machine, NAMESPACE, "one")
        measured = self.observing.measured
        self.world.rollout.wrap = lambda inner: measured(inner, "prod")
        self.replica: Replica = self.world.process()
        controller = self.replica.controller
        made = controller.open_loop

        def open_loop(name: str) -> FleetLoop:
            loop = made(name)
            loop.watcher = self.observing.telemetry
            return loop

        controller.open_loop = open_loop
        controller.attendant = self.observing.telemetry
        self.observing.attach(controller, str, controller.outside, Data(controller.outside, NAMESPACE))
        self.probes: Running = self.observing.serve_probes("127.0.0.1", 0)
        self.hook: Running = self.observing.serve_webhook(
            "127.0.0.1", 0, lambda fleet: (SECRET,) if fleet == "prod" else (), controller.wake
        )

    def run(self, outlook: str) -> None:
        self.world.run(self.replica, until=lambda w: w.outlook() == outlook)

    def metric(self, name: str) -> float:
        lines = ask(self.probes, "GET", "/metrics").text.splitlines()
        return float(next(line for line in lines if line.startswith(name)).rpartition(" ")[2])


@pytest.fixture
def process() -> Iterator[Process]:
    process = Process()
    yield process
    process.observing.close(3.0)


def test_a_process_is_alive_at_once_and_ready_when_it_has_listed_the_fleets(process: Process) -> None:
    assert ask(process.probes, "GET", "/healthz").status == 200
    waiting = ask(process.probes, "GET", "/readyz")
    assert (waiting.status, waiting.text) == (503, "not ready: the Fleets have not been listed yet\n")
    process.replica.controller.tick()
    ready = ask(process.probes, "GET", "/readyz")
    assert (ready.status, ready.text) == (200, "ready: leads, fleets: 1\n")


def test_a_second_process_is_ready_on_standby_and_names_the_leader(process: Process) -> None:
    leader = process.world.process("another")
    leader.controller.tick()
    process.replica.controller.tick()
    ready = ask(process.probes, "GET", "/readyz")
    assert (ready.status, ready.text) == (200, "ready: on standby; the leader is another\n")


def test_where_nobody_can_lead_it_is_not_ready_and_says_why(process: Process) -> None:
    process.replica.controller.leadership.namespace = "nope"
    process.replica.controller.tick()
    waiting = ask(process.probes, "GET", "/readyz")
    assert waiting.status == 503
    assert waiting.text.startswith("not ready: namespace nope is not there, so nobody can lead")


def test_a_rollout_is_in_the_metrics_and_its_events_stand_in_the_namespace(process: Process) -> None:
    process.run("done")
    fleet = f'fleet="{NAMESPACE}/prod"'
    assert process.metric(f"gitops_mc_rollout_progress_ratio{{{fleet}}}") == 1
    assert (
        process.metric(
            f'gitops_mc_writes_total{{cluster="edge-1",{fleet},kind="MachineConfig",result="accepted"}}'
        )
        == 1
    )
    assert process.metric(f'gitops_mc_memory_saves_total{{{fleet},result="saved"}}') > 3
    assert process.metric("gitops_mc_leader") == 1
    process.observing.close(3.0)
    events = process.world.kubectl("GET", f"/api/v1/namespaces/{NAMESPACE}/events")["items"]
    assert {"Started", "Passed", "WaveDone", "RolloutDone"} <= {event["reason"] for event in events}


def test_a_push_wakes_the_poll_long_before_its_time(process: Process) -> None:
    process.run("done")
    loop = process.replica.controller.loops["prod"]
    assert loop.poller is not None
    before = loop.poller.answers
    assert ask(process.hook, "POST", HOOK, b"{}", KNOWN).status == 202
    process.replica.controller.tick()
    process.replica.controller.tick()
    assert loop.poller.answers == before + 1


def test_whoever_does_not_know_the_secret_is_told_nothing_and_the_log_has_it(process: Process) -> None:
    process.replica.controller.tick()
    for path in (HOOK, "/webhook/elsewhere/prod", f"/webhook/{NAMESPACE}/nothing"):
        headers = {"X-Gitlab-Token": "guess"} if path == HOOK else KNOWN
        assert ask(process.hook, "POST", path, b"{}", headers).status == 401
    told = [json.loads(line) for line in process.stream.getvalue().splitlines()]
    assert [(e["fleet"], e["answer"]) for e in told if e["event"] == "webhook_answered"] == [("", 401)]
    assert process.metric('gitops_mc_webhook_requests_total{code="401",fleet=""}') == 3
