"""When a rollout by hand is over, where only some clusters may be written for."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gitops_mc.core.model import Content
from gitops_mc.core.rollout.ending import ending
from gitops_mc.core.rollout.moves import (
    ClusterView,
    Decision,
    Done,
    Halted,
    Hold,
    Outlook,
    Standing,
    Wait,
    WaveState,
    WaveView,
)


def view(cluster: str, wave: str, standing: Standing, *, begun: bool = False) -> ClusterView:
    return ClusterView(cluster, wave, standing, "", Content("c"), "", (), None, begun)


def decision(*clusters: ClusterView, waves: dict[str, WaveState], outlook: Outlook | None = None) -> Decision:
    shown = tuple(
        WaveView(name, state, "", tuple(c.cluster for c in clusters if c.wave == name), timedelta(0))
        for name, state in waves.items()
    )
    return Decision((), outlook or Wait("closed"), clusters, shown, frozenset())


READY, PASSED, FLYING = Standing.READY, Standing.PASSED, Standing.IN_FLIGHT
OPEN, DONE, CLOSED = WaveState.OPEN, WaveState.DONE, WaveState.CLOSED


@pytest.mark.parametrize("outlook", [Done("all"), Halted("failed"), Hold(("why",), ("act",))])
def test_an_outlook_that_is_an_end_is_the_end(outlook: Outlook) -> None:
    assert ending(decision(waves={}, outlook=outlook), None) == outlook
    assert ending(decision(waves={}, outlook=outlook), frozenset({"a"})) == outlook


def test_without_a_choice_only_the_outlook_ends_it() -> None:
    assert ending(decision(view("a", "w", READY), waves={"w": OPEN}), None) is None


def test_it_is_done_when_the_chosen_ones_are_whatever_the_others_do() -> None:
    found = decision(view("a", "w", PASSED), view("b", "w", READY), waves={"w": OPEN})
    assert ending(found, frozenset({"a"})) == Done("1 of 1 chosen cluster passed")


def test_a_chosen_one_whose_wave_waits_for_others_is_a_hold_that_names_them() -> None:
    found = decision(
        view("a", "first", READY), view("b", "rest", READY), waves={"first": OPEN, "rest": CLOSED}
    )
    end = ending(found, frozenset({"b"}))
    assert isinstance(end, Hold)
    assert "a is ready" in end.reasons[0]
    assert "gitops-mc apply --cluster a" in end.acts


@pytest.mark.parametrize("standing", [Standing.NOT_KNOWN])
def test_while_nobody_knows_what_the_others_are_it_goes_on(standing: Standing) -> None:
    found = decision(
        view("a", "first", standing), view("b", "rest", READY), waves={"first": OPEN, "rest": CLOSED}
    )
    assert ending(found, frozenset({"b"})) is None


def test_a_soak_is_waited_for() -> None:
    found = decision(
        view("a", "first", PASSED),
        view("b", "rest", READY),
        waves={"first": WaveState.SOAKING, "rest": CLOSED},
    )
    assert ending(found, frozenset({"b"})) is None


def test_a_place_that_another_one_holds_is_a_hold() -> None:
    found = decision(view("a", "w", FLYING, begun=True), view("b", "w", READY), waves={"w": OPEN})
    assert isinstance(ending(found, frozenset({"b"})), Hold)
    idle = decision(view("a", "w", READY), view("b", "w", READY), waves={"w": OPEN})
    assert ending(idle, frozenset({"b"})) is None


def test_while_a_chosen_one_moves_it_goes_on() -> None:
    found = decision(view("a", "w", READY), view("b", "w", FLYING), waves={"w": OPEN})
    assert ending(found, frozenset({"b"})) is None
