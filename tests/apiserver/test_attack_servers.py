"""kube-apiserver and etcd are killed in the middle of a rollout by the program, and etcd is restored from an older copy."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_mc.core.model import APPLIED_ANNOTATION
from gitops_mc.sandbox.fleet import SandboxFleet
from tests.apiserver.binaries import built
from tests.apiserver.clusters import RealClusters
from tests.apiserver.test_program import CONFIG, FLEET, OTHER, fleet_behind_a_gateway
from tests.e2e.program import PROGRAM, Place, plain_environment

pytestmark = pytest.mark.apiserver
EDGES = ("edge-1", "edge-2")


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[RealClusters]:
    """Real clusters of this test alone."""
    binaries = built()
    if binaries is None:
        pytest.skip("no real API server has been built: `make test-apiserver` does that")
    clusters = RealClusters(binaries, tmp_path)
    try:
        yield clusters
    finally:
        clusters.stop()


def commit(place: Place, text: str) -> None:
    for name in EDGES:
        folder = f"repo/clusters/{name}"
        place.write({f"{folder}/app.yaml": CONFIG.replace("one", text), f"{folder}/other.yaml": OTHER})
    place.write({"repo/fleet.yaml": FLEET})


def mark(fleet: SandboxFleet) -> str:
    found = fleet.person("edge-1").get("machineconfigs", "50-worker-app")
    assert found is not None
    return str(found["metadata"]["annotations"][APPLIED_ANNOTATION])


def test_servers_that_are_killed_amid_a_rollout_delay_it_and_reboot_no_node_twice(
    mortal: RealClusters, tmp_path: Path
) -> None:
    with fleet_behind_a_gateway(mortal, tmp_path, servers_die=True) as (place, fleet):
        commit(place, "one")
        process = subprocess.Popen(
            [*PROGRAM, "apply", "repo", "--yes"],
            env={**plain_environment(), **place.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=place.folder,
        )
        limit = threading.Timer(100, process.kill)
        limit.start()
        assert process.stdout is not None
        told = []
        for line in process.stdout:
            told.append(line)
            if "edge-1: MachineConfig 60-worker-other created" in line:
                mortal.kill("edge-1")
                mortal.revive("edge-1")
            if "edge-2: MachineConfig 60-worker-other created" in line:
                mortal.kill()
                mortal.revive()
        limit.cancel()
        assert process.wait() == 0, "".join(told)
        assert {n: k for (_, n), k in fleet.reboots().items() if k} == {"edge-1-w1": 1, "edge-2-w1": 1}


def test_what_a_restored_etcd_has_forgotten_is_told_and_not_written_again_unasked(
    mortal: RealClusters, tmp_path: Path
) -> None:
    with fleet_behind_a_gateway(mortal, tmp_path, servers_die=True) as (place, fleet):
        commit(place, "one")
        assert place.run("apply", "repo", "--yes").code == 0
        first = mark(fleet)
        mortal.kill(*EDGES, "global")
        mortal.kill()
        shutil.copytree(mortal.data, tmp_path / "copy")
        mortal.revive()
        mortal.revive(*EDGES, "global")
        commit(place, "two")
        assert place.run("apply", "repo", "--yes").code == 0
        assert mark(fleet) != first
        mortal.kill(*EDGES, "global")
        mortal.kill()
        shutil.rmtree(mortal.data)
        shutil.copytree(tmp_path / "copy", mortal.data)
        mortal.revive()
        mortal.revive(*EDGES, "global")
        time.sleep(1)
        assert mark(fleet) == first
        planned = place.run("plan", "repo")
        assert "set back" in planned.out, planned
        told = place.run("apply", "repo", "--yes")
        assert told.code == 0, told
        assert mark(fleet) == first
