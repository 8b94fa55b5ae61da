"""A cluster that answers what no API server should answer is named, and the others go on without it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.app.use_cases.planning import Session, ask_servers, plan_fleet
from gitops_mc.app.use_cases.standing import stand
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import JsonObject, Known
from gitops_mc.core.policy import Sensitive
from gitops_mc.core.redact import Redactor, secrets_of
from gitops_mc.core.render.plan_text import plan_text
from gitops_mc.core.rollout.case import not_understood
from gitops_mc.core.rollout.moves import Hold, Standing
from tests.scenarios.rollout_world import FLEET, UNIT, RolloutWorld, machine_config

APP = machine_config("50-worker-app", app_service=UNIT)
FILES = {
    "fleet.yaml": FLEET.replace("maxConcurrent: 10", "maxConcurrent: 10\n    maxUnreachable: 1"),
    **{f"clusters/edge-{n}/app.yaml": APP for n in (1, 2, 3)},
}


@dataclass
class Mangled:
    """Changes every object that edge-2 answers of one kind."""

    inner: Transport
    kind: str
    change: Callable[[JsonObject], None]

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        answer = self.inner.send(cluster, request, timeout=timeout)
        if (
            cluster != "edge-2"
            or request.method != "GET"
            or self.kind not in request.path
            or answer.status != 200
        ):
            return answer
        body = json.loads(answer.body)
        for item in body.get("items", [body]):
            self.change(item)
        return replace(answer, body=json.dumps(body).encode())


def at(*path: str, value: Any) -> Callable[[JsonObject], None]:
    def change(item: JsonObject) -> None:
        for step in path[:-1]:
            item = item.setdefault(step, {})
        item[path[-1]] = value

    return change


MANGLED = pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("machineconfigpools", at("metadata", "managedFields", value="x")),
        (
            "machineconfigpools",
            at("metadata", "managedFields", value=[{"manager": "gitops-mc", "fieldsV1": ["x"]}]),
        ),
        ("machineconfigpools", at("spec", "nodeSelector", value={"matchLabels": ["x"]})),
        ("machineconfigpools", at("spec", "machineConfigSelector", value={"matchExpressions": 3})),
        ("machineconfigpools", at("status", "conditions", value={"type": "Updated"})),
        (
            "machineconfigurations",
            at("spec", "nodeDisruptionPolicy", value={"files": [{"path": "/a", "actions": 3}]}),
        ),
        (
            "machineconfigurations",
            at("status", value={"nodeDisruptionPolicyStatus": {"clusterPolicies": ["x"]}}),
        ),
        ("machineconfigs", at("spec", "config", value=["x"])),
    ],
)


@MANGLED
def test_the_others_are_rolled_and_it_is_named(kind: str, change: Callable[[JsonObject], None]) -> None:
    world = RolloutWorld(files=dict(FILES))
    world.wrap = lambda transport: Mangled(transport, kind, change)
    outlook = world.run(hours=8)
    assert world.standing("edge-1") is Standing.PASSED
    assert world.standing("edge-3") is Standing.PASSED
    if world.standing("edge-2") is not Standing.PASSED:
        assert isinstance(outlook, Hold), outlook
        assert any("edge-2" in reason for reason in outlook.reasons)


@MANGLED
def test_the_plan_of_the_others_is_shown_and_it_is_named(
    kind: str, change: Callable[[JsonObject], None]
) -> None:
    world = RolloutWorld(files=dict(FILES))
    world.wrap = lambda transport: Mangled(transport, kind, change)
    executor = world.executor()
    session = Session(executor.api, executor.clock, executor.workers, executor)
    planned = plan_fleet(session, world.git(), None, ask_servers)
    redactor = Redactor(Sensitive(), secrets_of(Sensitive(), _bodies(planned.live)))
    told = "\n".join(redactor.redact(line.text) for line in plan_text(planned.preview))
    for name in ("edge-1", "edge-2", "edge-3"):
        assert name in told
    plans = {c.name: c.plan for c in planned.preview.clusters}
    assert plans["edge-1"] is not None
    assert plans["edge-3"] is not None
    odd = next(c for c in planned.preview.clusters if c.name == "edge-2")
    assert odd.plan is not None or "cannot be understood" in odd.unknown
    assert stand(session, world.git()).decision.clusters


def _bodies(live: Mapping[str, LiveCluster]) -> Iterator[JsonObject]:
    for cluster in live.values():
        for fact in (cluster.configs, cluster.rendered, cluster.modules):
            if isinstance(fact, Known):
                yield from fact.value.values()


def test_what_the_error_quotes_is_not_told() -> None:
    with pytest.raises(ValueError, match="password") as raised:
        int("a password")
    told = not_understood(raised.value)
    assert "ValueError at test_containment.py:" in told
    assert "password" not in told
