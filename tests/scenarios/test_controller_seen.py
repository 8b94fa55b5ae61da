"""An approval that names what was looked at is good for nothing else; what the status shows is what it is compared with."""

from __future__ import annotations

import pytest

from gitops_mc.core.model import JsonObject
from tests.scenarios.controller_world import ControllerWorld, Replica
from tests.scenarios.test_controller import ASKING, GOOD, NAMES, done, pushed, three, wrote


def waiting() -> tuple[ControllerWorld, Replica]:
    """The canary has passed, the second wave waits for its approval."""
    world = pushed(fleet=ASKING)
    return world, world.run(until=lambda w: w.outlook() == "hold")


def shown(world: ControllerWorld) -> str:
    return str(next(w["contents"] for w in world.fleet()["status"]["waves"] if w["name"] == "rest"))


def last(world: ControllerWorld) -> JsonObject:
    found: JsonObject = world.fleet()["status"]["history"][-1]
    return found


def newer(world: ControllerWorld, replica: Replica) -> None:
    """A commit after somebody has looked; the canary has passed with it, and the wave waits again."""
    commit = world.push({**three(GOOD), "fleet.yaml": ASKING})
    world.run(
        replica,
        until=lambda w: (
            w.fleet()["status"]["source"]["commit"] == commit
            and wrote(w, "edge-1", "three")
            and w.outlook() == "hold"
        ),
    )


def test_what_is_shown_is_what_the_approval_is_bound_to() -> None:
    world, replica = waiting()
    seen = shown(world)
    world.annotate("", "approve", f"{{wave: rest, seen: {seen}, by: mei}}")
    world.run(replica, until=lambda w: bool(w.fleet()["spec"].get("approvals")))
    (approval,) = world.fleet()["spec"]["approvals"]
    assert approval["contents"].startswith(seen)
    assert last(world)["what"] == f"approve rest --seen {seen}"
    world.run(replica, until=done)


def test_what_was_pushed_after_the_look_is_not_approved_and_the_refusal_says_what_to_do() -> None:
    world, replica = waiting()
    before = shown(world)
    newer(world, replica)
    now = shown(world)
    world.annotate("", "approve", f"{{wave: rest, seen: {before}, by: mei}}")
    world.run(replica, hours=1)
    assert not any(world.rollout.writes(name) for name in NAMES[1:])
    assert last(world)["what"] == "not carried out: gitops-mc.io/approve"
    assert last(world)["why"] == (
        f"wave rest was looked at with {before}, and has {now} now, so nothing is approved; look at what Git has now "
        "(gitops-mc status --fleet prod), then: gitops-mc approve rest --fleet prod, "
        f"or with kubectl {{wave: rest, seen: {now}}}"
    )
    assert "annotations" not in world.fleet()["metadata"]
    world.annotate("", "approve", f"{{wave: rest, seen: {now}}}")
    world.run(replica, until=done)


def test_without_a_digest_it_is_approved_as_it_stands() -> None:
    world, replica = waiting()
    newer(world, replica)
    world.annotate("", "approve", "{wave: rest, by: mei}")
    world.run(replica, until=done)
    assert last(world)["what"] == "approve rest"


@pytest.mark.parametrize("seen", ["abc", "everything", "0" * 65, "d873f210!"])
def test_what_is_no_digest_is_refused(seen: str) -> None:
    world, replica = waiting()
    world.annotate("", "approve", f"{{wave: rest, seen: '{seen}'}}")
    world.run(replica, hours=0.2)
    assert "8 characters of it at least" in last(world)["why"]
    assert not world.fleet()["spec"].get("approvals")


def first_contact() -> tuple[ControllerWorld, Replica]:
    """All that was remembered is lost: the clusters have what Git says, but newer content changes what somebody set."""
    world = pushed()
    replica = world.run(until=done)
    for name in NAMES:
        world.annotate(name, "forget", "")
    world.run(replica, hours=0.1)
    world.push(three(GOOD))
    world.run(replica, until=lambda w: w.standing("edge-1") == "needs approval")
    return world, replica


def test_a_first_contact_is_approved_with_the_content_that_was_looked_at_and_no_other() -> None:
    world, replica = first_contact()
    before = str(world.of("edge-1")["status"]["shortContent"])
    commit = world.push(three(GOOD.replace("three", "four")))
    world.run(replica, until=lambda w: w.fleet()["status"]["source"]["commit"] == commit)
    world.annotate("edge-1", "approve", f"{{seen: {before}, by: mei}}")
    world.run(replica, hours=0.5)
    assert last(world)["what"] == "not carried out: gitops-mc.io/approve on edge-1"
    now = str(world.of("edge-1")["status"]["shortContent"])
    assert f"edge-1 was looked at with {before}, and has {now} now" in last(world)["why"]
    assert "approved" not in world.of("edge-1")["spec"]
    world.annotate("edge-1", "approve", f"{{seen: {now}, by: mei}}")
    world.run(replica, until=lambda w: w.standing("edge-1") == "passed")
    approved = [
        act["what"] for act in world.fleet()["status"]["history"] if act["what"].startswith("approve")
    ]
    assert approved == [f"approve edge-1 --seen {now}"]
