"""A gateway, or a kubeconfig, leads a cluster's name to another cluster: nothing it says is believed, nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.rollout.moves import Done, Standing
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import RolloutWorld, machine_config

NAMES = ("edge-1", "edge-2", "edge-3", "edge-4", "edge-5")
SWAPPED: Mapping[str, str] = {"edge-1": "edge-2", "edge-2": "edge-1"}
BOTH_TO_ONE: Mapping[str, str] = {"edge-2": "edge-1"}


@dataclass
class Misled:
    """A transport that leads some names to other clusters."""

    inner: Transport
    leads: dict[str, str] = field(default_factory=dict)

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        return self.inner.send(self.leads.get(cluster, cluster), request, timeout=timeout)


@dataclass
class MisledWorld:
    world: RolloutWorld
    leads: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.world.wrap = lambda transport: Misled(transport, self.leads)

    def commit(self, text: str, *names: str) -> None:
        for name in names:
            config = machine_config("50-worker-app", files={"/etc/app.conf": text})
            self.world.files[f"clusters/{name}/app.yaml"] = config


@pytest.fixture
def misled() -> MisledWorld:
    return MisledWorld(RolloutWorld(spec=simple_fleet(*NAMES)))


def test_two_names_for_one_cluster_are_told_and_neither_is_written_to_nor_passes(misled: MisledWorld) -> None:
    misled.leads.update(BOTH_TO_ONE)
    misled.commit("1\n", *NAMES)
    misled.world.run(hours=2)
    for name in BOTH_TO_ONE.keys() | BOTH_TO_ONE.values():
        assert misled.world.standing(name) is Standing.UNREACHABLE
        assert "both names lead to one cluster" in misled.world.view(name).reason
        assert misled.world.writes(name) == ()
    misled.leads.clear()
    assert isinstance(misled.world.run(), Done)
    assert all(misled.world.writes(name) for name in NAMES)


@pytest.mark.parametrize("leads", [SWAPPED, BOTH_TO_ONE])
def test_once_written_to_a_cluster_is_known_again(misled: MisledWorld, leads: Mapping[str, str]) -> None:
    world = misled.world
    misled.commit("1\n", *NAMES)
    assert isinstance(world.run(), Done)
    before = {name: len(world.writes(name)) for name in NAMES}
    misled.leads.update(leads)
    misled.commit("2\n", "edge-1")
    world.run(hours=2)
    assert world.standing("edge-1") is Standing.UNREACHABLE
    assert {name: len(world.writes(name)) for name in NAMES} == before
    misled.leads.clear()
    assert isinstance(world.run(), Done)
    assert {name for name in NAMES if len(world.writes(name)) > before[name]} == {"edge-1"}


def test_a_lead_that_changes_amid_a_rollout_writes_nothing_on_the_other_cluster(misled: MisledWorld) -> None:
    world = misled.world
    misled.commit("1\n", *NAMES)
    assert isinstance(world.run(), Done)
    before = len(world.writes("edge-2"))
    misled.commit("2\n", "edge-1")
    world.run(until=lambda look: any("MachineConfig" in w.what for w in look.written))
    misled.leads.update(SWAPPED)
    world.run(hours=1)
    assert world.standing("edge-1") is not Standing.PASSED
    assert len(world.writes("edge-2")) == before
    misled.leads.clear()
    assert isinstance(world.run(), Done)
