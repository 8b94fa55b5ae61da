"""The chart and the overlays on a real API server: taken strictly; installed, upgraded and taken away by helm, with the Fleets
that stand meanwhile.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from gitops_mc.core.model import JsonObject
from tests.apiserver.clusters import RealClusters, install
from tests.apiserver.installed import Administrator, administrator
from tests.apiserver.page import section
from tests.deploy.chart import CHART, OVERLAYS, PAIRS, Pair, kustomized, template
from tests.deploy.controller import NAMESPACE
from tests.deploy.programs import GET_HELM, find_helm
from tests.deploy.rendering import DEPLOY
from tests.deploy.values import BY_THE_SCHEMA, BY_THE_TEMPLATES, LET_IN, Else
from tests.docs.readme import console_blocks, first_difference

pytestmark = [pytest.mark.apiserver, pytest.mark.skipif(find_helm() is None, reason=GET_HELM)]
CLUSTER = "installed-by-helm"
MONITORING = Path(__file__).parent / "monitoring"
STRICT = ("--server-side", "--dry-run=server", "--validate=strict")
FLEET: JsonObject = {
    "apiVersion": "gitops-mc.io/v1alpha1",
    "kind": "Fleet",
    "metadata": {"name": "prod", "namespace": NAMESPACE},
    "spec": {"suspend": True, "source": {"url": "https://git.example.com/platform/fleet.git"}},
}


@dataclass(frozen=True, slots=True)
class Helm:
    """Somebody with helm and all rights on the cluster."""

    program: Path
    kubeconfig: Path
    home: Path

    def tried(self, *words: str, values: JsonObject | None = None) -> subprocess.CompletedProcess[str]:
        given = () if values is None else ("--values", "-")
        return subprocess.run(
            [str(self.program), *words, "--namespace", NAMESPACE, *given],
            input="" if values is None else json.dumps(values),
            env={"HOME": str(self.home), "PATH": "", "KUBECONFIG": str(self.kubeconfig)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def said(self, *words: str, values: JsonObject | None = None) -> str:
        """What it prints. It has to end well."""
        done = self.tried(*words, values=values)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def admin(real_clusters: RealClusters, tmp_path_factory: pytest.TempPathFactory) -> Administrator:
    """A cluster of its own, with the namespace, and what the Prometheus operator would serve."""
    real_clusters.start(CLUSTER)
    definitions = [yaml.safe_load(file.read_text()) for file in sorted(MONITORING.glob("*.yaml"))]
    install(real_clusters.servers[CLUSTER], *definitions)
    found = administrator(real_clusters, CLUSTER, tmp_path_factory.mktemp("helm"))
    found.said("apply", "-f", str(DEPLOY / "base" / "namespace.yaml"))
    return found


@pytest.fixture
def helm(admin: Administrator, tmp_path: Path) -> Helm:
    """Nothing of ours stands but the namespace."""
    program = find_helm()
    assert program is not None
    found = Helm(program, admin.kubeconfig, tmp_path)
    if "gitops-mc" in found.said("list", "--short"):
        found.said("uninstall", "gitops-mc")
    admin.said("delete", "--ignore-not-found", "-f", str(DEPLOY / "crds"))
    return found


def _strictly(admin: Administrator, *what: str, stdin: str = "") -> list[str]:
    told = admin.said("apply", *STRICT, *what, stdin=stdin).splitlines()
    assert all(line.endswith(" (server dry run)") for line in told), told
    return told


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_what_helm_renders_is_taken_strictly(admin: Administrator, pair: Pair) -> None:
    assert len(_strictly(admin, "-f", "-", stdin=template(pair.values))) >= 15


@pytest.mark.parametrize("values", LET_IN.values(), ids=LET_IN)
def test_values_that_are_let_in_make_objects_that_are_taken_strictly(
    admin: Administrator, values: JsonObject
) -> None:
    assert len(_strictly(admin, "-f", "-", stdin=template(values))) >= 15


def test_what_the_chart_refuses_on_behalf_of_the_server_the_server_refuses(
    admin: Administrator, tmp_path: Path
) -> None:
    """The chart without its schema and its checks lets all of it through. Else the chart is stricter than anybody needs."""
    unchecked = tmp_path / "unchecked"
    shutil.copytree(CHART, unchecked)
    (unchecked / "values.schema.json").unlink()
    checked = (unchecked / "templates" / "objects.yaml").read_text()
    lines = [line for line in checked.splitlines() if "gitops-mc.refused" not in line]
    assert len(lines) == len(checked.splitlines()) - 1
    (unchecked / "templates" / "objects.yaml").write_text("\n".join(lines))
    taken = set()
    for name, spoilt in (BY_THE_SCHEMA | BY_THE_TEMPLATES).items():
        rendered = template(spoilt.values, chart=unchecked)
        code, _, _ = admin.tried("apply", *STRICT, "-f", "-", stdin=rendered)
        if (code == 0) == (spoilt.otherwise is Else.REFUSED):
            taken.add(name)
    assert taken == set()


@pytest.mark.parametrize("name", OVERLAYS)
def test_an_overlay_is_taken_strictly(admin: Administrator, name: str) -> None:
    assert _strictly(admin, "-k", str(DEPLOY / "overlays" / name))


def test_all_of_them_beside_the_base_are_taken_strictly(admin: Administrator, tmp_path: Path) -> None:
    folders = (DEPLOY / "base", *(DEPLOY / "overlays" / name for name in OVERLAYS))
    body = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(folder, tmp_path) for folder in folders],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(body))
    assert len(_strictly(admin, "-k", str(tmp_path))) == len(kustomized(PAIRS["all"]))


@pytest.mark.parametrize(
    ("kind", "spoil"),
    [
        ("ServiceMonitor", lambda body: body["spec"]["endpoints"][0].update(intervall="30s")),
        ("PrometheusRule", lambda body: body["spec"]["groups"][0]["rules"][0].update({"for": "soon"})),
        ("NetworkPolicy", lambda body: body["spec"].update(ingres=[])),
        ("PodDisruptionBudget", lambda body: body["spec"].update(minAvailable=1)),
        ("Deployment", lambda body: body["spec"]["template"]["spec"].update(priorityClass="x")),
    ],
)
def test_strictly_means_that_a_misspelt_field_is_refused(
    admin: Administrator, kind: str, spoil: Callable[[JsonObject], None]
) -> None:
    [body] = [b for b in yaml.safe_load_all(template(PAIRS["all"].values)) if b and b["kind"] == kind]
    spoil(body)
    code, _, told = admin.tried("apply", *STRICT, "-f", "-", stdin=json.dumps(body))
    assert code != 0
    assert "unknown field" in told or "field not declared" in told or "invalid" in told


def test_a_release_installed_upgraded_and_taken_away_leaves_the_fleets(
    admin: Administrator, helm: Helm
) -> None:
    helm.said("install", "gitops-mc", str(CHART), values={})
    admin.said("wait", "--for=condition=Established", "--timeout=30s", "-f", str(DEPLOY / "crds"))
    admin.apply(FLEET)
    told = helm.said("upgrade", "gitops-mc", str(CHART), values=PAIRS["all"].values)
    assert "REVISION: 2" in told
    standing = admin.said(
        "-n", NAMESPACE, "get", "servicemonitor,prometheusrule,networkpolicy,pdb", "-o", "name"
    )
    assert len(standing.split()) == 4
    told = helm.said("uninstall", "gitops-mc")
    assert "[CustomResourceDefinition] fleets.gitops-mc.io" in told
    assert admin.said("-n", NAMESPACE, "get", "fleet", "-o", "name").split() == ["fleet.gitops-mc.io/prod"]
    assert not admin.said("-n", NAMESPACE, "get", "deployment,role,servicemonitor", "-o", "name").strip()
    helm.said("install", "gitops-mc", str(CHART), values={})  # it knows what it has left as its own
    assert admin.said("-n", NAMESPACE, "get", "fleet", "-o", "name").split() == ["fleet.gitops-mc.io/prod"]


def test_the_page_shows_what_is_typed_and_what_helm_says(
    admin: Administrator, helm: Helm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(DEPLOY.parent)
    [[namespace, release]] = console_blocks(section("helm"))
    program, *words = shlex.split(namespace.line)
    told = admin.said(*words)  # it stands already, and a server without its controllers ends none
    assert (program, namespace.shown) == ("kubectl", (f"{told.split()[0]} created",))
    program, *words = shlex.split(release.line)
    assert (program, words[-4:-2]) == ("helm", ["-n", NAMESPACE])
    assert not first_difference(release.shown, helm.said(*words))


def test_an_upgrade_brings_new_definitions(admin: Administrator, helm: Helm, tmp_path: Path) -> None:
    older = tmp_path / "older"
    shutil.copytree(CHART, older)
    file = older / "objects" / "crds" / "fleets.yaml"
    definition = yaml.safe_load(file.read_text())
    properties = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"][
        "properties"
    ]
    del properties["suspend"]
    file.write_text(yaml.safe_dump(definition))
    helm.said("install", "gitops-mc", str(older), values={})
    admin.said("wait", "--for=condition=Established", "--timeout=30s", "-f", str(DEPLOY / "crds"))
    code, _, told = admin.tried("apply", *STRICT, "-f", "-", stdin=json.dumps(FLEET))
    assert (code != 0, "suspend" in told) == (True, True)
    helm.said("upgrade", "gitops-mc", str(CHART), values={})
    explained = admin.said("get", "crd", "fleets.gitops-mc.io", "-o", "json")
    now = json.loads(explained)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert "suspend" in now["properties"]["spec"]["properties"]


def test_a_way_back_leaves_the_newer_definitions_and_the_next_upgrade_has_them_again(
    admin: Administrator, helm: Helm
) -> None:
    def of_the_release() -> set[str]:
        manifest = yaml.safe_load_all(helm.said("get", "manifest", "gitops-mc"))
        return {b["metadata"]["name"] for b in manifest if b["kind"] == "CustomResourceDefinition"}

    definitions = {"fleets.gitops-mc.io", "clusterrollouts.gitops-mc.io"}
    helm.said("install", "gitops-mc", str(CHART), values={})
    admin.said("wait", "--for=condition=Established", "--timeout=30s", "-f", str(DEPLOY / "crds"))
    admin.apply(FLEET)
    assert of_the_release() == definitions
    helm.said("upgrade", "gitops-mc", str(CHART), values={"crds": {"install": False}})
    assert of_the_release() == set()
    standing = admin.said("get", "crd", *sorted(definitions), "-o", "name").split()
    assert len(standing) == len(definitions)
    assert admin.said("-n", NAMESPACE, "get", "fleet", "-o", "name").split() == ["fleet.gitops-mc.io/prod"]
    given = {"replicas": 2}  # without any, helm takes those of before
    helm.said("upgrade", "gitops-mc", str(CHART), values=given)
    assert of_the_release() == definitions


def test_what_kubectl_has_installed_helm_takes_over_when_it_is_told_to(
    admin: Administrator, helm: Helm
) -> None:
    admin.said("apply", "-k", str(DEPLOY / "base"))
    admin.said("wait", "--for=condition=Established", "--timeout=30s", "-f", str(DEPLOY / "crds"))
    admin.apply(FLEET)
    refused = helm.tried("install", "gitops-mc", str(CHART), values={})
    assert refused.returncode != 0
    assert "exists and cannot be imported into the current release" in refused.stderr
    helm.said("install", "gitops-mc", str(CHART), "--take-ownership", values={})
    [fleet] = json.loads(admin.said("-n", NAMESPACE, "get", "fleet", "-o", "json"))["items"]
    assert fleet["spec"] == FLEET["spec"] | {"source": fleet["spec"]["source"]}
