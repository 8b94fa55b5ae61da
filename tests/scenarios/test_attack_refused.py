"""A server that denies one write in the middle of a step that is begun: an admission webhook, a quota, a role that changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.model import BRACKET_ANNOTATION, JsonObject
from gitops_mc.core.rollout.acts import By, Changed, release
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import Done, Halted, Standing
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import RolloutWorld, machine_config

NAMES = ("edge-1", "edge-2")
FORBIDDEN = (403, "Forbidden", 'admission webhook "guard.example" denied the request: not today')
INVALID = (422, "Invalid", "spec.config: Invalid value: the guard says no")
FAILING = (500, "InternalError", 'failed calling webhook "guard.example": context deadline exceeded')
GOING = (405, "MethodNotAllowed", "create not allowed while custom resource definition is terminating")
Denied = Callable[[Request], bool]


def second_config(request: Request) -> bool:
    """The real write of the second config, not its dry run: the first one stands already."""
    return request.path.endswith("/60-worker-more") and b"denied" in request.body and _writes(request)


def closing_patch(request: Request) -> bool:
    return request.path.endswith("/worker") and b'"remove"' in request.body and _writes(request)


def _writes(request: Request) -> bool:
    return request.method == "PATCH" and ("dryRun", "All") not in request.query


@dataclass
class Guarded:
    """A transport to a server that denies what it is told to."""

    inner: Transport
    denied: dict[str, Denied]
    answer: tuple[int, str, str]
    tries: list[str]

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if cluster == "edge-1" and any(denied(request) for denied in self.denied.values()):
            self.tries.append(request.path)
            code, reason, message = self.answer
            status: JsonObject = {"kind": "Status", "code": code, "reason": reason, "message": message}
            if code == 422:
                status["details"] = {"causes": [{"reason": "FieldValueInvalid", "field": "spec.config"}]}
            return Response(code, json.dumps(status).encode())
        return self.inner.send(cluster, request, timeout=timeout)


@dataclass
class GuardedWorld:
    answer: tuple[int, str, str]
    denied: dict[str, Denied] = field(default_factory=dict)
    tries: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = RolloutWorld(spec=simple_fleet(*NAMES))
        self.world.wrap = lambda transport: Guarded(transport, self.denied, self.answer, self.tries)
        self.commit("denied")

    def commit(self, more: str) -> None:
        for name in NAMES:
            for config, text in (("50-worker-app", "app"), ("60-worker-more", more)):
                path = f"clusters/{name}/{config}.yaml"
                self.world.files[path] = machine_config(config, files={f"/etc/{text}": "1\n"})

    def release(self) -> None:
        def lifted(memory: FleetMemory) -> FleetMemory:
            done = release(memory, "edge-1", By("me", self.world.clock.now()))
            assert isinstance(done, Changed)
            return done.memory

        self.world.remember(lifted)

    def marked(self) -> bool:
        pool = self.world.fleet.person("edge-1").get("machineconfigpools", "worker")
        assert pool is not None
        return BRACKET_ANNOTATION in (pool["metadata"].get("annotations") or {})


@pytest.mark.parametrize("answer", [FORBIDDEN, INVALID, FAILING, GOING], ids=lambda a: a[1])
@pytest.mark.parametrize("denied", [second_config, closing_patch])
def test_it_halts_says_why_and_does_not_knock_for_ever(answer: tuple[int, str, str], denied: Denied) -> None:
    guarded = GuardedWorld(answer, {"guard": denied})
    world = guarded.world
    outlook = world.run(hours=2)
    assert isinstance(outlook, Halted), outlook
    assert answer[2] in outlook.reason
    assert world.standing("edge-1") is Standing.FAILED
    tried = len(guarded.tries)
    assert isinstance(world.run(hours=1), Halted), "it is not lost by running again"
    assert len(guarded.tries) == tried
    assert guarded.marked()
    assert world.writes("edge-2") == ()


@pytest.mark.parametrize("denied", [second_config, closing_patch])
def test_once_allowed_and_released_it_goes_on_from_there(denied: Denied) -> None:
    guarded = GuardedWorld(FORBIDDEN, {"guard": denied})
    assert isinstance(guarded.world.run(hours=2), Halted)
    guarded.denied.clear()
    guarded.release()
    assert isinstance(guarded.world.run(), Done)
    assert not guarded.marked()
    assert set(guarded.world.reboots("edge-1").values()) <= {1}


def test_newer_content_that_changes_what_was_denied_gets_in_and_closes_the_step() -> None:
    guarded = GuardedWorld(FORBIDDEN, {"guard": second_config})
    assert isinstance(guarded.world.run(hours=2), Halted)
    guarded.commit("allowed")
    assert isinstance(guarded.world.run(), Done)
    assert not guarded.marked()
