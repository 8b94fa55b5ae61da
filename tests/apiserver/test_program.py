"""The program as a process, over HTTP, against real API servers behind the gateway; time runs fast."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitops_mc.adapters.system import ScaledClock
from gitops_mc.sandbox.fleet import SandboxFleet, simple_fleet
from gitops_mc.sandbox.gateway import SandboxTime, start
from gitops_mc.sandbox.running import run_in_thread
from tests.apiserver.clusters import RealClusters
from tests.apiserver.ground import check, real_ground
from tests.e2e.program import Place
from tests.scenarios.rollout_world import GROUND, UNIT, machine_config

SPEED = 60
FLEET = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: test}
spec:
  rollout:
    waves:
      - {name: canary, clusters: {names: [edge-1]}}
      - {name: rest, clusters: {}}
  prune: {enabled: true}
"""
CONFIG = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
OTHER = machine_config("60-worker-other", files={"/etc/other.conf": "one\n"})
CONFIGS = "machineconfigs"


@contextmanager
def fleet_behind_a_gateway(
    real_clusters: RealClusters, folder: Path, *, servers_die: bool = False
) -> Iterator[tuple[Place, SandboxFleet]]:
    with real_ground(real_clusters) as used:
        stop = threading.Event()
        clock = ScaledClock(SPEED, start=GROUND.get().begin, stop=stop)
        fleet = SandboxFleet(
            simple_fleet("edge-1", "edge-2", workers=1), clock.now, make_server=GROUND.get().make_server
        )
        thread = run_in_thread(fleet, clock, stop)
        gateway = start(fleet.servers, time=SandboxTime(clock.now, SPEED))
        token = folder / "token"
        token.write_text(fleet.token)
        try:
            yield (
                Place(folder, {"GITOPS_MC_GATEWAY": gateway.url, "GITOPS_MC_TOKEN_FILE": str(token)}),
                fleet,
            )
        finally:
            stop.set()
            thread.join(10)
            gateway.stop()
        assert servers_die or fleet.failures == ()
    if not servers_die:  # then operators fail, and are refused while etcd is away
        check(used)


@pytest.mark.apiserver
def test_a_rollout_by_the_program_and_a_plan_that_deletes_nothing(
    real_clusters: RealClusters, tmp_path: Path
) -> None:
    with fleet_behind_a_gateway(real_clusters, tmp_path) as (place, fleet):
        for number in (1, 2):
            folder = f"repo/clusters/edge-{number}"
            place.write({f"{folder}/app.yaml": CONFIG, f"{folder}/other.yaml": OTHER})
        place.write({"repo/fleet.yaml": FLEET})
        told = place.run("apply", "repo", "--yes")
        assert told.code == 0, told
        workers = {node: n for (_, node), n in fleet.reboots().items() if n}
        assert workers == {"edge-1-w1": 1, "edge-2-w1": 1}

        (tmp_path / "repo/clusters/edge-1/other.yaml").unlink()
        planned = place.run("plan", "repo", "-o", "json")
        assert planned.code == 0, planned
        assert "60-worker-other" in json.dumps(json.loads(planned.out))
        assert fleet.person("edge-1").get(CONFIGS, "60-worker-other") is not None

        told = place.run("apply", "repo", "--yes")
        assert told.code == 0, told
        assert fleet.person("edge-1").get(CONFIGS, "60-worker-other") is None
        assert fleet.person("edge-2").get(CONFIGS, "60-worker-other") is not None
