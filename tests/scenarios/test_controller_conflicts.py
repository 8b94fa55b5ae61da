"""Somebody else writes the objects of a Fleet in the moment in which the controller does."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from gitops_mc.app.ports import Request, Response, Transport
from tests.scenarios.controller_world import ControllerWorld
from tests.scenarios.test_controller import NAMES, done, failed, pushed, three


@dataclass
class Contested:
    """Somebody is faster at one write of ours to our own objects: the server says so, and has taken nothing."""

    inner: Transport
    at: int
    writes: int = 0

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if request.method != "PATCH" or "gitops-mc.io" not in request.path:
            return self.inner.send(cluster, request, timeout=timeout)
        self.writes += 1
        if self.writes != self.at:
            return self.inner.send(cluster, request, timeout=timeout)
        told = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": "the object has been modified; please apply your changes to the latest version",
            "reason": "Conflict",
            "code": 409,
        }
        return Response(409, json.dumps(told).encode(), {"content-type": "application/json"})


def contested(world: ControllerWorld, at: int) -> list[Contested]:
    made: list[Contested] = []

    def wrap(transport: Transport) -> Transport:
        made.append(Contested(transport, at))
        return made[-1]

    world.rollout.wrap = wrap
    return made


@pytest.mark.parametrize("at", range(1, 8, 2))
def test_a_request_whose_effect_could_not_be_kept_is_carried_out_by_the_next_pass_and_told_once(
    at: int,
) -> None:
    world = failed()
    world.annotate("", "release", "{reason: the disks are new, by: mei}")
    world.annotate("edge-2", "skip", "{reason: it is being moved, by: mei}")
    contested(world, at)
    world.run(hours=0.1)
    history = [(act["who"], act["what"]) for act in world.fleet()["status"]["history"]]
    assert sorted(history) == [("mei", "release --all"), ("mei", "skip edge-2")]
    assert world.of("edge-2")["spec"]["skipped"]


@pytest.mark.parametrize("at", range(1, 30, 9))
def test_a_rollout_goes_on_past_a_conflict(at: int) -> None:
    world = pushed()
    contested(world, at)
    world.run(until=done)
    assert {world.standing(name) for name in NAMES} == {"passed"}


def test_a_secret_that_is_not_there_is_said_in_the_status_and_followed_once_it_is() -> None:
    world = pushed()
    world.edit("", {"source": {"url": "https://git.example/fleet.git", "secretRef": {"name": "nobody"}}})
    world.git.down = "Secret nobody is not in namespace gitops-mc"
    world.push(three())
    replica = world.run(hours=0.1)
    assert world.ready() == "Repository"
    assert "Secret nobody is not" in world.fleet()["status"]["source"]["problem"]
    world.git.down = ""
    world.run(replica, until=done)
