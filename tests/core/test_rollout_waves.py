from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from gitops_mc.core.model import Content, DesiredCluster, Open
from gitops_mc.core.policy import Approval, ClusterSelector, Count, FleetPolicy, Rollout, Wave
from gitops_mc.core.rollout.case import Assessment
from gitops_mc.core.rollout.gating import GateBook
from gitops_mc.core.rollout.memory import ClusterMemory, WaveMemory
from gitops_mc.core.rollout.moves import Standing, WaveState
from gitops_mc.core.rollout.waves import Budget, Line, lines, look, remembered
from tests.core.diff_world import NOW

CALM = Budget(failures_allowed=0, failed=0, unreachable_allowed=0, unreachable=0)


def cluster(name: str, content: str = "c1") -> DesiredCluster:
    return DesiredCluster(name, (), Content(content))


def found(**standings: Standing) -> dict[str, Assessment]:
    return {n: Assessment(n, s, "for a reason", ClusterMemory(), cluster(n)) for n, s in standings.items()}


def line(*members: str, approval: Approval = Approval.AUTOMATIC, soak: int = 0) -> Line:
    wave = Wave("canary", ClusterSelector(), soak=timedelta(minutes=soak), approval=approval)
    return Line(wave, members)


def state(a: dict[str, Assessment], budget: Budget = CALM, **settings: object) -> WaveState:
    made = line(*a, **settings)  # type: ignore[arg-type]
    return look(made, a, WaveMemory("x"), budget, NOW, closed="", read_at={})[0].state


@pytest.mark.parametrize(
    ("count", "total", "of", "at_least"),
    [(Count(3), 10, 3, 3), (Count(percent=25), 10, 2, 2), (Count(percent=10), 9, 0, 1), (Count(0), 4, 0, 1)],
)
def test_percentages_are_rounded_down(count: Count, total: int, of: int, at_least: int) -> None:
    assert count.of(total) == of
    assert count.at_least_one(total) == at_least


def test_without_waves_each_cluster_is_one_by_name_and_global_comes_last() -> None:
    made, homeless = lines(FleetPolicy(), [cluster("global"), cluster("b"), cluster("a")])
    assert [m.members for m in made] == [("a",), ("b",), ("global",)]
    assert homeless == ()


def test_the_first_wave_that_matches_has_the_cluster_and_what_none_matches_is_told() -> None:
    waves = (
        Wave("one", ClusterSelector(names=("edge-1",))),
        Wave("two", ClusterSelector(names=("edge-*",), excluded=("edge-9",))),
    )
    made, homeless = lines(
        FleetPolicy(rollout=Rollout(waves=waves)), [cluster(f"edge-{n}") for n in (1, 2, 9)]
    )
    assert [m.members for m in made] == [("edge-1",), ("edge-2",)]
    assert homeless == ("edge-9",)


P, F, B, S, U, X = (
    Standing.PASSED,
    Standing.FAILED,
    Standing.BLOCKED,
    Standing.SKIPPED,
    Standing.UNREGISTERED,
    Standing.PROBLEMS,
)


@pytest.mark.parametrize(
    ("members", "done"),
    [
        ({}, True),
        ({"a": P}, True),
        ({"a": P, "b": S, "c": U}, True),
        ({"a": S, "b": U}, True),
        ({"a": P, "b": X}, True),
        ({"a": X}, False),
        ({"a": P, "b": Standing.IN_FLIGHT}, False),
        ({"a": P, "b": Standing.READY}, False),
        ({"a": P, "b": Standing.NOT_KNOWN}, False),
        ({"a": P, "b": F}, False),
        ({"a": P, "b": B}, False),
        ({"a": P, "b": Standing.UNREACHABLE}, False),
    ],
)
def test_a_wave_is_done_when_every_member_passed_or_is_out_of_the_way_and_one_has_passed(
    members: dict[str, Standing],
    done: bool,  # noqa: FBT001 - a table's column
) -> None:
    nobody = Budget(failures_allowed=0, failed=1, unreachable_allowed=0, unreachable=1)
    assert (state(found(**members), nobody) is WaveState.DONE) is done


def test_limits_tolerate_failures_and_unreachable_clusters_but_one_has_to_pass() -> None:
    failed = Budget(failures_allowed=1, failed=1, unreachable_allowed=0, unreachable=0)
    away = Budget(failures_allowed=0, failed=0, unreachable_allowed=1, unreachable=1)
    assert state(found(a=P, b=F), failed) is WaveState.DONE
    assert state(found(a=P, b=B), away) is WaveState.DONE
    assert state(found(b=F), failed) is not WaveState.DONE
    assert state(found(b=B), away) is not WaveState.DONE


def test_a_wave_with_work_waits_for_its_approval_and_an_approved_one_opens() -> None:
    a = found(a=Standing.READY)
    made = line("a", approval=Approval.MANUAL)
    assert (
        look(made, a, WaveMemory("x"), CALM, NOW, closed="", read_at={})[0].state is WaveState.NEEDS_APPROVAL
    )
    assert (
        look(made, a, WaveMemory("x", approved=True), CALM, NOW, closed="", read_at={})[0].state
        is WaveState.OPEN
    )


def test_approval_and_soak_end_with_the_contents_even_when_those_come_back() -> None:
    made = line("a")
    first = remembered(made, {"a": cluster("a", "c1")}, None)
    approved = WaveMemory(first.contents, approved=True, soak_since=NOW)
    assert remembered(made, {"a": cluster("a", "c1")}, approved) == approved
    other = remembered(made, {"a": cluster("a", "c2")}, approved)
    back = remembered(made, {"a": cluster("a", "c1")}, other)
    assert (other.approved, back.approved, back.soak_since) == (False, False, None)
    assert back.soaked is False


OPEN = Open("it is")
SETTLED = GateBook({}, {}, {}, frozenset(), OPEN, OPEN, rolling=False, memory=ClusterMemory())
SOAKING = WaveMemory("x", soak_since=NOW - timedelta(minutes=30), soaked=False)


def soaks(
    assessed: dict[str, Assessment], memory: WaveMemory, /, **read_at: datetime
) -> tuple[WaveState, WaveMemory]:
    view, after = look(line(*assessed, soak=30), assessed, memory, CALM, NOW, closed="", read_at=read_at)
    return view.state, after


def settled(*names: str) -> dict[str, Assessment]:
    return {n: replace(a, gates=SETTLED) for n, a in found(**dict.fromkeys(names, P)).items()}


def test_a_soak_starts_only_when_the_gates_of_all_that_passed_are_open() -> None:
    found_state, memory = soaks(found(a=P), WaveMemory("x", soak_since=NOW, soaked=False), a=NOW)
    assert found_state is WaveState.SOAKING
    assert memory.soak_since is None, "no gate of it was read"
    assert soaks(settled("a"), memory, a=NOW) == (
        WaveState.SOAKING,
        WaveMemory("x", soak_since=NOW, soaked=False),
    )


def test_a_soak_is_over_when_every_cluster_has_been_read_after_its_end_and_stays_over() -> None:
    early = NOW - timedelta(seconds=1)
    assert soaks(settled("a", "b"), SOAKING, a=NOW, b=early)[0] is WaveState.SOAKING
    assert soaks(settled("a", "b"), SOAKING, a=NOW)[0] is WaveState.SOAKING, "b does not answer"
    found_state, over = soaks(settled("a", "b"), SOAKING, a=NOW, b=NOW)
    assert (found_state, over.soaked) == (WaveState.DONE, True)
    assert soaks(found(a=P, b=P), over) == (WaveState.DONE, over), "what closes later starts no soak anew"


def test_a_gate_that_closes_in_the_last_moment_starts_the_soak_anew() -> None:
    found_state, memory = soaks(found(a=P), SOAKING, a=NOW)
    assert (found_state, memory.soak_since) == (WaveState.SOAKING, None)


def test_a_hand_that_changes_something_after_the_soak_starts_it_anew() -> None:
    edited = {n: replace(a, undone="somebody has edited it") for n, a in settled("a").items()}
    found_state, memory = soaks(edited, replace(SOAKING, soaked=True), a=NOW)
    assert (found_state, memory.soak_since, memory.soaked) == (WaveState.SOAKING, None, False)


def test_what_had_soaked_with_a_release_that_did_not_say_so_has_soaked() -> None:
    found_state, memory = soaks(found(a=P), replace(SOAKING, soaked=None))
    assert (found_state, memory.soaked) == (WaveState.DONE, True)
