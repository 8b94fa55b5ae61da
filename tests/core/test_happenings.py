"""What there is to tell between two passes: each thing once, nothing of what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gitops_mc.core.diff import Drift
from gitops_mc.core.model import Commit, Content, Kind, ResourceKey
from gitops_mc.core.plan import ClusterPlan
from gitops_mc.core.render.happening import About, Happening, Reason, Weight
from gitops_mc.core.render.happenings import Told, happenings
from gitops_mc.core.render.polls import Poll, PollFailed, PollGood, PollRefused, ToldPolls, poll_happenings
from gitops_mc.core.rollout.memory import FleetMemory, Halt
from gitops_mc.core.rollout.moves import (
    ClusterView,
    Decision,
    Done,
    Hold,
    Outlook,
    Standing,
    Wait,
    WaveState,
    WaveView,
)

NOW = datetime(2026, 5, 1, 10, 42, tzinfo=UTC)
PLAN = ClusterPlan("edge-1", Content("c1"))
VIEW = ClusterView(
    "edge-1", "canary", Standing.READY, "could start", Content("c1"), "", (), PLAN, begun=False
)
HALT = FleetMemory(halt=Halt("edge-1 failed", NOW, ("edge-1",)))


def drifted(*names: str) -> ClusterPlan:
    keys = [ResourceKey("edge-1", Kind.MACHINE_CONFIG, name) for name in names]
    return replace(PLAN, drifts=tuple(Drift(key, (), ("kubectl",), "changed") for key in keys))


def at(
    view: ClusterView = VIEW, wave: WaveState = WaveState.CLOSED, outlook: Outlook | None = None
) -> Decision:
    waves = (WaveView("canary", wave, "why", ("edge-1",)),)
    return Decision((), outlook or Wait("x"), (view,), waves, frozenset())


def stands(standing: Standing, **more: object) -> Decision:
    return at(replace(VIEW, standing=standing, **more))  # type: ignore[arg-type]


class Listener:
    """Hears pass after pass."""

    def __init__(self) -> None:
        self.told: Told | None = None

    def hear(self, decision: Decision, memory: FleetMemory | None = None, fault: str = "") -> list[str]:
        self.told, found = happenings(self.told, decision, memory or FleetMemory(), fault)
        return [happening.reason.word for happening in found]

    def all(self, decisions: Sequence[Decision]) -> list[list[str]]:
        return [self.hear(decision) for decision in decisions]


def test_a_cluster_is_told_when_it_starts_goes_on_and_passes_and_not_in_between() -> None:
    worker, master = "pools:worker", "pools:master"
    assert Listener().all(
        [
            stands(Standing.READY),
            stands(Standing.IN_FLIGHT, step=worker),
            stands(Standing.IN_FLIGHT, step=worker, reason="1 of 3 nodes"),
            stands(Standing.IN_FLIGHT, step=master),
            stands(Standing.PASSED),
            stands(Standing.PASSED),
        ]
    ) == [[], ["Started"], [], ["StepStarted"], ["Passed"], []]


def test_what_is_not_known_neither_ends_nor_begins_anything() -> None:
    unknown = stands(Standing.NOT_KNOWN, plan=None)
    flying = stands(Standing.IN_FLIGHT, step="pools:worker")
    assert Listener().all([flying, unknown, flying, unknown]) == [["Started"], [], [], []]


def test_that_a_cluster_could_start_is_news_only_after_something_was_in_its_way() -> None:
    blocked = stands(Standing.BLOCKED)
    assert Listener().all([stands(Standing.PASSED), stands(Standing.READY)]) == [[], []]
    assert Listener().all([blocked, stands(Standing.READY), blocked]) == [["Blocked"], ["Ready"], ["Blocked"]]


@pytest.mark.parametrize("standing", [s for s in Standing if s is not Standing.NOT_KNOWN])
def test_every_standing_has_a_word_and_is_told_once(standing: Standing) -> None:
    before = Standing.BLOCKED if standing is not Standing.BLOCKED else Standing.FAILED
    listener = Listener()
    listener.hear(stands(before))
    assert len(listener.hear(stands(standing))) == 1
    assert listener.hear(stands(standing)) == []


def test_drift_is_told_when_it_grows_and_when_all_of_it_is_gone_and_an_unread_cluster_says_neither() -> None:
    def passed(plan: ClusterPlan | None) -> Decision:
        return stands(Standing.PASSED, plan=plan)

    looks = [PLAN, drifted("a"), drifted("a"), None, drifted("a", "b"), drifted("b"), None, PLAN]
    assert Listener().all([passed(plan) for plan in looks]) == [
        [],
        ["DriftFound"],
        [],
        [],
        ["DriftFound"],
        [],
        [],
        ["DriftGone"],
    ]


def test_many_drifted_objects_are_counted_and_some_of_them_named() -> None:
    _, found = happenings(
        Told(), stands(Standing.PASSED, plan=drifted(*(f"c{n:02}" for n in range(12)))), FleetMemory(), ""
    )
    text = next(h.text for h in found if h.reason is Reason.DRIFT_FOUND)
    assert text.startswith("12 objects not as written")
    assert text.endswith("and 7 more")


def test_a_first_pass_tells_what_wants_a_human_and_nothing_of_what_went_well_before_it() -> None:
    assert Listener().hear(at(replace(VIEW, standing=Standing.PASSED), WaveState.DONE, Done("1 of 1"))) == []
    assert Listener().hear(stands(Standing.FAILED), HALT) == ["Halted", "Failed"]
    assert Listener().hear(at(wave=WaveState.NEEDS_APPROVAL)) == ["WaveNeedsApproval"]


def test_a_wave_is_told_when_it_opens_soaks_and_is_done_and_not_that_it_waits() -> None:
    states = [
        WaveState.CLOSED,
        WaveState.OPEN,
        WaveState.SOAKING,
        WaveState.DONE,
        WaveState.CLOSED,
        WaveState.OPEN,
    ]
    assert Listener().all([at(wave=state) for state in states]) == [
        [],
        ["WaveOpened"],
        ["WaveSoaking"],
        ["WaveDone"],
        [],
        ["WaveOpened"],
    ]


def test_a_wave_without_clusters_is_no_news() -> None:
    empty = replace(at(), waves=(WaveView("late", WaveState.DONE, "no cluster falls into it", ()),))
    listener = Listener()
    listener.hear(at())
    assert listener.hear(empty) == []


def test_a_halt_and_its_end_are_told_once() -> None:
    listener = Listener()
    heard = [listener.hear(at(), memory) for memory in (FleetMemory(), HALT, HALT, FleetMemory())]
    assert heard == [[], ["Halted"], [], ["HaltLifted"]]


def test_a_fault_of_the_fleet_is_told_instead_of_the_waves_that_it_closes() -> None:
    listener = Listener()
    heard = [
        listener.hear(at(), fault=fault) for fault in ("", "the gateway is gone", "the gateway is gone", "")
    ]
    assert heard == [[], ["FleetFault"], [], ["FleetFaultOver"]]


def test_what_a_fault_does_to_waves_is_no_news_and_what_stands_after_it_is() -> None:
    listener, gone = Listener(), "the gateway is gone"
    listener.hear(at(wave=WaveState.OPEN))
    assert listener.hear(at(wave=WaveState.CLOSED), fault=gone) == ["FleetFault"]
    assert listener.hear(at(wave=WaveState.OPEN)) == ["FleetFaultOver"]
    assert listener.hear(at(wave=WaveState.NEEDS_APPROVAL), fault=gone) == ["FleetFault"]
    assert listener.hear(at(wave=WaveState.NEEDS_APPROVAL)) == ["FleetFaultOver", "WaveNeedsApproval"]


def test_the_end_of_a_rollout_and_a_hold_are_told_once_and_a_hold_says_what_helps() -> None:
    hold = Hold(("wave rest waits",), ("gitops-mc apply --approve rest",))
    listener = Listener()
    heard = [
        listener.hear(at(outlook=o))
        for o in (Wait("a"), hold, hold, Wait("b"), Done("1 of 1"), Done("1 of 1"))
    ]
    assert heard == [[], ["RolloutHeld"], [], [], ["RolloutDone"], []]
    _, found = happenings(Told(), at(outlook=hold), FleetMemory(), "")
    assert found[-1].text == "wave rest waits; what helps: gitops-mc apply --approve rest"


def test_hands_and_windows_are_told_when_they_are_first_needed() -> None:
    listener = Listener()
    listener.hear(stands(Standing.PASSED))
    assert listener.hear(stands(Standing.PASSED, hands="gitops-mc skip edge-1")) == ["NeedsHands"]
    assert listener.hear(stands(Standing.PASSED, hands="gitops-mc skip edge-1, or more")) == []


def test_what_is_told_of_a_cluster_that_is_gone_is_forgotten() -> None:
    listener = Listener()
    listener.hear(stands(Standing.FAILED))
    listener.hear(replace(at(), clusters=()))
    assert listener.told is not None
    assert dict(listener.told.clusters) == {}


def test_a_happening_of_a_cluster_names_it_and_one_of_the_fleet_names_none() -> None:
    for reason in Reason:
        named = Happening(reason, "x", cluster="edge-1" if reason.about is About.CLUSTER else "")
        assert named.reason is reason
        with pytest.raises(ValueError, match=reason.about.value):
            Happening(reason, "x", cluster="" if reason.about is About.CLUSTER else "edge-1")


def test_only_a_failure_or_a_human_who_is_needed_is_a_warning() -> None:
    normal = {reason.word for reason in Reason if reason.weight is Weight.NORMAL}
    assert {"Passed", "WaveDone", "HaltLifted", "PollRecovered", "Started"} <= normal
    assert not {"Failed", "Halted", "PollFailed", "NeedsApproval", "WaveNeedsApproval", "DriftFound"} & normal


# --------------------------------------------------------------------------------------------------------------- polls


def heard(*polls: Poll) -> list[list[str]]:
    told, words = ToldPolls(), []
    for poll in polls:
        told, found = poll_happenings(told, poll)
        words.append([happening.reason.word for happening in found])
    return words


A, B = PollGood(Commit("a")), PollGood(Commit("b"))
DOWN = PollFailed("no route")


def test_a_new_commit_is_told_and_the_first_one_of_a_process_is_not() -> None:
    assert heard(A, A, B, B) == [[], [], ["RevisionFound"], []]


def test_a_source_that_cannot_be_read_is_told_once_however_long_it_lasts() -> None:
    assert heard(A, DOWN, DOWN, PollFailed("another word"), A) == [
        [],
        ["PollFailed"],
        [],
        [],
        ["PollRecovered"],
    ]


def test_a_commit_that_came_meanwhile_is_told_with_the_recovery() -> None:
    assert heard(A, DOWN, B) == [[], ["PollFailed"], ["PollRecovered", "RevisionFound"]]


def test_a_refused_commit_is_told_once_and_each_other_one_anew() -> None:
    bad, worse = PollRefused("commit c is not signed"), PollRefused("commit d is not signed")
    assert heard(A, bad, bad, worse, A, bad) == [
        [],
        ["RevisionRefused"],
        [],
        ["RevisionRefused"],
        [],
        ["RevisionRefused"],
    ]
