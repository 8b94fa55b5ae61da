"""What status and why of a Fleet offer and repeat: nothing that would be refused, and nothing twice."""

from __future__ import annotations

from gitops_mc.core.custom.requests import Verb
from gitops_mc.core.render.fleet_why import no_such_cluster
from tests.app.fleet_desk import Desk, files, halted, identified, waiting
from tests.app.test_fleet_shown import looked, status, why
from tests.scenarios.controller_world import ControllerWorld


def test_after_a_rollback_none_is_offered_and_why_does_not_offer_itself() -> None:
    desk = halted()
    assert "    gitops-mc rollback edge-1 --fleet prod" in why(desk, "edge-1")
    desk.ask(desk.wish(Verb.ROLLBACK, "edge-1"))
    desk.world.run(
        desk.replica, until=lambda w: str(w.of("edge-1")["status"].get("reason")).startswith("rolled")
    )
    text = why(desk, "edge-1")
    assert "gitops-mc rollback edge-1" not in text
    assert "gitops-mc release edge-1 --fleet prod" in text
    assert "gitops-mc why edge-1" not in text
    assert "gitops-mc why edge-1 --fleet prod" in why(desk, "edge-2")


def test_under_an_abort_the_reasons_of_clusters_stand_with_the_clusters_alone() -> None:
    world = ControllerWorld()
    world.push(files("one"))
    identified(world)
    replica = world.run(until=lambda w: w.outlook() == "wait" and bool(w.rollout.writes("edge-1")))
    desk = Desk(world, replica)
    desk.ask(desk.wish(Verb.ABORT, reason="alarms in the shop"))
    world.run(replica, until=lambda w: w.outlook() == "hold")
    text = status(desk)
    (held,) = (line for line in text.splitlines() if line.startswith("held: "))
    assert held.count("alarms in the shop") == 1
    assert held.endswith("; edge-1 is in flight")
    assert "gitops-mc resume --fleet prod" in text
    (cluster,) = (line for line in text.splitlines() if line.startswith("  edge-1: "))
    assert "alarms in the shop" in cluster


def test_what_was_refused_is_counted_and_does_not_push_out_what_was_done() -> None:
    desk = waiting()
    desk.ask(desk.wish(Verb.HOLD, "edge-3", "disks"))
    for _ in range(11):
        desk.ask(desk.wish(Verb.RETRY, "edge-1"))
    text = status(desk)
    assert "mei: hold edge-3: disks\n" in text
    assert "11 requests not carried out: gitops-mc history --fleet prod\n" in text
    assert "retry" not in text


def test_while_the_source_cannot_be_read_nobody_knows_which_clusters_there_are() -> None:
    world = ControllerWorld()
    world.git.down = "the name of the host cannot be resolved"
    identified(world)
    told, _ = looked(Desk(world, world.run(hours=0.1)))
    message, _ = no_such_cluster(told, "edge-1")
    assert message == (
        "nobody knows yet whether Fleet gitops-mc/prod has a cluster edge-1: the name of the host cannot be resolved"
    )


def test_a_cluster_that_there_is_not_names_those_that_there_are_and_what_keeps_git_away() -> None:
    desk = waiting()
    told, _ = looked(desk)
    assert no_such_cluster(told, "edge-9") == (
        "Fleet gitops-mc/prod has no cluster edge-9",
        "there are: edge-1, edge-2, edge-3",
    )
    desk.world.git.down = "the Git server does not answer"
    desk.world.run(desk.replica, hours=0.1)
    told, _ = looked(desk)
    assert no_such_cluster(told, "edge-9")[1].endswith(
        "what Git has now is not followed: the Git server does not answer"
    )
