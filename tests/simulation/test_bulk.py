"""Seeds in bulk: they are all played, on several processes, and what breaks is told with the command that replays it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.simulation import bulk
from tests.simulation.mutants import FOUND
from tests.simulation.one import play_seed


def test_a_seed_is_the_same_alone_and_among_others() -> None:
    tally = bulk.run(range(30, 36), jobs=2, minutes=5, tell=lambda _tally: None)
    among = next(o for o in tally.outcomes if o.seed == 33)
    alone = play_seed(33)
    assert sorted(o.seed for o in tally.outcomes) == list(range(30, 36))
    assert (among.calls, among.looks, among.rollouts) == (alone.calls, alone.looks, alone.rollouts)
    assert next(tally.lines()) == "6 of 6 seeds played, 0 broke an invariant"


def test_after_its_time_nothing_more_is_begun() -> None:
    tally = bulk.run(range(10_000), jobs=1, minutes=0, tell=lambda _tally: None)
    assert tally.outcomes == []


def test_a_seed_alone_prints_what_happened_and_says_whether_it_holds() -> None:
    command = [sys.executable, "-m", "tests.simulation", "one", "33"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "commit 0: the first" in done.stdout
    assert done.stdout.endswith("seed 33: every invariant holds\n")


@pytest.mark.slow
def test_a_seed_that_breaks_is_an_error_with_the_smallest_story_that_breaks() -> None:
    seed = json.loads(FOUND.read_text())["no-halt"]
    command = [sys.executable, "-m", "tests.simulation", "one", str(seed), "--mutant", "no-halt", "--shrink"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert f"seed {seed}: " in done.stdout.splitlines()[-1]
