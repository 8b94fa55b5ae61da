"""The chart installs what the kustomize base and its overlays install, object by object, and refuses values it does not know."""

from __future__ import annotations

import copy
import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_mc import __version__
from gitops_mc.core.model import JsonObject
from tests.deploy.chart import (
    CHART,
    KEPT,
    OBJECTS,
    OVERLAYS,
    PAIRS,
    Pair,
    copies,
    helm,
    kustomized,
    template,
    templated,
)
from tests.deploy.programs import GET_HELM, find_helm
from tests.deploy.rendering import DEPLOY, only
from tests.deploy.values import BY_THE_SCHEMA, BY_THE_TEMPLATES, LET_IN, Spoilt

NS = "gitops-mc"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
needs_helm = pytest.mark.skipif(find_helm() is None, reason=GET_HELM)

# ------------------------------------------------------------------------------------------------- without helm


def test_the_objects_of_the_chart_are_those_of_deploy_byte_for_byte() -> None:
    there = {str(f.relative_to(OBJECTS)): f.read_bytes() for f in OBJECTS.rglob("*") if f.is_file()}
    assert there == copies(), "`make chart` copies them anew"


def test_it_has_the_version_of_the_program() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_every_value_is_in_the_schema_and_every_name_of_the_schema_is_a_value() -> None:
    assert set(_names(VALUES, SCHEMA)) == set(_described(SCHEMA)) - {"global"}


def test_no_value_may_be_taken_away() -> None:
    """`--set env=null` does; the templates count on every one. `resources` alone has none below it that stands there."""
    optional = {path for path, needed in _needed(SCHEMA) if not needed}
    assert {path for path in optional if path.partition(".")[0] in VALUES} == {
        "resources.requests",
        "resources.limits",
    }
    assert optional - set(_names(VALUES, SCHEMA)) == {"resources.requests", "resources.limits", "global"}


def test_the_schema_lets_no_unknown_name_in_where_the_chart_knows_the_names() -> None:
    loose = [path for path, said in _objects(SCHEMA, "") if said.get("additionalProperties") is not False]
    assert loose == []


def test_the_page_names_every_overlay_and_its_switch() -> None:
    page = (DEPLOY.parent / "docs" / "install.md").read_text(encoding="utf-8")
    table = page.partition("<!-- overlays -->")[2].partition("<!-- /overlays -->")[0]
    rows = re.findall(r"^\| `deploy/overlays/([\w-]+)` \| `(\w+)\.enabled` \|", table, flags=re.MULTILINE)
    told = {folder: Pair((folder,), {switch: {"enabled": True}}) for folder, switch in rows}
    assert told == {name: PAIRS[name] for name in OVERLAYS}


def test_no_switch_is_on_that_needs_what_a_cluster_may_not_have() -> None:
    assert _switches(VALUES) == dict.fromkeys(PAIRS["all"].values, False)


def _switches(values: JsonObject) -> dict[str, bool]:
    """Parts that are switched on or off, and which they are."""
    return {n: said["enabled"] for n, said in values.items() if isinstance(said, dict) and "enabled" in said}


def _names(values: JsonObject, schema: JsonObject, prefix: str = "") -> Iterator[str]:
    for name, value in values.items():
        yield f"{prefix}{name}"
        below = schema["properties"].get(name, {})
        if isinstance(value, dict) and "properties" in below and value:
            yield from _names(value, below, f"{prefix}{name}.")


def _described(schema: JsonObject, prefix: str = "") -> Iterator[str]:
    """Names that values.yaml has to show: of what it shows as empty, the names below are Kubernetes' own."""
    for name, below in schema["properties"].items():
        yield f"{prefix}{name}"
        if "properties" in below and name != "resources":
            yield from _described(below, f"{prefix}{name}.")


def _needed(schema: JsonObject, prefix: str = "") -> Iterator[tuple[str, bool]]:
    for name, below in schema["properties"].items():
        yield f"{prefix}{name}", name in schema.get("required", ())
        if "properties" in below:
            yield from _needed(below, f"{prefix}{name}.")


def _objects(schema: Any, path: str) -> Iterator[tuple[str, JsonObject]]:
    """All objects whose names the schema lists."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and "type" in schema:
            yield path, schema
        for name, below in schema.items():
            yield from _objects(below, f"{path}/{name}")


# ---------------------------------------------------------------------------------------------------- with helm


@needs_helm
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_helm_and_kustomize_install_the_same_objects(pair: Pair) -> None:
    expected = _by_name(kustomized(pair))
    del expected["Namespace /gitops-mc"]  # made before the release, from the same file: docs/install.md
    for body in expected.values():
        if body["kind"] == "CustomResourceDefinition":
            body["metadata"]["annotations"] = {**body["metadata"].get("annotations", {}), **KEPT}
    found = templated(pair.values)
    assert _by_name(found) == expected
    assert len(found) == len(expected)


@needs_helm
def test_every_definition_stays_when_the_release_is_taken_away_and_may_be_left_out_of_it() -> None:
    kept = [b for b in templated({}) if b["metadata"].get("annotations", {}).items() >= KEPT.items()]
    assert sorted(b["metadata"]["name"] for b in kept) == [
        "clusterrollouts.gitops-mc.io",
        "fleets.gitops-mc.io",
    ]
    assert {b["kind"] for b in kept} == {"CustomResourceDefinition"}
    without = templated({"crds": {"install": False}})
    assert _by_name(without) == {
        n: b for n, b in _by_name(templated({})).items() if b not in kept and "Custom" not in n
    }


CHANGES: dict[str, tuple[JsonObject, str, JsonObject]] = {
    "image": (
        {
            "image": {
                "repository": "registry.example.com:5000/platform/gitops-mc",
                "tag": "v9",
                "pullPolicy": "Always",
            }
        },
        "Deployment",
        {
            "spec.template.spec.containers.0.image": "registry.example.com:5000/platform/gitops-mc:v9",
            "spec.template.spec.containers.0.imagePullPolicy": "Always",
        },
    ),
    "a digest goes before a tag": (
        {"image": {"repository": "r/gitops-mc", "tag": "v9", "digest": f"sha256:{'a' * 64}"}},
        "Deployment",
        {"spec.template.spec.containers.0.image": f"r/gitops-mc@sha256:{'a' * 64}"},
    ),
    "pull secrets": (
        {"imagePullSecrets": [{"name": "registry"}]},
        "Deployment",
        {"spec.template.spec.imagePullSecrets.0.name": "registry"},
    ),
    "replicas": ({"replicas": 3}, "Deployment", {"spec.replicas": 3}),
    "log level": (
        {"logLevel": "debug"},
        "Deployment",
        {"spec.template.spec.containers.0.args.4": "--log-level=debug"},
    ),
    "environment": (
        {"env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}]},
        "Deployment",
        {
            "spec.template.spec.containers.0.env.2.name": "HTTPS_PROXY",
            "spec.template.spec.containers.0.env.2.value": "http://proxy:3128",
        },
    ),
    "room for the cache": (
        {"cacheSize": "2.5Gi"},
        "Deployment",
        {"spec.template.spec.volumes.0.emptyDir.sizeLimit": "2.5Gi"},
    ),
    "a CA of one's own": (
        {
            "volumes": [{"name": "ca", "configMap": {"name": "our-ca"}}],
            "volumeMounts": [{"name": "ca", "mountPath": "/etc/our-ca", "readOnly": True}],
        },
        "Deployment",
        {
            "spec.template.spec.volumes.2.name": "ca",
            "spec.template.spec.volumes.2.configMap.name": "our-ca",
            "spec.template.spec.containers.0.volumeMounts.2.name": "ca",
            "spec.template.spec.containers.0.volumeMounts.2.mountPath": "/etc/our-ca",
            "spec.template.spec.containers.0.volumeMounts.2.readOnly": True,
        },
    ),
    "no priority": (
        {"priorityClassName": ""},
        "Deployment",
        {"spec.template.spec.priorityClassName": None},
    ),
    "where pods go": (
        {
            "nodeSelector": {"node-role.kubernetes.io/infra": ""},
            "tolerations": [{"key": "infra", "operator": "Exists"}],
        },
        "Deployment",
        {
            "spec.template.spec.nodeSelector.node-role.kubernetes.io/infra": "",
            "spec.template.spec.tolerations.0.key": "infra",
            "spec.template.spec.tolerations.0.operator": "Exists",
        },
    ),
    "scraped more often, by a Prometheus that selects": (
        {"monitoring": {"enabled": True, "interval": "15s", "labels": {"release": "kps"}}},
        "ServiceMonitor",
        {"spec.endpoints.0.interval": "15s", "metadata.labels.release": "kps"},
    ),
    "who may reach it": (
        {
            "networkPolicy": {
                "enabled": True,
                "probesFrom": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
                "webhookFrom": [{"namespaceSelector": {}}],
            }
        },
        "NetworkPolicy",
        {
            "spec.ingress.0.from.0.ipBlock.cidr": "10.0.0.0/8",
            "spec.ingress.1.from.0.namespaceSelector": {},
        },
    ),
}


@needs_helm
@pytest.mark.parametrize(("values", "kind", "changed"), CHANGES.values(), ids=CHANGES)
def test_a_value_changes_what_it_names_and_nothing_else(
    values: JsonObject, kind: str, changed: JsonObject
) -> None:
    switched = {name: {"enabled": on} for name, on in _switches(values).items()}
    before, after = (_by_name(templated(said)) for said in (switched, values))
    differing = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    monitored = {"PrometheusRule gitops-mc/gitops-mc"} if kind == "ServiceMonitor" else set()
    assert differing == {f"{kind} {NS}/gitops-mc"} | monitored
    old, new = _leaves(before[f"{kind} {NS}/gitops-mc"]), _leaves(after[f"{kind} {NS}/gitops-mc"])
    assert {p: new.get(p) for p in old.keys() | new.keys() if old.get(p, ...) != new.get(p, ...)} == changed


@needs_helm
def test_resources_that_are_given_are_taken_whole() -> None:
    given = {"requests": {"cpu": 1, "memory": "2Gi"}, "limits": {"memory": "2Gi"}}
    pod = only(templated({"resources": given}), "Deployment", NS, NS)["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"] == given


@needs_helm
def test_other_rules_of_egress_replace_those_that_are_there() -> None:
    rules = [{"to": [{"ipBlock": {"cidr": "192.0.2.1/32"}}], "ports": [{"port": 443, "protocol": "TCP"}]}]
    values = {"networkPolicy": {"enabled": True, "egress": rules}}
    assert only(templated(values), "NetworkPolicy", NS, NS)["spec"]["egress"] == rules


@needs_helm
def test_runbooks_are_led_to_where_they_can_be_opened() -> None:
    at = "https://git.example.com/platform/gitops-mc/blob/main/"
    rules = only(templated({"monitoring": {"enabled": True, "runbooks": at}}), "PrometheusRule", NS, NS)
    urls = [r["annotations"]["runbook_url"] for g in rules["spec"]["groups"] for r in g["rules"]]
    assert all(url.startswith(f"{at}docs/runbooks/gitops-mc-") for url in urls)


@needs_helm
def test_in_another_namespace_everything_of_ours_stands_there_and_what_is_the_platforms_stays() -> None:
    all_on = PAIRS["all"].values
    here = json.dumps(sorted_bodies(templated(all_on)))
    there = json.dumps(sorted_bodies(templated(all_on, namespace="elsewhere")))
    assert json.loads(here.replace('"namespace": "gitops-mc"', '"namespace": "elsewhere"')) == json.loads(
        there
    )
    assert '"namespace": "gitops-mc"' not in there
    assert there.count('"namespace": "cpaas-system"') == here.count('"namespace": "cpaas-system"') > 0


REFUSED: dict[str, tuple[JsonObject, str]] = {
    "a misspelt name": ({"replica": 2}, "replica"),
    "a misspelt name below": ({"monitoring": {"enable": True}}, "enable"),
    "a number in words": ({"replicas": "two"}, "replicas"),
    "a switch in words": ({"networkPolicy": {"enabled": "yes"}}, "networkPolicy.enabled"),
    "no replica": ({"replicas": 0}, "replicas"),
    "a tag in the name": ({"image": {"repository": "registry.example.com/gitops-mc:v1"}}, "image.repository"),
    "a digest cut short": ({"image": {"digest": "sha256:abc"}}, "image.digest"),
    "an unknown level": ({"logLevel": "trace"}, "logLevel"),
    "an amount": ({"cacheSize": "much"}, "cacheSize"),
    "runbooks without a slash": ({"monitoring": {"runbooks": "https://example.com"}}, "monitoring.runbooks"),
    "a label that is a number": ({"monitoring": {"labels": {"release": 1}}}, "monitoring.labels.release"),
    "a peer that is nothing": (
        {"networkPolicy": {"webhookFrom": [{"pods": {}}]}},
        "networkPolicy.webhookFrom.0",
    ),
}


@needs_helm
@pytest.mark.parametrize(("values", "named"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_right_is_refused_by_its_name(values: JsonObject, named: str) -> None:
    done = helm("template", "gitops-mc", str(CHART), values=values)
    assert done.returncode != 0
    assert "values don't meet the specifications of the schema" in done.stderr
    assert named in done.stderr.replace("/", "."), done.stderr


@needs_helm
@pytest.mark.parametrize("spoilt", BY_THE_SCHEMA.values(), ids=BY_THE_SCHEMA)
def test_what_an_api_server_or_the_pod_would_stumble_over_is_refused_by_its_name(spoilt: Spoilt) -> None:
    done = helm("template", "gitops-mc", str(CHART), values=spoilt.values)
    assert done.returncode != 0
    told = {at.removeprefix("/").replace("/", ".") for at in re.findall(r"- at '([^']*)'", done.stderr)}
    assert spoilt.named in told, done.stderr
    assert "'not' failed" not in done.stderr


@needs_helm
@pytest.mark.parametrize("spoilt", BY_THE_TEMPLATES.values(), ids=BY_THE_TEMPLATES)
def test_what_a_schema_cannot_say_is_refused_in_words(spoilt: Spoilt) -> None:
    done = helm("template", "gitops-mc", str(CHART), values=spoilt.values)
    assert done.returncode != 0
    [line] = _told(done.stderr)
    assert line.startswith(f"- {spoilt.named}: "), done.stderr


@needs_helm
def test_all_that_cannot_work_is_told_at_once() -> None:
    values = {"env": [{"name": "A"}, {"name": "A"}], "cacheSize": "50Gi"} | {
        "networkPolicy": {"probesFrom": [{"ipBlock": {"cidr": "banana"}}]}  # which is not even switched on
    }
    told = _told(helm("template", "gitops-mc", str(CHART), values=values).stderr)
    assert told == (
        "- env.1.name: A stands there twice; take one of the two out",
        (
            "- cacheSize: 50Gi is not less than the limit of ephemeral-storage, 3Gi, against which it counts: the pod would be evicted"
            " before its cache is full; take less, or set resources.limits with more"
        ),
        '- networkPolicy.probesFrom.0.ipBlock.cidr: "banana" is no CIDR, such as 10.0.0.0/8 or fd00::/8',
    )


def _told(stderr: str) -> tuple[str, ...]:
    _, found, problems = stderr.partition("values that cannot work:\n")
    assert found, stderr
    return tuple(problems.partition("\n\n")[0].splitlines())


@needs_helm
@pytest.mark.parametrize("values", LET_IN.values(), ids=LET_IN)
def test_what_works_is_let_in(values: JsonObject) -> None:
    assert templated(values)


@needs_helm
def test_helm_finds_nothing_to_complain_of() -> None:
    for pair in PAIRS.values():
        done = helm("lint", "--strict", str(CHART), values=pair.values)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "[WARNING]" not in done.stdout


@needs_helm
def test_packed_it_is_whole_and_says_the_same(tmp_path: Path) -> None:
    done = helm("package", str(CHART), "--destination", str(tmp_path))
    assert done.returncode == 0, done.stderr
    archive = tmp_path / f"gitops-mc-{__version__}.tgz"
    all_on = PAIRS["all"].values
    assert template(all_on, chart=archive) == template(all_on)
    with tarfile.open(archive) as packed:
        names = {name.removeprefix("gitops-mc/") for name in packed.getnames()}
    assert {f"objects/{path}" for path in copies()} <= names


@needs_helm
def test_a_chart_that_was_not_copied_whole_is_an_error(tmp_path: Path) -> None:
    done = helm("package", str(CHART), "--destination", str(tmp_path))
    assert done.returncode == 0
    with tarfile.open(tmp_path / f"gitops-mc-{__version__}.tgz") as packed:
        packed.extractall(tmp_path, filter="data")
    for file in (tmp_path / "gitops-mc" / "objects" / "rights").iterdir():
        file.unlink()
    told = helm("template", "gitops-mc", str(tmp_path / "gitops-mc")).stderr
    assert "the chart has no objects/rights: it was not packed whole" in told


def sorted_bodies(bodies: tuple[JsonObject, ...]) -> list[JsonObject]:
    return sorted(bodies, key=lambda b: (b["kind"], b["metadata"]["name"]))


def _by_name(bodies: tuple[JsonObject, ...]) -> dict[str, JsonObject]:
    return {
        f"{b['kind']} {b['metadata'].get('namespace', '')}/{b['metadata']['name']}": copy.deepcopy(b)
        for b in bodies
    }


def _leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Values by their dotted path; empty lists and mappings are leaves."""
    if isinstance(value, dict) and value:
        return {p: leaf for name, v in value.items() for p, leaf in _leaves(v, f"{path}.{name}").items()}
    if isinstance(value, list) and value:
        return {p: leaf for n, v in enumerate(value) for p, leaf in _leaves(v, f"{path}.{n}").items()}
    return {path.removeprefix("."): value}
