"""What status and why tell of a Fleet from its objects, and who governs a cluster."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest

from gitops_mc.app.ports import MERGE_PATCH
from gitops_mc.app.use_cases.fleet_objects import governors, memory_of
from gitops_mc.core.custom.requests import Verb
from gitops_mc.core.errors import GitopsMcError, UsageError
from gitops_mc.core.model import JsonObject
from gitops_mc.core.render.fleet_commands import FleetCommands
from gitops_mc.core.render.fleet_governed import refusal, remark, rests_on_the_state_file
from gitops_mc.core.render.fleet_status import fleet_json, fleet_text, history_lines
from gitops_mc.core.render.fleet_why import fleet_why, fleet_why_json, fleet_why_text
from gitops_mc.core.render.lines import text_of
from gitops_mc.core.rollout.driver import UNDRIVEN
from tests.app.fleet_desk import NAMES, Desk, halted, identified, waiting
from tests.scenarios.controller_world import API, CRDS, FLEETS, ROLLOUTS, ControllerWorld

PROD = FleetCommands("prod")


def looked(desk: Desk) -> tuple[JsonObject, datetime]:
    body, rollouts = desk.place.fleet(), desk.place.rollouts()
    now = desk.world.rollout.clock.now()
    return fleet_json(body, rollouts, memory_of(body, rollouts), now), now


def status(desk: Desk) -> str:
    told, now = looked(desk)
    return text_of(fleet_text(told, now, PROD))


def why(desk: Desk, name: str) -> str:
    told, now = looked(desk)
    return text_of(fleet_why_text(told, name, fleet_why(told, name, now, PROD)))


# ---------------------------------------------------------------------------------------------------------------- status


def test_a_wave_that_waits_says_which_command_opens_it_and_nobody_is_told_to_run_apply() -> None:
    text = status(waiting())
    assert text.startswith("Fleet gitops-mc/prod, 1/3 passed\n")
    assert "wave rest: needs approval, 0/2 passed, " in text
    assert "gitops-mc approve rest --fleet prod" in text
    assert "gitops-mc apply" not in text
    assert UNDRIVEN not in text


def test_a_halt_shows_what_failed_and_what_helps_here() -> None:
    text = status(halted())
    assert "halted" in text
    assert "or: gitops-mc release --all --fleet prod" in text
    assert "gitops-mc release edge-1 --fleet prod, or newer content that changes pool worker" in text


def test_the_source_tells_its_commit_its_age_and_its_problem() -> None:
    desk = waiting()
    assert f"commit {desk.world.git.head[:12]}, asked " in status(desk)
    desk.world.git.down = "the Git server does not answer"
    desk.world.run(desk.replica, hours=0.1)
    assert "; the Git server does not answer\n" in status(desk)


def test_orders_that_stand_are_named_with_who_gave_them() -> None:
    desk = waiting()
    desk.ask(desk.wish(Verb.HOLD, "edge-2", "disks"))
    desk.ask(desk.wish(Verb.SUSPEND, reason="a storm"))
    text = status(desk)
    assert "suspended: mei: a storm\n" in text
    assert "edge-2: held by mei: disks\n" in text


def test_a_controller_that_has_not_looked_for_long_is_missed() -> None:
    desk = waiting()
    assert "no controller has looked" not in status(desk)
    desk.world.rollout.clock.wait(desk.turns.now() + timedelta(minutes=20))
    assert "no controller has looked for 20m" in status(desk)
    assert "> driver    no controller has looked for 20m" in why(desk, "edge-2")


def test_a_repository_that_could_never_be_read_is_no_controller_that_has_not_looked() -> None:
    world = ControllerWorld()
    world.git.down = "the name of the host cannot be resolved"
    identified(world)
    text = status(Desk(world, world.run(hours=0.1)))
    assert "never read; the name of the host cannot be resolved\n" in text
    assert "no controller has looked" not in text


def test_programs_get_the_same_as_json() -> None:
    desk = waiting()
    told, _ = looked(desk)
    assert json.loads(json.dumps(told)) == told
    assert told["driver"] == "controller"
    assert told["fleet"]["source"]["commit"] == desk.world.git.head
    assert {c["cluster"]: c["standing"] for c in told["clusters"]} == {
        "edge-1": "passed",
        "edge-2": "ready",
        "edge-3": "ready",
    }


def test_one_cluster_whose_memory_cannot_be_understood_hides_none_of_the_others() -> None:
    desk = waiting()
    broken = desk.world.of("edge-1")["status"]
    broken["memory"]["version"] = 99
    desk.world.kubectl("PATCH", f"{ROLLOUTS}/edge-1/status", {"status": broken}, MERGE_PATCH)
    told, _ = looked(desk)
    assert [c["cluster"] for c in told["clusters"]] == list(NAMES)


# ------------------------------------------------------------------------------------------------------------------- why


def test_why_names_the_wave_that_is_waited_for_and_the_command() -> None:
    text = why(waiting(), "edge-2")
    assert text.startswith("edge-2: ready\n")
    assert "> wave      rest is needs approval" in text
    assert text.endswith("what to do:\n    gitops-mc approve rest --fleet prod\n")


def test_why_of_what_failed_names_halt_failure_and_every_way_out() -> None:
    desk = halted()
    text = why(desk, "edge-1")
    assert "> halt " in text
    for verb in ("release edge-1", "rollback edge-1", "skip edge-1", "release --all"):
        assert f"    gitops-mc {verb} --fleet prod" in text
    told, now = looked(desk)
    found = fleet_why_json(told, "edge-1", fleet_why(told, "edge-1", now, PROD))
    assert (found["blocked"], found["standing"]) == (True, "failed")


def test_why_of_what_has_passed_says_that_nothing_holds_it_up() -> None:
    assert why(waiting(), "edge-1").startswith("edge-1: passed; nothing holds it up\n")


def test_a_history_of_nothing_says_so_and_acts_stand_one_a_line() -> None:
    now = datetime.fromisoformat("2026-03-01T12:00:00+00:00")
    assert [line.text for line in history_lines((), now)] == ["nothing has been asked for yet"]
    act = {"at": "2026-03-01T11:00:00.123456Z", "who": "mei", "what": "hold edge-1", "why": "two\nlines"}
    (line,) = history_lines((act,), now)
    assert line.text == "2026-03-01T11:00:00+00:00 (59m 59s ago) mei: hold edge-1: two\\nlines"


# -------------------------------------------------------------------------------------------------------------- who governs


def test_a_cluster_is_governed_by_the_fleet_whose_rollout_names_it_label_or_not() -> None:
    desk = waiting()
    desk.world.kubectl("PATCH", f"{ROLLOUTS}/edge-1", {"metadata": {"labels": None}}, MERGE_PATCH)
    found = governors(desk.place.api, ("edge-1", "edge-2", "elsewhere"))
    assert {name: (g.title, g.suspended) for name, g in found.items()} == {
        "edge-1": ("gitops-mc/prod", False),
        "edge-2": ("gitops-mc/prod", False),
    }


def test_a_suspended_fleet_is_told_as_such_and_one_that_is_gone_governs_nothing() -> None:
    desk = waiting()
    desk.world.edit("", {"suspend": True})
    assert governors(desk.place.api, ("edge-1",))["edge-1"].suspended
    desk.world.kubectl("DELETE", f"{FLEETS}/prod")
    assert governors(desk.place.api, NAMES) == {}


def test_a_rollout_in_another_namespace_governs_too() -> None:
    desk = waiting()
    world = desk.world
    world.kubectl("POST", "/api/v1/namespaces", {"metadata": {"name": "second"}})
    path = f"/apis/{API}/namespaces/second"
    fleet = {"metadata": {"name": "lab"}, "spec": {"source": {"url": "https://git.example/lab.git"}}}
    world.kubectl("POST", f"{path}/fleets", {"apiVersion": API, "kind": "Fleet", **fleet})
    claim = {"metadata": {"name": "edge-8"}, "spec": {"fleet": "lab", "cluster": "edge-8"}}
    world.kubectl("POST", f"{path}/clusterrollouts", {"apiVersion": API, "kind": "ClusterRollout", **claim})
    found = governors(desk.place.api, ("edge-8",))
    assert found["edge-8"].commands.options == "--fleet lab --namespace second"


def test_where_our_api_is_not_served_nobody_governs_and_a_fleet_is_no_empty_one() -> None:
    world = ControllerWorld()
    desk = Desk(world)
    for file in CRDS.glob("*s.yaml"):
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        world.kubectl("DELETE", f"{definitions}/{file.stem}.gitops-mc.io")
    assert governors(desk.place.api, NAMES) == {}
    with pytest.raises(GitopsMcError, match="does not serve"):
        desk.place.fleet()


def test_a_fleet_that_there_is_not_names_those_that_there_are() -> None:
    desk = Desk(ControllerWorld())
    desk.world.kubectl("DELETE", f"{FLEETS}/prod")
    with pytest.raises(UsageError) as found:
        desk.place.fleet()
    assert found.value.hint.startswith("there are: none")


def test_what_is_said_of_governed_clusters_names_fleet_and_way_out() -> None:
    governed = {"edge-2": PROD, "edge-1": PROD, "lab-1": FleetCommands("lab", "second")}
    message, hint = refusal(governed)
    assert "clusters edge-1, edge-2 are governed by Fleet gitops-mc/prod" in message
    assert "cluster lab-1 is governed by Fleet second/lab" in message
    assert "gitops-mc suspend --fleet lab --namespace second --reason TEXT" in hint
    assert "gitops-mc apply would be refused" in remark(governed)
    beside = rests_on_the_state_file({"edge-1": PROD})
    assert beside.startswith("cluster edge-1 is governed by Fleet gitops-mc/prod: ")
    assert "knows nothing of what the controller remembers" in beside
    assert "gitops-mc status --fleet prod" in beside
