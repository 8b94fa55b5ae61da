"""preview on a real clone, by Git alone and against a running fleet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


def reboots(place: Place, *clusters: str, branch: str = "topic") -> None:
    """A commit that reboots the workers of these clusters."""
    git(place.folder, "checkout", "-q", branch)
    unit = machine_config("60-worker-unit", firewall_service=UNIT)
    place.write({f"clusters/{name}/unit.yaml": unit for name in clusters})
    commit(place.folder)


def seen(place: Place, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(place.here("preview", "--base", "main", "-o", "json", *options).out)
    return found


def test_only_what_it_touches_is_asked_and_the_rest_is_counted(place: Place) -> None:
    reboots(place, "edge-1")
    assert seen(place)["live"]["unasked"] == 2
    assert seen(place, "--every-cluster")["live"]["unasked"] == 0


def test_work_tree_index_and_references_are_as_they_were(place: Place) -> None:
    reboots(place, "edge-1")
    place.write({"clusters/edge-1/unit.yaml": "not committed", "new.txt": "neither"})
    git(place.folder, "add", "new.txt")
    before = {path: path.read_bytes() for path in sorted(place.folder.rglob("*")) if path.is_file()}
    assert place.here("preview", "--base", "main").code == 0
    assert {path: path.read_bytes() for path in sorted(place.folder.rglob("*")) if path.is_file()} == before


def test_where_base_has_moved_in_the_same_cluster_it_says_so_and_shows_the_merge(place: Place) -> None:
    reboots(place, "edge-1")
    git(place.folder, "checkout", "-q", "main")
    place.write(
        {"clusters/edge-1/motd.yaml": machine_config("50-worker-motd", files={"/etc/motd": "base\n"})}
    )
    commit(place.folder)
    git(place.folder, "checkout", "-q", "topic")
    found = seen(place)
    (moved,) = [a for a in found["live"]["advice"] if a["kind"] == "base moved"]
    assert "1 commit ahead of what this was made on, and they change edge-1 too" in moved["text"]
    assert [o["name"] for o in found["changes"]["objects"]] == ["60-worker-unit"]
    assert found["revisions"]["behind"] == 1


def test_a_conflict_is_a_problem_and_names_the_file(place: Place) -> None:
    git(place.folder, "checkout", "-q", "topic")
    place.write({"clusters/edge-1/motd.yaml": "head"})
    commit(place.folder)
    git(place.folder, "checkout", "-q", "main")
    place.write({"clusters/edge-1/motd.yaml": "base"})
    commit(place.folder)
    ended = place.here("preview", "--base", "main", "--head", "topic", "--only-offline")
    assert ended.code == 4
    place.write(
        {"clusters/edge-1/motd.yaml": machine_config("50-worker-motd", files={"/etc/motd": "base\n"})}
    )
    commit(place.folder)
    git(place.folder, "checkout", "-q", "topic")
    place.write(
        {"clusters/edge-1/motd.yaml": machine_config("50-worker-motd", files={"/etc/motd": "head\n"})}
    )
    commit(place.folder)
    ended = place.here("preview", "--base", "main", "--head", "topic")
    assert ended.code == 4
    assert (
        "cannot be merged: it conflicts with base in clusters/edge-1/motd.yaml" in ended.out.splitlines()[0]
    )


@pytest.mark.parametrize("way", [(), ("--only-offline",)], ids=["with the clusters", "by Git alone"])
def test_an_error_that_only_the_merge_has_is_never_good(place: Place, way: tuple[str, ...]) -> None:
    """Each side adds a file of its own, and both say what one object is to be."""
    one = machine_config("60-worker-dup", files={"/etc/dup": "one\n"})
    place.write({"clusters/edge-1/head.yaml": one})
    commit(place.folder)
    git(place.folder, "checkout", "-q", "main")
    place.write({"clusters/edge-1/base.yaml": one})
    commit(place.folder)
    ended = place.here("preview", "--base", "main", "--head", "topic", *way)
    assert ended.code == 4
    assert ended.out.startswith("problems: blocked once it is merged: ")
    assert "Neither base nor head has these; merging them does:" in ended.out
    assert "60-worker-dup" in ended.out


def test_an_error_at_head_is_exit_4_with_its_place_and_one_at_base_alone_is_not(place: Place) -> None:
    place.write({"clusters/edge-1/motd.yaml": "kind: Secret\n"})
    commit(place.folder)
    ended = place.here("preview", "--base", "main")
    assert ended.code == 4
    assert ended.out.startswith("problems: blocked: ")
    assert "clusters/edge-1/motd.yaml:" in ended.out
    assert place.here("preview", "--base", "topic", "--head", "main", "--only-offline").code == 0


def test_a_shallow_clone_is_told_what_to_fetch(
    place: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    reboots(place, "edge-1")
    git(place.folder, "checkout", "-q", "main")
    commit(place.folder)
    clone = tmp_path_factory.mktemp("clones") / "clone"
    url = f"file://{place.folder}"
    git(place.folder, "clone", "-q", "--depth=1", "--no-single-branch", url, str(clone))
    ended = place.here("preview", "--base", "origin/main", "--head", "origin/topic", "--repo", str(clone))
    assert ended.code == 1
    assert "it is shallow" in ended.err
    assert "fetch-depth: 0" in ended.err


def test_without_a_way_to_the_clusters_git_alone_speaks_and_that_is_said(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    reboots(place, "edge-1", "edge-2")
    monkeypatch.delenv("GITOPS_MC_GATEWAY")
    monkeypatch.delenv("GITOPS_MC_TOKEN_FILE")
    ended = place.here("preview", "--base", "main")
    assert ended.code == 0
    assert ended.out.startswith("ok: reboots every node of pool worker in 2 clusters because ")
    assert "the clusters were not looked at: no way to them was given" in ended.out.splitlines()[1]


def test_a_stranger_gets_no_credential_near_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no token: whoever looked for it would fail."""
    reboots(place, "edge-1")
    monkeypatch.setenv("GITOPS_MC_TOKEN_FILE", str(place.folder / "no-token"))
    assert place.here("preview", "--base", "main").code != 0
    assert place.here("preview", "--base", "main", "--only-offline").code == 0


def test_pending_changes_are_exit_5_only_where_that_is_asked_for(place: Place) -> None:
    reboots(place, "edge-1")
    assert place.here("preview", "--base", "main", "--exit-code").code == 5
    assert place.here("preview", "--base", "topic", "--exit-code").code == 0


def test_a_file_gets_the_whole_and_the_terminal_the_verdict(place: Place) -> None:
    reboots(place, "edge-1")
    ended = place.here("preview", "--base", "main", "-o", "html", "--output-file", "preview.html")
    assert ended.out.splitlines() == [
        line for line in ended.out.splitlines() if line.startswith("reboots 2 nodes")
    ]
    assert broken_html((place.folder / "preview.html").read_text()) == []
    nowhere = place.here("preview", "--base", "main", "--output-file", "no/such/folder")
    assert nowhere.code == 1
    assert "no/such/folder cannot be written" in nowhere.err


def test_a_token_that_is_not_accepted_leaves_it_unknown_and_says_what_git_says(place: Place) -> None:
    reboots(place, "edge-1")
    (place.folder / "wrong").write_text("wrong-token-value")
    ended = place.here("preview", "--base", "main", "--token-file", "wrong")
    assert ended.code == 1
    assert ended.out.startswith("unknown: ")
    assert "wrong-token-value" not in ended.out + ended.err
    assert "by Git alone: reboots every node of pool worker in edge-1" in ended.out


def test_a_read_only_token_is_enough(place: Place, fleet: Place) -> None:
    reboots(place, "edge-1")
    ended = place.here("preview", "--base", "main", "--token-file", str(fleet.folder / "reader"))
    assert ended.code == 0
    assert "reboots 2 nodes in edge-1" in ended.out.splitlines()[0]


def test_a_fleet_that_is_not_there_is_said(place: Place) -> None:
    reboots(place, "edge-1")
    ended = place.here("preview", "--base", "main", "--fleet", "prod")
    assert ended.code == 1
    assert "Fleet" in ended.out + ended.err


def test_a_cluster_that_does_not_answer_makes_it_unknown_never_no_change(place: Place) -> None:
    reboots(place, "edge-9", "edge-3")
    ended = place.here("preview", "--base", "main", "--exit-code")
    assert ended.code == 1
    first, second = ended.out.splitlines()[:2]
    assert first.startswith("unknown: edge-9 has not been read since ")
    assert "as far as it was read: reboots 2 nodes in edge-3 because " in second


@pytest.fixture
def paused(place: Place) -> Iterator[Place]:
    """Somebody has paused pool worker of edge-2."""
    assert place.fleet is not None
    place.fleet.person("edge-2").pause("worker")
    yield place
    place.fleet.person("edge-2").unpause("worker")


def test_a_pool_that_is_paused_is_told_in_the_first_line_with_its_cluster(paused: Place) -> None:
    reboots(paused, "edge-2", "edge-3")
    ended = paused.here("preview", "--base", "main")
    assert ended.code == 0
    assert "reboots 4 nodes in 2 clusters because " in ended.out.splitlines()[0]
    assert "on edge-2 it cannot start: pool worker is paused" in ended.out.splitlines()[0]
