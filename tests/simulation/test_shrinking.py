"""A failing script is made small, and what is left still breaks what the first one broke."""

from __future__ import annotations

import json

from tests.scenarios.drawn import Script, draw_script
from tests.scenarios.simulation import Simulation
from tests.simulation.mutants import FOUND, MUTANTS
from tests.simulation.one import play
from tests.simulation.shrinking import shrunk
from tests.simulation.trace import trace

FAULT = "budget-off-by-one"


def test_it_ends_with_what_is_needed_and_nothing_more() -> None:
    seed = json.loads(FOUND.read_text())[FAULT]
    script = draw_script(seed)
    with MUTANTS[FAULT].on():
        wanted = play(script).broken
        small = shrunk(script, lambda s: play(s).broken == wanted)
        again = play(small)
        story = "\n".join(trace(Simulation(small).play()))
    assert again.broken == wanted
    assert _size(small) < _size(script)
    assert (small.hands, small.troubles, small.kills) == ((), (), ())
    assert len(small.spec.clusters) >= 2
    assert "in flight" in story


def test_a_script_that_breaks_only_by_one_thing_keeps_that_thing_alone() -> None:
    script = next(s for s in map(draw_script, range(100)) if len(s.troubles) > 2 and s.hands and s.kills)
    wanted = script.troubles[1]
    small = shrunk(script, lambda s: wanted in s.troubles)
    assert small.troubles == (wanted,)
    assert (small.hands, small.kills, small.events) == ((), (), ())
    assert len(small.pushes) == 1


def _size(script: Script) -> int:
    things = (script.pushes, script.hands, script.troubles, script.kills, script.events, script.spec.clusters)
    return sum(map(len, things))
