"""How a rollout stands: from the memory alone, and with a look at the clusters."""

from __future__ import annotations

import json
from datetime import timedelta

from gitops_mc.core.model import JsonObject
from gitops_mc.core.render.lines import text_of
from gitops_mc.core.render.status_json import Seen, status_json
from gitops_mc.core.render.status_text import status_text
from gitops_mc.core.rollout import acts
from gitops_mc.core.rollout.driver import UNDRIVEN, Driver
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import Done, Halted, Hold
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from tests.app.reports import standing
from tests.scenarios.rollout_world import FLEET, UNIT, RolloutWorld, machine_config

GOOD = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
BAD = machine_config("50-worker-app", files={"/etc/app.conf": "BROKEN\n"}, app_service=UNIT)


def made(config: str = GOOD) -> RolloutWorld:
    world = RolloutWorld(spec=simple_fleet("edge-1", "edge-2"))
    world.files |= {f"clusters/{n}/app.yaml": config for n in ("edge-1", "edge-2")}
    return world


def halted() -> RolloutWorld:
    world = made(BAD)
    world.faults.set(FaultId.NODE_DEGRADED)
    assert isinstance(world.run(), Halted)
    return world


def looked(world: RolloutWorld, driver: Driver = Driver.NOBODY) -> tuple[JsonObject, str]:
    found = standing(world)
    told = status_json(found.memory, found.at, Seen(found.decision, found.live), driver)
    return told, text_of(status_text(told, found.at))


def cluster(told: JsonObject, name: str) -> JsonObject:
    found: JsonObject = next(c for c in told["clusters"] if c["cluster"] == name)
    return found


def test_the_memory_alone_tells_content_commit_since_when_holds_and_open_steps() -> None:
    world = halted()
    told = status_json(world.memory(), world.clock.now(), None, Driver.NOBODY)
    edge = cluster(told, "edge-1")
    assert edge["standing"] == "failed"
    assert edge["failure"]["subjects"] == ["pool:worker"]
    assert edge["started"]["commit"]
    assert edge["started"]["at"]
    assert edge["gates"] is None, "nobody has looked"
    assert told["halt"]["clusters"] == ["edge-1"]
    assert told["outlook"] is None
    assert json.loads(json.dumps(told)) == told
    text = text_of(status_text(told, world.clock.now()))
    assert "halted" in text
    assert "gitops-mc release edge-1" in text


def test_a_look_adds_gates_waves_and_the_age_of_every_fact() -> None:
    told, text = looked(halted())
    edge = cluster(told, "edge-1")
    gates = {g["gate"]: g for g in edge["gates"]}
    assert gates["pool worker"]["state"] == "failed"
    assert gates["pool master"]["state"] == "open"
    assert 0 <= edge["ages"]["pools"] < 60
    assert {w["wave"]: w["state"] for w in told["waves"]} == {"canary": "open", "rest": "closed"}
    assert told["outlook"]["state"] == "halted"
    assert "facts up to" in text


def test_a_look_writes_and_remembers_nothing_and_says_what_an_apply_would_start() -> None:
    world = made()
    told, text = looked(world)
    assert told["outlook"] == {
        "state": "pending",
        "reasons": ["could start: edge-1"],
        "acts": ["gitops-mc apply"],
    }
    assert "pending: could start: edge-1" in text
    assert world.store.saves == 0
    assert world.writes("edge-1") == ()


def test_a_finished_rollout_is_done_and_a_dark_cluster_says_what_was_not_read() -> None:
    world = made()
    assert isinstance(world.run(), Done)
    assert looked(world)[0]["outlook"]["state"] == "done"
    world.faults.set(FaultId.GATEWAY_GONE, cluster="edge-2")
    told, text = looked(world)
    assert cluster(told, "edge-2")["reason"].startswith("does not answer since")
    assert "edge-2: passed: does not answer since" in text


def test_what_humans_did_is_shown_with_who_why_and_until_when() -> None:
    world = made()
    world.files["fleet.yaml"] = FLEET.replace("maxConcurrent: 10", "approval: manual")
    assert isinstance(world.run(), Hold)
    now = world.clock.now()

    def did(memory: FleetMemory) -> FleetMemory:
        by = acts.By("mei", now, "new disk")
        found = acts.excuse(memory, "edge-1", "edge-1-w1", now + timedelta(hours=24), by)
        assert isinstance(found, acts.Changed)
        return found.memory

    world.remember(did)
    told, text = looked(world)
    assert cluster(told, "edge-1")["excused"][0]["ended"] is False
    assert "node edge-1-w1 excused, until" in text
    assert "mei: excuse edge-1-w1 --cluster edge-1" in text
    assert "wave rest: needs approval" in text


def test_where_nothing_is_remembered_that_is_said() -> None:
    world = made()
    told = status_json(FleetMemory(), world.clock.now(), None, Driver.NOBODY)
    assert text_of(status_text(told, world.clock.now())) == "nothing is remembered yet\n"


def test_what_is_pending_does_not_move_unless_somebody_applies_and_status_says_so() -> None:
    world = made()
    assert UNDRIVEN in looked(world)[1]
    assert UNDRIVEN not in looked(world, Driver.APPLY)[1]
    world.run(until=lambda _: bool(world.writes("edge-1")))
    alone = status_json(world.memory(), world.clock.now(), None, Driver.NOBODY)
    assert UNDRIVEN in text_of(status_text(alone, world.clock.now())), "the memory alone tells it, too"
    assert isinstance(world.run(), Done)
    assert UNDRIVEN not in looked(world)[1], "nothing is pending"


def test_after_a_halt_is_lifted_somebody_still_has_to_apply() -> None:
    assert UNDRIVEN in looked(halted())[1]
