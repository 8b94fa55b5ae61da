"""The controller gets by with the rights of deploy/, and uses each of them: its process on an embedded fleet, request by request."""

from __future__ import annotations

import json
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gitops_mc.adapters.system import ScaledClock
from gitops_mc.app.ports import JSON, MERGE_PATCH, Request
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, User
from gitops_mc.sandbox.fleet import FleetSpec, SandboxFleet, simple_fleet
from gitops_mc.sandbox.gateway import SandboxTime, start
from gitops_mc.sandbox.moduleinfo import Publication
from gitops_mc.sandbox.running import run_in_thread
from gitops_mc.sandbox.site import ClusterSpec
from tests.adapters.git_servers import CA, origin
from tests.deploy.controller import ACCOUNT, GATEWAY_USER, NAMESPACE, Repository, running
from tests.deploy.recording import Recording
from tests.deploy.rendering import DEPLOY, rendered
from tests.deploy.rights import Right, granted, needed, rules
from tests.scenarios.rollout_world import UNIT, machine_config, manifest, module, policy

BASE, WORKLOAD = rendered(DEPLOY / "base"), rendered(DEPLOY / "workload")
CONTROLLERS, GATEWAYS = granted(BASE, ACCOUNT), granted(WORKLOAD, GATEWAY_USER)
TOKENS = {"token-of-the-account": "controller", "token-of-the-gateway": "gateway"}
SPEED = 240
WITHIN = 150.0
"""Seconds for one scene of the story; on an idle machine it takes a few."""
_PATHS = {
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "Namespace": "/api/v1/namespaces",
    "Secret": f"/api/v1/namespaces/{NAMESPACE}/secrets",
    "ConfigMap": f"/api/v1/namespaces/{NAMESPACE}/configmaps",
    "Fleet": f"/apis/gitops-mc.io/v1alpha1/namespaces/{NAMESPACE}/fleets",
    "ClusterRollout": f"/apis/gitops-mc.io/v1alpha1/namespaces/{NAMESPACE}/clusterrollouts",
}

FLEET_FILE = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
spec:
  rollout:
    waves:
      - {name: canary, clusters: {names: [edge-1]}}
      - {name: most, clusters: {names: ["edge-*"]}, approval: manual, maxConcurrent: 2}
      - {name: rest, clusters: {}}
  prune: {enabled: true}
"""
GPU = manifest(
    "MachineConfigPool",
    "gpu",
    {
        "machineConfigSelector": {
            "matchExpressions": [
                {
                    "key": "machineconfiguration.alauda.io/role",
                    "operator": "In",
                    "values": ["worker", "gpu"],
                }
            ]
        },
        "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/gpu": ""}},
    },
)
APP = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
OTHER = machine_config("60-worker-other", files={"/etc/other.conf": "one\n"})
MASTER = machine_config("50-master-app", role="master", files={"/etc/app.conf": "one\n"})
POLICY = policy({"/etc/app.conf": "app.service"})
FIRST: Mapping[str, str] = {
    "fleet.yaml": FLEET_FILE,
    "clusters/edge-1/app.yaml": APP,
    "clusters/edge-1/other.yaml": OTHER,
    "clusters/edge-1/policy.yaml": POLICY,
    "clusters/edge-1/pool.yaml": GPU,
    "clusters/edge-2/app.yaml": APP,
    "clusters/edge-2/logs.yaml": module("edge-2", "v1.0.0", "logs"),
    "clusters/edge-3/app.yaml": APP,
    "clusters/edge-3/module.yaml": module("edge-3"),
    "clusters/global/module.yaml": module("global"),
    "clusters/global/app.yaml": MASTER,
    "clusters/global/other.yaml": OTHER.replace("60-worker", "60-master").replace('"worker"', '"master"'),
    "clusters/global/policy.yaml": POLICY,
    "clusters/global/pool.yaml": GPU,
}
SECOND = {k: v for k, v in FIRST.items() if "other" not in k and "pool" not in k}
SECOND["clusters/edge-2/logs.yaml"] = module("edge-2", "v1.1.0", "logs")
THIRD = {k: v for k, v in SECOND.items() if "logs" not in k}

UNUSED: Mapping[Right, str] = {
    Right("create", "machineconfiguration.alauda.io", "machineconfigurations"): "the operator makes the only "
    "one when it starts; where somebody has deleted it, applying ours makes it anew",
    Right("get", "", "events", NAMESPACE): "an Event whose first writing was answered too late is looked up",
}
"""Rights that this story does not use, and what they are for."""


@dataclass
class Story:
    """What happens to a fleet that the controller follows."""

    fleet: SandboxFleet
    recording: Recording
    repository: Repository

    def admin(self, method: str, path: str, body: Any = None, content_type: str = JSON) -> JsonObject:
        data = b"" if body is None else json.dumps(body).encode()
        request = Request(method, path, (("fieldManager", "kubectl"),), data, content_type, token=ADMIN_TOKEN)
        answer = self.fleet.servers[GLOBAL_CLUSTER].handle(request)
        assert answer.status < 300, answer.body
        found: JsonObject = json.loads(answer.body)
        return found

    def make(self, body: JsonObject) -> None:
        self.admin("POST", _PATHS[body["kind"]], body)

    def annotate(self, kind: str, name: str, verb: str, value: str) -> None:
        notes = {"metadata": {"annotations": {f"gitops-mc.io/{verb}": value}}}
        self.admin("PATCH", f"{_PATHS[kind]}/{name}", notes, MERGE_PATCH)

    def status(self) -> JsonObject:
        return dict(self.admin("GET", f"{_PATHS['Fleet']}/prod").get("status") or {})

    def rollouts(self) -> dict[str, str]:
        """The uid of each cluster's object."""
        items = self.admin("GET", _PATHS["ClusterRollout"])["items"]
        return {item["metadata"]["name"]: item["metadata"]["uid"] for item in items}

    def held(self, cluster: str) -> bool:
        return "hold" in self.admin("GET", f"{_PATHS['ClusterRollout']}/{cluster}")["spec"]

    def outlook(self, commit: str) -> str:
        """What the Fleet says once it follows this commit."""
        status = self.status()
        followed = (status.get("source") or {}).get("commit")
        return str(status.get("outlook")) if followed == commit else ""

    def until(self, so: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + WITHIN
        while not so():
            refused = [r.answer for r in self.recording.refused]
            assert not refused, refused
            assert time.monotonic() < end, f"{what}: {json.dumps(self.status(), indent=1)}"
            time.sleep(0.1)


@contextmanager
def story(folder: Path) -> Iterator[tuple[Story, str]]:
    """A fleet behind its gateway, whose tokens have the rights of deploy/ and no others; and the gateway's URL."""
    stop = threading.Event()
    clock = ScaledClock(SPEED, stop=stop)
    spec = simple_fleet("edge-1", "edge-2", workers=1)
    clusters = (*spec.clusters, ClusterSpec("edge-3", masters=1, workers=1))
    logs = tuple(Publication("logs", version) for version in ("v1.0.0", "v1.1.0"))
    fleet = SandboxFleet(FleetSpec(clusters, (*spec.publications, *logs)), clock.now)
    account, gateway = TOKENS
    fleet.servers[GLOBAL_CLUSTER].grant(account, User("controller", rules(CONTROLLERS)))
    for cluster in ("edge-1", "edge-2", "edge-3"):
        fleet.servers[cluster].grant(gateway, User("gateway", rules(GATEWAYS)))
    recording = Recording(fleet.servers, TOKENS)
    told = Story(fleet, recording, Repository(origin(folder)))
    thread = run_in_thread(fleet, clock, stop)
    served = start(recording, time=SandboxTime(clock.now, SPEED))
    try:
        yield told, served.url
    finally:
        stop.set()
        thread.join(10)
        served.stop()


def encoded(**values: str) -> dict[str, str]:
    return {name: b64encode(value.encode()).decode() for name, value in values.items()}


def objects(url: str, repository: Path) -> Iterator[JsonObject]:
    yield from (body for body in BASE if body["kind"] in ("Namespace", "CustomResourceDefinition"))
    for name, data in (("gateway", {"token": tuple(TOKENS)[1]}), ("hook", {"secret": "a long random word"})):
        meta = {"name": name, "namespace": NAMESPACE}
        yield {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": encoded(**data)}
    meta = {"name": "gateway-ca", "namespace": NAMESPACE}
    yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"ca.crt": CA.decode()}}
    gateway = {"url": url, "tokenRef": {"name": "gateway", "key": "token"}, "caRef": {"name": "gateway-ca"}}
    yield {
        "apiVersion": "gitops-mc.io/v1alpha1",
        "kind": "Fleet",
        "metadata": {"name": "prod", "namespace": NAMESPACE},
        "spec": {
            "source": {"url": repository.as_uri(), "interval": "5s"},
            "clusters": {"gateway": gateway},
            "webhook": {"secretRef": {"name": "hook"}},
        },
    }


@cache
def played(folder: Path) -> Recording:
    """Three waves with an approval between, a commit that changes and removes, one that removes a module, a cluster
    that is held and released, and one that is forgotten.
    """
    with story(folder) as (told, url):
        for body in objects(url, told.repository.origin.root / "fleet.git"):
            told.make(body)
        token = folder / "token"
        token.write_text(next(iter(TOKENS)))
        options = (f"--gateway={url}", f"--token-file={token}", "--allow-unprotected-git")
        first = told.repository.push(FIRST)
        with running(folder, *options, environment={"GITOPS_MC_IDENTITY": "gitops-mc-0"}):
            told.until(lambda: told.outlook(first) == "hold", "the second wave waits for its approval")
            told.annotate("Fleet", "prod", "approve", "{wave: most, by: mei, reason: the canary is well}")
            told.until(lambda: told.outlook(first) == "done", "the first commit is rolled out")
            second = told.repository.push(SECOND)
            told.until(lambda: told.outlook(second) == "hold", "the second commit waits, too")
            told.annotate("Fleet", "prod", "approve", "{wave: most, by: mei}")
            told.until(lambda: told.outlook(second) == "done", "the second commit is rolled out")
            third = told.repository.push(THIRD)
            told.until(lambda: told.outlook(third) == "hold", "the third commit waits, too")
            told.annotate("Fleet", "prod", "approve", "{wave: most, by: mei}")
            told.until(lambda: told.outlook(third) == "done", "the third commit is rolled out")
            told.annotate("ClusterRollout", "edge-2", "hold", "{reason: an audit, by: mei}")
            told.until(lambda: told.held("edge-2"), "edge-2 is held")
            told.annotate("ClusterRollout", "edge-2", "release", "{by: mei}")
            told.until(lambda: not told.held("edge-2"), "edge-2 is no longer held")
            before = told.rollouts()["edge-1"]
            told.annotate("ClusterRollout", "edge-1", "forget", "{reason: it is built anew, by: mei}")
            told.until(lambda: told.rollouts().get("edge-1") != before, "edge-1 is forgotten")
    return told.recording


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return played(tmp_path_factory.mktemp("rights"))


def test_nothing_that_the_controller_asked_for_was_refused(recording: Recording) -> None:
    assert recording.refused == []


def test_workload_clusters_see_the_gateways_token_alone_and_global_the_accounts(recording: Recording) -> None:
    assert recording.clusters_of("gateway") == {"edge-1", "edge-2", "edge-3"}
    assert recording.clusters_of("controller") == {GLOBAL_CLUSTER}


@pytest.mark.parametrize(("owner", "rights"), [("controller", CONTROLLERS), ("gateway", GATEWAYS)])
def test_whatever_was_used_is_granted_down_to_namespace_and_name(
    recording: Recording, owner: str, rights: frozenset[Right]
) -> None:
    assert {str(r) for r in recording.of(owner) if not any(g.covers(r) for g in rights)} == set()


@pytest.mark.parametrize(("owner", "rights"), [("controller", CONTROLLERS), ("gateway", GATEWAYS)])
def test_whatever_is_granted_is_used_but_for_what_has_a_reason(
    recording: Recording, owner: str, rights: frozenset[Right]
) -> None:
    used = recording.of(owner)
    idle = {g for g in rights if not any(g.covers(r) for r in used)}
    assert {str(right) for right in idle} == {str(right) for right in UNUSED if right in rights}


@pytest.mark.parametrize("right", sorted(CONTROLLERS | GATEWAYS), ids=str)
def test_no_right_is_a_wildcard_and_none_reads_what_is_not_ours(right: Right) -> None:
    assert "*" not in (right.verb, right.group, right.resource)
    if right.resource in ("secrets", "configmaps") and right.verb == "get":
        assert right.namespace == NAMESPACE or right.name == "gitops-mc-installation"


def test_a_request_is_measured_as_the_api_server_measures_it() -> None:
    collection = Request("GET", "/apis/gitops-mc.io/v1alpha1/namespaces/a/fleets")
    fleets = Right("list", "gitops-mc.io", "fleets", "a")
    status = Request("PATCH", f"{collection.path}/prod/status", content_type=MERGE_PATCH)
    assert needed(collection, 200) == (fleets,)
    assert needed(status, 200) == (Right("patch", "gitops-mc.io", "fleets/status", "a", "prod"),)
    assert needed(Request("GET", "/apis/gitops-mc.io/v1alpha1"), 200) == ()
    assert needed(Request("GET", "/api/v1/namespaces/a"), 200) == (Right("get", "", "namespaces", "", "a"),)
    assert not Right("get", "", "secrets", "a").covers(replace(fleets, verb="get", namespace="b"))
