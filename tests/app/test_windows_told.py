"""What plan, status and why say of a change window, at one and the same moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from gitops_mc.core.model import JsonObject
from gitops_mc.core.render.lines import text_of
from gitops_mc.core.render.plan_json import plan_json
from gitops_mc.core.render.plan_text import plan_text
from gitops_mc.core.render.status_json import Seen, status_json
from gitops_mc.core.render.status_text import status_text
from gitops_mc.core.rollout.driver import Driver
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.preview import FleetPreview, preview
from gitops_mc.sandbox.fleet import simple_fleet
from tests.app.reports import Answer, standing
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config

CONFIG = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
NIGHT = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: test}
spec:
  gates: {pool: {perNode: 10m}}
  windows:
    - allow: {cron: "0 22 * * *", duration: %s, timeZone: Asia/Shanghai}
"""
OPENS = "window closed until 2026-01-05 22:00 Asia/Shanghai (in 3h 10m)"


def made(lasts: str = "8h", cron: str = "0 22") -> RolloutWorld:
    """At 10:50 UTC, which is 18:50 in Shanghai."""
    world = RolloutWorld(spec=simple_fleet("edge-1"), files={"clusters/edge-1/app.yaml": CONFIG})
    world.files["fleet.yaml"] = (NIGHT % lasts).replace("0 22", cron)
    world.clock.wait(datetime(2026, 1, 5, 10, 50, tzinfo=UTC))
    return world


def planned(world: RolloutWorld) -> FleetPreview:
    found = standing(world)
    return preview(found.fleet, FleetMemory(), found.live, found.at)


def status(world: RolloutWorld) -> tuple[JsonObject, str]:
    found = standing(world)
    told = status_json(found.memory, found.at, Seen(found.decision, found.live), Driver.NOBODY)
    return told, text_of(status_text(told, found.at))


def test_plan_status_and_why_say_until_when_the_window_is_closed_and_how_long_that_is() -> None:
    world = made()
    assert f"window: {OPENS}" in text_of(plan_text(planned(world)))
    told, text = status(world)
    assert f"edge-1: ready: {OPENS}" in text
    assert told["outlook"]["state"] == "waiting"
    assert told["clusters"][0]["window"]["opens_at"] == "2026-01-05T14:00:00+00:00"
    found = Answer(world, "edge-1")
    assert f"window {OPENS}" in found.blocking()
    assert "gitops-mc apply --override-window edge-1 --reason TEXT  # to go on at once" in found.commands


def test_a_plan_of_a_step_that_fits_no_window_is_a_refusal_with_the_numbers() -> None:
    found = planned(made("15m"))
    text = text_of(plan_text(found))
    assert found.clusters[0].refused
    assert (
        "refused: this takes about 20m, with 5m to begin in, and the longest window lasts 15m: it fits none"
        in text
    )
    assert plan_json(found)["totals"]["refused"] == 1
    assert plan_json(found)["clusters"][0]["window"]["opensAt"] is None


def test_in_the_window_nothing_is_said_of_it() -> None:
    found = planned(made(cron="30 18"))
    assert "window" not in text_of(plan_text(found))
    assert plan_json(found)["clusters"][0]["window"] is None


def test_times_are_no_part_of_the_digest_that_a_human_confirms() -> None:
    world = made()
    before = planned(world)
    world.clock.wait(world.clock.now() + timedelta(hours=5))
    after = planned(world)
    assert before.clusters[0].opens_in
    assert not after.clusters[0].opens_in
    assert before.digest == after.digest
