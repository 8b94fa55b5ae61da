"""Push to Git, and the fleet follows: the controller's process on real API servers, with the rights that deploy/ grants it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import asyncssh
import pytest

from gitops_mc.core.model import JsonObject
from tests.adapters.git_servers import CA, SECRET, GitServer, Origin, basic, guarded, origin, serving
from tests.adapters.git_ssh_servers import SshServer, key_pair, serving_ssh
from tests.apiserver.clusters import RealClusters
from tests.apiserver.installed import Installed, installed
from tests.apiserver.page import type_section
from tests.deploy.controller import NAMESPACE, Repository
from tests.scenarios.rollout_world import UNIT, machine_config

pytestmark = pytest.mark.apiserver

FLEET_FILE = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
spec:
  rollout:
    waves:
      - {name: canary, clusters: {names: [edge-1]}}
      - {name: production, clusters: {names: ["edge-*"]}, approval: manual}
      - {name: management, clusters: {}}
  gates:
    pool: {settle: 5s}
"""
APP = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
FILES = {
    "fleet.yaml": FLEET_FILE,
    "clusters/edge-1/app.yaml": APP,
    "clusters/edge-2/app.yaml": APP,
    "clusters/global/app.yaml": machine_config("50-master-app", "master", {"/etc/app.conf": "one\n"}),
}


@dataclass(frozen=True, slots=True)
class Served:
    """A Git server: what a Fleet has to say to follow it, and the objects that it names."""

    source: JsonObject
    secret: dict[str, str]
    ca: str = ""


@contextmanager
def over_https(repository: Origin) -> Iterator[Served]:
    """With a token, and a certificate that a CA of its own has signed."""
    with serving(GitServer(guarded(basic("robot", SECRET))), repository.root) as server:
        secret = {"username": "robot", "token": SECRET}
        yield Served({"url": server.url, "caRef": {"name": "fleet-git-ca"}}, secret, CA.decode())


@contextmanager
def over_ssh(repository: Origin) -> Iterator[Served]:
    """With a deploy key, and a host key that the Fleet knows."""
    private, public = key_pair()
    server = SshServer(repository.root, asyncssh.generate_private_key("ssh-ed25519"), [public])
    with serving_ssh(server):
        source = {"url": server.url, "knownHosts": server.known_hosts().decode()}
        yield Served(source, {"identity": private.decode()})


Way: TypeAlias = Callable[[Origin], AbstractContextManager[Served]]


def follow(here: Installed, served: Served) -> None:
    here.secret("fleet-git", served.secret)
    if served.ca:
        meta = {"name": "fleet-git-ca", "namespace": NAMESPACE}
        here.admin.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"ca.crt": served.ca}}
        )
    here.follow({**served.source, "ref": "main", "secretRef": {"name": "fleet-git"}})


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines() if line]


@pytest.mark.parametrize("way", [over_https, over_ssh])
def test_a_commit_that_is_pushed_rolls_through_three_waves_with_an_approval_between(
    real_clusters: RealClusters, tmp_path: Path, way: Way
) -> None:
    repository = Repository(origin(tmp_path / "git"))
    commit = repository.push(FILES)
    with installed(real_clusters, tmp_path) as here, way(repository.origin) as server:
        follow(here, server)
        with here.controller() as child:
            here.until(lambda: here.outlook(commit) == "hold", child)
            _waits_for_approval(here, commit)
            if way is over_https:
                type_section(here.admin, "refused")
            type_section(here.admin, "waiting")
            type_section(here.admin, "approving")
            assert here.outlook(commit) == "done"
            _is_done(here)
            type_section(here.admin, "done")
            told = child.log.read_text()
        assert here.recording.refused == []
        assert here.recording.clusters_of("gateway") == {"edge-1", "edge-2"}
        assert here.recording.clusters_of("controller") == {"global"}
        assert "forbidden" not in told.lower()
        assert SECRET not in told
        assert "PRIVATE KEY" not in told
        workers = {node: n for (_, node), n in here.fleet.reboots().items() if n}
        assert workers == {"edge-1-w1": 1, "edge-2-w1": 1}


def _waits_for_approval(here: Installed, commit: str) -> None:
    got = rows(here.admin.said("-n", NAMESPACE, "get", "fleet"))
    assert got[0] == ["NAME", "READY", "OUTLOOK", "PASSED", "REVISION", "AGE"]
    assert got[1][:5] == ["prod", "False", "hold", "1/3", commit[:12]]
    by_short_name = here.admin.said("-n", NAMESPACE, "get", "crol")
    assert rows(by_short_name)[1][:4] == ["edge-1", "prod", "canary", "passed"]
    code, _, err = here.admin.tried(
        *("-n", NAMESPACE, "wait", "--for=condition=Ready", "fleet/prod", "--timeout=1s")
    )
    assert code != 0, "Ready has to be False while somebody has to approve"
    assert "timed out" in err
    assert "production" in here.admin.said("-n", NAMESPACE, "describe", "fleet", "prod")


def _is_done(here: Installed) -> None:
    got = rows(here.admin.said("-n", NAMESPACE, "get", "flt,crol"))
    assert [row[0] for row in got if "/" in row[0]] == [
        "fleet.gitops-mc.io/prod",
        *(f"clusterrollout.gitops-mc.io/{name}" for name in ("edge-1", "edge-2", "global")),
    ]
    assert "fleet.gitops-mc.io/prod" in here.admin.said("-n", NAMESPACE, "get", "gitops-mc")
    fleet = here.admin.read("fleet", "prod")
    [act] = fleet["status"]["history"]
    assert (act["who"], act["why"]) == ("mei", "the canary is well")
    assert "annotations" not in fleet["metadata"]
    described = here.admin.said("-n", NAMESPACE, "describe", "fleet", "prod")
    assert re.search(r"^Events:\n +Type", described, flags=re.MULTILINE), described
    for name in ("edge-1", "edge-2", "global"):
        rollout = here.admin.read("clusterrollout", name)
        assert rollout["status"]["standing"] == "passed", json.dumps(rollout["status"])
    lease = here.admin.read("lease", "gitops-mc")
    assert lease["spec"]["holderIdentity"] == "gitops-mc-0"
