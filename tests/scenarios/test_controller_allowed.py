"""What somebody allows one content (now, override-window) outlives the process that heard it, and covers no other content."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import count

import pytest

from gitops_mc.app.controller.lease import LeadershipLostError
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.sandbox.faults import FaultId
from tests.scenarios.controller_world import ROLLOUTS, ControllerWorld, ProcessEnded, Replica
from tests.scenarios.crashes import Killed
from tests.scenarios.rollout_world import UNIT, machine_config
from tests.scenarios.test_controller import BAD, CONFIG, GOOD, NAMES, three, wrote
from tests.scenarios.test_controller_faults_found import Tapped
from tests.scenarios.test_windows import fleet, freeze

FROZEN = fleet(
    freeze("0 10 5 1 *", "8h"),
    waves="[{name: canary, clusters: {names: [edge-1]}}, {name: rest, clusters: {}}]",
)
BEGIN, END = datetime(2026, 1, 5, 10, tzinfo=UTC), datetime(2026, 1, 5, 18, tzinfo=UTC)
LATER = machine_config("50-worker-app", files={"/etc/app.conf": "four\n"}, app_service=UNIT)
ASKED = "{by: mei, reason: production is down}"


@dataclass(frozen=True)
class Refusing:
    """A way on which one object cannot be written."""

    inner: Transport
    path: str

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if request.method == "PATCH" and request.path.startswith(self.path):
            status = {
                "apiVersion": "v1",
                "kind": "Status",
                "status": "Failure",
                "reason": "Forbidden",
                "code": 403,
            }
            return Response(403, json.dumps({**status, "message": "no"}).encode())
        return self.inner.send(cluster, request, timeout=timeout)


def failed_in_a_freeze() -> ControllerWorld:
    """The canary has failed; its repair is pushed inside a freeze, and suspended by somebody before anything is allowed."""
    world = ControllerWorld()
    world.rollout.faults.set(FaultId.NODE_DEGRADED, marker="breaks")
    world.push({**three(BAD), "fleet.yaml": FROZEN})
    world.run(until=lambda w: w.outlook() == "halted")
    assert world.rollout.clock.now() < BEGIN
    world.rollout.clock.wait(BEGIN)
    world.push({**three(GOOD), "fleet.yaml": FROZEN})
    world.alive = world.run(world.process("one"), hours=0.5)
    assert not wrote(world, "edge-1", "three")
    world.edit("", {"suspend": True})
    return world


def asked(world: ControllerWorld, verb: str, cluster: str = "edge-1", value: str = ASKED) -> None:
    """The process that lives carries it out, and ends before it may write anything to a cluster."""
    world.annotate(cluster, verb, value)
    world.run(world.alive, until=lambda w: not carries(w, cluster), hours=0.1)
    world.end()


def carries(world: ControllerWorld, cluster: str) -> bool:
    body = world.of(cluster) if cluster else world.fleet()
    return bool(body["metadata"].get("annotations"))


def resumed(
    world: ControllerWorld, hours: float = 0.7, until: Callable[[ControllerWorld], bool] | None = None
) -> Replica:
    world.edit("", {"suspend": None})
    replica = world.run(world.process("two"), hours=hours, until=until)
    assert world.rollout.clock.now() < END
    return replica


def test_a_repair_that_was_allowed_inside_a_freeze_is_written_by_the_next_process() -> None:
    world = failed_in_a_freeze()
    asked(world, "override-window")
    said = world.of("edge-1")["spec"]["overridden"]
    assert (said["by"], said["reason"]) == ("mei", "production is down")
    resumed(world)
    assert said["content"] == world.of("edge-1")["status"]["content"]
    assert wrote(world, "edge-1", "three")
    assert world.standing("edge-1") == "passed"
    assert not wrote(world, "edge-2", "three")
    assert "overridden" not in world.of("edge-1")["spec"]


def test_for_the_whole_fleet_it_stands_with_every_cluster_that_has_something_to_pass() -> None:
    world = failed_in_a_freeze()
    asked(world, "override-window", "")
    assert all(world.of(name)["spec"]["overridden"]["by"] == "mei" for name in NAMES)
    resumed(world)
    assert all(wrote(world, name, "three") for name in NAMES)
    assert not any("overridden" in world.of(name)["spec"] for name in NAMES)


@pytest.mark.slow
def test_newer_content_is_not_covered() -> None:
    world = failed_in_a_freeze()
    asked(world, "override-window", "")
    world.push({**three(LATER), "fleet.yaml": FROZEN})
    resumed(world)
    assert not any(wrote(world, name, text) for name in NAMES for text in ("three", "four"))
    assert not any("overridden" in world.of(name)["spec"] for name in NAMES)


def test_whoever_takes_it_out_of_spec_takes_it_back() -> None:
    world = failed_in_a_freeze()
    asked(world, "override-window")
    world.edit("edge-1", {"overridden": None})
    resumed(world)
    assert not wrote(world, "edge-1", "three")


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["", "edge-1"])
def test_a_death_at_any_write_of_it_loses_nothing(cluster: str) -> None:
    """After each death the request stands, or all that it asks for."""
    deaths = 0
    for nth in count(1):
        world = failed_in_a_freeze()
        world.end()
        world.annotate(cluster, "override-window", ASKED)
        if not _dies(world, nth):
            break
        deaths += 1
        names = (cluster,) if cluster else NAMES
        stands = all(world.of(name)["spec"].get("overridden", {}).get("by") == "mei" for name in names)
        assert stands or carries(world, cluster), nth
        world.rollout.wrap = lambda transport: transport
        resumed(world, hours=5, until=partial(_all_have_it, names))
    assert deaths >= 2


def _all_have_it(names: Sequence[str], world: ControllerWorld) -> bool:
    return all(wrote(world, name, "three") for name in names)


def _dies(world: ControllerWorld, nth: int) -> bool:
    """Whether a process that dies right after its nth write of our objects does so at all, as long as nothing may be written."""
    seen = 0

    def die(request: Request) -> None:
        nonlocal seen
        seen += request.method == "PATCH" and "/gitops-mc.io/" in request.path
        if seen == nth:
            raise Killed

    world.rollout.wrap = lambda transport: Tapped(transport, after=die)
    try:
        world.run(
            world.process("dying"), hours=0.1, until=lambda w: not (carries(w, "") or carries(w, "edge-1"))
        )
    except (Killed, ProcessEnded, LeadershipLostError):
        return True
    return False


@pytest.mark.slow
def test_what_is_asked_for_the_whole_fleet_stands_until_every_cluster_has_kept_it() -> None:
    """The object of one cluster cannot be written, and the process ends before it can be."""
    world = failed_in_a_freeze()
    world.end()
    world.annotate("", "override-window", ASKED)
    world.rollout.wrap = lambda transport: Refusing(transport, f"{ROLLOUTS}/edge-2")
    world.run(world.process("one"), hours=0.1)
    assert world.of("edge-1")["spec"]["overridden"]["by"] == "mei"
    assert "overridden" not in world.of("edge-2")["spec"]
    assert carries(world, "")
    world.rollout.wrap = lambda transport: transport
    resumed(world)
    assert all(wrote(world, name, "three") for name in NAMES)
    assert not carries(world, "")


def rolling() -> ControllerWorld:
    """The canary rolls healthily, and is suspended, when newer content comes."""
    world = ControllerWorld()
    world.push(three(CONFIG))
    world.alive = world.run(until=lambda w: wrote(w, "edge-1", "one"))
    world.edit("", {"suspend": True})
    world.push(three(GOOD))
    world.run(world.alive, until=lambda w: w.fleet()["status"]["source"]["commit"] == w.git.head, hours=0.1)
    return world


def over_before_the_first_passed(world: ControllerWorld) -> bool:
    world.edit("", {"suspend": None})
    world.run(world.process("two"), until=lambda w: wrote(w, "edge-1", "three"))
    return "passed" not in world.of("edge-1")["status"]["memory"]


def test_haste_outlives_the_process_and_is_over_once_its_content_has_been_started() -> None:
    world = rolling()
    asked(world, "now")
    assert world.of("edge-1")["spec"]["hurried"]["by"] == "mei"
    assert over_before_the_first_passed(world)
    assert "hurried" not in world.of("edge-1")["spec"]


def test_without_haste_newer_content_waits_until_what_rolls_has_settled() -> None:
    world = rolling()
    world.end()
    assert not over_before_the_first_passed(world)


def test_haste_does_not_cover_newer_content() -> None:
    world = rolling()
    asked(world, "now")
    world.push(three(LATER))
    world.edit("", {"suspend": None})
    world.run(world.process("two"), until=lambda w: wrote(w, "edge-1", "four"))
    assert "passed" in world.of("edge-1")["status"]["memory"]
    assert not wrote(world, "edge-1", "three")
