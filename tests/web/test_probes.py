"""Whether it lives, whether it is ready, and its metrics, over real HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pytest
from prometheus_client import CollectorRegistry, Counter, Metric
from prometheus_client.registry import Collector

from gitops_mc.core.errors import UsageError
from gitops_mc.web.probes import Leading, Probes, Readiness, Standby, Starting
from gitops_mc.web.pulse import Pulse, Pulses
from gitops_mc.web.serving import Running, serve
from tests.web.asking import Answer, ask, raw, served


@dataclass
class Controller:
    now: float = 1000.0
    pulses: Pulses = field(default_factory=Pulses)
    readiness: Readiness = field(default_factory=lambda: Leading(1))
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    running: Running | None = None
    errors: list[BaseException] = field(default_factory=list)

    def probes(self) -> Probes:
        return Probes(
            self.pulses,
            lambda: self.readiness,
            self.registry,
            lambda: self.now,
            self.errors.append,
            limit=60.0,
        )

    def ask(self, path: str, method: str = "GET", accept: str = "") -> Answer:
        assert self.running is not None
        return ask(self.running, method, path, headers={"accept": accept})


@pytest.fixture
def controller() -> Iterator[Controller]:
    """One that is served."""
    controller = Controller()
    with served(controller.probes().app()) as controller.running:
        yield controller


def test_a_loop_that_beats_is_alive(controller: Controller) -> None:
    controller.pulses.begin("fleet a/b", 990.0).beat(999.0)
    assert (controller.ask("/healthz").status, controller.ask("/healthz").text) == (200, "alive\n")


def test_a_loop_that_hangs_is_named_with_how_long_and_the_limit(controller: Controller) -> None:
    controller.pulses.begin("fleet a/b", 990.0)
    controller.pulses.begin("fleet c/d", 900.0)
    answer = controller.ask("/healthz")
    assert answer.status == 503
    assert answer.text == "fleet c/d: no sign of life for 100 s; the limit is 60 s\n"


def test_a_loop_that_ended_on_purpose_is_missed_by_nobody(controller: Controller) -> None:
    controller.pulses.begin("fleet a/b", 999.0)
    controller.pulses.begin("fleet c/d", 1.0)
    controller.pulses.end("fleet c/d")
    assert controller.ask("/healthz").status == 200


def test_a_process_without_any_loop_is_not_alive(controller: Controller) -> None:
    assert controller.ask("/healthz").status == 503


def test_a_clock_that_ran_back_makes_no_age() -> None:
    assert Pulse(10.0).age(5.0) == 0.0


@pytest.mark.parametrize(
    ("readiness", "status", "text"),
    [
        (Leading(2), 200, "ready: leads, fleets: 2\n"),
        (Standby("pod-b"), 200, "ready: on standby; the leader is pod-b\n"),
        (Standby(""), 200, "ready: on standby; the leader is not known\n"),
        (Starting("fleets cannot be listed: 403"), 503, "not ready: fleets cannot be listed: 403\n"),
    ],
)
def test_ready_is_who_has_listed_the_fleets_leader_or_not(
    controller: Controller, readiness: Readiness, status: int, text: str
) -> None:
    controller.readiness = readiness
    answer = controller.ask("/readyz")
    assert (answer.status, answer.text) == (status, text)


def test_metrics_are_those_of_the_registry_that_was_given_and_in_the_form_that_was_asked_for(
    controller: Controller,
) -> None:
    Counter("gitops_mc_x", "What x is.", registry=controller.registry).inc()
    answer = controller.ask("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert "gitops_mc_x_total 1.0\n" in answer.text
    assert "python_info" not in answer.text
    openmetrics = controller.ask("/metrics", accept="application/openmetrics-text; version=1.0.0")
    assert openmetrics.headers["content-type"].startswith("application/openmetrics-text")
    assert openmetrics.text.endswith("# EOF\n")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_only_reads_are_answered_and_heads_without_a_body(controller: Controller, path: str) -> None:
    controller.pulses.begin("fleet a/b", 999.0)
    head = controller.ask(path, "HEAD")
    assert (head.status, head.text) == (200, "")
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"):
        assert controller.ask(path, method).status == 405


def test_nothing_else_is_served_and_no_answer_names_the_server(controller: Controller) -> None:
    paths = (
        "/",
        "/healthz/",
        "/healthz/x",
        "/webhook/a/b",
        "/docs",
        "/metrics/..%2f",
        "/..%2f..%2fetc/passwd",
    )
    for path in paths:
        answer = controller.ask(path)
        assert (path, answer.status, answer.text) == (path, 404, "Not Found")
        assert "server" not in answer.headers
    assert "server" not in controller.ask("/readyz").headers


def test_a_port_that_is_taken_is_told_with_what_helps(controller: Controller) -> None:
    assert controller.running is not None
    port = controller.running.port
    with pytest.raises(UsageError, match=f"port {port} of 127.0.0.1 cannot be had"):
        serve(controller.probes().app(), "127.0.0.1", port)


def test_what_is_no_address_is_told() -> None:
    with pytest.raises(UsageError, match="no IP address"):
        serve(Controller().probes().app(), "localhost:80", 0)


def test_a_connection_that_asks_for_nothing_is_closed() -> None:
    probes = Controller().probes()
    with served(probes.app(), idle_limit=0.2) as running:
        begun = time.monotonic()
        assert raw(running, b"") == b""
        assert raw(running, b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ") == b""
        assert time.monotonic() - begun < 5


def test_a_stop_is_over_within_its_time_and_frees_the_port() -> None:
    probes = Controller().probes()
    running = serve(probes.app(), "127.0.0.1", 0)
    ask(running, "GET", "/readyz")
    begun = time.monotonic()
    running.stop(3.0)
    assert time.monotonic() - begun < 3.0
    again = serve(probes.app(), "127.0.0.1", running.port)
    assert ask(again, "GET", "/readyz").status == 200
    again.stop(3.0)


def test_a_fault_of_the_program_is_reported_and_told_to_nobody_outside(controller: Controller) -> None:
    class Broken(Collector):
        def describe(self) -> Iterable[Metric]:
            return ()

        def collect(self) -> Iterable[Metric]:
            raise ValueError("a secret")

    controller.registry.register(Broken())
    answer = controller.ask("/metrics")
    assert (answer.status, answer.text) == (500, "error\n")
    assert [str(error) for error in controller.errors] == ["a secret"]
    assert controller.ask("/readyz").status == 200
