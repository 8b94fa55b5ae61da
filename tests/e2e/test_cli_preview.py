"""preview on a real clone, by Git alone and against a running fleet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_mc.core.render.preview.structure import SCHEMA
from tests.adapters.test_git import commit, git
from tests.core.preview_strangers import broken_html, broken_markdown
from tests.e2e.program import Place, running_fleet
from tests.scenarios.rollout_world import UNIT, machine_config

FLEET = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
spec:
  rollout:
    waves:
      - name: canary
        clusters: {names: [edge-1]}
      - name: rest
        clusters: {}
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with running_fleet(tmp_path_factory.mktemp("fleet"), "edge-1", "edge-2", "edge-3") as place:
        yield place


@pytest.fixture
def place(fleet: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    found = Place(tmp_path, fleet.environment, fleet.fleet, fleet.kubeconfig)
    git(tmp_path, "init", "-q", "-b", "main")
    found.write(
        {
            "fleet.yaml": FLEET,
            **{
                f"clusters/{name}/motd.yaml": machine_config("50-worker-motd", files={"/etc/motd": "hello\n"})
                for name in ("edge-1", "edge-2", "edge-3")
            },
        }
    )
    commit(tmp_path)
    git(tmp_path, "checkout", "-q", "-b", "topic")
    monkeypatch.chdir(tmp_path)
    for name, value in fleet.environment.items():
        monkeypatch.setenv(name, value)
    return found


def test_a_unit_without_a_policy_reboots_nodes_and_the_first_line_says_which_and_why(place: Place) -> None:
    place.write(
        {
            f"clusters/{name}/unit.yaml": machine_config("60-worker-unit", firewall_service=UNIT)
            for name in ("edge-1", "edge-2")
        }
    )
    commit(place.folder)
    ended = place.here("preview", "--base", "main")
    assert (ended.code, ended.err) == (0, "")
    assert (
        "reboots 4 nodes in 2 clusters because unit firewall.service is added and no policy covers it"
        in (ended.out.splitlines()[0])
    )


@pytest.mark.parametrize(
    "way", ["--only-offline", "--every-cluster"], ids=["by Git alone", "with the clusters"]
)
def test_every_format_says_the_same_and_each_is_what_it_is(place: Place, way: str) -> None:
    unit = machine_config("60-worker-unit", firewall_service=UNIT)
    place.write({"clusters/edge-1/unit.yaml": unit})
    commit(place.folder)
    shown = {
        f: place.here("preview", "--base", "main", way, "-o", f) for f in ("text", "markdown", "json", "html")
    }
    assert {(ended.code, ended.err) for ended in shown.values()} == {(0, "")}
    found = json.loads(shown["json"].out)
    assert found["schema"] == SCHEMA
    assert [o["name"] for o in found["changes"]["objects"]] == ["60-worker-unit"]
    assert (found["live"] is None) == (way == "--only-offline")
    assert broken_markdown(shown["markdown"].out) == []
    assert broken_html(shown["html"].out) == []
    for name in ("text", "markdown"):
        assert "no policy, shipped default Reboot" in shown[name].out
        assert "+[Service]" in shown[name].out
    assert "no policy, shipped default Reboot" in shown["html"].out
