"""Killed at any call of a rollout and started again: the same end, and no node reboots more often."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

import pytest

from gitops_mc.app.executor import Pace
from gitops_mc.app.ports import Transport
from gitops_mc.core.model import JsonObject
from gitops_mc.core.rollout.inputs import Acts
from gitops_mc.core.rollout.moves import Done
from tests.scenarios.crashes import Counted, Killed, Moment
from tests.scenarios.test_groups import second, world

SAMPLE = 4
"""Reads and dry runs at which the process is killed, drawn by a fixed seed, beside every write."""


class Run:
    """The second commit of the groups' world, by processes that may die."""

    def __init__(self) -> None:
        self.world = world()
        self.world.pace = Pace(every=timedelta(seconds=20))
        assert isinstance(self.world.run(), Done)
        self.world.pace = Pace(every=timedelta(seconds=5))
        self.before = self.world.reboots("edge-1")
        self.world.files = second()
        self.calls: list[tuple[str, str]] = []

    def process(self, kill_at: int | None = None, moment: Moment = Moment.BEFORE) -> None:
        counted: list[Counted] = []

        def wrap(transport: Transport) -> Transport:
            counted.append(Counted(transport, kill_at, moment))
            return counted[-1]

        self.world.wrap = wrap
        try:
            outlook = self.world.run()
            assert isinstance(outlook, Done), outlook
        finally:
            self.calls = counted[-1].calls

    def reboots(self) -> dict[str, int]:
        return {node: n - self.before[node] for node, n in self.world.reboots("edge-1").items()}

    def state(self) -> dict[str, JsonObject]:
        """What stands in the cluster, without what the server and the operator make."""
        person = self.world.fleet.person("edge-1")
        found = {}
        for resource in ("machineconfigs", "machineconfigpools", "machineconfigurations"):
            for body in person.list_all(resource):
                if not body["metadata"]["name"].startswith("rendered-"):
                    spec = {k: v for k, v in body["spec"].items() if k != "configuration"}
                    marks = {k: body["metadata"].get(k) for k in ("labels", "annotations")}
                    found[f"{resource}/{body['metadata']['name']}"] = {"spec": spec, **marks}
        return found


@pytest.fixture(scope="module")
def undisturbed() -> Run:
    run = Run()
    run.process()
    return run


def _points(calls: list[tuple[str, str]]) -> list[int]:
    """Every write, and a sample of the rest: dry runs and reads change nothing, so they differ little."""
    writes = [n for n, (method, path) in enumerate(calls, 1) if method != "GET" and "?dry" not in path]
    others = [n for n, _ in enumerate(calls, 1) if n not in writes]
    return sorted({*writes, *random.Random(7).sample(others, SAMPLE)})


def _every_point(calls: list[tuple[str, str]]) -> list[int]:
    """Every write and dry run, and every third read."""
    return [n for n, (method, _) in enumerate(calls, 1) if method != "GET" or n % 3 == 0]


def _checked(run: Run, undisturbed: Run, what: str) -> None:
    assert run.state() == undisturbed.state(), what
    assert run.reboots() == undisturbed.reboots(), what
    assert run.reboots() == dict.fromkeys(run.reboots(), 1)


@pytest.mark.parametrize("moment", list(Moment))
@pytest.mark.parametrize(
    "points", [_points, pytest.param(_every_point, marks=pytest.mark.slow)], ids=["writes", "all"]
)
def test_killed_at_a_call_and_started_again_it_ends_the_same(
    undisturbed: Run, moment: Moment, points: Callable[[list[tuple[str, str]]], list[int]]
) -> None:
    assert len([m for m, p in undisturbed.calls if m != "GET" and "?dry" not in p]) >= 10
    for point in points(undisturbed.calls):
        run = Run()
        with pytest.raises(Killed):
            run.process(point, moment)
        run.process()
        _checked(run, undisturbed, f"killed {moment.value} call {point}: {undisturbed.calls[point - 1]}")


def test_killed_again_and_again_it_still_ends_the_same(undisturbed: Run) -> None:
    run = Run()
    chance = random.Random(11)
    for _ in range(12):
        try:
            run.process(chance.randrange(1, 90), chance.choice(list(Moment)))
            break
        except Killed:
            continue
    run.process()
    _checked(run, undisturbed, "killed twelve times")


def test_memory_lost_in_the_middle_is_first_contact_and_reboots_nothing_more(undisturbed: Run) -> None:
    writes = [n for n, (m, p) in enumerate(undisturbed.calls, 1) if m != "GET" and "?dry" not in p]
    run = Run()
    with pytest.raises(Killed):
        run.process(writes[len(writes) // 2], Moment.AFTER)
    run.world.store.state = None
    run.world.wrap = lambda transport: transport
    said = run.world.run(hours=1)
    assert not isinstance(said, Done)
    assert "first contact" in run.world.view("edge-1").reason
    assert "a step of ours that was never closed" in run.world.view("edge-1").reason
    assert run.reboots() == dict.fromkeys(run.reboots(), 0)
    assert isinstance(run.world.run(Acts(approved=frozenset({"edge-1"}))), Done)
    assert run.reboots() == undisturbed.reboots()
