"""OpenAPI v3 of the embedded API server: it says what the server does, and what the definitions on real servers say."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest

from gitops_mc.app.ports import Request
from gitops_mc.core.model import GLOBAL_CLUSTER
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer, openapi
from gitops_mc.sandbox.apiserver.resources import RESOURCES, Resource
from tests.apiserver.clusters import definitions
from tests.sandbox.apiserver_asking import Asking, obj
from tests.sandbox.openapi_checking import Document
from tests.sandbox.platform_world import EDGE, World, config
from tests.sandbox.transcripts import TRANSCRIPTS

MACHINE = "machineconfiguration.alauda.io/v1alpha1"
CUSTOM = [r for r in RESOURCES if not r.built_in]
_NOT_COMPARED = ("description", "x-kubernetes-validations", "format")
"""Words of our own, and rules, which are Python in here."""


def _get(path: str, server: ApiServer | None = None) -> dict[str, Any]:
    answer = (server or Asking().server).handle(Request("GET", path, token=ADMIN_TOKEN))
    assert answer.status == 200, answer.body
    found: dict[str, Any] = json.loads(answer.body)
    return found


@cache
def _document(api_version: str) -> Document:
    found = openapi.document(tuple(RESOURCES), api_version)
    assert found is not None
    return Document(json.loads(json.dumps(found)))


def _plain(node: Any, *, names: str = "members") -> Any:
    """Without what is not compared; `required` in one order, types of a number or a string in one spelling."""
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, dict):
        return node
    if names == "fields":
        return {name: _plain(child) for name, child in node.items()}
    found = {
        key: _plain(value, names="fields" if key == "properties" else "members")
        for key, value in node.items()
        if key not in _NOT_COMPARED
    }
    if "required" in found:
        found["required"] = sorted(found["required"])
    if found.get("x-kubernetes-int-or-string"):
        found.pop("anyOf", None)
    return found


@pytest.mark.parametrize("definition", definitions(), ids=lambda d: d["spec"]["names"]["plural"])
def test_a_custom_kind_has_the_schema_of_its_definition(definition: dict[str, Any]) -> None:
    spec = definition["spec"]
    resource = next(r for r in CUSTOM if r.plural == spec["names"]["plural"])
    declared = _plain(spec["versions"][0]["schema"]["openAPIV3Schema"])
    shown = _plain(openapi.shape(resource.schema))
    assert shown["properties"].pop("metadata") == {
        "allOf": [{"$ref": f"#/components/schemas/{META}.ObjectMeta"}]
    }
    assert declared["properties"].pop("metadata") == {"type": "object"}
    assert shown == declared
    assert list(resource.short_names) == spec["names"].get("shortNames", [])


META = "io.k8s.apimachinery.pkg.apis.meta.v1"


def _steps() -> list[dict[str, Any]]:
    lines = TRANSCRIPTS.read_text(encoding="utf-8").splitlines()
    runs = [json.loads(line) for line in lines]
    return [{"kind": run["kind"], **step} for run in runs for step in run["steps"]]


def test_what_a_real_server_kept_is_of_the_schemas_and_what_it_could_not_type_is_not() -> None:
    counts = {"kept": 0, "refused": 0}
    for step in _steps():
        answer, body = step["answer"], step.get("body") or {}
        document = _document(MACHINE)
        if "object" in answer:
            counts["kept"] += 1
            whole = obj(MACHINE, step["kind"], "x", labels=answer["object"]["labels"] or {})
            kept = whole | {"spec": answer["object"]["spec"]}
            assert list(document.breaks(kept, document.kind(step["kind"]))) == [], kept
        elif answer["code"] == 500:
            counts["refused"] += 1
            assert list(document.breaks(body, document.kind(step["kind"]))), answer
    assert counts == {"kept": 772, "refused": 19}


@pytest.fixture(scope="module")
def world() -> World:
    """A fleet that has rolled something out."""
    world = World()
    unit = config("50-worker-unit", units={"a.service": "[Unit]"}, files={"/etc/motd": "hello"})
    world.edge.apply("machineconfigs", unit)
    world.run(1800)
    return world


@pytest.mark.parametrize("resource", CUSTOM, ids=lambda r: r.plural)
def test_everything_in_a_fleet_is_of_its_schema(world: World, resource: Resource) -> None:
    seen = 0
    for cluster in (GLOBAL_CLUSTER, EDGE):
        server = world.fleet.servers[cluster]
        answer = server.handle(
            Request("GET", f"/apis/{resource.api_version}/{resource.plural}", token=ADMIN_TOKEN)
        )
        for item in json.loads(answer.body)["items"] if answer.status == 200 else ():
            seen += 1
            document = _document(resource.api_version)
            assert list(document.breaks(item, document.kind(resource.kind))) == [], item
    assert seen


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda r: r.plural)
def test_what_is_not_of_a_kind_is_not_of_its_schema(resource: Resource) -> None:
    document = _document(resource.api_version)
    schema = document.kind(resource.kind)
    body = obj(resource.api_version, resource.kind, "a")
    for wrong in ({"metadata": {"labels": {"a": 1}}}, {"metadata": {"name": 1}}, {"kind": 1}):
        assert list(document.breaks(body | wrong, schema))
    if not resource.built_in:
        assert list(document.breaks(body | {"bogus": 1}, schema))


def test_the_index_leads_to_every_document_and_changes_with_them() -> None:
    asking = Asking()
    asking.server = ApiServer("edge-01", now=asking.time)
    before = _get("/openapi/v3", asking.server)["paths"]
    asking.server.install_machine_apis()
    after = _get("/openapi/v3", asking.server)["paths"]
    assert set(after) - set(before) == {f"apis/{MACHINE}"}
    for where, row in after.items():
        path, _, content = row["serverRelativeURL"].partition("?hash=")
        assert path == f"/openapi/v3/{where}"
        assert len(content) == 64
        assert _get(path, asking.server)["openapi"] == "3.0.0"


def test_a_document_that_there_is_not_is_not_found() -> None:
    answer = Asking().server.handle(Request("GET", "/openapi/v3/apis/foo/v1", token=ADMIN_TOKEN))
    assert (answer.status, answer.body) == (404, b"")


def test_kubectl_learns_from_the_patch_of_a_kind_that_the_server_validates_fields() -> None:
    patch = _get(f"/openapi/v3/apis/{MACHINE}")["paths"][f"/apis/{MACHINE}/machineconfigs/{{name}}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "MachineConfig"
    assert {"dryRun", "fieldManager", "fieldValidation", "force"} <= {p["name"] for p in patch["parameters"]}


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda r: r.plural)
def test_every_reference_leads_to_a_schema_and_every_kind_has_its_paths(resource: Resource) -> None:
    document = _document(resource.api_version).body
    text = json.dumps(document)
    references = set(re.findall(r'"#/components/schemas/([^"]+)"', text))
    assert references <= set(document["components"]["schemas"])
    wanted = ["", "/{name}"] + (["/{name}/status"] if resource.has_status else [])
    ends = [f"/{resource.plural}{end}" for end in wanted]
    assert all(any(path.endswith(end) for path in document["paths"]) for end in ends)
