"""What is refused, in whose name, and what is waited for instead."""

from __future__ import annotations

import pytest

from gitops_mc.core.custom.requests import SOMEBODY, Verb
from gitops_mc.core.custom.wishes import CarriedOut, Refused
from tests.app.fleet_desk import ASKING, Desk, files, halted, identified, waiting
from tests.scenarios.controller_world import ControllerWorld
from tests.scenarios.rollout_world import FLEET


def refused(desk: Desk, verb: Verb, cluster: str = "", **members: str) -> str:
    (answer,) = desk.ask(desk.wish(verb, cluster, **members))
    assert isinstance(answer, Refused), answer
    return answer.reason


def last(desk: Desk) -> dict[str, str]:
    found: dict[str, str] = desk.world.fleet()["status"]["history"][-1]
    return found


def test_a_wave_that_asks_for_no_approval_is_not_approved() -> None:
    desk = waiting()
    told = refused(desk, Verb.APPROVE, wave="canary")
    assert told.startswith(
        "wave canary waits for no approval: fleet.yaml does not say `approval: manual` of it"
    )
    assert "wave canary is done" in told
    assert "approvals" not in desk.world.fleet()["spec"]


def test_a_wave_that_is_approved_or_done_is_not_approved_again() -> None:
    desk = waiting()
    (first,) = desk.ask(desk.wish(Verb.APPROVE, wave="rest"))
    assert isinstance(first, CarriedOut)
    desk.world.run(desk.replica, hours=0.02)
    assert refused(desk, Verb.APPROVE, wave="rest").startswith(
        "wave rest is approved already, with these contents"
    )
    desk.world.run(desk.replica, until=lambda w: w.outlook() == "done")
    assert "wave rest is done: 2 of 2 passed" in refused(desk, Verb.APPROVE, wave="rest")


def test_a_wave_may_be_approved_before_its_turn() -> None:
    world = ControllerWorld()
    world.push(files("one", ASKING))
    identified(world)
    desk = Desk(world, world.run(hours=0.05))
    assert world.outlook() == "wait"
    assert desk.ask(desk.wish(Verb.APPROVE, wave="rest")) == [CarriedOut(("approve rest",))]
    world.run(desk.replica, until=lambda w: w.outlook() == "done")


def test_a_cluster_that_waits_for_its_wave_is_not_approved_and_the_wave_is_named() -> None:
    desk = waiting()
    told = refused(desk, Verb.APPROVE, "edge-2")
    assert told.startswith("cluster edge-2 waits for no approval of its own; it is ready: could start")
    assert "wave rest needs approval: wave rest waits" in told
    assert "gitops-mc approve rest --fleet prod" in told
    assert "approved" not in desk.world.of("edge-2")["spec"]


def test_a_cluster_that_has_passed_is_met_for_the_first_time_no_more() -> None:
    desk = waiting()
    told = refused(desk, Verb.APPROVE, "edge-1")
    assert told.startswith(
        "cluster edge-1 is met for the first time no more, and waits for no approval; it has passed"
    )


def test_a_wave_without_fleet_yaml_saying_so_is_not_approved_while_it_rolls() -> None:
    world = ControllerWorld()
    world.push(files("one", FLEET))
    identified(world)
    desk = Desk(world, world.run(hours=0.05))
    assert "waits for no approval" in refused(desk, Verb.APPROVE, wave="rest")


@pytest.mark.parametrize("verb", [Verb.RETRY, Verb.RELEASE, Verb.ROLLBACK, Verb.NOW])
def test_a_refusal_stands_in_the_name_of_whoever_asked_and_says_the_verb_once(verb: Verb) -> None:
    desk = waiting()
    told = refused(desk, verb, "edge-1")
    act = last(desk)
    assert act["who"] == "mei"
    assert act["what"] == f"not carried out: gitops-mc.io/{verb.value} on edge-1"
    assert act["why"] == told
    assert not told.startswith(f"{verb.value}:")


@pytest.mark.parametrize(
    ("value", "who"),
    [("{for: 2h, by: mei}", "mei"), ("{for: 2h}", SOMEBODY), ("{by: [mei", SOMEBODY)],
)
def test_what_is_not_understood_stands_in_the_name_of_whoever_asked_where_that_can_be_read(
    value: str, who: str
) -> None:
    desk = waiting()
    desk.world.annotate("edge-1", "excuse", value)
    desk.world.run(desk.replica, hours=0.02)
    assert last(desk)["who"] == who
    assert last(desk)["what"] == "not carried out: gitops-mc.io/excuse on edge-1"


def test_a_verb_on_the_wrong_object_is_told_in_the_name_of_whoever_asked() -> None:
    desk = halted()
    desk.world.annotate("", "retry", "{by: mei}")
    desk.world.run(desk.replica, hours=0.02)
    assert last(desk)["who"] == "mei"
    assert last(desk)["why"] == "retry is asked for on a ClusterRollout, not on a Fleet"


def strange(desk: Desk) -> list[dict[str, str]]:
    history = desk.world.fleet()["status"].get("history") or ()
    return [act for act in history if "aprove" in act["what"] or "frobnicate" in act["what"]]


def test_an_annotation_that_is_no_verb_is_told_once_and_stays() -> None:
    desk = waiting()
    replica = desk.replica
    assert replica is not None
    desk.world.annotate("", "aprove", "{wave: rest, by: mei}")
    desk.world.annotate("edge-2", "frobnicate", "now")
    desk.world.run(replica, hours=1)
    first, second = sorted(strange(desk), key=lambda act: act["what"])
    assert (first["who"], first["what"]) == ("mei", "not carried out: gitops-mc.io/aprove")
    assert (
        first["why"]
        == "aprove is no verb, so it stays and nothing comes of it; did you mean gitops-mc.io/approve?"
    )
    assert second["what"] == "not carried out: gitops-mc.io/frobnicate on edge-2"
    assert "verbs on a ClusterRollout: accept, approve, excuse" in second["why"]
    assert sum("aprove" in said for said in replica.heard.said) == 1
    assert "gitops-mc.io/aprove" in desk.world.fleet()["metadata"]["annotations"]
    assert "approvals" not in desk.world.fleet()["spec"]


def test_a_process_that_begins_anew_does_not_tell_it_again_and_annotations_of_manifests_are_no_requests() -> (
    None
):
    desk = waiting()
    desk.world.annotate("", "aprove", "{wave: rest}")
    desk.world.run(desk.replica, hours=0.1)
    replica = desk.world.run(hours=0.5)
    assert len(strange(desk)) == 1
    assert not any("aprove" in said for said in replica.heard.said)
    desk.world.annotate(
        "", "prune", "disabled"
    )  # of manifests: whoever gives it to all he deploys means no request
    desk.world.run(replica, hours=0.1)
    assert not any("prune" in act["what"] for act in desk.world.fleet()["status"]["history"])
