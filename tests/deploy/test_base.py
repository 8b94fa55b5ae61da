"""deploy/, rendered: what it promises of the pods, and that API servers take it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import click
import pytest
import yaml

from gitops_mc.app.api_paths import RESOURCES
from gitops_mc.app.ports import APPLY_PATCH, Request
from gitops_mc.bootstrap.controller import STOPS_WITHIN
from gitops_mc.cli.controller import command
from gitops_mc.core.custom.fleet_spec import fleet_spec
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer
from gitops_mc.sandbox.virtual import VirtualClock
from tests.deploy.chart import OVERLAYS
from tests.deploy.controller import ACCOUNT, NAMESPACE
from tests.deploy.rendering import DEPLOY, only, rendered
from tests.sandbox.kubectl import GET_KUBECTL, find_kubectl

FOLDERS = ("crds", "rights", "base", "workload", "example", *(f"overlays/{name}" for name in OVERLAYS))
BASE = rendered(DEPLOY / "base")
DEPLOYMENT = only(BASE, "Deployment", "gitops-mc", NAMESPACE)["spec"]
POD = DEPLOYMENT["template"]["spec"]
[CONTROLLER] = POD["containers"]
_KUBECTL = find_kubectl()


@pytest.mark.skipif(_KUBECTL is None, reason=GET_KUBECTL)
@pytest.mark.parametrize("folder", FOLDERS)
def test_it_is_what_kustomize_makes_of_it(folder: str) -> None:
    done = subprocess.run(
        [str(_KUBECTL), "kustomize", str(DEPLOY / folder)], capture_output=True, text=True, check=True
    )
    theirs = [body for body in yaml.safe_load_all(done.stdout) if body]
    assert _by_name(theirs) == _by_name(rendered(DEPLOY / folder))


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_of_a_folder_is_named_in_its_kustomization(folder: str) -> None:
    said = next(f for f in (DEPLOY / folder).iterdir() if f.name.lower().startswith("kustomization"))
    body = yaml.safe_load(said.read_text())
    generated = {f.partition("=")[2] for made in body.get("configMapGenerator", ()) for f in made["files"]}
    named = {name for name in body.get("resources", ()) if "/" not in name} | generated
    files = {f.name for f in (DEPLOY / folder).iterdir()} - {said.name}
    assert files - named == ({"git-ssh.yaml"} if folder == "example" else set())


def test_every_overlay_is_one_that_the_chart_has_a_switch_for() -> None:
    assert {f.name for f in (DEPLOY / "overlays").iterdir()} == set(OVERLAYS)


def test_no_two_objects_have_one_name() -> None:
    bodies = (*BASE, *(body for name in OVERLAYS for body in rendered(DEPLOY / "overlays" / name)))
    assert len(_by_name(bodies)) == len(bodies)


def test_everything_of_the_overlays_is_about_the_pods_of_the_base() -> None:
    labels = DEPLOYMENT["selector"]["matchLabels"]
    for name in OVERLAYS:
        for body in rendered(DEPLOY / "overlays" / name):
            spec = body.get("spec", {})
            assert labels.items() <= body["metadata"]["labels"].items()
            if body["kind"] in ("ClusterRole", "ClusterRoleBinding"):
                assert [s["name"] for s in body.get("subjects", ())] in ([], [ACCOUNT])
                continue
            assert body["metadata"]["namespace"] == NAMESPACE
            if body["kind"] in ("NetworkPolicy", "PodDisruptionBudget"):
                assert (spec.get("selector") or spec.get("podSelector"))["matchLabels"] == labels
            if body["kind"] == "ServiceMonitor":
                [service] = [b for b in BASE if b["kind"] == "Service" and _selects(spec["selector"], b)]
                [endpoint] = spec["endpoints"]
                assert endpoint["port"] in {p["name"] for p in service["spec"]["ports"]}
            if body["kind"] == "NetworkPolicy":
                opened = {p["port"] for rule in spec["ingress"] for p in rule["ports"]}
                assert opened == {p["name"] for p in CONTROLLER["ports"]}


def _selects(selector: JsonObject, body: JsonObject) -> bool:
    return bool(selector["matchLabels"].items() <= body["metadata"]["labels"].items())


# ------------------------------------------------------------------------------------------------------------ the pods


def test_the_arguments_are_those_of_the_program() -> None:
    assert CONTROLLER["args"][0] == "controller"
    command.make_context("controller", CONTROLLER["args"][1:])
    known = {o.envvar for o in command.params if isinstance(o, click.Option)}
    assert {e["name"] for e in CONTROLLER["env"]} <= known


def test_each_replica_is_called_like_its_pod_and_looks_after_its_own_namespace() -> None:
    said = {e["name"]: e["valueFrom"]["fieldRef"]["fieldPath"] for e in CONTROLLER["env"]}
    assert said == {"GITOPS_MC_IDENTITY": "metadata.name", "GITOPS_MC_NAMESPACE": "metadata.namespace"}


def test_two_replicas_keep_apart_and_are_exchanged_one_after_the_other() -> None:
    assert DEPLOYMENT["replicas"] == 2
    assert DEPLOYMENT["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    [term] = POD["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term["podAffinityTerm"]["topologyKey"] == "kubernetes.io/hostname"
    [spread] = POD["topologySpreadConstraints"]
    assert spread["whenUnsatisfiable"] == "ScheduleAnyway"
    assert term["podAffinityTerm"]["labelSelector"] == spread["labelSelector"] == DEPLOYMENT["selector"]
    assert (
        DEPLOYMENT["selector"]["matchLabels"].items() <= DEPLOYMENT["template"]["metadata"]["labels"].items()
    )


def test_the_container_may_do_nothing_but_run() -> None:
    security = CONTROLLER["securityContext"]
    assert security == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert POD["securityContext"]["runAsUser"] > 0
    assert POD["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & POD.keys()


def test_what_is_written_to_has_a_volume_with_a_limit_and_credentials_never_reach_a_disk() -> None:
    mounted = {m["mountPath"]: m["name"] for m in CONTROLLER["volumeMounts"]}
    volumes = {v["name"]: v["emptyDir"] for v in POD["volumes"]}
    assert set(mounted) == {"/tmp", "/cache"}
    assert "--cache=/cache" in CONTROLLER["args"]
    assert all("sizeLimit" in volumes[name] for name in mounted.values())
    assert volumes[mounted["/tmp"]]["medium"] == "Memory"


def test_a_graceful_end_has_its_ten_seconds() -> None:
    assert POD["terminationGracePeriodSeconds"] > STOPS_WITHIN + 10, "the kubelet counts what it needs itself"


def test_probes_ask_what_is_served_and_services_lead_to_ports_that_are_there() -> None:
    ports = {p["name"]: p["containerPort"] for p in CONTROLLER["ports"]}
    assert {f"--{name}={port}" for name, port in ports.items()} < set(CONTROLLER["args"])
    paths = {kind: CONTROLLER[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")}
    assert {kind: get["path"] for kind, get in paths.items()} == {
        "startup": "/healthz",
        "liveness": "/healthz",
        "readiness": "/readyz",
    }
    assert {get["port"] for get in paths.values()} == {"probes"}
    for service in (b for b in BASE if b["kind"] == "Service"):
        assert service["spec"]["selector"] == DEPLOYMENT["selector"]["matchLabels"]
        [port] = service["spec"]["ports"]
        assert port["targetPort"] in ports
    assert {"requests", "limits"} == CONTROLLER["resources"].keys()


# ------------------------------------------------------------------------------------------------------------ accepted


def test_the_embedded_server_takes_what_it_serves_of_it_and_a_second_time_changes_nothing() -> None:
    server = ApiServer(GLOBAL_CLUSTER, now=VirtualClock().now)
    served = (*(b for b in BASE if b["kind"] in _SERVED), *rendered(DEPLOY / "example"))
    assert {b["kind"] for b in served} == _SERVED | {"Secret", "ConfigMap", "Fleet"}
    first = [_applied(server, body) for body in served]
    again = [_applied(server, body) for body in served]
    assert [_version(body) for body in first] == [_version(body) for body in again]


def test_the_example_is_a_fleet_that_can_be_followed_and_names_objects_that_stand_beside_it() -> None:
    bodies = rendered(DEPLOY / "example")
    spec = fleet_spec(only(bodies, "Fleet", "prod", NAMESPACE))
    gateway = spec.clusters.gateway
    assert gateway is not None
    assert gateway.ca is not None
    for kind, ref in (
        ("Secret", spec.source.credentials),
        ("ConfigMap", spec.source.ca),
        ("Secret", gateway.token),
        ("ConfigMap", gateway.ca),
        ("Secret", spec.webhook),
    ):
        assert ref is not None
        named = only(bodies, kind, ref.name, NAMESPACE)
        assert not ref.key or ref.key in named["stringData"]
    texts = [v for b in bodies for v in (b.get("stringData") or b.get("data") or {}).values()]
    assert all(text.startswith("REPLACE-WITH-") for text in texts)


_SERVED = {"CustomResourceDefinition", "Namespace", "Deployment"}


def _applied(server: ApiServer, body: JsonObject) -> JsonObject:
    what = RESOURCES[body["kind"]]
    meta = body["metadata"]
    query = (("fieldManager", "kubectl"), ("fieldValidation", "Strict"))
    path = what.item(meta["name"], meta.get("namespace", ""))
    data = json.dumps(body).encode()
    answer = server.handle(Request("PATCH", path, query, data, APPLY_PATCH, token=ADMIN_TOKEN))
    assert answer.status in (200, 201), answer.body
    found: JsonObject = json.loads(answer.body)
    return found


def _version(body: JsonObject) -> str:
    return str(body["metadata"]["resourceVersion"])


def _by_name(
    bodies: Iterator[JsonObject] | list[JsonObject] | tuple[JsonObject, ...],
) -> dict[str, JsonObject]:
    return {f"{b['kind']} {b['metadata'].get('namespace', '')}/{b['metadata']['name']}": b for b in bodies}
