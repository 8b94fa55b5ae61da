"""A deliberate fault is found by the seed that found it first, and the same seed holds without it."""

from __future__ import annotations

import json

import pytest

from tests.simulation.mutants import FOUND, MISSED, MUTANTS
from tests.simulation.one import play_seed

SEEDS: dict[str, int] = json.loads(FOUND.read_text())
ALWAYS = ("stale-status", "budget-off-by-one", "no-halt", "no-bracket")
"""Those that the default tests play; the slow ones play all."""


def test_every_fault_of_the_list_has_been_found_but_for_those_that_are_said_to_be_missed() -> None:
    assert SEEDS.keys() == MUTANTS.keys() - MISSED.keys()
    assert len(SEEDS) >= 20


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in ALWAYS else pytest.mark.slow) for n in sorted(SEEDS)]
)
def test_a_deliberate_fault_is_found(name: str) -> None:
    with MUTANTS[name].on():
        outcome = play_seed(SEEDS[name])
    assert outcome.broken, f"{MUTANTS[name].sentence}: not found by seed {SEEDS[name]} any more"
    assert not play_seed(SEEDS[name]).broken
