"""What earlier releases have remembered is read by this one, and means the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from gitops_mc.adapters.memory import read_memory
from gitops_mc.core.custom.kept import cluster_memory, fleet_memory
from gitops_mc.core.rollout.memory import FleetMemory, from_json, to_json
from tests.e2e.program import Place
from tests.release.changelog import UNRELEASED, sections
from tests.release.state import MOMENTS, OBJECTS, RELEASED, objects
from tests.release.versions import ROOT

FOLDERS = sorted(RELEASED.iterdir())
CLUSTERS = ["dc-01", "edge-01", "edge-02", "global"]


def remembered(folder: Path, moment: str) -> FleetMemory:
    state = read_memory(folder / f"{moment}.json")
    assert state is not None
    return from_json(state)


def put_together(kept: dict[str, dict[str, dict[str, object]]]) -> FleetMemory:
    """The memory that these objects hold."""
    found = json.loads(json.dumps(kept))
    clusters = {n: cluster_memory(b["spec"], b["status"]) for n, b in found["clusters"].items()}
    return fleet_memory(found["fleet"]["spec"], found["fleet"]["status"], clusters)


def test_every_release_has_left_what_it_remembers() -> None:
    released = {s.name for s in sections((ROOT / "CHANGELOG.md").read_text()) if s.name != UNRELEASED}
    assert {folder.name for folder in FOLDERS} == released


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_halt_of_an_earlier_release_is_one_still(folder: Path) -> None:
    memory = remembered(folder, "halted")
    assert sorted(memory.clusters) == CLUSTERS
    assert memory.halt is not None
    assert memory.halt.clusters == ("edge-01",)
    failure = memory.clusters["edge-01"].failure
    assert failure is not None
    assert "sever ntp-4.example.com" in failure.reason
    assert memory.clusters["edge-01"].passed != failure.content
    assert all(c.failure is None for name, c in memory.clusters.items() if name != "edge-01")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_passed_with_an_earlier_release_has_passed_and_what_it_wrote_is_ours(folder: Path) -> None:
    memory = remembered(folder, "passed")
    assert sorted(memory.clusters) == CLUSTERS
    assert memory.halt is None
    for cluster in memory.clusters.values():
        assert cluster.failure is None
        assert cluster.passed == cluster.started != ""
        assert cluster.inventory


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_nothing_of_it_is_lost_when_this_release_writes_it(folder: Path, moment: str) -> None:
    memory = remembered(folder, moment)
    assert from_json(json.loads(json.dumps(to_json(memory)))) == memory
    assert put_together(objects(memory)) == memory


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_objects_of_an_earlier_controller_are_read(folder: Path) -> None:
    if folder.name == "0.1.0":
        assert not (folder / OBJECTS).exists(), "it had no controller"
        return
    for moment, kept in json.loads((folder / OBJECTS).read_text()).items():
        assert put_together(kept) == remembered(folder, moment)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_status_and_release_work_on_the_state_of_an_earlier_release(folder: Path, tmp_path: Path) -> None:
    place, state = Place(tmp_path), tmp_path / "state.json"
    shutil.copy(folder / "halted.json", state)
    told = place.here("status", "--state", str(state))
    assert told.code == 0
    assert "sever ntp-4.example.com" in told.out
    done = place.here("release", "edge-01", "--reason", "looked at", "--state", str(state))
    assert (done.code, done.err) == (0, "")
    state_now = read_memory(state)
    assert state_now is not None
    assert from_json(state_now).halt is None
