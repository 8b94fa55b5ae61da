"""Where only somebody's act gets a rollout further it says so, by name, and does not wait for ever."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.rollout.moves import Done, Hold, Standing
from gitops_mc.sandbox.fleet import MACHINE_CONFIG_VERSION, simple_fleet
from gitops_mc.sandbox.moduleinfo import Publication
from tests.scenarios.crashes import Killed
from tests.scenarios.repository import custom_pool
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config, module, policy

APP = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
OTHER = machine_config("50-worker-app", files={"/etc/app.conf": "two\n"}, app_service=UNIT)
EVERYWHERE = {f"clusters/edge-{n}/app.yaml": APP for n in (1, 2, 3)}


def test_a_paused_pool_that_is_none_of_ours_keeps_no_cluster_from_passing() -> None:
    world = RolloutWorld(files=dict(EVERYWHERE))
    world.fleet.at(world.start + timedelta(seconds=60), lambda: world.fleet.person("edge-2").pause("master"))
    outlook = world.run(hours=2)
    assert isinstance(outlook, Done), outlook


def test_a_pool_paused_by_another_in_the_middle_is_a_hold_that_names_it() -> None:
    world = RolloutWorld(files=dict(EVERYWHERE))
    assert isinstance(world.run(), Done)
    world.files.update(dict.fromkeys(EVERYWHERE, OTHER))
    begun = len(world.writes("edge-1"))
    world.run(until=lambda look: bool(world.writes("edge-1")[begun:]))
    world.fleet.person("edge-1").pause("worker")
    outlook = world.run(hours=3)
    assert isinstance(outlook, Hold), outlook
    assert "whoever paused pool worker of edge-1 has to unpause it" in outlook.acts
    world.fleet.person("edge-1").unpause("worker")
    assert isinstance(world.run(), Done)


@dataclass
class DiesAtItsFirstWrite:
    """A process that has decided to begin, has remembered it, and has written nothing yet."""

    inner: Transport

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if request.method != "GET" and ("dryRun", "All") not in request.query:
            raise Killed
        return self.inner.send(cluster, request, timeout=timeout)


CUSTOM = custom_pool("gpu")
POLICY = policy({"/etc/app.conf": "app.service"})


@pytest.mark.parametrize(
    "more",
    [
        {"clusters/edge-1/pool.yaml": CUSTOM},
        {"clusters/edge-1/policy.yaml": POLICY},
        {"clusters/edge-1/module.yaml": module("edge-1", "v4.4.0")},
        {"clusters/edge-1/pool.yaml": CUSTOM, "clusters/edge-1/policy.yaml": POLICY},
    ],
    ids=["a new pool", "a policy", "an upgrade", "both"],
)
def test_a_pool_paused_by_another_before_the_first_write_is_a_hold_whatever_is_still_to_be_written(
    more: dict[str, str],
) -> None:
    spec = replace(
        simple_fleet("edge-1", "edge-2", "edge-3"),
        publications=tuple(Publication("machine-config", v) for v in (MACHINE_CONFIG_VERSION, "v4.4.0")),
    )
    world = RolloutWorld(spec=spec, files=dict(EVERYWHERE))
    assert isinstance(world.run(), Done)
    world.files.update({**dict.fromkeys(EVERYWHERE, OTHER), **more})
    written = len(world.writes("edge-1"))
    world.wrap = DiesAtItsFirstWrite
    with pytest.raises(Killed):
        world.run()
    assert world.cluster_memory("edge-1").admitted_at is not None
    assert len(world.writes("edge-1")) == written
    world.wrap = lambda transport: transport
    world.fleet.person("edge-1").pause("worker")
    outlook = world.run(hours=3)
    assert isinstance(outlook, Hold), outlook
    assert "whoever paused pool worker of edge-1 has to unpause it" in outlook.acts
    world.fleet.person("edge-1").unpause("worker")
    assert isinstance(world.run(), Done)


@pytest.mark.parametrize("broken", ["kind: [\n", "kind: Deployment\nmetadata: {name: x}\n"])
def test_a_canary_that_cannot_be_read_holds_the_others_and_says_where(broken: str) -> None:
    world = RolloutWorld(files={**EVERYWHERE, "clusters/edge-1/typo.yaml": broken})
    outlook = world.run(hours=1)
    assert isinstance(outlook, Hold), outlook
    assert "clusters/edge-1/typo.yaml" in outlook.reasons[0]
    assert outlook.acts == ("correct it in Git, or: gitops-mc skip edge-1",)
    assert world.standing("edge-2") is Standing.READY


def test_newer_content_that_waits_for_a_pool_somebody_has_paused_names_him_where_the_older_begins_nothing() -> (
    None
):
    def files(text: str, *roles: str) -> dict[str, str]:
        configs = {
            f"clusters/edge-1/{role}.yaml": machine_config(f"50-{role}-app", role, files={"/etc/a": text})
            for role in roles
        }
        return {"clusters/edge-1/policy.yaml": policy({"/etc/a": "app.service"}), **configs}

    world = RolloutWorld(spec=simple_fleet("edge-1"), files=files("one\n", "worker"))
    world.run()
    world.files |= files("two\n", "worker") | {
        "clusters/edge-1/policy.yaml": policy({"/etc/a": "app.service", "/etc/b": "app.service"})
    }
    written = len(world.writes("edge-1"))
    world.run(until=lambda _: len(world.writes("edge-1")) > written)
    world.fleet.person("edge-1").pause("master")
    world.files |= files("three\n", "worker", "master")
    outlook = world.run(hours=3)
    assert isinstance(outlook, Hold), outlook
    assert any("whoever paused pool master of edge-1 has to unpause it" in act for act in outlook.acts)
    world.fleet.person("edge-1").unpause("master")
    assert isinstance(world.run(hours=3), Done)
