"""validate and render, as people and CI run them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.e2e.program import PROGRAM, Place, plain_environment, said, watching
from tests.scenarios.rollout_world import machine_config, module

SECRET = "hunter2-is-no-password"

GOOD = {
    "fleet.yaml": (
        'apiVersion: gitops-mc.io/v1alpha1\nkind: FleetConfig\nspec:\n  sensitive: ["/etc/registry/**"]\n'
    ),
    "clusters/edge-1/motd.yaml": machine_config("50-worker-motd", files={"/etc/motd": "hello\n"}),
    "clusters/edge-1/registry.yaml": machine_config(
        "60-worker-registry", files={"/etc/registry/auth": SECRET}
    ),
    "clusters/edge-2/module.yaml": module("edge-2"),
}
BAD = {
    **GOOD,
    "clusters/edge-2/bad.yaml": "kind: MachineConfig\nkind: MachineConfig\n",
    "clusters/edge-2/worse.yaml": machine_config("00-worker-base"),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.chdir(tmp_path)
    return Place(tmp_path)


def test_a_good_repository_has_a_summary_and_exit_0(place: Place) -> None:
    place.write(GOOD)
    ended = place.run("validate")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[-1] == "2 clusters, 3 objects: 0 errors, 2 warnings"


def test_every_problem_is_told_at_once_with_its_place_and_exit_4(place: Place) -> None:
    place.write(BAD)
    ended = place.here("validate", ".")
    assert ended.code == 4
    assert "clusters/edge-2/bad.yaml:2:1: error:" in ended.out
    assert "[yaml-duplicate-key] (cluster edge-2)" in ended.out
    assert "[mc-protected-name] (cluster edge-2)" in ended.out
    places = [line.split(" ")[0] for line in ended.out.splitlines() if line.startswith("clusters/")]
    assert places == sorted(places)


def test_problems_for_programs(place: Place) -> None:
    place.write(BAD)
    ended = place.here("validate", "-o", "json")
    told = json.loads(ended.out)
    assert ended.code == 4
    assert told["summary"]["errors"] == sum(1 for p in told["problems"] if p["severity"] == "error")
    first = next(p for p in told["problems"] if p["rule"] == "yaml-duplicate-key")
    assert (first["file"], first["line"], first["column"]) == ("clusters/edge-2/bad.yaml", 2, 1)
    assert first["scope"] == {"kind": "cluster", "cluster": "edge-2"}
    assert first["hint"]


def test_annotations_of_github_count_from_the_root_of_the_git_repository(place: Place) -> None:
    place.write({f"config/{path}": text for path, text in BAD.items()})
    (place.folder / ".git").mkdir()
    ended = place.here("validate", "config", "-o", "github")
    errors = [line for line in ended.out.splitlines() if line.startswith("::error ")]
    assert ended.code == 4
    assert any(
        line.startswith(
            "::error file=config/clusters/edge-2/bad.yaml,line=2,col=1,title=yaml-duplicate-key::"
        )
        for line in errors
    )


def test_the_report_for_gitlab_has_one_fingerprint_a_problem(place: Place) -> None:
    place.write(BAD)
    ended = place.here("validate", "-o", "gitlab")
    told = json.loads(ended.out)
    assert ended.code == 4
    assert len({p["fingerprint"] for p in told}) == len(told) > 1
    assert all(p["location"]["path"] and p["location"]["lines"]["begin"] >= 1 for p in told)
    assert {p["severity"] for p in told} == {"major", "minor"}


def test_what_is_rendered_for_kubectl_is_the_same_as_yaml_and_as_json(place: Place) -> None:
    place.write(GOOD)
    as_json = place.here("render", "-o", "json", "--show-sensitive")
    as_yaml = place.here("render", "-o", "yaml", "--show-sensitive")
    assert (as_json.code, as_yaml.code) == (0, 0)
    objects = json.loads(as_json.out)
    assert list(yaml.safe_load_all(as_yaml.out)) == objects
    assert [o["kind"] for o in objects] == ["MachineConfig", "MachineConfig", "ModuleInfo"]
    assert objects[0]["metadata"]["labels"]["gitops-mc.io/fleet"] == "default"
    assert objects[2]["metadata"]["name"].startswith("edge-2-")


def test_sensitive_values_are_replaced_and_that_is_said(place: Place) -> None:
    place.write(GOOD)
    ended = place.here("render", "--cluster", "edge-1")
    assert ended.code == 0
    assert "[sensitive, 22 bytes]" in ended.out
    assert SECRET not in ended.out
    assert "sensitive values were replaced in 1 object" in ended.err


def test_a_blocked_cluster_is_left_out_and_named(place: Place) -> None:
    place.write(BAD)
    ended = place.here("render", "-o", "json")
    assert ended.code == 4
    assert len(json.loads(ended.out)) == 2
    assert "cluster edge-2 is left out" in ended.err


def test_a_broken_fleet_file_renders_nothing(place: Place) -> None:
    place.write(
        {**GOOD, "fleet.yaml": "apiVersion: gitops-mc.io/v1alpha1\nkind: FleetConfig\nspec: {rolout: {}}\n"}
    )
    ended = place.here("render")
    assert (ended.code, ended.out) == (4, "")
    assert "fleet.yaml:3:8: error" in ended.err


def test_an_older_revision_is_read_from_git(place: Place) -> None:
    place.write(GOOD)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-C", str(place.folder)]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "good"], check=True)
    place.write(BAD)
    assert place.here("validate").code == 4
    assert place.here("validate", "--revision", "main").code == 0
    gone = place.here("validate", "--revision", "mian")
    assert gone.code == 1
    assert "did you mean main?" in gone.err


def test_watch_runs_again_when_a_file_changes(place: Place) -> None:
    place.write(GOOD)
    with watching(place.folder) as process:
        assert "0 errors" in said(process, "objects:")
        place.write(
            {"clusters/edge-2/bad.yaml": BAD["clusters/edge-2/bad.yaml"], "clusters/edge-2/.x.swp": ""}
        )
        assert "0 errors" not in said(process, "objects:")
        (place.folder / "clusters/edge-2/bad.yaml").unlink()
        assert "0 errors" in said(process, "objects:")


def test_watch_with_a_revision_runs_again_when_the_branch_moves(place: Place) -> None:
    place.write(GOOD)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-C", str(place.folder)]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "good"], check=True)
    with watching(place.folder, "--revision", "main") as process:
        assert "0 errors" in said(process, "objects:")
        place.write(BAD)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "bad"], check=True)
        assert "0 errors" not in said(process, "objects:")


def test_colours_are_for_terminals_only(place: Place) -> None:
    place.write(BAD)
    assert "\x1b" not in place.here("validate").out
    assert "\x1b[" in _on_a_terminal(place, {})
    assert "\x1b" not in _on_a_terminal(place, {"NO_COLOR": "1"})


def test_sensitive_values_are_never_shown_on_a_terminal(place: Place) -> None:
    place.write(GOOD)
    shown = _on_a_terminal(place, {"NO_COLOR": "1"}, "render", "--show-sensitive")
    assert "sensitive values are not shown on a terminal" in shown
    assert "apiVersion" not in shown


def _on_a_terminal(place: Place, environment: dict[str, str], *arguments: str) -> str:
    """What the program shows on a pseudo terminal."""
    leader, follower = os.openpty()
    process = subprocess.Popen(
        [*PROGRAM, *(arguments or ("validate",))],
        cwd=place.folder,
        env={**plain_environment(), "TERM": "xterm-256color", **environment},
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    process.wait(20)
    os.close(leader)
    return shown.decode()
