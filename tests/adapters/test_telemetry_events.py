"""Kubernetes Events on an embedded API server: what is told, how often, and that nobody suffers when it cannot be."""

from __future__ import annotations

import io
import json
import random
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from gitops_mc.adapters.telemetry_events import (
    BURST,
    LONGEST_MESSAGE,
    WAITING_AT_MOST,
    KubernetesEvents,
    reference,
)
from gitops_mc.adapters.telemetry_log import Log
from gitops_mc.adapters.telemetry_metrics import Metrics
from gitops_mc.app.api import RESOURCES, ClusterApi, Patience
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.errors import UnreachableError
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject
from gitops_mc.core.render.happening import About, Happening, Reason
from gitops_mc.sandbox.fleet import SandboxFleet, simple_fleet
from gitops_mc.sandbox.virtual import VirtualClock

FLEET = "ops/prod"
SECRET = "correct horse battery"


def reference_of(kind: str, name: str) -> JsonObject:
    meta = {"namespace": "ops", "name": name, "uid": f"uid-{name}"}
    return reference({"apiVersion": "gitops-mc.io/v1alpha1", "kind": kind, "metadata": meta})


@dataclass
class Gate:
    """A transport that can be shut: no answer, or another one than the server's."""

    inner: Transport
    shut: bool = False
    answer: Response | None = None
    sent: list[Request] = field(default_factory=list)

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        self.sent.append(request)
        if self.shut:
            raise UnreachableError("the gateway is gone")
        return self.answer or self.inner.send(cluster, request, timeout=timeout)


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.servers = SandboxFleet(simple_fleet("edge-1"), self.clock.now)
        self.gate = Gate(self.servers.transport(self.clock))
        self.api = ClusterApi(
            self.gate, self.clock, jitter=random.Random(0).random, patience=Patience(attempts=1)
        )
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ops"}}
        self.api.create(GLOBAL_CLUSTER, RESOURCES["Namespace"], namespace)
        self.objects = {"": reference_of("Fleet", "prod"), "edge-1": reference_of("ClusterRollout", "edge-1")}
        self.stream = io.StringIO()
        self.metrics = Metrics("1", self.clock.now)
        self.events = self.process()

    def process(self) -> KubernetesEvents:
        """A fresh process: it knows nothing of what was written before."""
        return KubernetesEvents(
            self.api,
            lambda fleet, cluster: self.objects.get(cluster) if fleet == FLEET else None,
            Log(self.stream, self.clock.now),
            self.metrics,
            now=self.clock.now,
            instance="pod-a",
            redact=lambda text: text.replace(SECRET, "[sensitive, 21 bytes]"),
        )

    def tell(self, *found: Happening) -> None:
        self.events.offer(FLEET, found, self.clock.now())
        self.events.flush()

    def pass_(self, **span: float) -> None:
        self.clock.wait(self.clock.now() + timedelta(**span))

    @property
    def written(self) -> tuple[JsonObject, ...]:
        return self.api.list(GLOBAL_CLUSTER, RESOURCES["Event"], namespace="ops")

    def counted(self, result: str) -> float:
        return (
            self.metrics.registry.get_sample_value("gitops_mc_kubernetes_events_total", {"result": result})
            or 0
        )

    @property
    def log(self) -> list[str]:
        return [json.loads(line)["event"] for line in self.stream.getvalue().splitlines()]


@pytest.fixture
def world() -> World:
    return World()


FAILED = Happening(
    Reason.CLUSTER_FAILED, "edge-1 has failed: pool worker: node n1 is Degraded", "edge-1", "canary"
)
HALTED = Happening(Reason.HALTED, "no new write anywhere: edge-1 failed")


def test_what_happens_to_a_cluster_is_an_event_on_its_rollout_object(world: World) -> None:
    world.tell(FAILED)
    (event,) = world.written
    now = world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    assert event["involvedObject"] == {
        "apiVersion": "gitops-mc.io/v1alpha1",
        "kind": "ClusterRollout",
        "namespace": "ops",
        "name": "edge-1",
        "uid": "uid-edge-1",
    }
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "Failed", FAILED.text)
    assert (event["count"], event["firstTimestamp"], event["lastTimestamp"]) == (1, now, now)
    assert (event["source"], event["reportingInstance"]) == ({"component": "gitops-mc"}, "pod-a")


def test_kubectl_describe_finds_it_by_the_object_it_is_about(world: World) -> None:
    world.tell(FAILED, HALTED)
    about = "involvedObject.kind=Fleet,involvedObject.uid=uid-prod"
    found = world.api.list(GLOBAL_CLUSTER, RESOURCES["Event"], namespace="ops", fields=about)
    assert [event["reason"] for event in found] == ["Halted"]


def test_the_same_again_within_an_hour_counts_up_and_after_it_is_another_event(world: World) -> None:
    world.tell(FAILED)
    world.pass_(minutes=40)
    world.tell(FAILED)
    world.pass_(minutes=40)
    world.tell(FAILED)
    (event,) = world.written
    assert event["count"] == 3
    assert (
        event["firstTimestamp"] < event["lastTimestamp"] == world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    )
    world.pass_(minutes=61)
    world.tell(FAILED)
    assert sorted(event["count"] for event in world.written) == [1, 3]
    assert (world.counted("created"), world.counted("counted")) == (2, 2)


def test_another_message_or_another_object_is_another_event(world: World) -> None:
    other = Happening(Reason.CLUSTER_FAILED, "edge-1 has failed: pool master", "edge-1")
    world.tell(FAILED, other, HALTED)
    assert len(world.written) == 3


def test_a_process_that_begins_anew_counts_up_what_the_last_one_wrote(world: World) -> None:
    world.tell(FAILED)
    world.events = world.process()
    world.tell(FAILED)
    assert [event["count"] for event in world.written] == [2]


def test_an_event_that_has_expired_on_the_server_is_made_again(world: World) -> None:
    world.tell(FAILED)
    (event,) = world.written
    meta = event["metadata"]
    world.api.delete(
        GLOBAL_CLUSTER,
        RESOURCES["Event"],
        meta["name"],
        uid=meta["uid"],
        version=meta["resourceVersion"],
        namespace="ops",
    )
    world.tell(FAILED)
    assert [event["count"] for event in world.written] == [1]


def test_a_cluster_that_flaps_floods_nobody_and_silences_no_other(world: World) -> None:
    for minute in range(120):
        world.tell(Happening(Reason.CLUSTER_BLOCKED, f"edge-1 is blocked: {minute}", "edge-1"))
        world.pass_(minutes=1)
    world.tell(HALTED)
    flapping = [event for event in world.written if event["involvedObject"]["name"] == "edge-1"]
    assert BURST < len(flapping) <= BURST + 120 / 5
    assert world.counted("dropped") == 120 - len(flapping)
    assert len(world.written) == len(flapping) + 1


def test_a_cluster_without_an_object_of_its_own_is_told_of_on_its_fleet(world: World) -> None:
    world.tell(Happening(Reason.CLUSTER_UNREGISTERED, "the platform knows no such cluster", "edge-9"))
    (event,) = world.written
    assert event["involvedObject"]["name"] == "prod"
    assert event["message"] == "edge-9: the platform knows no such cluster"


def test_secrets_are_taken_out_before_a_long_message_is_cut(world: World) -> None:
    filling = "x" * (LONGEST_MESSAGE - 10)
    world.tell(
        Happening(Reason.HALTED, f"{filling}{SECRET}"),
        Happening(Reason.FAULT, "GET: {'Authorization': 'Bearer abc'}\n\x1b[31m"),
    )
    halted, fault = sorted(world.written, key=lambda event: str(event["reason"]), reverse=True)
    assert len(halted["message"].encode()) <= LONGEST_MESSAGE
    assert "correct" not in halted["message"]
    assert fault["message"] == "GET: {'Authorization': '[hidden]'}\\n\\x1b[31m"


def test_a_message_of_wide_letters_is_cut_at_a_letter(world: World) -> None:
    world.tell(Happening(Reason.HALTED, "ü" * LONGEST_MESSAGE))
    (event,) = world.written
    assert event["message"].strip("ü") == "..."


def test_what_cannot_be_written_waits_and_is_written_when_it_can(world: World) -> None:
    world.gate.shut = True
    for _ in range(100):
        world.tell()
        world.events.flush()
    world.tell(FAILED, HALTED)
    for _ in range(50):
        world.events.flush()
    world.gate.shut = False
    world.pass_(minutes=5)
    world.events.flush()
    assert sorted(event["reason"] for event in world.written) == ["Failed", "Halted"]
    assert world.log == ["events_not_written"]


def test_what_is_told_of_a_fleet_that_is_gone_holds_up_no_other(world: World) -> None:
    world.events.offer("ops/gone", (HALTED,), world.clock.now())
    world.tell(FAILED)
    assert [event["reason"] for event in world.written] == ["Failed"]
    world.pass_(minutes=11)
    world.events.flush()
    assert world.counted("dropped") == 1


def test_what_waits_for_its_object_is_written_in_its_order_once_that_is_there(world: World) -> None:
    about = world.objects.pop("")
    world.tell(HALTED, FAILED, Happening(Reason.HALT_LIFTED, "the halt is lifted"))
    assert [event["reason"] for event in world.written] == ["Failed"]
    world.objects[""] = about
    sent = len(world.gate.sent)
    world.events.flush()
    later = [json.loads(request.body)["reason"] for request in world.gate.sent[sent:]]
    assert later == ["Halted", "HaltLifted"]


def test_what_cannot_be_written_for_long_is_dropped(world: World) -> None:
    world.gate.shut = True
    world.tell(FAILED)
    world.pass_(minutes=11)
    world.events.flush()
    world.gate.shut = False
    world.events.flush()
    assert world.written == ()
    assert world.counted("dropped") == 1


def test_no_more_wait_than_memory_is_meant_to_hold(world: World) -> None:
    world.gate.shut = True
    world.tell(*(Happening(Reason.HALTED, f"{n}") for n in range(WAITING_AT_MOST + 500)))
    assert world.counted("dropped") == 500


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 429, 500, 503])
def test_no_answer_of_the_server_gets_out(world: World, status: int) -> None:
    reason = {400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "AlreadyExists"}
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": status,
        "reason": reason.get(status, ""),
        "message": "no",
    }
    world.gate.answer = Response(status, json.dumps(body).encode(), {"content-type": "application/json"})
    world.tell(FAILED, HALTED)
    world.tell(FAILED)
    assert world.counted("created") == 0
    assert world.counted("failed") >= 2
    world.gate.answer = None
    assert world.log == ["events_not_written"]


def test_an_answer_that_is_no_kubernetes_gets_out_neither(world: World) -> None:
    world.gate.answer = Response(200, b"<html>log in</html>", {"content-type": "text/html"})
    world.tell(FAILED)
    assert world.counted("failed") == 1


def test_every_reason_is_a_word_as_kubernetes_has_them_and_used_once() -> None:
    words = [reason.word for reason in Reason]
    assert len(set(words)) == len(words)
    assert all(word.isalpha() and word[0].isupper() and len(word) <= 128 for word in words)
    assert {reason.about for reason in Reason} == set(About)
