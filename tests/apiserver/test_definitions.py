"""Our own definitions of the platform's kinds mean what the platform's mean, and what the embedded server knows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_mc.sandbox.apiserver.resources import RESOURCES
from tests.apiserver.clusters import RealClusters, clear, definitions, install, machine_definitions
from tests.apiserver.meaning import Meaning, differences, of_definition, of_resource
from tests.apiserver.rights import ADMIN
from tests.sandbox.transcripts import EMPTIED, REQUESTS, Row, replayed

OURS = {d["metadata"]["name"]: d for d in definitions()}
CUSTOM = {resource.id: resource for resource in RESOURCES if not resource.built_in}
PLATFORM = os.environ.get("GITOPS_MC_CRDS", "")


@pytest.fixture(scope="module")
def platform() -> dict[str, dict[str, Any]]:
    """The platform's definitions, by name."""
    if not PLATFORM:
        pytest.skip("GITOPS_MC_CRDS does not name a folder with the platform's definitions to compare with")
    found = [yaml.safe_load(file.read_text()) for file in sorted(Path(PLATFORM).glob("*.yaml"))]
    return {d["metadata"]["name"]: d for d in found}


def test_every_custom_kind_that_the_embedded_server_serves_has_a_definition() -> None:
    assert set(OURS) == set(CUSTOM)


@pytest.mark.parametrize("name", sorted(OURS))
def test_a_definition_says_what_the_embedded_server_knows(name: str) -> None:
    assert differences(_known(of_definition(OURS[name])), of_resource(CUSTOM[name])) == {}


def _known(meaning: Meaning) -> Meaning:
    """Without what the embedded server does not know."""
    known = {path: dict(here) if isinstance(here, dict) else here for path, here in meaning.items()}
    known["(columns)"] = []
    for here in known.values():
        if isinstance(here, dict):
            here.pop("format", None)
            if "observedGeneration must not move backwards except to zero" in here.get("rules", ()):
                del here["rules"]
    return known


@pytest.mark.parametrize("name", sorted(OURS))
def test_a_definition_means_what_the_platforms_means(name: str, platform: dict[str, dict[str, Any]]) -> None:
    if name not in platform:
        pytest.skip(f"{PLATFORM} has no definition of {name}")
    assert differences(of_definition(OURS[name]), of_definition(platform[name])) == {}


@pytest.mark.apiserver
def test_a_server_with_our_definitions_answers_what_one_with_the_platforms_has_answered(
    real_clusters: RealClusters,
) -> None:
    rows = _replayed(real_clusters, machine_definitions())
    assert sum(number >= 0 for _, number in rows) == REQUESTS
    assert {key for key, (_, right, found) in rows.items() if found != right} == EMPTIED


@pytest.mark.apiserver
def test_a_server_answers_the_same_whichever_definitions_it_has(
    real_clusters: RealClusters, platform: dict[str, dict[str, Any]]
) -> None:
    ours = machine_definitions()
    theirs = tuple(platform[definition["metadata"]["name"]] for definition in ours)
    assert _replayed(real_clusters, ours) == _replayed(real_clusters, theirs)


def _replayed(real_clusters: RealClusters, wanted: tuple[dict[str, Any], ...]) -> dict[tuple[int, int], Row]:
    real_clusters.start("edge-01")
    server = real_clusters.servers["edge-01"]
    clear(server)
    install(server, *wanted)
    return replayed(lambda: server, ADMIN.token)
