"""A gateway that does not know a cluster says `not found` in the API's own words: that is never absence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.rollout.moves import Done, Standing
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import FLEET, RolloutWorld, machine_config

Lost = Callable[[Request], bool]


def everything(_request: Request) -> bool:
    return True


def one_kind(request: Request) -> bool:
    return request.path.endswith("/machineconfigurations")


@dataclass
class Losing:
    """A transport to a gateway that has lost sight of cluster edge-1, or of a part of it."""

    inner: Transport
    lost: list[Lost] = field(default_factory=list)

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if cluster == "edge-1" and any(lost(request) for lost in self.lost):
            details = {"kind": "clusters", "name": cluster}
            body = {"kind": "Status", "code": 404, "reason": "NotFound", "details": details}
            return Response(404, json.dumps({**body, "message": f'clusters "{cluster}" not found'}).encode())
        return self.inner.send(cluster, request, timeout=timeout)


@dataclass
class LostWorld:
    world: RolloutWorld
    lost: list[Lost] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world.wrap = lambda transport: Losing(transport, self.lost)


@pytest.fixture
def passed() -> LostWorld:
    """Both clusters have passed, and edge-1 still has a config that has left Git."""
    world = RolloutWorld(spec=simple_fleet("edge-1", "edge-2"))
    for name in ("edge-1", "edge-2"):
        world.files[f"clusters/{name}/app.yaml"] = machine_config("50-worker-app", files={"/etc/a": "1\n"})
        world.files[f"clusters/{name}/more.yaml"] = machine_config("60-worker-more", files={"/etc/b": "1\n"})
    made = LostWorld(world)
    assert isinstance(world.run(), Done)
    del world.files["clusters/edge-1/more.yaml"]
    assert isinstance(world.run(), Done)
    return made


@pytest.mark.parametrize("lost", [everything, one_kind])
def test_what_we_wrote_is_not_forgotten_and_can_still_be_pruned(passed: LostWorld, lost: Lost) -> None:
    world = passed.world
    passed.lost.append(lost)
    world.run(hours=1)
    assert "does not answer" in world.view("edge-1").reason
    assert [e.name for e in world.cluster_memory("edge-1").inventory] == ["50-worker-app", "60-worker-more"]
    passed.lost.clear()
    for comment in ("", "# a loosened limit holds from the next commit on\n"):
        world.files["fleet.yaml"] = f"{FLEET}  prune: {{enabled: true}}\n{comment}"
        assert isinstance(world.run(), Done)
    assert world.fleet.person("edge-1").get("machineconfigs", "60-worker-more") is None
    assert world.fleet.person("edge-2").get("machineconfigs", "60-worker-more") is not None


@pytest.mark.parametrize("lost", [everything, one_kind])
def test_newer_content_waits_for_it_as_for_any_cluster_that_does_not_answer(
    passed: LostWorld, lost: Lost
) -> None:
    world = passed.world
    passed.lost.append(lost)
    world.files["clusters/edge-1/app.yaml"] = machine_config("50-worker-app", files={"/etc/a": "2\n"})
    world.run(hours=1)
    assert world.standing("edge-1") is Standing.UNREACHABLE
    passed.lost.clear()
    assert isinstance(world.run(), Done)
