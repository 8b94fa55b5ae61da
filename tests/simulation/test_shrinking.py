"""A failing script is made small, and what is left still breaks what the first one broke."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.scenarios.controller_simulation_drawn import draw_plot
from tests.scenarios.drawn import Script, draw_script
from tests.scenarios.drawn_orders import ORDERED
from tests.scenarios.drawn_windows import WINDOWED
from tests.scenarios.simulation import Simulation
from tests.simulation.mutants import FOUND, MUTANTS
from tests.simulation.one import play
from tests.simulation.shrinking import shrunk, shrunk_plot
from tests.simulation.trace import trace

FAULT = "budget-off-by-one"


@pytest.mark.slow
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


def test_a_script_that_breaks_only_in_one_window_keeps_that_one_alone_in_every_commit() -> None:
    scripts = map(draw_script, range(WINDOWED, WINDOWED + 100))
    script = next(s for s in scripts if len(s.windows) > 1 and any(w.clusters for w in s.windows[1:]))
    wanted = next(w for w in script.windows[1:] if w.clusters)
    alike = replace(wanted, clusters=())
    small = shrunk(
        script, lambda s: alike in [replace(w, clusters=()) for w in s.windows] and len(s.pushes) > 1
    )
    assert small.windows == (alike,), "what a window is for is taken away, too"
    written = [json.loads(push.files["fleet.yaml"])["spec"]["windows"] for push in small.pushes]
    assert written == [[alike.written()]] * 2
    assert shrunk(script, lambda _: True).windows == ()


def test_a_script_that_breaks_only_by_one_order_keeps_that_order_alone() -> None:
    script = next(s for s in map(draw_script, range(ORDERED, ORDERED + 100)) if len(s.orders) > 2)
    wanted = script.orders[1]
    assert shrunk(script, lambda s: wanted in s.orders).orders == (wanted,)


def test_a_plot_that_breaks_only_by_one_ask_keeps_that_one_and_the_fleet_that_it_needs() -> None:
    plots = map(draw_plot, range(ORDERED, ORDERED + 100))
    plot = next(p for p in plots if p.freezes and p.cuts and any(a.cluster == "edge-1" for a in p.asks))
    wanted = next(a for a in plot.asks if a.cluster == "edge-1")
    small = shrunk_plot(plot, lambda p: wanted in p.asks)
    assert small.asks == (wanted,)
    assert (small.freezes, small.cuts, small.dumb, small.script.kills) == ((), (), (), ())
    assert [c.name for c in small.script.spec.clusters] == ["edge-1"]
    assert len(small.script.pushes) == 1


def _size(script: Script) -> int:
    things = (script.pushes, script.hands, script.troubles, script.kills, script.events, script.spec.clusters)
    return sum(map(len, things))
