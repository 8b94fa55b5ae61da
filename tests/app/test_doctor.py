"""The platform's prerequisites: each that is missing is named with a command; what could not be asked is never ok."""

from __future__ import annotations

import json

import yaml

from gitops_mc.app.ports import Request
from gitops_mc.core.doctor import Finding, Health
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, Rule, User
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import FleetSpec, simple_fleet
from gitops_mc.sandbox.site import ClusterSpec
from tests.app.reports import examined
from tests.scenarios.controller_world import CRDS
from tests.scenarios.rollout_world import RolloutWorld


def world(*faults: FaultId, spec: FleetSpec | None = None) -> RolloutWorld:
    made = RolloutWorld(spec=spec or simple_fleet("edge-1"))
    for fault in faults:
        made.faults.set(fault, cluster="edge-1")
    made.clock.wait_for(120)
    return made


def of(found: tuple[Finding, ...], check: str) -> Finding:
    return next(f for f in found if f.check == check)


def unwell(found: tuple[Finding, ...]) -> dict[str, Health]:
    return {f.check: f.health for f in found if f.health is not Health.OK}


def test_on_a_fit_cluster_only_what_no_api_tells_is_not_checked() -> None:
    found = examined(world(), "edge-1")
    assert unwell(found["edge-1"]) == {"immutable system": Health.NOT_CHECKED}
    assert unwell(found["global"]) == {}


def test_every_failure_comes_with_a_command() -> None:
    made = world(FaultId.UNLABELLED_WORKERS, spec=simple_fleet("edge-1", "edge-2"))
    made.fleet.person("edge-1").cordon("edge-1-m1")
    for found in examined(made, "edge-1", "edge-2", token=made.fleet.reader_token).values():
        assert all(f.command for f in found if f.health is Health.FAILED)


def test_unlabelled_workers_fail_the_labels_and_the_pools_with_the_label_to_set() -> None:
    found = examined(world(FaultId.UNLABELLED_WORKERS), "edge-1")["edge-1"]
    labelled, pools = of(found, "nodes labelled"), of(found, "nodes in pools")
    assert labelled.health is Health.FAILED
    assert "kubectl label node edge-1-w1 edge-1-w2 node-role.kubernetes.io/worker=" in labelled.command
    assert pools.health is Health.FAILED
    assert "edge-1-w1, edge-1-w2" in pools.told


def test_a_token_that_may_only_read_is_told_verb_by_verb() -> None:
    made = world()
    found = examined(made, "edge-1", token=made.fleet.reader_token)
    denied = [f for f in found["edge-1"] if f.check == "rights" and f.health is Health.FAILED]
    assert [f.told for f in denied] == [
        "the token may not create, patch, delete machineconfigs.machineconfiguration.alauda.io",
        "the token may not create, patch, delete machineconfigpools.machineconfiguration.alauda.io",
        "the token may not create, patch machineconfigurations.machineconfiguration.alauda.io",
    ]
    on_global = [f.told for f in found["global"] if f.health is Health.FAILED]
    assert "the token may not create, patch, delete moduleinfoes.cluster.alauda.io" in on_global


def test_where_fleets_can_be_the_rights_to_see_them_are_asked_for_and_nowhere_else() -> None:
    made = world()
    rule = Rule(("list",), ("platform.tkestack.io", "cluster.alauda.io"))
    made.fleet.servers["global"].grant("narrow", User("narrow", (rule,)))
    told = [f.told for f in examined(made, "edge-1", token="narrow")["global"]]
    assert not any("gitops-mc.io" in text for text in told)
    for file in sorted(CRDS.glob("*.yaml")):
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        body = json.dumps(yaml.safe_load(file.read_text())).encode()
        answer = made.fleet.servers["global"].handle(Request("POST", path, body=body, token=ADMIN_TOKEN))
        assert answer.status == 201
    told = [f.told for f in examined(made, "edge-1", token="narrow")["global"]]
    assert "the token may not get, list clusterrollouts.gitops-mc.io" in told
    assert "the token may not get fleets.gitops-mc.io" in told


def test_a_token_nobody_knows_fails_once_and_everything_behind_it_is_not_checked() -> None:
    found = examined(world(), "edge-1", token="nobody")["edge-1"]
    assert [f.check for f in found if f.health is Health.FAILED] == ["token"]
    assert {f.check for f in found if f.health is Health.OK} == {"reachable"}


def test_a_dark_cluster_fails_once_and_everything_behind_it_is_not_checked() -> None:
    found = examined(world(FaultId.GATEWAY_GONE), "edge-1")["edge-1"]
    assert [f.check for f in found if f.health is Health.FAILED] == ["reachable"]
    assert of(found, "nodes ready").health is Health.NOT_CHECKED
    assert of(found, "controller").health is Health.NOT_CHECKED
    assert of(found, "registered").health is Health.OK, "global knows it all the same"


def test_where_the_plugin_is_missing_it_is_a_failure_unless_the_repository_installs_it() -> None:
    made = world(spec=FleetSpec((ClusterSpec("edge-1", masters=1, workers=1),)))
    missing = examined(made, "edge-1")["edge-1"]
    assert of(missing, "plugin installed").health is Health.FAILED
    assert of(missing, "controller").health is Health.NOT_CHECKED
    wanted = examined(made, "edge-1", wanted={"edge-1": "v4.3.0"})["edge-1"]
    assert of(wanted, "plugin installed").health is Health.NOT_CHECKED
    assert "the repository installs v4.3.0" in of(wanted, "plugin installed").told


def test_a_version_that_is_not_published_fails_with_those_that_are() -> None:
    found = examined(world(), "edge-1", wanted={"edge-1": "v9.9.9"})["edge-1"]
    assert of(found, "plugin published").told == "the repository wants v9.9.9; published: v4.3.0"


def test_a_cluster_that_global_does_not_know_or_does_not_run_is_told() -> None:
    made = world()
    made.fleet.set_phase("edge-1", "Failed")
    assert "phase on global is Failed" in of(examined(made, "edge-1")["edge-1"], "registered").told
    assert "knows no cluster" in of(examined(made, "edge-9")["edge-9"], "registered").told
