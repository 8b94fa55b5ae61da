"""What was forecast is what happens, about as often as it says: fleets on the sandbox, whose times no forecast has seen."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.simulation import forecasting
from tests.simulation.forecasting import CALIBRATED, Outcome, Tally, quantile, share

FEW = (0, 1, 2)
"""Seeds that are quickly played: reboots, drains, one with several waves."""


@pytest.fixture(scope="module")
def few() -> Tally:
    return Tally([outcome for seed in FEW for outcome in forecasting.play(seed)])


@pytest.mark.parametrize("number", [0, 1])
def test_rollouts_end_within_their_p95_and_not_far_from_their_p50(few: Tally, number: int) -> None:
    found = few.rollouts(number)
    assert len(found) == len(FEW)
    assert share(found, lambda c: c.within) >= CALIBRATED - 0.1
    assert all(0.5 < c.ratio < 2 for c in found), [c.ratio for c in found]


def test_what_one_rollout_has_taught_makes_the_next_forecast_narrower(few: Tally) -> None:
    before, after = (quantile((c.width for c in few.rollouts(n)), 0.5) for n in range(2))
    assert 1 < after < before < 2.6
    first = {o.seed: _work(o) for o in few.outcomes if o.number == 0}
    taught = [o for o in few.outcomes if o.number == 1 and _work(o) == first[o.seed]]
    assert len(taught) > len(FEW) / 2
    assert all("earlier step" in " ".join(o.rests_on) for o in taught)


def _work(outcome: Outcome) -> str:
    """What its nodes went through; a second rollout may ask for something else, of which the first one taught nothing."""
    return " ".join(outcome.rests_on).partition(":")[0]


def test_a_seed_is_the_same_whenever_it_is_played(few: Tally) -> None:
    def without_time(outcome: Outcome) -> object:
        return outcome.whole, outcome.clusters, outcome.rests_on

    again = forecasting.play(FEW[0])
    first = [o for o in few.outcomes if o.seed == FEW[0]]
    assert [*map(without_time, again)] == [*map(without_time, first)]


def test_the_command_prints_how_far_off_it_was_and_says_whether_that_is_good_enough() -> None:
    command = [sys.executable, "-m", "tests.simulation", "forecast", "--seeds", "1", "--from", "8"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 rollouts, from settings" in done.stdout
    assert "1 clusters, from history" in done.stdout


@pytest.mark.slow
def test_sixty_fleets_end_within_their_p95_as_often_as_it_says() -> None:
    """The first of the two hundred that the command plays, in a few minutes more."""
    tally = forecasting.run(range(60), jobs=os.cpu_count() or 1)
    table = "\n".join(tally.lines())
    for number, widest in ((0, 2.2), (1, 1.5)):
        found = tally.rollouts(number)
        assert len(found) == 60
        assert share(found, lambda c: c.within) >= CALIBRATED, table
        assert share(found, lambda c: c.below) <= 2 * (1 - CALIBRATED), table
        assert 0.85 < quantile((c.ratio for c in found), 0.5) < 1.15, table
        assert quantile((c.width for c in found), 0.5) < widest, table
