"""Killed at any call of a rollout, or in any save, and started again: the same end, and no node reboots more often.

`make crashes` prints the whole of it as a table.
"""

from __future__ import annotations

import dataclasses
import random
import tempfile
from collections import defaultdict
from datetime import timedelta
from pathlib import Path

import pytest

from gitops_mc.adapters.memory import FileMemory
from gitops_mc.app.looks import Pace
from gitops_mc.app.ports import Request, Transport
from gitops_mc.core.errors import MemoryStoreError
from gitops_mc.core.rollout.inputs import Acts
from gitops_mc.core.rollout.moves import Done
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.crash_everywhere import Chosen, Rule, Tally, compare, crash, every_step, no_step
from tests.scenarios.crash_rollout import AWAY, Calling, Case, Ending, Fate, Moment, Rollout, Sort
from tests.scenarios.crash_worlds import BRACKET, CASES, INSTALLATION, POLICY, TAKEN_BACK
from tests.scenarios.crashes import Counted, Killed
from tests.scenarios.crashes import Moment as CallMoment
from tests.scenarios.invariants import Checks
from tests.scenarios.rollout_world import EMBEDDED, GROUND, RolloutWorld, machine_config
from tests.scenarios.test_groups import FLEET, pool, second, world


def crashed(case: Case, rule: Rule, *, again: Rule = no_step, merge: bool = True) -> Tally:
    if GROUND.get() is not EMBEDDED:
        pytest.skip("a fork copies the embedded servers and no others")
    return crash(case, rule, again=again, merge=merge)


def all_is_well(case: Case, rule: Rule, again: Rule = no_step) -> None:
    tally = crashed(case, rule, again=again)
    assert tally.verdicts, "nobody died"
    assert not tally.failures, f"{len(tally.failures)} of {len(tally.verdicts)}: {tally.failures[0].failure}"


def named(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", CASES[::4], ids=named)
def test_killed_at_a_few_writes_and_saves_it_ends_the_same(case: Case) -> None:
    """The others, and every call of all of them, are among the slow ones."""
    all_is_well(case, Chosen(of=12))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=named)
def test_killed_at_every_call_and_in_every_save_it_ends_the_same(case: Case) -> None:
    all_is_well(case, every_step)


@pytest.mark.slow
@pytest.mark.parametrize("case", [INSTALLATION, BRACKET], ids=named)
def test_killed_again_at_every_call_of_the_process_that_came_after_it_ends_the_same(case: Case) -> None:
    all_is_well(case, Chosen(of=15, seed=1), again=every_step)


@pytest.mark.slow
def test_deaths_that_leave_the_same_are_followed_by_the_same() -> None:
    """What allows one of them to stand for all: the logs of all servers, with times, are the same to the byte."""
    tally = crashed(POLICY, lambda step: 40 <= step.number < 52, merge=False)
    logs = defaultdict(set)
    for verdict in tally.verdicts:
        assert not verdict.failure
        logs[verdict.leaves].add(verdict.log)
    assert len(tally.verdicts) > len(logs) > 1
    assert all(len(found) == 1 for found in logs.values())


def test_another_end_is_seen() -> None:
    """The comparison itself: a value, a missing object and one more reboot are each told by their place."""
    good = Ending({"edge-1/x": {"spec": {"a": 1}}}, {"edge-1/n": 1}, {}, {"clusters": {}})
    compare(good, good)
    for bad, told in (
        (dataclasses.replace(good, state={"edge-1/x": {"spec": {"a": 2}}}), "edge-1/x/spec/a"),
        (dataclasses.replace(good, state={}), "the clusters/edge-1/x"),
        (dataclasses.replace(good, memory={"clusters": {"e": {}}}), "the memory/clusters/e"),
        (dataclasses.replace(good, reboots={"edge-1/n": 2}), "edge-1/n"),
    ):
        with pytest.raises(AssertionError, match=told):
            compare(bad, good)


# ------------------------------------------------------------------------------------------------------ from the start


class DiesOnce(Fate):
    """Ends the process at one write of a rollout, without a fork: the servers may be any."""

    def __init__(self, write: int, moment: Moment) -> None:
        self.rollout: Rollout | None = None
        self.write, self.moment = write, moment
        self.writes = 0

    def step(self, sort: Sort, what: str) -> None:
        assert self.rollout is not None
        self.writes += sort is Sort.WRITE and self.rollout.stage.counted

    def at(self, moment: Moment, late: tuple[str, Request] | None = None) -> None:
        assert self.rollout is not None
        if self.rollout.dead or self.writes != self.write or moment is not self.moment:
            return
        self.rollout.dead, self.rollout.late = f"killed {moment} at write {self.write}", late
        self.rollout.away = AWAY.get(moment, 1.0)
        raise Killed


def played(case: Case, fate: DiesOnce) -> Ending:
    with tempfile.TemporaryDirectory() as folder:
        fate.rollout = Rollout(case, Path(folder), fate)
        fate.rollout.play()
        Checks(fate.rollout).everything()
        return fate.rollout.ending()


def test_killed_at_a_few_writes_of_a_bracket_on_whatever_servers_there_are_it_ends_the_same() -> None:
    undisturbed = played(BRACKET, DiesOnce(0, Calling.BEFORE))
    for write, moment in ((2, Calling.DURING), (5, Calling.LATE), (8, Calling.BEFORE), (11, Calling.AFTER)):
        fate = DiesOnce(write, moment)
        compare(played(BRACKET, fate), undisturbed)
        assert fate.rollout is not None
        assert fate.rollout.dead


# ------------------------------------------------------------------------------------------------------- two at once


class Racing(Fate):
    """Ends the first process at a write; at every sixth step of the second one a third tries to start: each try waits a while."""

    def __init__(self) -> None:
        self.rollout: Rollout | None = None
        self.writes = self.steps = 0
        self.refused = 0

    def step(self, sort: Sort, what: str) -> None:
        assert self.rollout is not None
        self.writes += sort is Sort.WRITE
        self.steps += 1
        if self.rollout.dead and self.steps % 6 == 0:
            with pytest.raises(MemoryStoreError, match="in use by process"):
                FileMemory(self.rollout.disk.path)
            self.refused += 1

    def at(self, moment: Moment, late: object = None) -> None:
        assert self.rollout is not None
        if self.writes == 3 and not self.rollout.dead:
            self.rollout.dead = "killed at the third write"
            raise Killed


@pytest.mark.slow
def test_of_two_restarts_the_second_is_refused_while_the_first_one_runs(tmp_path: Path) -> None:
    fate = Racing()
    fate.rollout = Rollout(POLICY, tmp_path, fate)
    fate.rollout.play()
    assert fate.refused > 10
    FileMemory(fate.rollout.disk.path).close()


# ------------------------------------------------------------------------------------------------- what it has found


def test_a_fresh_process_pauses_no_pool_that_a_new_one_does_not_touch() -> None:
    """One that starts with settled clocks writes on its first look; which nodes a new pool takes is known by then."""
    made = RolloutWorld(spec=simple_fleet("edge-1", workers=2), files={"fleet.yaml": FLEET})
    made.files |= {
        "clusters/edge-1/a.yaml": machine_config("50-worker-a", files={"/etc/a.conf": "1\n"}),
        "clusters/edge-1/b.yaml": machine_config("50-worker-b", files={"/etc/b.conf": "1\n"}),
        "clusters/edge-1/pools.yaml": pool("gpu"),
    }
    settled = made.start + timedelta(seconds=29)
    made.run(until=lambda look: look.at >= settled)
    assert made.writes("edge-1") == ()
    assert isinstance(made.run(), Done)
    assert {write.name for write in made.writes("edge-1")} == {"50-worker-a", "50-worker-b", "gpu", "worker"}


def test_an_object_that_arrives_after_its_commit_was_taken_back_is_removed_like_any_other() -> None:
    """Sent, never answered, not seen by anybody while Git named it: that we meant to make it was remembered before."""
    tally = crashed(TAKEN_BACK, lambda step: step.sort is Sort.WRITE and "70-worker-b" in step.what)
    assert any("killed late" in verdict.label for verdict in tally.verdicts)
    assert not tally.failures, tally.failures[0].failure


# ------------------------------------------------------------------------------------------------------ memory lost


class Run:
    """The second commit of the groups' world, by processes that may die."""

    def __init__(self) -> None:
        self.world = world()
        self.world.pace = Pace(every=timedelta(seconds=20))
        assert isinstance(self.world.run(), Done)
        self.world.pace = Pace(every=timedelta(seconds=5))
        self.before = self.world.reboots("edge-1")
        self.world.files = second()

    def process(self, kill_at: int | None = None, moment: CallMoment = CallMoment.BEFORE) -> Counted:
        counted: list[Counted] = []

        def wrap(transport: Transport) -> Transport:
            counted.append(Counted(transport, kill_at, moment))
            return counted[-1]

        self.world.wrap = wrap
        outlook = self.world.run()
        assert isinstance(outlook, Done), outlook
        return counted[-1]

    def reboots(self) -> dict[str, int]:
        return {node: n - self.before[node] for node, n in self.world.reboots("edge-1").items()}


def test_killed_again_and_again_it_still_reboots_every_node_once() -> None:
    run = Run()
    chance = random.Random(11)
    for _ in range(12):
        try:
            run.process(chance.randrange(1, 90), chance.choice(list(CallMoment)))
            break
        except Killed:
            continue
    run.process()
    assert run.reboots() == dict.fromkeys(run.reboots(), 1)


def test_memory_lost_in_the_middle_is_first_contact_and_reboots_nothing_more() -> None:
    calls = Run().process().calls
    writes = [n for n, (m, p) in enumerate(calls, 1) if m != "GET" and "?dry" not in p]
    run = Run()
    with pytest.raises(Killed):
        run.process(writes[len(writes) // 2], CallMoment.AFTER)
    run.world.store.state = None
    run.world.wrap = lambda transport: transport
    said = run.world.run(hours=1)
    assert not isinstance(said, Done)
    assert "first contact" in run.world.view("edge-1").reason
    assert "a step of ours that was never closed" in run.world.view("edge-1").reason
    assert run.reboots() == dict.fromkeys(run.reboots(), 0)
    assert isinstance(run.world.run(Acts(approved=frozenset({"edge-1"}))), Done)
    assert run.reboots() == dict.fromkeys(run.reboots(), 1)
