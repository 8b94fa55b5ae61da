"""From a push to the status of the commit on its forge, for each of the three."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_mc.core.model import Commit, JsonObject
from gitops_mc.sandbox.faults import FaultId
from tests.adapters.forge_servers import TOKEN, answer, running
from tests.scenarios.forge_world import SERVERS, ForgeWorld
from tests.scenarios.rollout_world import FLEET as FLEET_FILE
from tests.scenarios.test_controller import ASKING, BAD, GOOD, NAMES, three, wrote

PENDING = {"github": "pending", "gitlab": "running", "gitea": "pending"}
FAILURE = {"github": "failure", "gitlab": "failed", "gitea": "failure"}
ERROR = {"github": "error", "gitlab": "canceled", "gitea": "error"}


SLOW = [name if name == "github" else pytest.param(name, marks=pytest.mark.slow) for name in SERVERS]


@pytest.fixture(params=SERVERS)
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ForgeWorld]:
    with running(SERVERS[request.param]()) as server:
        world = ForgeWorld(server, request.param, tmp_path, ASKING)
        yield world
        seen = [f"{s.target} {s.body!r}" for s in server.peer.seen]
        assert not any(TOKEN in text for text in seen)
        assert TOKEN not in world.stream.getvalue()
        assert TOKEN not in str(world.world.fleet())
        assert '"event": "crashed"' not in world.stream.getvalue()
        assert "Traceback" not in world.stream.getvalue()


@pytest.fixture
def github(tmp_path: Path) -> Iterator[ForgeWorld]:
    with running(SERVERS["github"]()) as server:
        yield ForgeWorld(server, "github", tmp_path, ASKING)


def test_a_push_is_pending_while_it_rolls_and_waits_and_a_success_when_all_have_it(here: ForgeWorld) -> None:
    commit = here.push(three())
    replica = here.process()
    here.run(replica, "hold")
    assert here.states(commit) == [PENDING[here.kind]]
    here.world.annotate("", "approve", "{wave: rest, by: mei}")
    here.run(replica, "done")
    assert here.states(commit)[-1] == "success"
    assert here.server.told(commit)[-1] == ("success", "3 of 3 clusters have it")
    assert {s.get("context", s.get("name")) for s in here.server.statuses} == {"gitops-mc/prod"}


def test_a_commit_that_breaks_the_canary_fails_and_its_repair_succeeds(here: ForgeWorld) -> None:
    here.fleet_yaml = FLEET_FILE
    replica = here.process()
    first = here.push(three())
    here.run(replica, "done", first)
    here.world.rollout.faults.set(FaultId.NODE_DEGRADED, marker="breaks")
    bad = here.push(three(BAD))
    here.run(replica, "halted", bad)
    state, text = here.server.told(bad)[-1]
    assert state == FAILURE[here.kind]
    assert text.startswith(
        "halted, edge-1 failed: pool worker of edge-1: node edge-1-w1 is Degraded (failed to write file "
    )
    repair = here.push(three(GOOD))
    here.run(replica, "done", repair)
    assert here.states(repair)[-1] == "success"
    assert here.states(bad)[-1] == FAILURE[here.kind]
    assert here.states(first)[-1] == "success"


def test_what_waits_is_said_with_the_wave_where_the_forge_takes_other_words(github: ForgeWorld) -> None:
    commit = github.push(three())
    replica = github.process()
    github.run(replica, "hold")
    github.world.run(replica, hours=0.2)
    assert github.server.told(commit)[-1] == (
        "pending",
        "1 of 3 clusters have it; waits for approval of wave rest",
    )


@pytest.mark.parametrize("here", SLOW, indirect=True)
def test_a_commit_that_is_overtaken_is_left_neither_pending_nor_alone(here: ForgeWorld) -> None:
    first = here.push(three())
    replica = here.process()
    here.run(replica, "hold", first)
    second = here.push(three(GOOD))
    here.run(replica, "hold", second)
    assert here.states(first) == [PENDING[here.kind], ERROR[here.kind]]
    assert (
        here.server.told(first)[-1][1] == f"commit {second[:12]} took over before every cluster had this one"
    )
    assert here.states(second) == [PENDING[here.kind]]


@pytest.mark.parametrize("here", SLOW, indirect=True)
def test_a_commit_with_a_broken_fleet_yaml_fails_and_the_one_before_keeps_its_success(
    here: ForgeWorld,
) -> None:
    here.fleet_yaml = FLEET_FILE
    first = here.push(three())
    replica = here.process()
    here.run(replica, "done", first)
    here.fleet_yaml = FLEET_FILE.replace("waves:", "wafes:")
    broken = here.push(three(GOOD))
    here.world.run(replica, hours=0.1)
    state, text = here.server.told(broken)[-1]
    assert state == FAILURE[here.kind]
    assert text.startswith("this commit is not followed: fleet.yaml:")
    assert "wafes" in text
    assert here.states(first)[-1] == "success"


def test_a_commit_that_nobody_has_signed_fails(github: ForgeWorld) -> None:
    github.fleet_yaml = FLEET_FILE
    first = github.push(three())
    replica = github.process()
    github.run(replica, "done", first)
    unsigned = github.push(three(GOOD))
    github.world.git.unsigned.add(unsigned)
    github.world.run(replica, hours=0.1)
    assert github.server.told(unsigned) == [
        ("failure", "this commit is not accepted: nobody has signed it; sign it")
    ]


def test_a_commit_whose_signer_counts_no_more_fails_once_and_is_a_success_again_when_he_does(
    github: ForgeWorld,
) -> None:
    github.fleet_yaml = FLEET_FILE
    commit = github.push(three())
    replica = github.process()
    github.run(replica, "done", commit)
    before = len(github.server.statuses)
    github.world.git.unsigned.add(commit)
    github.world.run(replica, hours=0.5)
    assert [state for state, _ in github.server.told(commit)][before:] == ["failure"]
    github.world.git.unsigned.clear()
    github.world.run(replica, hours=0.5)
    assert [state for state, _ in github.server.told(commit)][before:] == ["failure", "success"]


def test_trouble_ends_with_the_forge_that_is_taken_away(github: ForgeWorld) -> None:
    github.fleet_yaml = FLEET_FILE
    github.server.first.extend(answer(422, {"message": "no"}) for _ in range(100))
    replica = github.process()
    github.run(replica, "done", github.push(three()))
    assert "answered 422: no" in github.world.fleet()["status"]["forge"]["problem"]
    github.world.edit("", {"forge": None})
    github.world.run(replica, hours=0.5)
    assert "forge" not in github.world.fleet()["status"]
    assert '"forge_recovered"' not in github.stream.getvalue()


@pytest.mark.parametrize("here", SLOW, indirect=True)
def test_a_restart_repeats_nothing_and_ends_what_was_pending(here: ForgeWorld) -> None:
    first = here.push(three())
    replica = here.process()
    here.run(replica, "hold", first)
    replica.controller.leadership.give_up()
    again = here.process()
    before = len(here.server.statuses)
    here.run(again, "hold", first)
    assert len(here.server.statuses) == before
    again.controller.leadership.give_up()
    second = here.push(three(GOOD))
    here.run(here.process(), "hold", second)
    assert here.states(first)[-1] == ERROR[here.kind]


@pytest.mark.parametrize(
    "status", [401, *(pytest.param(s, marks=pytest.mark.slow) for s in (403, 404, 422, 429, 500, 503))]
)
def test_a_forge_that_takes_nothing_slows_no_rollout_and_is_told_of_once(
    github: ForgeWorld, status: int
) -> None:
    github.fleet_yaml = FLEET_FILE
    commit = github.push(three())
    github.server.first.extend(answer(status, {"message": "no"}) for _ in range(3))
    replica = github.process()
    github.run(replica, "done", commit)
    assert all(wrote(github.world, name, "one") for name in NAMES)
    github.world.run(replica, hours=2)
    assert github.server.told(commit)[-1][0] == "success"
    log = github.stream.getvalue()
    assert log.count('"forge_failed"') == 1
    assert log.count('"forge_recovered"') == 1
    assert f"answered {status}: no" in log


def test_a_secret_that_is_not_there_is_told_with_what_makes_it_and_taken_up_when_it_is(
    github: ForgeWorld,
) -> None:
    core = "/api/v1/namespaces/gitops-mc/secrets"
    held: JsonObject = github.world.kubectl("GET", f"{core}/forge")
    github.world.kubectl("DELETE", f"{core}/forge")
    github.fleet_yaml = FLEET_FILE
    commit = github.push(three())
    replica = github.process()
    github.run(replica, "done", commit)
    assert github.server.peer.seen == []
    made = "kubectl -n gitops-mc create secret generic forge --from-file="
    assert made in github.stream.getvalue()
    assert made in github.world.fleet()["status"]["forge"]["problem"]
    github.world.kubectl(
        "POST",
        core,
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "forge"}, "data": held["data"]},
    )
    github.world.run(replica, hours=0.5)
    assert github.server.told(commit) == [("success", "3 of 3 clusters have it")]
    assert "forge" not in github.world.fleet()["status"]


def test_a_fleet_without_a_forge_asks_none(github: ForgeWorld) -> None:
    github.world.edit("", {"forge": None})
    github.fleet_yaml = FLEET_FILE
    commit = github.push(three())
    replica = github.process()
    github.run(replica, "done", commit)
    assert github.server.peer.seen == []
    github.world.edit("", {"forge": github.spec()})
    github.world.run(replica, hours=0.1)
    assert github.server.told(commit)[-1][0] == "success"


def test_what_is_sensitive_stands_in_no_status(github: ForgeWorld) -> None:
    secret = "s3cr3t-of-edge"
    github.fleet_yaml = FLEET_FILE + '  sensitive: ["/etc/app.conf"]\n'
    replica = github.process()
    github.run(replica, "done", github.push(three()))
    github.world.rollout.faults.set(FaultId.NODE_DEGRADED, marker=secret)  # the node's complaint quotes it
    commit: Commit = github.push(three(BAD.replace("breaks", secret)))
    github.run(replica, "halted", commit)
    state, text = github.server.told(commit)[-1]
    assert state == "failure"
    assert "failed to write file /etc/app.conf: [" in text
    assert all(secret not in f"{seen.body!r}" for seen in github.server.peer.seen)
    assert secret not in github.stream.getvalue()
