"""plan and diff against a running fleet: through the gateway, and by kubeconfig."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import Place, running_fleet
from tests.scenarios.rollout_world import UNIT, machine_config

SECRET = "hunter2-is-no-password"

FLEET = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
spec:
  sensitive: ["/etc/registry/**"]
"""
FILES = {
    "fleet.yaml": FLEET,
    "clusters/edge-1/motd.yaml": machine_config("50-worker-motd", files={"/etc/motd": "hello\n"}),
    "clusters/edge-1/auth.yaml": machine_config("60-worker-auth", files={"/etc/registry/auth": SECRET}),
    "clusters/edge-2/unit.yaml": machine_config("50-worker-unit", firewall_service=UNIT),
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with running_fleet(tmp_path_factory.mktemp("fleet"), "edge-1", "edge-2") as place:
        yield place


@pytest.fixture
def place(fleet: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    found = Place(tmp_path, fleet.environment, fleet.fleet, fleet.kubeconfig)
    found.write(FILES)
    monkeypatch.chdir(tmp_path)
    for name, value in fleet.environment.items():
        monkeypatch.setenv(name, value)
    return found


def test_a_plan_shows_what_happens_to_every_node_and_ends_with_its_digest(place: Place) -> None:
    ended = place.run("plan")
    assert (ended.code, ended.err) == (0, "")
    assert "+ create MachineConfig 50-worker-motd" in ended.out
    assert "paused while its 2 writes are made" in ended.out
    assert (
        "edge-2-w1, edge-2-w2: reboot, drain (unit firewall.service added: no policy, default Reboot)"
        in ended.out
    )
    assert "2 of 2 clusters change; 2 nodes to reboot, 0 to drain" in ended.out
    assert re.fullmatch(r"plan digest: [0-9a-f]{64}", ended.out.splitlines()[-1])
    assert "not checked by the server" not in ended.out


def test_the_same_plan_again_is_the_same_bytes_by_either_way_and_with_any_hash_seed(place: Place) -> None:
    by_gateway = place.run("plan", PYTHONHASHSEED="1")
    by_context = place.run("plan", "--kubeconfig", str(place.kubeconfig), PYTHONHASHSEED="2")
    assert by_gateway.out == by_context.out == place.here("plan").out


def test_pending_changes_are_exit_5_only_when_asked_for(place: Place) -> None:
    assert place.here("plan", "--exit-code").code == 5
    assert place.here("diff", "--exit-code").code == 5
    assert place.here("diff").code == 0


def test_a_diff_shows_files_line_by_line_and_of_sensitive_ones_the_size(place: Place) -> None:
    ended = place.here("diff", "--cluster", "edge-1")
    assert ended.code == 0
    assert "+hello" in ended.out
    assert "added, 22 bytes" in ended.out
    assert SECRET not in ended.out + ended.err
    as_json = json.loads(place.here("diff", "--cluster", "edge-1", "-o", "json").out)
    parts = [part for change in as_json["clusters"][0]["changes"] for part in change["parts"]]
    assert [part["name"] for part in parts if part["sensitive"]] == ["file /etc/registry/auth"]


def test_a_read_only_token_can_plan_and_the_plan_says_what_was_not_checked(
    place: Place, fleet: Place
) -> None:
    ended = place.here("plan", "--token-file", str(fleet.folder / "reader"))
    assert ended.code == 0
    assert ended.out.count("not checked by the server: ") == 3
    checked = place.here("plan").out.splitlines()
    unchecked = [line for line in ended.out.splitlines() if "not checked by the server" not in line]
    assert unchecked == checked


def test_a_cluster_that_cannot_be_read_is_unknown_and_exit_1(place: Place) -> None:
    place.write({"clusters/edge-9/a.yaml": machine_config("50-worker-a")})
    for command in ("plan", "diff"):
        ended = place.here(command, "--exit-code")
        assert ended.code == 1
        assert "edge-9: unknown: " in ended.out
        assert "error: edge-9 could not be read: " in ended.err
        assert "edge-9: no " not in ended.out


def test_a_token_that_is_not_accepted_is_said_and_exit_1(place: Place) -> None:
    (place.folder / "wrong").write_text("wrong-token-value")
    ended = place.here("plan", "--token-file", "wrong")
    assert ended.code == 1
    assert "401" in ended.err
    assert "wrong-token-value" not in ended.out + ended.err


def test_problems_of_one_cluster_are_exit_4_and_the_others_are_planned(place: Place) -> None:
    place.write({"clusters/edge-2/bad.yaml": machine_config("00-worker-x")})
    ended = place.here("plan")
    assert ended.code == 4
    assert "edge-2: blocked: its part of the repository has problems" in ended.out
    assert "+ create MachineConfig 50-worker-motd" in ended.out


def test_problems_of_the_fleet_plan_nothing(place: Place) -> None:
    place.write({"fleet.yaml": FLEET + "  rolout: {}\n"})
    ended = place.here("plan")
    assert (ended.code, ended.out) == (4, "")
    assert "fleet.yaml:5:3: error" in ended.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kubeconfig", "nowhere"], "the kubeconfig nowhere is not there"),
        (["--token-file", "nowhere"], "nowhere"),
        (["--context", "a=b"], "--context belongs to --kubeconfig"),
        (["--gateway", "ftp://x"], "give https://<host>[:port]"),
        (["--gateway", "https://x", "--kubeconfig", "y"], "two ways"),
        (["--kubeconfig", "k", "--context", "a"], "write CLUSTER=CONTEXT"),
        (["--cluster", "edge-11"], "did you mean edge-1?"),
    ],
)
def test_a_connection_that_cannot_be_right_is_exit_2(
    place: Place, arguments: list[str], message: str
) -> None:
    ended = place.here("plan", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert "\nhint: " in ended.err


def test_contexts_may_be_named_otherwise(place: Place) -> None:
    assert place.kubeconfig is not None
    renamed = place.folder / "renamed"
    renamed.write_text(
        re.sub(r"- name: edge-1\n  context:", "- name: first\n  context:", place.kubeconfig.read_text())
    )
    arguments = ("plan", "--cluster", "edge-1", "--kubeconfig", "renamed")
    assert place.here(*arguments).code == 1
    assert place.here(*arguments, "--context", "edge-1=first").code == 0


def test_a_state_file_that_cannot_be_trusted_stops_everything(place: Place) -> None:
    place.write({".gitops-mc-state.json": "{}"})
    ended = place.here("plan")
    assert (ended.code, ended.out) == (1, "")
    assert ".gitops-mc-state.json is no state file of gitops-mc" in ended.err
    assert place.here("plan", "--state", "other.json").code == 0
