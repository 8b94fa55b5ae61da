"""deploy/ on real API servers: taken strictly, its rules in CEL and its pods admitted, and every right of it the only one of
its kind.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Iterator

import pytest

from gitops_mc.app.ports import JSON, Request, Response
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer
from gitops_mc.sandbox.virtual import VirtualClock
from tests.apiserver.carrier import RealServer
from tests.apiserver.clusters import RealClusters
from tests.apiserver.installed import EDGES, Administrator, allowed, install
from tests.apiserver.page import section
from tests.apiserver.rights import ADMIN, GATEWAY
from tests.deploy.controller import ACCOUNT, GATEWAY_USER, NAMESPACE
from tests.deploy.rendering import DEPLOY, only, rendered
from tests.deploy.rights import Right, granted
from tests.docs.readme import console_blocks

pytestmark = pytest.mark.apiserver
BASE, WORKLOAD = rendered(DEPLOY / "base"), rendered(DEPLOY / "workload")
DEFINITIONS = rendered(DEPLOY / "crds")
GROUP = "gitops-mc.io"
_OURS = f"/apis/{GROUP}/v1alpha1/namespaces/{NAMESPACE}"
_WITHIN = 10.0
"""Seconds from a change of a role until the server goes by it."""


@pytest.fixture(scope="module")
def admin(real_clusters: RealClusters, tmp_path_factory: pytest.TempPathFactory) -> Administrator:
    """Installed: strict validation has found nothing."""
    return install(real_clusters, tmp_path_factory.mktemp("installed"))


@pytest.fixture
def server(admin: Administrator, real_clusters: RealClusters) -> RealServer:
    return real_clusters.servers[GLOBAL_CLUSTER]


def test_the_definitions_are_established_with_their_columns_short_names_and_category(
    admin: Administrator,
) -> None:
    told = admin.said("api-resources", f"--api-group={GROUP}", "-o", "wide", "--no-headers")
    rows = sorted(line.split() for line in told.splitlines())
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        ("clusterrollouts", "crol", "gitops-mc"),
        ("fleets", "flt", "gitops-mc"),
    ]
    for definition in DEFINITIONS:
        stands = json.loads(admin.said("get", "crd", definition["metadata"]["name"], "-o", "json"))
        conditions = {c["type"]: c["status"] for c in stands["status"]["conditions"]}
        assert conditions["Established"] == "True"
        assert conditions.get("NonStructuralSchema", "False") == "False"


def test_applied_once_more_nothing_changes(admin: Administrator) -> None:
    told = admin.said("apply", "--validate=strict", "-k", str(DEPLOY / "base"))
    assert [line for line in told.splitlines() if not line.endswith(" unchanged")] == []


@pytest.mark.parametrize("what", ["-k=example", "-f=example/git-ssh.yaml"])
def test_the_examples_are_taken_strictly(admin: Administrator, what: str) -> None:
    option, _, path = what.partition("=")
    told = admin.said("apply", "--dry-run=server", "--validate=strict", option, str(DEPLOY / path))
    assert all(line.endswith("(server dry run)") for line in told.splitlines())


def test_the_page_names_what_is_applied(admin: Administrator) -> None:
    [[command]] = console_blocks(section("applied"))
    assert command.line == "kubectl apply -k my-install"  # which is deploy/base with another image
    told = admin.said("apply", "-k", str(DEPLOY / "base"))
    assert [line.split()[0] for line in command.shown] == [line.split()[0] for line in told.splitlines()]


def test_the_pods_are_admitted_by_the_restricted_standard(admin: Administrator) -> None:
    template = only(BASE, "Deployment", "gitops-mc", NAMESPACE)["spec"]["template"]
    metadata = {**template["metadata"], "name": "gitops-mc-0", "namespace": NAMESPACE}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
    words = ("create", "--dry-run=server", "--validate=strict", "-f", "-")
    assert "pod/gitops-mc-0 created" in admin.said(*words, stdin=json.dumps(pod))
    spoilt = copy.deepcopy(pod)
    del spoilt["spec"]["securityContext"]["seccompProfile"]
    code, _, err = admin.tried(*words, stdin=json.dumps(spoilt))
    assert code != 0
    assert "violates PodSecurity" in err


# ------------------------------------------------------------------------------------------------- the rules in CEL


def fleet(*, name: str = "tried", **source: str) -> JsonObject:
    body = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Fleet", "metadata": {"name": name}}
    return {**body, "spec": {"source": source}}


def rollout(cluster: str) -> JsonObject:
    body = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "ClusterRollout", "metadata": {"name": "edge-1"}}
    return {**body, "spec": {"fleet": "prod", "cluster": cluster}}


TRIED = {
    "named like its cluster": ("clusterrollouts", rollout("edge-1"), ""),
    "named otherwise": ("clusterrollouts", rollout("edge-2"), "a ClusterRollout has the name of its cluster"),
    "https": ("fleets", fleet(url="https://git.example.com/fleet.git"), ""),
    "ssh without a host key": (
        "fleets",
        fleet(url="ssh://git@git.example.com/fleet.git"),
        "SSH goes nowhere without source.knownHosts",
    ),
    "scp's way without a host key": (
        "fleets",
        fleet(url="git@git.example.com:fleet.git"),
        "SSH goes nowhere without source.knownHosts",
    ),
    "ssh with a host key": (
        "fleets",
        fleet(url="git@git.example.com:fleet.git", knownHosts="git ssh-rsa A"),
        "",
    ),
    "a password in the address": (
        "fleets",
        fleet(url="https://u:p@git.example.com/f.git"),
        "no user or password in source.url; use source.secretRef",
    ),
    "a password for ssh": (
        "fleets",
        fleet(url="ssh://git:p@git.example.com/f.git", knownHosts="git ssh-rsa A"),
        "no user or password in source.url; use source.secretRef",
    ),
    "no address": ("fleets", fleet(url="git.example.com/f.git"), "source.url is written https://host/path"),
    "a name that is no label": (
        "fleets",
        fleet(name="a" * 64, url="https://git.example.com/f.git"),
        "the name of a Fleet becomes a label",
    ),
    "no interval": (
        "fleets",
        fleet(url="https://git.example.com/f.git", interval="soon"),
        "source.interval is written like 60s, 5m or 1h30m",
    ),
}


@pytest.mark.parametrize(("plural", "body", "message"), list(TRIED.values()), ids=list(TRIED))
def test_what_is_refused_is_refused_in_the_same_words_by_the_embedded_server(
    server: RealServer, plural: str, body: JsonObject, message: str
) -> None:
    embedded = ApiServer(GLOBAL_CLUSTER, now=VirtualClock().now)
    paths = {
        "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "Namespace": "/api/v1/namespaces",
    }
    for made in (b for b in BASE if b["kind"] in paths):
        path = paths[made["kind"]]
        asked = Request("POST", path, body=json.dumps(made).encode(), token=ADMIN_TOKEN)
        assert embedded.handle(asked).status == 201
    query = (("dryRun", "All"), ("fieldValidation", "Strict"))
    request = Request("POST", f"{_OURS}/{plural}", query, json.dumps(body).encode(), JSON, token=ADMIN.token)
    real = server.handle(request)
    ours = embedded.handle(Request("POST", request.path, query, request.body, JSON, token=ADMIN_TOKEN))
    assert _refusal(real) == _refusal(ours)
    assert real.status == (422 if message else 201)
    assert message in _refusal(real)


def _refusal(answer: Response) -> str:
    found = json.loads(answer.body)
    return "" if answer.status < 300 else str(found["message"])


# -------------------------------------------------------------------------------------------------------- the rights


def attributes(right: Right) -> dict[str, str]:
    resource, _, subresource = right.resource.partition("/")
    found = {"verb": right.verb, "group": right.group, "resource": resource, "subresource": subresource}
    return {k: v for k, v in (found | {"namespace": right.namespace, "name": right.name}).items() if v}


def roles(bodies: tuple[JsonObject, ...]) -> Iterator[JsonObject]:
    yield from (b for b in bodies if b["kind"] in ("Role", "ClusterRole"))


def without(role: JsonObject, rule: int, verb: str) -> JsonObject:
    """The role with one verb less in one of its rules."""
    changed = copy.deepcopy(role)
    verbs = changed["rules"][rule]["verbs"]
    verbs.remove(verb)
    if not verbs:
        del changed["rules"][rule]
    return changed


@pytest.mark.parametrize("whose", ["the controller's on global", "the gateway's on a workload cluster"])
def test_each_verb_of_each_rule_is_what_lets_it_in_and_without_it_the_server_says_no(
    admin: Administrator, real_clusters: RealClusters, whose: str
) -> None:
    if whose.startswith("the controller"):
        server, bodies, subject = real_clusters.servers[GLOBAL_CLUSTER], BASE, ACCOUNT
        token = admin.said("-n", NAMESPACE, "create", "token", ACCOUNT).strip()
    else:
        server, bodies, subject = real_clusters.servers[EDGES[0]], WORKLOAD, GATEWAY_USER
        token = GATEWAY.token
    rights = granted(bodies, subject)
    _until(lambda: all(allowed(server, token, attributes(right)) for right in rights))
    taken = 0
    for role in roles(bodies):
        path = _path(role)
        for number, rule in enumerate(role["rules"]):
            for verb in rule["verbs"]:
                gone = rights - granted(_replaced(bodies, without(role, number, verb)), subject)
                assert gone, f"{verb} of rule {number} of {path} stands elsewhere, too"
                _put(server, path, without(role, number, verb))
                _until(lambda gone=gone: not any(allowed(server, token, attributes(r)) for r in gone))  # type: ignore[misc]
                taken += 1
        _put(server, path, role)
    assert taken >= 16
    _until(lambda: all(allowed(server, token, attributes(right)) for right in rights))


NEVER = (
    Right("list", "", "secrets", NAMESPACE),
    Right("get", "", "secrets", "cpaas-system", "any"),
    Right("get", "", "configmaps", "cpaas-system", "any"),
    Right("patch", "", "configmaps", "cpaas-system", "gitops-mc-installation"),
    Right("patch", "coordination.k8s.io", "leases", NAMESPACE, "another"),
    Right("delete", GROUP, "fleets", NAMESPACE, "prod"),
    Right("create", GROUP, "fleets", NAMESPACE),
    Right("get", GROUP, "clusterrollouts", "elsewhere", "edge-1"),
    Right("patch", "", "nodes", "", "edge-1-w1"),
    Right("delete", "machineconfiguration.alauda.io", "machineconfigurations", "", "cluster"),
    Right("create", "", "pods", NAMESPACE),
    Right("patch", "apps", "deployments", "cpaas-system", "machine-config-controller"),
    Right("get", "apps", "deployments", "cpaas-system", "another"),
    Right("patch", "rbac.authorization.k8s.io", "clusterroles", "", "gitops-mc-platform"),
)


@pytest.mark.parametrize("right", NEVER, ids=str)
def test_what_lies_beside_it_is_refused(admin: Administrator, server: RealServer, right: Right) -> None:
    token = admin.said("-n", NAMESPACE, "create", "token", ACCOUNT).strip()
    assert not allowed(server, token, attributes(right))


def _path(role: JsonObject) -> str:
    meta = role["metadata"]
    where = f"/namespaces/{meta['namespace']}/roles" if role["kind"] == "Role" else "/clusterroles"
    return f"/apis/rbac.authorization.k8s.io/v1{where}/{meta['name']}"


def _replaced(bodies: tuple[JsonObject, ...], role: JsonObject) -> tuple[JsonObject, ...]:
    return tuple(role if b["kind"] == role["kind"] and _same(b, role) else b for b in bodies)


def _same(one: JsonObject, other: JsonObject) -> bool:
    return all(one["metadata"].get(key) == other["metadata"].get(key) for key in ("name", "namespace"))


def _put(server: RealServer, path: str, role: JsonObject) -> None:
    answer = server.as_admin(Request("PUT", path, body=server.encode(role), content_type=JSON))
    assert answer.status == 200, answer.body


def _until(so: Callable[[], bool]) -> None:
    end = time.monotonic() + _WITHIN
    while not so():
        assert time.monotonic() < end
        time.sleep(0.02)
