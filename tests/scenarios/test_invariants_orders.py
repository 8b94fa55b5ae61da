"""The invariants hold for seeds in which humans order things, too, and what a seed draws otherwise stays as it was."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_mc.core.rollout.inputs import Acts
from tests.scenarios.drawn import draw_script
from tests.scenarios.drawn_orders import ORDERED, STANDING, Order, Ordered, standing
from tests.scenarios.drawn_windows import WINDOWED
from tests.simulation.one import play_seed

SEEDS = 3
FOUND = (20_000_023, 20_000_118, 20_000_224, 20_000_330)
"""Seeds that have found a fault, of the engine or of the judge."""


def check(seed: int) -> None:
    outcome = play_seed(seed)
    assert not outcome.broken, f"{outcome.told}\n{outcome.story}"


@pytest.mark.parametrize("seed", range(ORDERED, ORDERED + SEEDS))
def test_the_invariants_hold_under_orders(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", [*range(ORDERED, ORDERED + 100, 20), ORDERED + WINDOWED])
def test_the_invariants_hold_on_many_seeds(first: int) -> None:
    for seed in range(first, first + 20):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", FOUND)
def test_seeds_that_have_found_a_fault_hold(seed: int) -> None:
    check(seed)


def test_seeds_below_have_no_orders_and_windows_have_ranges_of_their_own() -> None:
    assert not draw_script(ORDERED - 1).orders
    assert not draw_script(7).orders
    assert draw_script(ORDERED).orders
    assert not draw_script(ORDERED).windows
    both = draw_script(ORDERED + WINDOWED)
    assert both.orders
    assert both.windows


def test_every_order_is_drawn() -> None:
    scripts = [draw_script(seed) for seed in range(ORDERED, ORDERED + 60)]
    assert {o.what for s in scripts for o in s.orders} == set(Order)
    assert any('"onFailure": "rollback"' in s.pushes[0].files["fleet.yaml"] for s in scripts)
    assert {o.end is None for s in scripts for o in s.orders if o.what in STANDING} == {True, False}


def test_an_order_stands_from_its_beginning_until_before_its_end() -> None:
    hold = Ordered(10, Order.HOLD, "edge-1", end=20)
    assert standing([hold], 9.9) == Acts()
    assert standing([hold], 10).held.keys() == {"edge-1"}
    assert standing([hold], 20) == Acts()
    assert standing([replace(hold, end=None)], 1e9).held.keys() == {"edge-1"}
    assert standing([Ordered(10, Order.RETRY, "edge-1")], 15) == Acts()
    two = [Ordered(1, Order.ABORT, "edge-1", end=5), Ordered(1, Order.LET_FINISH, "", end=9)]
    acts = standing(two, 4)
    assert acts.abort("edge-2") == acts.aborted
    assert acts.abort("edge-1") == acts.aborted_clusters["edge-1"]
