"""What `new` writes is valid as it is, is valid with its examples taken in, and looks as fmt would have it."""

from __future__ import annotations

import re

import pytest

from gitops_mc.core.authoring.formatting import Even, formatted
from gitops_mc.core.authoring.templates import machine_config_text, module_text, pool_text
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.model import Kind, ResourceKey, Severity
from tests.core.import_world import Site

NAMES = ("infra", "y", "no", "123", "1e3", "0644", "on")


def read(path: str, text: str) -> DesiredState:
    files = {path: text.encode()}
    if path.startswith("shared/"):
        files["fleet.yaml"] = (
            b"apiVersion: gitops-mc.io/v1alpha1\nkind: FleetConfig\nspec:\n  shared:\n    - {path: shared/base, clusters: {}}\n"
        )
        files["clusters/edge-1/.gitkeep"] = b""
    return Site(files).state()


def errors(state: DesiredState) -> list[str]:
    return [str(problem) for problem in state.problems if problem.severity is Severity.ERROR]


@pytest.mark.parametrize("role", NAMES)
def test_a_new_machine_config_is_valid_and_empty(role: str) -> None:
    text = machine_config_text("50-worker-chrony", role)
    state = read("clusters/edge-1/a.yaml", text)
    assert errors(state) == []
    (manifest,) = state.clusters[0].manifests
    assert manifest.body["spec"] == {"config": {"ignition": {"version": "3.4.0"}}}
    assert formatted(text.encode()) == Even(text.encode())


def test_its_examples_are_valid_too() -> None:
    text = machine_config_text("50-worker-chrony", "worker")
    lines = text.splitlines()
    begin = lines.index("    # storage:")
    taken = [re.sub(r"^( +)# ", r"\1", line) for line in lines[begin:]]
    kept = [line for line in taken if not re.match(r" *(# )?(Or, for a file|Any change of kernel)", line)]
    state = read("clusters/edge-1/a.yaml", "\n".join([*lines[:begin], *kept]) + "\n")
    assert errors(state) == []
    spec = state.clusters[0].manifests[0].body["spec"]
    assert spec["kernelArguments"] == ["console=ttyS0,115200"]
    assert [file["path"] for file in spec["config"]["storage"]["files"]] == ["/etc/chrony.conf"]
    assert [unit["name"] for unit in spec["config"]["systemd"]["units"]] == ["chrony-check.service"]


@pytest.mark.parametrize("name", ["infra", "worker", "master", "y", "123"])
def test_a_new_pool_is_valid(name: str) -> None:
    text = pool_text(name)
    state = read("clusters/edge-1/a.yaml", text)
    assert errors(state) == []
    assert state.clusters[0].manifests[0].key == ResourceKey("edge-1", Kind.MACHINE_CONFIG_POOL, name)
    assert formatted(text.encode()) == Even(text.encode())


@pytest.mark.parametrize("version", ["v4.3.0", "4.3", "1e3"])
@pytest.mark.parametrize(
    ("path", "cluster"), [("clusters/edge-1/a.yaml", "edge-1"), ("shared/base/a.yaml", None)]
)
def test_a_new_module_is_valid_in_a_cluster_and_in_a_shared_set(
    path: str, cluster: str | None, version: str
) -> None:
    text = module_text("logcenter", version, cluster)
    state = read(path, text)
    assert errors(state) == []
    assert state.clusters[0].manifests[0].body["spec"] == {"version": version, "config": {}}
    assert formatted(text.encode()) == Even(text.encode())
