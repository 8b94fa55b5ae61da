"""The invariants of a rollout hold for every seed: whatever is committed, breaks, is done by hand, or is killed.

`make simulate` plays many more seeds, `python -m tests.simulation one SEED` one alone.
"""

from __future__ import annotations

import random

import pytest

from gitops_mc.core.rollout.moves import Done
from tests.scenarios.crashes import Moment
from tests.scenarios.drawn import Kill, Script, draw_script
from tests.scenarios.simulation import Simulation
from tests.simulation.one import play_seed

QUICK_SEEDS = 20
BATCH = 10


def check(seed: int) -> None:
    outcome = play_seed(seed)
    assert not outcome.broken, f"{outcome.told}\n{outcome.story}"


@pytest.mark.parametrize("first", range(0, QUICK_SEEDS, BATCH))
def test_the_invariants_hold(first: int) -> None:
    for seed in range(first, first + BATCH):
        check(seed)


def test_a_seed_decides_everything() -> None:
    one, two = (Simulation(draw_script(7)).play() for _ in range(2))
    assert one.story() == two.story()


# ------------------------------------------------------------------------------------------------------------- crashes


def calm_script(seed: int, kills: tuple[Kill, ...]) -> Script:
    """The commits of a seed, each given the time it needs, and nobody else about."""
    script = draw_script(seed)
    pushes = tuple(p for p in script.pushes if p.note != "typo")
    calm = tuple(type(p)(3600.0 * n, p.files, p.note) for n, p in enumerate(pushes))
    return Script(seed, script.spec, script.labelled, calm, kills=kills)


def kills_of(seed: int) -> tuple[Kill, ...]:
    draw = random.Random(f"kills/{seed}")
    moments = list(Moment)
    return tuple(
        Kill(draw.randint(1, 150), draw.choice(moments), draw.choice([1.0, 30.0])) for _ in range(12)
    )


@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=() if s < 1001 else pytest.mark.slow) for s in range(1000, 1006)]
)
def test_killed_at_random_calls_it_ends_the_same_and_no_node_reboots_more_often(seed: int) -> None:
    undisturbed = Simulation(calm_script(seed, ())).play()
    killed = Simulation(calm_script(seed, kills_of(seed))).play()
    assert killed.state() == undisturbed.state(), f"6: another end\n{killed.story()}"
    assert type(killed.outlook) is type(undisturbed.outlook), killed.story()
    if isinstance(undisturbed.outlook, Done):
        ours, theirs = undisturbed.world.fleet.reboots(), killed.world.fleet.reboots()
        more = {node: (ours[node], n) for node, n in theirs.items() if n > ours[node]}
        assert not more, f"6: more reboots {more}\n{killed.story()}"
